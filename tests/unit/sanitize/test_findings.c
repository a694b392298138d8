// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sanitize/findings.h"
#include "sanitize/rules.h"

static char *clip(const char *text, size_t len)
{
	const struct finding like = { .rule = &rules[0] };
	struct findings findings = { NULL, 0, 0, 0 };
	char *copy;

	assert_int_equal(findings_add(&findings, &like, text, len), 0);
	copy = strdup(findings.items[0].matched_text);
	assert_non_null(copy);
	findings_release(&findings);
	assert_null(findings.items);
	return copy;
}

static void assert_clipped(const char *text, size_t len, const char *want)
{
	char *have = clip(text, len);

	assert_string_equal(have, want);
	free(have);
}

static void names_parse_back_in_both_cases(void **state)
{
	enum severity severity;
	enum context context;
	enum file_class cls;

	(void)state;
	assert_string_equal(severity_name(SEVERITY_CRITICAL), "CRITICAL");
	assert_string_equal(stage_name(STAGE_SANITIZED), "sanitized");
	assert_string_equal(context_name(CONTEXT_FRONT_MATTER), "front_matter");
	assert_string_equal(notice_name(NOTICE_TEXT_NUL), "TEXT_NUL");
	assert_string_equal(notice_name(NOTICE_SKILL_RESTRICTION_UNREADABLE), "SKILL_RESTRICTION_UNREADABLE");
	assert_int_equal(severity_parse("critical", &severity), 0);
	assert_int_equal(severity, SEVERITY_CRITICAL);
	assert_int_equal(severity_parse("WARN", &severity), 0);
	assert_int_equal(severity, SEVERITY_WARN);
	assert_int_equal(severity_parse("off", &severity), 0);
	assert_int_equal(severity, SEVERITY_OFF);
	assert_int_equal(file_class_parse("Code", &cls), 0);
	assert_int_equal(cls, CLASS_CODE);
	for (int i = CONTEXT_FRONT_MATTER; i <= CONTEXT_BINARY; i++) {
		assert_int_equal(context_parse(context_name((enum context)i), &context), 0);
		assert_int_equal(context, i);
	}
	for (int i = NOTICE_TEXT_INVALID_UTF8; i <= NOTICE_SKILL_RESTRICTION_UNREADABLE; i++)
		assert_string_not_equal(notice_name((enum notice_code)i), "unknown");
}

static void names_unknown_are_refused(void **state)
{
	enum severity severity = SEVERITY_WARN;
	enum context context;
	enum file_class cls;

	(void)state;
	assert_int_equal(severity_parse("", &severity), -EINVAL);
	assert_int_equal(severity_parse("warning", &severity), -EINVAL);
	assert_int_equal(severity, SEVERITY_WARN);
	assert_int_equal(context_parse("tables", &context), -EINVAL);
	assert_int_equal(file_class_parse("text", &cls), -EINVAL);
}

static void matched_text_is_at_most_100_characters(void **state)
{
	char text[4 * 150 + 1] = "", want[4 * 100 + 1] = "";
	size_t i;

	(void)state;
	for (i = 0; i < 150; i++) {
		memcpy(text + 4 * i, "\xf0\x9f\x98\x80", 4);
		if (i < 100)
			memcpy(want + 4 * i, "\xf0\x9f\x98\x80", 4);
	}
	assert_clipped(text, 600, want);
	assert_clipped(text, 400, want);
	assert_clipped("abc", 2, "ab");
	assert_clipped("", 0, "");
}

