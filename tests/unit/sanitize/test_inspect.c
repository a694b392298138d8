// SPDX-License-Identifier: Apache-2.0
//
// One file in, one report out, with the real scanner.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hostile.h"
#include "lib/fake_clock.h"
#include "lib/scanner.h"
#include "sanitize/inspect.h"
#include "sanitize/utf8.h"

static const struct inspect_options defaults = { .max_body_length = MAX_BODY_LENGTH_DEFAULT, .scan = true };

static struct report inspected_as(const struct inspect_options *options, const char *name, const char *text,
				  size_t len)
{
	struct report report;

	assert_int_equal(inspect(scanner, options, name, text, len, &report), 0);
	assert_false(report.verbatim && report.body.len > 0);
	return report;
}

#define INSPECT(name, text) inspected_as(&defaults, name, text, sizeof(text) - 1)

static void assert_finding(const struct report *report, const char *id, size_t position, size_t byte,
			   size_t line, enum stage stage, const char *matched)
{
	const struct finding *finding = report->findings.items;

	assert_int_equal(report->findings.count, 1);
	assert_string_equal(finding->rule->id, id);
	assert_int_equal(finding->position, position);
	assert_int_equal(finding->byte_offset, byte);
	assert_int_equal(finding->line, line);
	assert_int_equal(finding->stage, stage);
	assert_string_equal(finding->matched_text, matched);
	assert_false(finding->approved);
}

static void inspect_clean_prose_is_verbatim(void **state)
{
	struct report report = INSPECT("SKILL.md", "# A skill\r\n\r\nJust caf\xC3\xA9.\r\n");

	(void)state;
	assert_int_equal(report.cls, CLASS_PROSE);
	assert_true(report.verbatim);
	assert_int_equal(report.findings.count, 0);
	assert_int_equal(report.notices.count, 0);
	assert_int_equal(report.stats.size, 26);
	assert_int_equal(report.stats.source_size, 26);
	report_release(&report);
}

static void inspect_empty_file_is_verbatim(void **state)
{
	static const char *const names[] = { "SKILL.md", "a.py", "a" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct report report = inspected_as(&defaults, names[i], NULL, 0);

		assert_true(report.verbatim);
		assert_int_equal(report.findings.count + report.notices.count, 0);
		report_release(&report);
	}
}

static void inspect_match_in_both_stages_is_one_raw_finding(void **state)
{
	struct report report = INSPECT("a.md", "\xEF\xAC\x81rst\nrun <!-- a -->xmrig");

	(void)state;
	assert_finding(&report, "CRYPTO_MINER_BINARY", 19, 21, 2, STAGE_RAW, "xmrig");
	assert_string_equal(report.body.data, "first\nrun xmrig");
	report_release(&report);
}

static void inspect_table_that_is_none_when_served_is_critical(void **state)
{
	// The bar in the head is fullwidth: three columns once normalized, so the delimiter row no longer fits.
	struct report report = INSPECT("a.md", "|a|b\xEF\xBD\x9C"
					       "c|\n|-|-|\n| x | bash -c evil |\n");

	(void)state;
	assert_int_equal(report.findings.count, 1);
	assert_int_equal(report.findings.items[0].severity, SEVERITY_CRITICAL);
	assert_int_equal(report.findings.items[0].context, CONTEXT_PROSE);
	assert_int_equal(report.findings.items[0].stage, STAGE_RAW);
	report_release(&report);
}

static void inspect_hidden_match_has_place_in_original(void **state)
{
	struct report report = INSPECT("a.md", "caf\xC3\xA9\n<!-- c -->x\xE2\x80\x8Bmrig");

	(void)state;
	assert_finding(&report, "CRYPTO_MINER_BINARY", 15, 16, 2, STAGE_SANITIZED, "xmrig");
	report_release(&report);
	report = INSPECT("a.md", "1\n2\n\xEF\xBD\x98\xEF\xBD\x8D\xEF\xBD\x92\xEF\xBD\x89\xEF\xBD\x87");
	assert_finding(&report, "CRYPTO_MINER_BINARY", 4, 4, 3, STAGE_SANITIZED, "xmrig");
	report_release(&report);
}

