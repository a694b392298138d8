// SPDX-License-Identifier: Apache-2.0
//
// The JSON shapes that users are promised: exact names, types and order, and no bytes that break a reader.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fs/output/json_stream.h"
#include "sanitize/cleanup.h"
#include "sanitize/rules.h"

static const struct rule example = {
	.id = "EXAMPLE_RULE",
	.category = "example_category",
	.severity = SEVERITY_CRITICAL,
	.description = "An example",
};

static struct finding example_finding(char *matched)
{
	return (struct finding){
		.rule = &example,
		.severity = SEVERITY_WARN,
		.matched_text = matched,
		.position = 17,
		.byte_offset = 21,
		.line = 3,
		.stage = STAGE_SANITIZED,
		.context = CONTEXT_FENCED_CODE,
		.approved = true,
	};
}

// The compact text of a value, which is released.
static char *dumped(json_t *value)
{
	struct buf buf = BUF_INIT;

	assert_non_null(value);
	assert_int_equal(json_append(&buf, value, false), 0);
	json_decref(value);
	return buf_detach(&buf);
}

static void assert_dumps(json_t *value, const char *expected)
{
	CLEANUP(free) char *text = dumped(value);

	assert_string_equal(text, expected);
}

static void finding_has_the_promised_fields(void **state)
{
	char matched[] = "curl | sh";
	struct finding finding = example_finding(matched);

	(void)state;
	assert_dumps(
		json_finding(&finding),
		"{\"ruleId\":\"EXAMPLE_RULE\",\"category\":\"example_category\",\"severity\":\"WARN\","
		"\"description\":\"An example\",\"matchedText\":\"curl | "
		"sh\",\"position\":17,\"lineNumber\":3,"
		"\"byteOffset\":21,\"stage\":\"sanitized\",\"context\":\"fenced_code\",\"approved\":true}");
}

// An object with these findings, as it is streamed.
static char *streamed(const struct findings *findings, FILE *file)
{
	static struct json_stream stream;
	struct buf buf = BUF_INIT;
	struct writer writer = { &buf, file };

	assert_int_equal(json_stream_findings(
				 &stream, &writer,
				 json_pack("{s:i, s:[], s:s}", "a", 1, "findings", "z", "\"findings\":[]"),
				 findings, true),
			 0);
	json_stream_release(&stream);
	return buf_detach(&buf);
}

static void findings_without_any_are_an_empty_array(void **state)
{
	CLEANUP(free) char *text = streamed(&(struct findings){ NULL, 0, 0, 0 }, NULL);

	(void)state;
	assert_string_equal(text, "{\"a\":1,\"findings\":[],\"z\":\"\\\"findings\\\":[]\"}\n");
}

// The stream writes what a tree of all findings would dump to, whatever stands in them and whatever their order.
static void streamed_findings_are_those_of_the_tree(void **state)
{
	static const char *const texts[] = { "",
					     "xmrig",
					     "\"matchedText\":\"\"",
					     "a\\\x01\x1b\x7f",
					     "caf\xc3\xa9 \xe2\x80\xae",
					     "\xf3\xa0\x81\x81" };
	static const struct rule odd = {
		.id = "ODD",
		.category = "odd",
		.severity = SEVERITY_CRITICAL,
		.description =
			",\"matchedText\":\"\",\"position\":0,\"lineNumber\":0,\"byteOffset\":0 \xe2\x82\xac",
		.pattern = "x",
	};
	struct finding items[600];
	struct findings findings = { items, ARRAY_SIZE(items), ARRAY_SIZE(items), 0 };
	json_t *array = json_array();
	CLEANUP(free) char *text = NULL, *tree = NULL;
	struct buf expected = BUF_INIT;
	unsigned seed = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		seed = seed * 1103515245u + 12345u;
		items[i] = (struct finding){
			.rule = seed >> 16 & 1 ? &odd : &example,
			.severity = seed >> 17 & 1 ? SEVERITY_WARN : SEVERITY_CRITICAL,
			.matched_text = (char *)texts[(seed >> 18) % ARRAY_SIZE(texts)],
			.position = i == 0 ? SIZE_MAX / 2 : seed >> 8,
			.byte_offset = seed,
			.line = i,
			.stage = seed >> 21 & 1 ? STAGE_RAW : STAGE_SANITIZED,
			.context = (enum context)(seed >> 22 & 7),
			.approved = seed >> 25 & 1,
		};
		assert_int_equal(json_array_append_new(array, json_finding(&items[i])), 0);
	}
	text = streamed(&findings, NULL);
	tree = dumped(array);
	assert_int_equal(
		buf_printf(&expected, "{\"a\":1,\"findings\":%s,\"z\":\"\\\"findings\\\":[]\"}\n", tree), 0);
	assert_string_equal(text, expected.data);
	buf_release(&expected);
}