static void matched_text_of_invalid_bytes_is_valid(void **state)
{
	(void)state;
	assert_clipped("a\xff"
		       "b",
		       3,
		       "a\xef\xbf\xbd"
		       "b");
	assert_clipped("a\0b", 3,
		       "a\xef\xbf\xbd"
		       "b");
	// A character that the match cuts, an overlong form, a surrogate, one above the last.
	assert_clipped("\xe2\x82", 2, "\xef\xbf\xbd");
	assert_clipped("\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd");
	assert_clipped("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_clipped("\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_clipped("\xed\x9f\xbf\xf4\x8f\xbf\xbf", 7, "\xed\x9f\xbf\xf4\x8f\xbf\xbf");
}

static void findings_sort_by_place_then_rule(void **state)
{
	static const struct {
		size_t offset, rule;
		enum stage stage;
	} in[] = { { 9, 1, STAGE_RAW },
		   { 5, 17, STAGE_RAW },
		   { 5, 2, STAGE_SANITIZED },
		   { 5, 2, STAGE_RAW },
		   { 0, 3, STAGE_RAW } };
	static const size_t want[] = { 4, 3, 2, 1, 0 };
	struct findings findings = { NULL, 0, 0, 0 };
	size_t i;

	(void)state;
	findings_sort(&findings);
	for (i = 0; i < 5; i++) {
		const struct finding like = { .rule = &rules[in[i].rule],
					      .byte_offset = in[i].offset,
					      .stage = in[i].stage };

		assert_int_equal(findings_add(&findings, &like, "x", 1), 0);
	}
	findings_sort(&findings);
	for (i = 0; i < 5; i++) {
		assert_int_equal(findings.items[i].byte_offset, in[want[i]].offset);
		assert_ptr_equal(findings.items[i].rule, &rules[in[want[i]].rule]);
		assert_int_equal(findings.items[i].stage, in[want[i]].stage);
	}
	findings_release(&findings);
}

// 1,000 of rule 0, of which the last is critical, and one of rule 5 behind them.
static void kept_are_the_first_of_each_rule_and_the_critical_ones(void **state)
{
	struct findings findings = { NULL, 0, 0, 0 };

	(void)state;
	for (size_t i = 0; i <= 1000; i++) {
		const struct finding like = { .rule = &rules[i < 1000 ? 0 : 5],
					      .byte_offset = i,
					      .severity = i == 999 ? SEVERITY_CRITICAL : SEVERITY_WARN };

		assert_int_equal(findings_add(&findings, &like, "x", 1), 0);
	}
	findings_keep(&findings, 1001);
	assert_int_equal(findings.count, 1001);
	assert_int_equal(findings.omitted, 0);
	findings_keep(&findings, 4);
	assert_int_equal(findings.count, 4);
	assert_int_equal(findings.omitted, 997);
	assert_int_equal(findings.items[0].byte_offset, 0);
	assert_int_equal(findings.items[1].byte_offset, 1);
	assert_int_equal(findings.items[2].byte_offset, 999);
	assert_int_equal(findings.items[3].byte_offset, 1000);
	findings_release(&findings);
}

static void notices_of_one_code_add_up(void **state)
{
	struct notices notices = { NULL, 0, 0 };

	(void)state;
	assert_null(notices_find(&notices, NOTICE_TEXT_NUL));
	assert_int_equal(notices_add(&notices, NOTICE_TEXT_NUL, 2, 7, NULL), 0);
	assert_int_equal(notices_add(&notices, NOTICE_TAG_BLOCK, 1, 1, "hidden"), 0);
	assert_int_equal(notices_add(&notices, NOTICE_TEXT_NUL, 3, 9, "first"), 0);
	assert_int_equal(notices_add(&notices, NOTICE_TEXT_NUL, 0, 11, "second"), 0);
	assert_int_equal(notices.count, 2);
	assert_int_equal(notices_find(&notices, NOTICE_TEXT_NUL)->count, 5);
	assert_int_equal(notices_find(&notices, NOTICE_TEXT_NUL)->line, 7);
	assert_string_equal(notices_find(&notices, NOTICE_TEXT_NUL)->detail, "first");
	assert_string_equal(notices_find(&notices, NOTICE_TAG_BLOCK)->detail, "hidden");
	notices_release(&notices);
	assert_int_equal(notices.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_parse_back_in_both_cases),
		cmocka_unit_test(names_unknown_are_refused),
		cmocka_unit_test(matched_text_is_at_most_100_characters),
		cmocka_unit_test(matched_text_of_invalid_bytes_is_valid),
		cmocka_unit_test(findings_sort_by_place_then_rule),
		cmocka_unit_test(kept_are_the_first_of_each_rule_and_the_critical_ones),
		cmocka_unit_test(notices_of_one_code_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