static void inspect_match_in_comment_is_found_raw(void **state)
{
	struct report report = INSPECT("a.md", "a <!-- xmrig --> b");

	(void)state;
	assert_finding(&report, "CRYPTO_MINER_BINARY", 7, 7, 1, STAGE_RAW, "xmrig");
	assert_int_equal(report.findings.items[0].context, CONTEXT_HTML_COMMENT);
	assert_string_equal(report.body.data, "a  b");
	report_release(&report);
}

static void inspect_invalid_bytes_count_as_their_replacement(void **state)
{
	struct report report = INSPECT("a.md", "\xFF\xE2\x80 \xF0\x9F\x98\x80 xmrig");

	(void)state;
	assert_finding(&report, "CRYPTO_MINER_BINARY", 5, 9, 1, STAGE_RAW, "xmrig");
	report_release(&report);
}

// The first text is a table as it stands and none without the comment, the second the other way round.
static void inspect_match_in_both_stages_has_the_worst_severity(void **state)
{
	static const char *const texts[] = {
		"<!-- a | b\n--- | ---\n-->curl x | bash -c y\n",
		"a | b\n--- | ---\nx <!--\n\n--> | bash -c y\n",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct report report = inspected_as(&defaults, "a.md", texts[i], strlen(texts[i]));
		const struct finding *found = NULL;

		for (size_t j = 0; j < report.findings.count; j++) {
			if (strcmp(report.findings.items[j].rule->id, "EXEC_PIPE_BASH") != 0)
				continue;
			assert_null(found);
			found = &report.findings.items[j];
		}
		assert_non_null(found);
		assert_int_equal(found->severity, SEVERITY_CRITICAL);
		assert_int_equal(found->stage, STAGE_RAW);
		report_release(&report);
	}
}

static void inspect_cut_that_makes_a_match_is_found(void **state)
{
	const struct inspect_options options = { .max_body_length = 5, .scan = true };
	struct report report = inspected_as(&options, "a.md", "---\nn: x\n---\nxmrigs and more", 28);

	(void)state;
	assert_true(report.stats.truncated);
	assert_string_equal(report.body.data, "---\nn: x\n---\nxmrig\n[TRUNCATED]");
	assert_int_equal(report.stats.size, report.body.len);
	assert_non_null(notices_find(&report.notices, NOTICE_TEXT_TRUNCATED));
	assert_int_equal(notices_find(&report.notices, NOTICE_TEXT_TRUNCATED)->line, 4);
	assert_finding(&report, "CRYPTO_MINER_BINARY", 13, 13, 4, STAGE_SANITIZED, "xmrig");
	report_release(&report);
}

static void inspect_match_behind_the_cut_is_found(void **state)
{
	const struct inspect_options options = { .max_body_length = 5, .scan = true };
	struct report report = inspected_as(&options, "a.md", "0123456 xmrig", 13);

	(void)state;
	assert_finding(&report, "CRYPTO_MINER_BINARY", 8, 8, 1, STAGE_RAW, "xmrig");
	assert_string_equal(report.body.data, "01234\n[TRUNCATED]");
	report_release(&report);
}

static void inspect_code_is_served_without_invisible(void **state)
{
	struct report report = INSPECT("a.py", "x = '\xEF\xBC\xA1\xE2\x80\x8B' # <!-- c -->\r\n");

	(void)state;
	assert_int_equal(report.cls, CLASS_CODE);
	assert_false(report.verbatim);
	assert_string_equal(report.body.data, "x = '\xEF\xBC\xA1' # <!-- c -->\r\n");
	assert_int_equal(report.stats.html_comments_stripped, 0);
	assert_int_equal(report.stats.invisible_stripped, 1);
	assert_false(report.stats.normalized);
	assert_null(notices_find(&report.notices, NOTICE_HTML_COMMENT));
	assert_int_equal(report.stats.size, report.body.len);
	report_release(&report);
}

