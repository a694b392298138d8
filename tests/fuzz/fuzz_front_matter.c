// SPDX-License-Identifier: Apache-2.0
//
// Input: a SKILL.md. Where its front matter ends, and what its author may say
// about tools: a skill may only take tools away from itself.
#include "fuzz.h"
#include "policy/manifest.h"
#include "sanitize/sanitize.h"

// Keys put in before the closing line.
static const char *const narrowers[] = { "\nallowed-tools: [Read]\n", "\nallowedTools: [Read]\n" };

static struct manifest parse(const char *text, size_t len)
{
	struct manifest manifest;
	char *copy = fuzz_copy(text, len);
	int rc = manifest_parse(copy, len, &manifest);

	free(copy);
	FUZZ_CHECK(rc == 0, "%d", rc);
	return manifest;
}

static bool is_same_list(const struct strv *a, const struct strv *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void check_form(const struct skill_restriction *restriction)
{
	static const char *const theirs[] = { "Bash", "bash", "Read", "WebFetch", "Task" };

	switch (restriction->kind) {
	case RESTRICTION_NONE:
	case RESTRICTION_UNREADABLE:
		FUZZ_CHECK(restriction->tools.count == 0 && restriction->exec_patterns.count == 0,
			   "kind %d with %zu tools", (int)restriction->kind, restriction->tools.count);
		break;
	case RESTRICTION_LIST:
		FUZZ_CHECK(restriction->exec_patterns.count == 0 ||
				   strv_contains(&restriction->tools, "exec"),
			   "patterns without exec");
		break;
	}
	FUZZ_CHECK(restriction->tools.count <= RESTRICTION_MAX_TOOLS &&
			   restriction->exec_patterns.count <= RESTRICTION_MAX_TOOLS,
		   "%zu tools", restriction->tools.count);
	for (size_t i = 0; i < restriction->tools.count; i++)
		FUZZ_CHECK(restriction->tools.items[i][0] != '\0', "tool %zu has no name", i);
	for (size_t i = 0; i < restriction->exec_patterns.count; i++)
		FUZZ_CHECK(restriction->exec_patterns.items[i][0] != '\0', "pattern %zu is empty", i);
	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		FUZZ_CHECK(!strv_contains(&restriction->tools, theirs[i]), "%s has our name", theirs[i]);
}

// Start of the line that ends at `end`, which may have a line end of its own.
static size_t line_start(const char *text, size_t end)
{
	if (end > 0 && text[end - 1] == '\n')
		end--;
	while (end > 0 && text[end - 1] != '\n')
		end--;
	return end;
}

// Whether the line at `at` is three dashes and blanks.
static bool is_fence(const char *text, size_t at, size_t len)
{
	if (len - at < 3 || memcmp(text + at, "---", 3) != 0)
		return false;
	for (at += 3; at < len && text[at] != '\n'; at++)
		if (strchr(" \t\r", text[at]) == NULL || text[at] == '\0')
			return false;
	return true;
}

static void check_length(const char *text, size_t len, size_t front)
{
	const size_t mark = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
	size_t at = line_start(text, front);
	char *copy = fuzz_copy(text, front);

	FUZZ_CHECK(front <= len && front >= mark + 7, "%zu of %zu", front, len);
	FUZZ_CHECK(is_fence(text, mark, front) && is_fence(text, at, front) && at > mark,
		   "%zu has no fence at %zu", front, at);
	FUZZ_CHECK(front == len || text[front - 1] == '\n', "%zu is inside a line", front);
	FUZZ_CHECK(front_matter_length(copy, front) == front, "%zu alone is another", front);
	free(copy);
}

static bool is_subset(const struct strv *small, const struct strv *large)
{
	for (size_t i = 0; i < small->count; i++)
		if (!strv_contains(large, small->items[i]))
			return false;
	return true;
}

// The same front matter with one more restriction never allows more.
static void check_narrower(const char *text, size_t front, const char *narrower,
			   const struct skill_restriction *before)
{
	const size_t at = line_start(text, front), extra = strlen(narrower);
	char *more = malloc(front + extra);
	struct manifest manifest;
	const struct skill_restriction *after = &manifest.restriction;

	if (more == NULL)
		abort();
	memcpy(more, text, at);
	memcpy(more + at, narrower, extra);
	memcpy(more + at + extra, text + at, front - at);
	manifest = parse(more, front + extra);
	FUZZ_CHECK(after->kind != RESTRICTION_NONE, "a restriction is lost");
	FUZZ_CHECK(before->kind != RESTRICTION_UNREADABLE || after->kind == RESTRICTION_UNREADABLE,
		   "one key makes the rest readable");
	FUZZ_CHECK(before->kind != RESTRICTION_LIST || is_subset(&after->tools, &before->tools),
		   "one more key allows more");
	for (size_t i = 0; i < after->tools.count; i++)
		FUZZ_CHECK(strcmp(after->tools.items[i], "read") == 0, "%s is left", after->tools.items[i]);
	manifest_release(&manifest);
	free(more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct piece input = fuzz_input(data, size);
	size_t front = front_matter_length(input.data, input.len);
	struct manifest whole = parse(input.data, input.len);

	check_form(&whole.restriction);
	if (front > 0) {
		struct manifest alone = parse(input.data, front);

		check_length(input.data, input.len, front);
		// The body has no say.
		FUZZ_CHECK(alone.restriction.kind == whole.restriction.kind &&
				   is_same_list(&alone.restriction.tools, &whole.restriction.tools) &&
				   is_same_list(&alone.restriction.exec_patterns,
						&whole.restriction.exec_patterns) &&
				   is_same_text(alone.name, whole.name) &&
				   is_same_text(alone.description, whole.description),
			   "the body changes the manifest");
		manifest_release(&alone);
		for (size_t i = 0; i < sizeof(narrowers) / sizeof(narrowers[0]); i++)
			check_narrower(input.data, front, narrowers[i], &whole.restriction);
	} else {
		FUZZ_CHECK(whole.name == NULL && whole.description == NULL &&
				   whole.restriction.kind != RESTRICTION_LIST,
			   "a manifest without front matter");
	}
	manifest_release(&whole);
	return 0;
}