static void stream_into_a_file_keeps_little(void **state)
{
	char one[] = "one";
	struct finding items[2000];
	struct findings findings = { items, ARRAY_SIZE(items), ARRAY_SIZE(items), 0 };
	FILE *file = tmpfile();
	CLEANUP(free) char *whole = NULL, *rest = NULL, *read_back = NULL;
	size_t len;

	(void)state;
	assert_non_null(file);
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		items[i] = example_finding(one);
	whole = streamed(&findings, NULL);
	rest = streamed(&findings, file);
	assert_true(strlen(rest) < 70000);
	len = (size_t)ftell(file);
	rewind(file);
	read_back = calloc(strlen(whole) + 1, 1);
	assert_int_equal(fread(read_back, 1, len, file), len);
	assert_int_equal(len + strlen(rest), strlen(whole));
	assert_memory_equal(read_back, whole, len);
	assert_string_equal(rest, whole + len);
	(void)fclose(file);
}

static void notices_without_line_and_detail_say_null(void **state)
{
	char detail[] = "hidden words";
	struct notice items[] = { { NOTICE_TAG_BLOCK, 12, 4, detail }, { NOTICE_FS_TOO_LARGE, 1, 0, NULL } };
	struct notices notices = { items, 2, 2 };

	(void)state;
	assert_dumps(json_notices(&notices),
		     "[{\"code\":\"TAG_BLOCK\",\"count\":12,\"line\":4,\"detail\":\"hidden words\"},"
		     "{\"code\":\"FS_TOO_LARGE\",\"count\":1,\"line\":null,\"detail\":null}]");
}

static void sanitize_has_the_promised_fields(void **state)
{
	struct sanitize_stats stats = {
		.html_comments_stripped = 2,
		.truncated = true,
		.tag_block_detected = false,
		.invisible_stripped = 5,
		.normalized = true,
		.source_size = 30000,
		.size = 20012,
	};

	(void)state;
	assert_dumps(json_sanitize(&stats), "{\"htmlCommentsStripped\":2,\"truncated\":true,"
					    "\"tagBlockDetected\":false,\"invisibleStripped\":5,"
					    "\"normalized\":true,\"sourceSize\":30000,\"size\":20012}");
}

static void file_has_the_promised_fields(void **state)
{
	struct report report = { .cls = CLASS_CODE };
	struct snapshot snapshot = { .verdict = VERDICT_CLEAN, .report = &report };

	(void)state;
	assert_dumps(
		json_file("pdf/run.py", &snapshot),
		"{\"path\":\"pdf/"
		"run.py\",\"class\":\"code\",\"verdict\":\"clean\",\"findings\":[],\"notices\":[],"
		"\"sanitize\":{\"htmlCommentsStripped\":0,\"truncated\":false,\"tagBlockDetected\":false,"
		"\"invisibleStripped\":0,\"normalized\":false,\"sourceSize\":0,\"size\":0}}");
}

static void file_with_a_path_that_is_no_utf8_has_its_bytes_in_hex(void **state)
{
	struct report report = { .cls = CLASS_PROSE };
	struct snapshot snapshot = { .verdict = VERDICT_ERROR, .report = &report };
	json_t *value = json_file("a\xff/\xc3\xa9", &snapshot);

	(void)state;
	assert_string_equal(json_string_value(json_object_get(value, "path")), "a\xEF\xBF\xBD/\xc3\xa9");
	assert_string_equal(json_string_value(json_object_get(value, "pathBytes")), "61ff2fc3a9");
	json_decref(value);
}