static void inspect_code_clean_is_verbatim_at_any_length(void **state)
{
	size_t len;
	char *text = hostile_nest("x = 1\n", "", "", 20000, &len);
	struct report report = inspected_as(&defaults, "a.py", text, len);

	(void)state;
	assert_true(report.verbatim);
	assert_false(report.stats.truncated);
	report_release(&report);
	free(text);
}

static void inspect_code_all_forms_are_scanned(void **state)
{
	struct report report = INSPECT("a.py", "\n\xEF\xBD\x98mrig");

	(void)state;
	assert_finding(&report, "CRYPTO_MINER_BINARY", 1, 1, 2, STAGE_SANITIZED, "xmrig");
	assert_true(report.verbatim);
	report_release(&report);
	// Only what is served shows it: the comment is not taken out of code.
	report = INSPECT("a.py", "<!-- x\xE2\x80\x8Bmrig -->");
	assert_finding(&report, "CRYPTO_MINER_BINARY", 5, 5, 1, STAGE_SANITIZED, "xmrig");
	assert_int_equal(report.findings.items[0].context, CONTEXT_CODE);
	report_release(&report);
}

// What is taken out can join bytes to characters that nothing else shows.
static void inspect_code_joined_bytes_are_scanned(void **state)
{
	struct report report = INSPECT("a.py", "\n| \xEF\x1F\xBD\x93\xEF\xBD\x88 a");

	(void)state;
	assert_string_equal(report.body.data, "\n| \xEF\xBD\x93\xEF\xBD\x88 a");
	assert_finding(&report, "EXEC_PIPE_BASH", 1, 1, 2, STAGE_SANITIZED, "| sh");
	report_release(&report);
}

static void inspect_code_with_nul_is_noticed(void **state)
{
	struct report report = INSPECT("helper.py", "\0import os\n");

	(void)state;
	assert_int_equal(report.cls, CLASS_CODE);
	assert_non_null(notices_find(&report.notices, NOTICE_TEXT_NUL));
	assert_string_equal(report.body.data, "import os\n");
	report_release(&report);
}

static void inspect_binary_is_scanned_raw_and_verbatim(void **state)
{
	struct report report =
		INSPECT("a.bin", "\x7F"
				 "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\xFF\xFE\xFD\xFC xmrig \0\xFF\xFE\xFD\xFC");

	(void)state;
	assert_int_equal(report.cls, CLASS_BINARY);
	assert_true(report.verbatim);
	assert_int_equal(report.findings.count, 1);
	assert_int_equal(report.findings.items[0].byte_offset, 20);
	assert_int_equal(report.findings.items[0].context, CONTEXT_BINARY);
	report_release(&report);
}

static void inspect_wide_text_is_scanned_in_any_class(void **state)
{
	static const char *const names[] = { "notes", "notes.md", "notes.py" };
	static const char wide[] = "\xFF\xFE \0x\0m\0r\0i\0g\0";

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct report report = inspected_as(&defaults, names[i], wide, sizeof(wide) - 1);

		assert_int_equal(report.findings.count, 1);
		assert_string_equal(report.findings.items[0].rule->id, "CRYPTO_MINER_BINARY");
		assert_int_equal(report.findings.items[0].byte_offset, 4);
		assert_non_null(notices_find(&report.notices, NOTICE_TEXT_NUL));
		report_release(&report);
	}
}

static void inspect_given_class_wins(void **state)
{
	const struct inspect_options options = { .max_body_length = MAX_BODY_LENGTH_DEFAULT,
						 .scan = true,
						 .has_class = true,
						 .cls = CLASS_BINARY };
	struct report report = inspected_as(&options, "SKILL.md", "a<!-- b -->", 11);

	(void)state;
	assert_int_equal(report.cls, CLASS_BINARY);
	assert_true(report.verbatim);
	report_release(&report);
}

