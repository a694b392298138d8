// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fs/request.h"
#include "sanitize/cleanup.h"

static int parse(const char *text, struct exec_request *ret, struct error *error)
{
	return request_parse(text, strlen(text), ret, error);
}

static void line_is_the_command(void **state)
{
	CLEANUP(exec_request) struct exec_request request = { 0 };

	(void)state;
	assert_int_equal(parse("ls -la; echo 'x'\n", &request, NULL), 0);
	assert_string_equal(request.command, "ls -la; echo 'x'");
	assert_int_equal(request.argv.count, 0);
	assert_null(request.skill);
}

static void line_of_several_lines_stays_whole(void **state)
{
	CLEANUP(exec_request) struct exec_request request = { 0 };

	(void)state;
	assert_int_equal(parse("cat <<E\na\nE\n\n", &request, NULL), 0);
	assert_string_equal(request.command, "cat <<E\na\nE");
}

static void line_with_nul_is_refused(void **state)
{
	CLEANUP(exec_request) struct exec_request request = { 0 };

	(void)state;
	assert_int_equal(request_parse("a\0b\n", 4, &request, NULL), -EINVAL);
}

static void empty_line_is_refused(void **state)
{
	CLEANUP(exec_request) struct exec_request request = { 0 };

	(void)state;
	assert_int_equal(parse(" \t\n", &request, NULL), -EINVAL);
	assert_int_equal(parse("", &request, NULL), -EINVAL);
}

static void object_fills_every_field(void **state)
{
	CLEANUP(exec_request) struct exec_request request = { 0 };
	struct error error = { "" };

	(void)state;
	assert_int_equal(parse("{\"argv\":[\"printf\",\"%s\",\"\"],\"cwd\":\"/"
			       "w\",\"env\":{\"LANG\":\"C\"},\"stdin\":\"in\\n\","
			       "\"timeoutMs\":1500,\"skill\":\"a/"
			       "b\",\"tool\":\"exec\",\"limits\":{\"memoryMax\":1,\"pidsMax\":2,"
			       "\"fileSizeMax\":3,\"tmpSizeMax\":4}}",
			       &request, &error),
			 0);
	assert_null(request.command);
	assert_int_equal(request.argv.count, 3);
	assert_string_equal(request.argv.items[2], "");
	assert_string_equal(request.cwd, "/w");
	assert_string_equal(request.env.items[0], "LANG=C");
	assert_memory_equal(request.input.data, "in\n", 3);
	assert_int_equal(request.timeout_ms, 1500);
	assert_string_equal(request.skill, "a/b");
	assert_string_equal(request.tool, "exec");
	assert_int_equal(request.limits.memory_max, 1);
	assert_int_equal(request.limits.pids_max, 2);
	assert_int_equal(request.limits.file_size_max, 3);
	assert_int_equal(request.limits.tmp_size_max, 4);
}

static void bad_objects_are_refused_with_a_reason(void **state)
{
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{ "{", "line 1" },
		{ "{}", "one of 'command' and 'argv'" },
		{ "{\"command\":\"a\",\"argv\":[\"a\"]}", "one of 'command' and 'argv'" },
		{ "{\"command\":5}", "command" },
		{ "{\"command\":\"\"}", "command" },
		{ "{\"command\":\" \"}", "empty" },
		{ "{\"command\":\"a\",\"command\":\"b\"}", "duplicate" },
		{ "{\"command\":\"a\\u0000b\"}", "\\u0000" },
		{ "{\"comand\":\"a\"}", "unknown key 'comand'" },
		{ "{\"argv\":[]}", "argv" },
		{ "{\"argv\":[\"\"]}", "argv[0]" },
		{ "{\"argv\":[\"a\",1]}", "argv[1]" },
		{ "{\"argv\":[\"a\"],\"env\":[]}", "env" },
		{ "{\"argv\":[\"a\"],\"env\":{\"PATH\":\"/x\"}}", "PATH" },
		{ "{\"argv\":[\"a\"],\"env\":{\"LD_PRELOAD\":\"/x\"}}", "LD_PRELOAD" },
		{ "{\"argv\":[\"a\"],\"env\":{\"A=B\":\"x\"}}", "A=B" },
		{ "{\"argv\":[\"a\"],\"env\":{\"LANG\":1}}", "LANG" },
		{ "{\"argv\":[\"a\"],\"timeoutMs\":0}", "timeoutMs" },
		{ "{\"argv\":[\"a\"],\"timeoutMs\":-5}", "timeoutMs" },
		{ "{\"argv\":[\"a\"],\"timeoutMs\":1.5}", "timeoutMs" },
		{ "{\"argv\":[\"a\"],\"limits\":{\"memory\":1}}", "unknown key 'memory'" },
		{ "{\"argv\":[\"a\"],\"limits\":{\"pidsMax\":\"1\"}}", "pidsMax" },
		{ "{\"argv\":[\"a\"]} x", "line 1" },
		{ "{\"argv\":[\"\xff\"]}", "line 1" },
		// What a terminal could act on is escaped.
		{ "{\"a\\u001b[1m\":1}", "unknown key 'a\\u{1b}[1m'" },
		{ "{\"argv\":[\"a\"],\"env\":{\"\\u202eA\":\"x\"}}", "\\u{202e}A may not be set" },
		{ "{\"a\":\x07}", "\\u{7}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(exec_request) struct exec_request request = { 0 };
		struct error error = { "" };

		if (parse(cases[i].text, &request, &error) != -EINVAL)
			fail_msg("accepted: %s", cases[i].text);
		if (strstr(error.message, cases[i].reason) == NULL)
			fail_msg("%s: '%s' does not say '%s'", cases[i].text, error.message, cases[i].reason);
		assert_null(request.command);
		assert_null(request.argv.items);
	}
}

