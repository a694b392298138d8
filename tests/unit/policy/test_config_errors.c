// SPDX-License-Identifier: Apache-2.0
//
// Broken configurations: each is refused with its place and with words that help.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/config.h"
#include "policy/nearest.h"
#include "sanitize/cleanup.h"

struct broken {
	const char *text;
	const char *place; // "3:7"
	const char *words; // in the message
};

#define SANDBOX      "agents: {default: {skills: {execSandbox: {"
#define CUSTOM(keys) "rules: {custom: [{" keys "}]}"

static const struct broken broken[] = {
	// keys
	{ "mout:\n  cacheSize: 1\n", "1:1", "unknown key 'mout': did you mean 'mount'?" },
	{ "mount:\n  cachesize: 1MiB\n", "2:3", "unknown key 'cachesize': did you mean 'cacheSize'?" },
	{ "mount:\n  max_file_size: 1MiB\n", "2:3", "did you mean 'maxFileSize'?" },
	{ "zzz: 1\n", "1:1", "unknown key 'zzz': known here are agents, security, mount, rules" },
	{ "agents:\n  default:\n    toolpolicy:\n      profile: full\n", "3:5",
	  "did you mean 'toolPolicy'?" },
	{ SANDBOX "timoutMs: 5}}}}", "1:43", "did you mean 'timeoutMs'?" },
	{ "mount:\n  cacheSize: 1MiB\n  cacheSize: 2MiB\n", "3:3", "duplicate key 'cacheSize'" },
	{ "agents:\n  a: {}\n  a: {}\n", "3:3", "duplicate key 'a'" },
	{ "rules:\n  severity:\n    EXEC_EVAL: warn\n    EXEC_EVAL: off\n", "4:5",
	  "duplicate key 'EXEC_EVAL'" },
	{ "? [a]\n: b\n", "1:3", "a key has to be a word" },
	{ "<<: {mount: {}}\n", "1:1", "unknown key '<<'" },
	// types
	{ "mount: 5\n", "1:8", "mount: expects keys and values, found '5'" },
	{ "mount: [a]\n", "1:8", "expects keys and values, found a list" },
	{ "mount: {cacheSize: }\n", "1:20", "mount.cacheSize: expects a size" },
	{ "mount: {cacheSize: [1]}\n", "1:20", "found a list" },
	{ "mount: {cacheSize: 64XB}\n", "1:20", "expects a size from 1MiB to 16TiB such as 64MiB" },
	{ "mount: {entryTimeoutMs: soon}\n", "1:25",
	  "expects a whole number from 0 to 3600000, found text 'soon'" },
	{ "mount: {entryTimeoutMs: '5'}\n", "1:25", "found text '5'" },
	{ "mount: {entryTimeoutMs: -5}\n", "1:25", "found number '-5'" },
	{ "mount: {entryTimeoutMs: 1.5}\n", "1:25", "found number '1.5'" },
	{ "mount: {entryTimeoutMs: 010}\n", "1:25", "found number '010'" },
	{ "mount: {entryTimeoutMs: 0x10}\n", "1:25", "found number '0x10'" },
	{ "mount: {entryTimeoutMs: 99999999999999999999999999999999}\n", "1:25", "expects a whole number" },
	{ "mount: {entryTimeoutMs: 18446744073709551617}\n", "1:25", "expects a whole number" },
	{ "mount: {cacheSize: 18446744073709551615T}\n", "1:20", "expects a size" },
	{ "mount: {cacheSize: 16777217T}\n", "1:20", "expects a size" },
	{ "mount: {scanTimeMs: 0}\n", "1:21", "expects a whole number from 1 to 3600000" },
	{ "mount: {scanTimeMs: 3600001}\n", "1:21", "expects a whole number from 1 to 3600000" },
	{ "mount: {maxFileSize: 3GiB}\n", "1:22", "expects a size from 1 to 2GiB" },
	{ "mount: {maxFileSize: 0}\n", "1:22", "expects a size from 1 to 2GiB" },
	{ "agents: {default: {toolPolicy: {allow: exec}}}", "1:40",
	  "expects a list of names, found text 'exec'" },
	{ "agents: {default: {toolPolicy: {deny: }}}", "1:39", "expects a list of names, found nothing" },
	{ "agents: {default: {toolPolicy: {deny: {exec: true}}}}", "1:39", "found keys and values" },
	{ "agents: {default: {toolPolicy: {deny: [5]}}}", "1:40",
	  "expects text (in quotes, if it is meant so)" },
	{ "agents: {default: {toolPolicy: {deny: ['']}}}", "1:40", "1 to 512 bytes" },
	{ "agents: {default: {toolPolicy: {deny: [[exec]]}}}", "1:40", "expects text, found a list" },
	{ "agents: {default: {toolPolicy: {profile: [coding]}}}", "1:42", "expects text, found a list" },
	{ "agents: {default: {toolPolicy: {profile: ''}}}", "1:42", "1 to 512 bytes" },
	{ "agents: {default: {toolPolicy: {profile: null}}}", "1:42", "expects text, found nothing" },
	{ "agents: {default: {knownTools: ['a,b']}}", "1:33", "a tool name" },
	{ "agents: {default: {knownTools: [\"a\\nb\"]}}", "1:33", "a tool name" },
	{ "agents: {default: {skills: {contentScanning: {enabled: yes}}}}", "1:56",
	  "expects true or false, found text 'yes'" },
	{ "agents: {default: {skills: {contentScanning: {enabled: 'true'}}}}", "1:56",
	  "expects true or false" },
	{ "agents: {../x: {}}", "1:10", "'../x' is not an agent's name" },
	{ "agents: {.x: {}}", "1:10", "is not an agent's name" },
	{ "agents: [default]", "1:9", "found a list" },
	{ "rules: {custom: {id: A}}", "1:17", "expects a list of custom rules" },
	// choices
	{ SANDBOX "enabled: alway}}}}", "1:52",
	  "expects always, never or required, found text 'alway': did you mean 'always'?" },
	{ SANDBOX "enabled: true}}}}", "1:52", "expects always, never or required, found 'true'" },
	{ "rules: {severity: {EXEC_EVAL: fatal}}", "1:31", "expects critical, warn or off" },
	{ "rules: {contexts: {table: off}}", "1:27", "rules.contexts.table: expects warn, found text 'off'" },
	{ "rules: {contexts: {tabel: warn}}", "1:20", "unknown context 'tabel': did you mean 'table'?" },
	{ "rules: {severity: {EXEC_EVIL: warn}}", "1:20",
	  "unknown rule 'EXEC_EVIL': did you mean 'EXEC_EVAL'?" },
	{ "rules: {severity: {exec_eval: warn}}", "1:20", "is not a rule id" },
	{ "mount: {classes: {'*.x': text}}", "1:26", "expects prose, code or binary" },
	{ "mount: {classes: {/abs: code}}", "1:19", "not beginning with '/'" },
	{ "agents: {default: {sourceProfiles: {bash: {maxChars: -1}}}}", "1:54", "expects a whole number" },
	{ "agents: {default: {sourceProfiles: {bash: {extractionStrategy: tial}}}}", "1:64",
	  "did you mean 'tail'?" },
	// paths
	{ "agents: {default: {workspace: work}}", "1:31", "expects an absolute path, found text 'work'" },
	{ "agents: {default: {workspace: ~/work}}", "1:31", "'~' is not expanded" },
	{ "agents: {default: {workspace: /}}", "1:31", "expects a path below '/'" },
	{ "agents: {default: {workspace: //./}}", "1:31", "expects a path below '/'" },
	{ "agents: {default: {workspace: /a/..}}", "1:31", "expects a path without '..'" },
	{ "agents: {default: {workspace: \"/a\\nb\"}}", "1:31", "without control characters" },
	{ "agents: {default: {workspace: 5}}", "1:31", "expects an absolute path, found number '5'" },
	{ SANDBOX "readOnlyAllowPaths: [opt]}}}}", "1:64", "expects an absolute path" },
	{ SANDBOX "readOnlyAllowPaths: /opt}}}}", "1:63", "expects a list of absolute paths" },
	{ SANDBOX "network: {mode: broker-only}}}}}", "1:53", "broker-only needs brokerSocketPath" },
	{ SANDBOX "network: {mode: broker-only, brokerSocketPath: b.sock}}}}}", "1:90",
	  "expects an absolute path" },
	// not yet
	{ "agents: {default: {budget: {maxTokens: 5}}}", "1:20",
	  "agents.default.budget is not supported by this version yet" },
	{ "agents: {default: {circuitBreaker: {failureThreshold: 5}}}", "1:20",
	  "not supported by this version yet" },
	{ "agents: {default: {maxSteps: 150}}", "1:20", "agents.default.maxSteps is not supported" },
	{ "security: {permission: {enableNodePermissions: false}}", "1:12",
	  "security.permission is not supported" },
	{ "security: {boundBinary: {path: /x}}", "1:12", "security.boundBinary is not supported" },
	{ "mount: {followSymlinks: [store]}", "1:26", "mount.followSymlinks: expects an absolute path" },
	{ "mount: {quarantine: skill}", "1:21",
	  "mount.quarantine: 'skill' is not supported by this version yet" },
	// own rules
	{ CUSTOM("severity: warn, pattern: x"), "1:18", "rules.custom[0]: key 'id' is missing" },
	{ CUSTOM("id: ABC, severity: warn"), "1:18", "key 'pattern' is missing" },
	{ CUSTOM("id: ABC, pattern: x"), "1:18", "key 'severity' is missing" },
	{ CUSTOM("id: abc, severity: warn, pattern: x"), "1:23", "a rule id" },
	{ CUSTOM("id: AB, severity: warn, pattern: x"), "1:23", "a rule id" },
	{ CUSTOM("id: ABC, severity: off, pattern: x"), "1:38", "expects critical or warn" },
	{ CUSTOM("id: ABC, severity: warn, pattern: ''"), "1:53", "a pattern of 1 to 4096 bytes" },
	{ CUSTOM("id: ABC, severity: warn, pattern: x, category: Acme"), "1:66", "a category" },
	{ CUSTOM("id: EXEC_EVAL, severity: warn, pattern: x"), "1:19", "'EXEC_EVAL' is a built-in rule" },
	{ CUSTOM("id: ABC, severity: warn, pattern: x}, {id: ABC, severity: warn, pattern: y"), "1:58",
	  "rules.custom[1].id: 'ABC' is there twice" },
	{ CUSTOM("id: ABC, severity: warn, pattern: x, flags: i"), "1:56", "unknown key 'flags'" },
	{ "rules: {custom: [5]}", "1:18", "expects keys and values" },
	// YAML itself
	{ "mount:\n\tcacheSize: 1MiB\n", "2:1", "a tab is used for indentation: YAML takes spaces only" },
	{ "mount: {cacheSize: 1MiB\n", "2:1", "did not find expected" },
	{ "mount: &m {cacheSize: 1MiB}\n", "1:8", "anchors and aliases are not allowed" },
	{ "mount: *m\n", "1:8", "anchors and aliases are not allowed" },
	{ "mount: !!map {cacheSize: 1MiB}\n", "1:8", "tags are not allowed" },
	{ "mount: {}\n---\nmount: {}\n", "2:1", "more than one document" },
	{ "mount:\n  cacheSize: \"\xc3\x28\"\n", "2:16", "not a text file in UTF-8" },
	{ "\xff\xfem\n", "1:1", "not a text file in UTF-8" },
	{ "mount: \x01\n", "1:8", "not a text file in UTF-8: control characters are not allowed" },
	{ "mount: \"\\q\"\n", "1:9", "found unknown escape character" },
	{ "a configuration", "1:1", "a configuration is made of keys and values" },
	{ "[]", "1:1", "a configuration is made of keys and values" },
	{ "\"a\\0b\": 1\n", "1:1", "NUL character" },
};