static void inspect_without_scan_still_sanitizes(void **state)
{
	const struct inspect_options options = { .max_body_length = MAX_BODY_LENGTH_DEFAULT, .scan = false };
	struct report report = inspected_as(&options, "SKILL.md", "xmrig<!-- b -->", 15);

	(void)state;
	assert_int_equal(report.findings.count, 0);
	assert_string_equal(report.body.data, "xmrig");
	report_release(&report);
}

static void inspect_refused_text_is_failed_with_findings_and_no_body(void **state)
{
	size_t len;
	char *text = hostile_nest("\xE2", "\xE2\x80\x8B", "\x80\x8B", 1000, &len);
	struct report report;

	(void)state;
	memcpy(text, " xmrig ", 7);
	report = inspected_as(&defaults, "a.py", text, len);
	assert_true(report.scan_failed);
	assert_false(report.verbatim);
	assert_int_equal(report.body.len, 0);
	assert_non_null(notices_find(&report.notices, NOTICE_SCAN_LIMIT));
	assert_finding(&report, "CRYPTO_MINER_BINARY", 1, 1, 1, STAGE_RAW, "xmrig");
	report_release(&report);
	free(text);
}

static void inspect_spent_budget_is_an_error_at_every_stage(void **state)
{
	static const char text[] =
		"---\nn: x\n---\n xmrig <!-- x --> x\xE2\x80\x8Bmrig \xEF\xBC\xA1 printenv and more";
	static const char wide[] = "\xFF\xFE \0x\0m\0r\0i\0g\0";
	static const struct {
		const char *name;
		const char *text;
		size_t len;
	} files[] = {
		{ "a.md", text, sizeof(text) - 1 },
		{ "a.py", text, sizeof(text) - 1 },
		{ "a.py", "x = 1\n", 6 },
		{ "a", wide, sizeof(wide) - 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct fake_clock clock = { 0, SIZE_MAX };
		const struct budget budget = fake_clock_budget(&clock);
		const struct inspect_options options = {
			.max_body_length = 20, .scan = true, .budget = &budget, .budget_text = "7 ms"
		};
		struct report whole = inspected_as(&options, files[i].name, files[i].text, files[i].len);
		const size_t questions = clock.asked;

		assert_false(whole.scan_failed);
		assert_true(questions > 3);
		for (size_t allowed = 0; allowed <= questions; allowed++) {
			struct report report;

			clock = (struct fake_clock){ 0, allowed };
			report = inspected_as(&options, files[i].name, files[i].text, files[i].len);
			assert_int_equal(report.scan_failed, allowed < questions);
			if (allowed == questions) {
				assert_int_equal(report.findings.count, whole.findings.count);
				assert_int_equal(report.body.len, whole.body.len);
			} else {
				const struct notice *notice =
					notices_find(&report.notices, NOTICE_SCAN_LIMIT);

				assert_non_null(notice);
				assert_int_equal(notice->count, 1);
				assert_string_equal(notice->detail, "7 ms");
				assert_false(report.verbatim);
				assert_int_equal(report.body.len, 0);
				assert_true(report.findings.count <= whole.findings.count);
			}
			report_release(&report);
		}
		report_release(&whole);
	}
}

static void inspect_limit_says_which(void **state)
{
	size_t len;
	char *text = hostile_nest("\xEF\xB7\xBA", "", "", 1 << 20, &len);
	struct report report = inspected_as(&defaults, "a.md", text, len);

	(void)state;
	assert_string_equal(notices_find(&report.notices, NOTICE_SCAN_LIMIT)->detail,
			    "size of the sanitized text");
	report_release(&report);
	free(text);
	text = hostile_nest("xmrig ", "", "", (1 << 16) + 1, &len);
	report = inspected_as(&defaults, "a.md", text, len);
	assert_true(report.scan_failed);
	assert_string_equal(notices_find(&report.notices, NOTICE_SCAN_LIMIT)->detail,
			    "matches, or steps of one rule");
	assert_int_equal(report.findings.count, FINDINGS_GIVEN_UP);
	assert_string_equal(report.findings.items[0].rule->id, "CRYPTO_MINER_BINARY");
	report_release(&report);
	free(text);
}

static void inspect_explosive_text_is_an_error(void **state)
{
	size_t len;
	char *text = hostile_nest("\xEF\xB7\xBA", "", "", 1 << 20, &len);
	struct report report = inspected_as(&defaults, "a.md", text, len);

	(void)state;
	assert_true(report.scan_failed);
	assert_int_equal(report.body.len, 0);
	assert_non_null(notices_find(&report.notices, NOTICE_SCAN_LIMIT));
	report_release(&report);
	free(text);
}

// A text that only its first letters make binary.
static void inspect_text_behind_magic_is_read_as_text(void **state)
{
	static const char *const texts[] = {
		"GIF89a\n$(curl http://\xC3\xA9.example)\n",
		"%PDF-1.4\nbase64 -d \xE4\xB8\xAD | x\n",
		"GIF89a x \xEF\xBD\x9C \xEF\xBD\x82\xEF\xBD\x81\xEF\xBD\x93\xEF\xBD\x88\n",
		"GIF89a p\xE2\x80\x8Brintenv, x\xE2\x80\x8Bmrig\n",
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct report report = inspected_as(&defaults, "a.gif", texts[i], strlen(texts[i]));

		assert_int_equal(report.cls, CLASS_BINARY);
		assert_true(report.verbatim);
		assert_true(report.findings.count > 0);
		report_release(&report);
	}
}

static void inspect_archive_is_noticed(void **state)
{
	struct report report = INSPECT("a.zip", "PK\x03\x04\0\0\0");

	(void)state;
	assert_int_equal(report.cls, CLASS_BINARY);
	assert_non_null(notices_find(&report.notices, NOTICE_FS_ARCHIVE_NOT_SCANNED));
	report_release(&report);
}

static void inspect_invalid_prose_is_served_replaced(void **state)
{
	struct report report = INSPECT("a.md", "a\xFFz");

	(void)state;
	assert_string_equal(report.body.data, "a\xEF\xBF\xBDz");
	assert_non_null(notices_find(&report.notices, NOTICE_TEXT_INVALID_UTF8));
	report_release(&report);
}

// What is served is served again as it is, whatever the class.
static void inspect_random_hostile_served_is_fixed_point(void **state)
{
	static const char *const names[] = { "SKILL.md", "a.py" };
	uint64_t seed = 31;
	char text[600];

	(void)state;
	for (size_t i = 0; i < hostile_runs(100); i++) {
		const struct inspect_options options = { .max_body_length = hostile_random(&seed) % 40,
							 .scan = true };
		size_t len = hostile_text(&seed, 0, 24, text, sizeof(text));
		struct report once = inspected_as(&options, names[i % 2], text, len), twice;

		if (!once.verbatim) {
			twice = inspected_as(&options, names[i % 2], once.body.data, once.body.len);
			assert_true(twice.verbatim);
			report_release(&twice);
		}
		report_release(&once);
	}
}

static void inspect_findings_stand_where_the_original_says(void **state)
{
	static const char *const pieces[] = {
		"\n",         "caf\xC3\xA9 ",  "\xFF",       " xmrig ",         " x\xE2\x80\x8Bmrig ",
		"<!-- c -->", "\xEF\xBC\xA1 ", " printenv ", "\xF0\x9F\x98\x80"
	};
	uint64_t seed = 404;
	char text[1200];

	(void)state;
	for (int round = 0; round < 300; round++) {
		size_t len = 0, expected = 0;
		struct report report;

		for (int i = 0; i < 60; i++) {
			size_t piece = hostile_random(&seed) % (sizeof(pieces) / sizeof(pieces[0]));

			expected += piece == 3 || piece == 4 || piece == 7;
			memcpy(text + len, pieces[piece], strlen(pieces[piece]));
			len += strlen(pieces[piece]);
		}
		report = inspected_as(&defaults, "a.md", text, len);
		assert_int_equal(report.findings.count, expected);
		for (size_t i = 0; i < expected; i++) {
			const struct finding *finding = &report.findings.items[i];
			size_t lines = 1;

			for (size_t at = 0; at < finding->byte_offset; at++)
				lines += text[at] == '\n';
			assert_int_equal(finding->line, lines);
			assert_int_equal(finding->position, utf8_count(text, finding->byte_offset));
			assert_int_equal(text[finding->byte_offset], finding->matched_text[0]);
			assert_true(i == 0 || finding[-1].byte_offset < finding->byte_offset);
			assert_int_equal(finding->stage == STAGE_RAW,
					 memcmp(text + finding->byte_offset, finding->matched_text,
						strlen(finding->matched_text)) == 0);
		}
		report_release(&report);
	}
}

static double cost(const char *unit, size_t times)
{
	size_t len;
	char *text = hostile_nest(unit, "", "", times, &len);
	double best = 1e9;

	for (int i = 0; i < 3; i++) {
		double start = hostile_seconds();
		struct report report = inspected_as(&defaults, "a.md", text, len);
		double took = hostile_seconds() - start;

		report_release(&report);
		if (took < best)
			best = took;
	}
	free(text);
	return best;
}

static void inspect_many_findings_grow_linearly(void **state)
{
	static const char *const units[] = { "printenv ", "p\xE2\x80\x8Brintenv ",
					     "\xC3\xA9 printenv <!-- printenv -->\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		for (int attempt = 0; attempt < 5; attempt++) {
			double small = cost(units[i], 5000), large = cost(units[i], 10000);

			if (large <= 2.5 * small)
				break;
			assert_true(attempt < 4);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inspect_clean_prose_is_verbatim),
		cmocka_unit_test(inspect_empty_file_is_verbatim),
		cmocka_unit_test(inspect_match_in_both_stages_is_one_raw_finding),
		cmocka_unit_test(inspect_table_that_is_none_when_served_is_critical),
		cmocka_unit_test(inspect_hidden_match_has_place_in_original),
		cmocka_unit_test(inspect_match_in_comment_is_found_raw),
		cmocka_unit_test(inspect_invalid_bytes_count_as_their_replacement),
		cmocka_unit_test(inspect_match_in_both_stages_has_the_worst_severity),
		cmocka_unit_test(inspect_cut_that_makes_a_match_is_found),
		cmocka_unit_test(inspect_match_behind_the_cut_is_found),
		cmocka_unit_test(inspect_code_is_served_without_invisible),
		cmocka_unit_test(inspect_code_clean_is_verbatim_at_any_length),
		cmocka_unit_test(inspect_code_all_forms_are_scanned),
		cmocka_unit_test(inspect_code_joined_bytes_are_scanned),
		cmocka_unit_test(inspect_code_with_nul_is_noticed),
		cmocka_unit_test(inspect_binary_is_scanned_raw_and_verbatim),
		cmocka_unit_test(inspect_wide_text_is_scanned_in_any_class),
		cmocka_unit_test(inspect_given_class_wins),
		cmocka_unit_test(inspect_without_scan_still_sanitizes),
		cmocka_unit_test(inspect_refused_text_is_failed_with_findings_and_no_body),
		cmocka_unit_test(inspect_spent_budget_is_an_error_at_every_stage),
		cmocka_unit_test(inspect_limit_says_which),
		cmocka_unit_test(inspect_explosive_text_is_an_error),
		cmocka_unit_test(inspect_text_behind_magic_is_read_as_text),
		cmocka_unit_test(inspect_archive_is_noticed),
		cmocka_unit_test(inspect_invalid_prose_is_served_replaced),
		cmocka_unit_test(inspect_random_hostile_served_is_fixed_point),
		cmocka_unit_test(inspect_findings_stand_where_the_original_says),
		cmocka_unit_test(inspect_many_findings_grow_linearly),
	};

	return cmocka_run_group_tests(tests, scanner_set_up, scanner_tear_down);
}