static void request_above_the_maximum_is_refused(void **state)
{
	CLEANUP(exec_request) struct exec_request request = { 0 };
	CLEANUP(free) char *text = malloc(REQUEST_MAX_SIZE + 1);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', REQUEST_MAX_SIZE + 1);
	assert_int_equal(request_parse(text, REQUEST_MAX_SIZE + 1, &request, NULL), -E2BIG);
	assert_int_equal(request_parse(text, REQUEST_MAX_SIZE, &request, NULL), 0);
}

static void object_is_complete_when_it_has_ended(void **state)
{
	static const struct {
		const char *text;
		bool complete;
	} cases[] = {
		{ "{\"command\":\"a\"}", true },
		{ "{\"command\":\"a\"}\n", true },
		{ "{\"limits\":{}", false },
		{ "{\"command\":\"a}", false },
		{ "{\"command\":\"a\"", false },
		{ "{nonsense}", true }, // ended badly
		{ "ls\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (request_complete(cases[i].text, strlen(cases[i].text)) != cases[i].complete)
			fail_msg("%s", cases[i].text);
	}
}

static void summary_is_clipped_between_characters(void **state)
{
	CLEANUP(exec_request) struct exec_request line = { 0 };
	CLEANUP(exec_request) struct exec_request list = { 0 };
	CLEANUP(free) char *one = NULL;
	CLEANUP(free) char *two = NULL;
	CLEANUP(free) char *three = NULL;

	(void)state;
	assert_int_equal(parse("ab\xc3\xa9z\ny", &line, NULL), 0);
	assert_int_equal(parse("{\"argv\":[\"a\",\"b c\"]}", &list, NULL), 0);
	one = request_summary(&line, 100);
	two = request_summary(&line, 3);
	three = request_summary(&list, 100);
	assert_string_equal(one, "ab\xc3\xa9z y");
	assert_string_equal(two, "ab...");
	assert_string_equal(three, "a b c");
}

static void limits_tighten_and_never_loosen(void **state)
{
	CLEANUP(exec_request) struct exec_request request = { 0 };
	struct exec_sandbox sandbox = {
		.timeout_ms = 1000, .memory_max = 100, .pids_max = 10, .tmp_size_max = 5
	};

	(void)state;
	assert_int_equal(
		parse("{\"command\":\"a\",\"timeoutMs\":2000,\"limits\":{\"memoryMax\":50,\"pidsMax\":20}}",
		      &request, NULL),
		0);
	request_tighten(&request, &sandbox);
	assert_int_equal(sandbox.timeout_ms, 1000);
	assert_int_equal(sandbox.memory_max, 50);
	assert_int_equal(sandbox.pids_max, 10);
	assert_int_equal(sandbox.tmp_size_max, 5);
	request.timeout_ms = 500;
	request_tighten(&request, &sandbox);
	assert_int_equal(sandbox.timeout_ms, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_is_the_command),
		cmocka_unit_test(line_of_several_lines_stays_whole),
		cmocka_unit_test(line_with_nul_is_refused),
		cmocka_unit_test(empty_line_is_refused),
		cmocka_unit_test(object_fills_every_field),
		cmocka_unit_test(bad_objects_are_refused_with_a_reason),
		cmocka_unit_test(request_above_the_maximum_is_refused),
		cmocka_unit_test(object_is_complete_when_it_has_ended),
		cmocka_unit_test(summary_is_clipped_between_characters),
		cmocka_unit_test(limits_tighten_and_never_loosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