static void assert_broken(size_t index, const char *text, size_t len, int code, const char *place,
			  const char *words)
{
	struct config *config = NULL;
	struct error error = { "" };
	char start[64];
	int rc = config_parse("skillfs.yaml", text, len, &config, &error);

	assert_null(config);
	(void)snprintf(start, sizeof(start), "skillfs.yaml:%s: ", place);
	if (rc != code || strncmp(error.message, start, strlen(start)) != 0 ||
	    strstr(error.message, words) == NULL)
		fail_msg("sample %zu: %d: %s\n  expected %s%s", index, rc, error.message, start, words);
}

static void broken_files_are_refused_with_place_and_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++)
		assert_broken(i, broken[i].text, strlen(broken[i].text), -EINVAL, broken[i].place,
			      broken[i].words);
}

static void nul_bytes_are_refused(void **state)
{
	static const char text[] = "mount:\n  cacheSize: 1MiB\0\n";

	(void)state;
	assert_broken(0, text, sizeof(text) - 1, -EINVAL, "2:18", "NUL character");
}

static void a_file_that_is_too_large_is_refused(void **state)
{
	size_t len = (size_t)10 << 20;
	CLEANUP(free) char *text = malloc(len);
	struct config *config = NULL;
	struct error error = { "" };

	(void)state;
	assert_non_null(text);
	memset(text, '#', len);
	assert_int_equal(config_parse("skillfs.yaml", text, len, &config, &error), -EFBIG);
	assert_non_null(strstr(error.message, "at most 1048576"));
	assert_int_equal(config_parse("skillfs.yaml", text, CONFIG_MAX_SIZE, &config, &error), 0);
	config_free(config);
}