static void policy_has_the_promised_fields(void **state)
{
	char read[] = "read", write[] = "write";
	char *tools[] = { read, write };
	struct excluded_tool excluded[] = {
		{ "exec", EXCLUDED_EXPLICIT_DENY, "group:coding" },
		{ "browser", EXCLUDED_NOT_IN_PROFILE, "coding" },
		{ "edit", EXCLUDED_NOT_IN_SKILL, NULL },
	};
	struct effective_tools effective = { { tools, 2, 2 }, excluded, 3 };

	(void)state;
	assert_dumps(
		json_policy("default", "pdf", "coding", &effective),
		"{\"agent\":\"default\",\"skill\":\"pdf\",\"profile\":\"coding\",\"tools\":[\"read\","
		"\"write\"],"
		"\"excluded\":[{\"tool\":\"exec\",\"reason\":\"explicit_deny\",\"entry\":\"group:coding\"},"
		"{\"tool\":\"browser\",\"reason\":\"not_in_profile\",\"entry\":\"coding\"},"
		"{\"tool\":\"edit\",\"reason\":\"not_in_skill\",\"entry\":null}]}");
}

static void policy_without_a_skill_says_null(void **state)
{
	struct effective_tools effective = { .excluded = NULL };

	(void)state;
	assert_dumps(json_policy("default", NULL, "minimal", &effective),
		     "{\"agent\":\"default\",\"skill\":null,\"profile\":\"minimal\",\"tools\":[],"
		     "\"excluded\":[]}");
}

static void text_of_any_bytes_is_valid_utf8(void **state)
{
	static const struct {
		const char *bytes, *expected;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "\xff", "\xEF\xBF\xBD" },
		{ "a\x80z", "a\xEF\xBF\xBDz" },
		{ "cut \xe2\x82", "cut \xEF\xBF\xBD" },
		{ "\xf0\x9f\x98\x80!", "\xf0\x9f\x98\x80!" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *value = json_text(cases[i].bytes);

		assert_non_null(value);
		assert_string_equal(json_string_value(value), cases[i].expected);
		json_decref(value);
	}
}

static void text_of_every_byte_pair_can_be_read_back(void **state)
{
	(void)state;
	for (unsigned first = 1; first < 256; first++)
		for (unsigned second = 1; second < 256; second++) {
			const char bytes[] = { (char)first, (char)second, '\0' };
			CLEANUP(free) char *text = dumped(json_text(bytes));
			json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

			assert_non_null(value);
			json_decref(value);
		}
}

static void output_is_ascii_without_controls(void **state)
{
	// A terminal must not be steered: ESC, C1, right-to-left override, tag character.
	CLEANUP(free) char *text = dumped(json_text("\x1b[2J \xc2\x9b \xe2\x80\xae \xf3\xa0\x81\x81"));

	(void)state;
	for (const char *at = text; *at != '\0'; at++)
		assert_in_range((unsigned char)*at, 0x20, 0x7E);
}

static void append_of_a_line_ends_with_one_newline(void **state)
{
	CLEANUP(buf) struct buf buf = BUF_INIT;
	json_t *value = json_true();

	(void)state;
	assert_int_equal(json_append(&buf, value, true), 0);
	assert_int_equal(json_append(&buf, value, true), 0);
	assert_string_equal(buf.data, "true\ntrue\n");
	assert_int_equal(json_append(&buf, NULL, true), -12);
	assert_string_equal(buf.data, "true\ntrue\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finding_has_the_promised_fields),
		cmocka_unit_test(findings_without_any_are_an_empty_array),
		cmocka_unit_test(streamed_findings_are_those_of_the_tree),
		cmocka_unit_test(stream_into_a_file_keeps_little),
		cmocka_unit_test(notices_without_line_and_detail_say_null),
		cmocka_unit_test(sanitize_has_the_promised_fields),
		cmocka_unit_test(file_has_the_promised_fields),
		cmocka_unit_test(file_with_a_path_that_is_no_utf8_has_its_bytes_in_hex),
		cmocka_unit_test(policy_has_the_promised_fields),
		cmocka_unit_test(policy_without_a_skill_says_null),
		cmocka_unit_test(text_of_any_bytes_is_valid_utf8),
		cmocka_unit_test(text_of_every_byte_pair_can_be_read_back),
		cmocka_unit_test(output_is_ascii_without_controls),
		cmocka_unit_test(append_of_a_line_ends_with_one_newline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
