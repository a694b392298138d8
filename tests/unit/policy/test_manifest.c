// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/manifest.h"
#include "sanitize/buf.h"
#include "sanitize/cleanup.h"

#define MARK "\xef\xbb\xbf"

struct sample {
	const char *text;
	enum restriction_kind kind;
	const char *tools;    // "read exec"; NULL: none
	const char *patterns; // of exec, parted by '|'
};

static const struct sample samples[] = {
	// nothing said
	{ "", RESTRICTION_NONE, NULL, NULL },
	{ "# Title\n", RESTRICTION_NONE, NULL, NULL },
	{ "# Title\n---\nallowed-tools: Read\n---\n", RESTRICTION_NONE, NULL, NULL },
	{ "---\n---\nbody\n", RESTRICTION_NONE, NULL, NULL },
	{ "---\n# only a comment\n---\nbody\n", RESTRICTION_NONE, NULL, NULL },
	{ "---\nname: x\ndescription: y\n---\nallowed-tools: Read\n", RESTRICTION_NONE, NULL, NULL },
	{ "---\nname: x\nallowedTools: []\n---\n", RESTRICTION_NONE, NULL, NULL },
	{ "---\nname: x\nmetadata: {allowed-tools: Read}\n---\n", RESTRICTION_NONE, NULL, NULL },
	// text
	{ "---\nallowed-tools: Read\n---\n", RESTRICTION_LIST, "read", NULL },
	{ "---\nallowed-tools: Read Write Edit Bash\n---\n", RESTRICTION_LIST, "read write edit exec", NULL },
	{ "---\nallowed-tools: Read, Write,Edit ,Bash\n---\n", RESTRICTION_LIST, "read write edit exec",
	  NULL },
	{ "---\nallowed-tools: 'Grep, Glob'\n---\n", RESTRICTION_LIST, "grep find", NULL },
	{ "---\nallowed-tools: >\n  LS\n  WebFetch\n---\n", RESTRICTION_LIST, "ls web_fetch", NULL },
	{ "---\nallowed-tools: MultiEdit WebSearch Task NotebookEdit\n---\n", RESTRICTION_LIST,
	  "edit web_search subagents notebook_edit", NULL },
	{ "---\nallowed-tools: read exec my_tool mcp__a--b Python group:web\n---\n", RESTRICTION_LIST,
	  "read exec my_tool mcp__a--b Python group:web", NULL },
	{ "---\nallowed-tools: Bash(git:*)\n---\n", RESTRICTION_LIST, "exec", "git:*" },
	{ "---\nallowed-tools: Bash(git add:*), Bash(git commit:*), Read\n---\n", RESTRICTION_LIST,
	  "exec exec read", "git add:*|git commit:*" },
	{ "---\nallowed-tools: Bash(echo (a, b):*) Read\n---\n", RESTRICTION_LIST, "exec read",
	  "echo (a, b):*" },
	{ "---\nallowed-tools: Bash(*) Write(*) WebFetch(*)\n---\n", RESTRICTION_LIST, "exec write web_fetch",
	  NULL },
	{ "---\nallowed-tools: Bash(git:*) Bash\n---\n", RESTRICTION_LIST, "exec exec", NULL },
	{ "---\nallowed-tools: Read(./src/**)\n---\n", RESTRICTION_LIST, "read", NULL },
	{ "---\nallowed-tools: ''\n---\n", RESTRICTION_LIST, NULL, NULL },
	// lists
	{ "---\nallowed-tools: [Read, Grep]\n---\n", RESTRICTION_LIST, "read grep", NULL },
	{ "---\nallowed-tools:\n  - Read\n  - Bash(npm run test:*)\n---\n", RESTRICTION_LIST, "read exec",
	  "npm run test:*" },
	{ "---\nallowed-tools: []\n---\n", RESTRICTION_LIST, NULL, NULL },
	{ "---\nallowedTools:\n- read\n- web_fetch\n---\n", RESTRICTION_LIST, "read web_fetch", NULL },
	// both: only what is in both
	{ "---\nallowed-tools: Read Write Bash\nallowedTools: [read, exec, grep]\n---\n", RESTRICTION_LIST,
	  "read exec", NULL },
	{ "---\nallowedTools: [read]\nallowed-tools: Write\n---\n", RESTRICTION_LIST, NULL, NULL },
	{ "---\nallowed-tools: Bash(git:*)\nallowedTools: [exec]\n---\n", RESTRICTION_LIST, "exec", "git:*" },
	{ "---\nallowedTools: [exec]\nallowed-tools: Bash(git:*)\n---\n", RESTRICTION_LIST, "exec", "git:*" },
	{ "---\nallowed-tools: Bash(git:*) Bash(ls:*)\nallowedTools: ['Bash(ls:*)']\n---\n", RESTRICTION_LIST,
	  "exec exec", "ls:*" },
	{ "---\nallowed-tools: Read Bash(git:*)\nallowedTools: [read, 'Bash(ls:*)']\n---\n", RESTRICTION_LIST,
	  "read", NULL },
	{ "---\nallowed-tools: Bash(git:*)\nallowedTools: [read]\n---\n", RESTRICTION_LIST, NULL, NULL },
	{ "---\nallowed-tools: Read\nallowedTools: []\n---\n", RESTRICTION_LIST, "read", NULL },
	{ "---\nallowed-tools: Read\nallowedTools: 5\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	// lenient about the rest
	{ MARK "---\r\nname: x\r\nallowed-tools: Read\r\n---\r\nbody\r\n", RESTRICTION_LIST, "read", NULL },
	{ "---\nname: [1, {a: b}]\nodd: &a {x: *a}\nversion: 1.0\nallowed-tools: Read\n---\n",
	  RESTRICTION_LIST, "read", NULL },
	{ "---\nallowed-tools: Read\n---", RESTRICTION_LIST, "read", NULL },
	{ "---\n\"allowed-tools\": Read\n---\n", RESTRICTION_LIST, "read", NULL },
	{ "---\n\"allowed\\x2dtools\": Read\n---\n", RESTRICTION_LIST, "read", NULL },
	// not readable
	{ "---\nallowed-tools: 5\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: true\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools:\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: {Read: true}\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: [[Read]]\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: [Read, 5]\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: [Read, '']\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: Bash(git\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: Bash)\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: Bash()\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: (git:*)\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: Bash(a)b\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: \"Read\\0Write\"\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: !!str Read\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowedTools: read\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: Read\nallowed-tools: Write\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nname: a\nname: b\nallowed-tools: Read\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nallowed-tools: Bash(a)\nallowed-tools: Bash(b)\nallowed-tools: Bash(c)\n---\n",
	  RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nx: &a Read\nallowed-tools: *a\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nx: &a allowed-tools\n*a : Read\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nx: &a {allowed-tools: Read}\n<<: *a\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\n? [allowed-tools]\n: Read\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\n[allowed-tools]\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\njust words\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nname: a: b\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nname: [\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\n\tname: x\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nname: x\n...\nallowed-tools: Read\n---\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ "---\nname: x\nallowed-tools: Read\n", RESTRICTION_UNREADABLE, NULL, NULL },
	{ MARK "---\r\nallowed-tools: Read", RESTRICTION_UNREADABLE, NULL, NULL },
};

static void assert_list(size_t index, const char *what, const struct strv *list, const char *expected,
			const char *apart)
{
	struct buf joined CLEANUP(buf) = BUF_INIT;

	for (size_t i = 0; i < list->count; i++)
		assert_int_equal(buf_printf(&joined, "%s%s", i > 0 ? apart : "", list->items[i]), 0);
	if (strcmp(joined.data != NULL ? joined.data : "", expected != NULL ? expected : "") != 0)
		fail_msg("sample %zu: %s are '%s'", index, what, joined.data);
}

static void restriction_samples_read_as_expected(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct manifest manifest;

		assert_int_equal(manifest_parse(samples[i].text, strlen(samples[i].text), &manifest), 0);
		if (manifest.restriction.kind != samples[i].kind)
			fail_msg("sample %zu: kind %d: %s", i, (int)manifest.restriction.kind,
				 samples[i].text);
		assert_list(i, "tools", &manifest.restriction.tools, samples[i].tools, " ");
		assert_list(i, "patterns", &manifest.restriction.exec_patterns, samples[i].patterns, "|");
		manifest_release(&manifest);
	}
}

static void name_and_description_are_read(void **state)
{
	static const char text[] =
		"---\nname: pdf\ndescription: >-\n  Reads\n  files.\nallowed-tools: 5\n---\nbody\n";
	struct manifest manifest;

	(void)state;
	assert_int_equal(manifest_parse(text, sizeof(text) - 1, &manifest), 0);
	assert_string_equal(manifest.name, "pdf");
	assert_string_equal(manifest.description, "Reads files.");
	assert_int_equal(manifest.restriction.kind, RESTRICTION_UNREADABLE);
	manifest_release(&manifest);
	assert_null(manifest.name);
}

static void name_of_another_type_is_absent(void **state)
{
	static const char text[] = "---\nname: [a]\ndescription:\n---\n";
	struct manifest manifest;

	(void)state;
	assert_int_equal(manifest_parse(text, sizeof(text) - 1, &manifest), 0);
	assert_null(manifest.name);
	assert_null(manifest.description);
	assert_int_equal(manifest.restriction.kind, RESTRICTION_NONE);
	manifest_release(&manifest);
}

// `count` times `part` between `head` and `tail`.
static enum restriction_kind repeated(const char *head, const char *part, size_t count, const char *tail)
{
	struct buf text CLEANUP(buf) = BUF_INIT;
	struct manifest manifest;
	enum restriction_kind kind;

	assert_int_equal(buf_append_string(&text, head), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(buf_append_string(&text, part), 0);
	assert_int_equal(buf_append_string(&text, tail), 0);
	assert_int_equal(manifest_parse(text.data, text.len, &manifest), 0);
	kind = manifest.restriction.kind;
	manifest_release(&manifest);
	return kind;
}

static void limits_make_it_unreadable(void **state)
{
	(void)state;
	assert_int_equal(repeated("---\nx: ", "[", 20, "]]]]]]]]]]]]]]]]]]]]\n---\n"), RESTRICTION_NONE);
	assert_int_equal(repeated("---\nx: ", "[", 30000, "\n---\n"), RESTRICTION_UNREADABLE);
	assert_int_equal(repeated("---\nx: ", "a", 60000, "\n---\n"), RESTRICTION_NONE);
	assert_int_equal(repeated("---\nx: ", "a", 70000, "\n---\n"), RESTRICTION_UNREADABLE);
	assert_int_equal(repeated("---\nallowed-tools: ", "a ", 1000, "\n---\n"), RESTRICTION_LIST);
	assert_int_equal(repeated("---\nallowed-tools: ", "a ", 2000, "\n---\n"), RESTRICTION_UNREADABLE);
	assert_int_equal(repeated("---\nallowed-tools: ", "(", 60000, "\n---\n"), RESTRICTION_UNREADABLE);
	// The body is not looked at, however long.
	assert_int_equal(repeated("---\nallowed-tools: Read\n---\n", "x: [\n", 100000, ""), RESTRICTION_LIST);
}

static void random_changes_never_break_it(void **state)
{
	static const char good[] =
		"---\nname: x\ndescription: \"y \\u00e9\"\nallowed-tools: Bash(git:*), Read\n"
		"allowedTools: [exec, 'read']\nmetadata:\n  a: &b [1, *b]\n---\nbody\n";
	static const char bytes[] = "\0\t\n\r []{}()'\"&*!|>%@`:-#,?\\\x80\xff\xc3\xef";
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char text[sizeof(good)];
		struct manifest manifest;

		memcpy(text, good, sizeof(good));
		for (int i = 0; i < 1 + round % 4; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			text[(seed >> 33) % (sizeof(good) - 1)] = bytes[(seed >> 20) % (sizeof(bytes) - 1)];
		}
		assert_int_equal(manifest_parse(text, sizeof(good) - 1, &manifest), 0);
		if (manifest.restriction.kind != RESTRICTION_LIST)
			assert_int_equal(manifest.restriction.tools.count, 0);
		manifest_release(&manifest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restriction_samples_read_as_expected),
		cmocka_unit_test(name_and_description_are_read),
		cmocka_unit_test(name_of_another_type_is_absent),
		cmocka_unit_test(limits_make_it_unreadable),
		cmocka_unit_test(random_changes_never_break_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