// Just under the limit in size, of one thing over and over: an error or a configuration, soon.
static void assert_bounded(const char *head, const char *part, const char *tail)
{
	struct buf text CLEANUP(buf) = BUF_INIT;
	CLEANUP(config) struct config *config = NULL;
	struct error error = { "" };

	assert_int_equal(buf_append_string(&text, head), 0);
	while (text.len + strlen(part) + strlen(tail) < CONFIG_MAX_SIZE)
		assert_int_equal(buf_append_string(&text, part), 0);
	assert_int_equal(buf_append_string(&text, tail), 0);
	if (config_parse("skillfs.yaml", text.data, text.len, &config, &error) == 0)
		fail_msg("%s%s... was taken", head, part);
}

static void floods_are_refused(void **state)
{
	(void)state;
	assert_bounded("", "[", "");
	assert_bounded("mount: ", "{a: ", "");
	assert_bounded("", "- ", "");
	assert_bounded("agents: {default: {toolPolicy: {allow: [", "a,", "]}}}");
	assert_bounded("agents: {default: {toolPolicy: {profile: ", "a", "}}}");
	assert_bounded("agents: {", "a: {}, ", "}");
	assert_bounded("", "a", ": 1");
	assert_bounded("a: &a [x]\nb: [", "*a,", "]");
	assert_bounded("rules: {custom: [", "{id: A, severity: warn, pattern: x},", "]}");
	assert_bounded("", "---\n", "");
	assert_bounded("mount: {entryTimeoutMs: ", "9", "}");
	assert_bounded("mount: \"", "\\x41", "\"");
	assert_bounded("", "? ", "");
	assert_bounded("", "%TAG ! tag:a,2000:\n", "--- {a: 1}");
}

static void many_agents_are_refused(void **state)
{
	struct buf text CLEANUP(buf) = BUF_INIT;
	struct config *config = NULL;
	struct error error = { "" };

	(void)state;
	assert_int_equal(buf_append_string(&text, "agents:\n"), 0);
	for (int i = 0; i < 300; i++)
		assert_int_equal(buf_printf(&text, "  a%d: {}\n", i), 0);
	assert_int_equal(config_parse("skillfs.yaml", text.data, text.len, &config, &error), -EINVAL);
	assert_non_null(strstr(error.message, "skillfs.yaml:258:3: agents: more than 256 entries"));
}

static void long_names_leave_room_for_the_reason(void **state)
{
	char name[2000];
	struct config *config = NULL;
	struct error error = { "" };

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(config_parse(name, "mout: 1", 7, &config, &error), -EINVAL);
	assert_non_null(strstr(error.message, "n:1:1: unknown key 'mout': did you mean 'mount'?"));
	// A message is optional.
	assert_int_equal(config_parse(name, "mout: 1", 7, &config, NULL), -EINVAL);
}

static void nearest_offers_slips_only(void **state)
{
	static const struct {
		const char *word, *candidate;
		bool near;
	} samples[] = {
		{ "mount", "mount", true },
		{ "mout", "mount", true },
		{ "mounts", "mount", true },
		{ "muont", "mount", true },
		{ "MOUNT", "mount", true },
		{ "max_file_size", "maxFileSize", true },
		{ "rules", "mount", false },
		{ "x", "mount", false },
		{ "", "mount", false },
		{ "id", "mode", false },
		{ "maxfilesiez", "maxFileSize", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct nearest nearest;

		nearest_start(&nearest, samples[i].word);
		nearest_offer(&nearest, samples[i].candidate);
		if ((nearest.best != NULL) != samples[i].near)
			fail_msg("%s and %s", samples[i].word, samples[i].candidate);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_files_are_refused_with_place_and_reason),
		cmocka_unit_test(nul_bytes_are_refused),
		cmocka_unit_test(a_file_that_is_too_large_is_refused),
		cmocka_unit_test(floods_are_refused),
		cmocka_unit_test(many_agents_are_refused),
		cmocka_unit_test(long_names_leave_room_for_the_reason),
		cmocka_unit_test(nearest_offers_slips_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
