// SPDX-License-Identifier: Apache-2.0
//
// The pipeline as a whole: known answers, the fixed point, places and cost. test_sanitize_plain.c compares it
// with its specification.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "hostile.h"
#include "lib/fake_clock.h"
#include "sanitize/steps.h"

struct result {
	int rc;
	char *text;
	size_t len;
	struct cleaned cleaned;
	struct sanitize_stats stats;
	struct notices notices;
};

typedef int sanitizer(const char *text, size_t len, const struct budget *budget, struct cleaned *ret,
		      struct sanitize_stats *stats, struct notices *notices);

static struct result run(sanitizer *sanitize, const char *text, size_t len)
{
	struct result result = { .rc = 0 };

	result.rc = sanitize(text, len, NULL, &result.cleaned, &result.stats, &result.notices);
	if (result.rc < 0)
		return result;
	result.len = result.cleaned.unchanged ? len : result.cleaned.text.len;
	result.text = malloc(result.len + 1);
	assert_non_null(result.text);
	if (result.len > 0)
		memcpy(result.text, result.cleaned.unchanged ? text : result.cleaned.text.data, result.len);
	result.text[result.len] = '\0';
	return result;
}

static void done(struct result *result)
{
	free(result->text);
	cleaned_release(&result->cleaned);
	notices_release(&result->notices);
}

static void show(const char *what, const char *text, size_t len)
{
	fprintf(stderr, "%s:", what);
	for (size_t i = 0; i < len; i++)
		fprintf(stderr, " %02X", (unsigned char)text[i]);
	fprintf(stderr, "\n");
}

static void assert_result(sanitizer *sanitize, const char *text, size_t len, const char *want,
			  size_t want_len)
{
	struct result result = run(sanitize, text, len);

	assert_int_equal(result.rc, 0);
	if (result.len != want_len || memcmp(result.text, want, want_len) != 0) {
		show("input", text, len);
		show("want", want, want_len);
		show("got", result.text, result.len);
		fail();
	}
	done(&result);
}

#define ASSERT_TEXT(text, want) assert_result(sanitize_text, text, sizeof(text) - 1, want, sizeof(want) - 1)
#define ASSERT_CODE(text, want) assert_result(sanitize_code, text, sizeof(text) - 1, want, sizeof(want) - 1)

static void sanitize_text_random_hostile_is_fixed_point(void **state)
{
	size_t runs = hostile_runs(1), changed = 0;
	uint64_t seed = 0x9E3779B97F4A7C15u;
	char text[512];

	(void)state;
	for (size_t i = 0; i < runs; i++) {
		size_t len = hostile_text(&seed, 0, 24, text, sizeof(text));
		struct result once = run(sanitize_text, text, len), twice;

		assert_int_equal(once.rc, 0);
		twice = run(sanitize_text, once.text, once.len);
		assert_int_equal(twice.rc, 0);
		if (!twice.cleaned.unchanged ||
		    once.cleaned.unchanged != (once.len == len && memcmp(once.text, text, len) == 0)) {
			show("input", text, len);
			show("once", once.text, once.len);
			show("twice", twice.text, twice.len);
			fail();
		}
		changed += !once.cleaned.unchanged;
		done(&once);
		done(&twice);
	}
	assert_true(changed > runs / 2);
}

static void sanitize_code_random_hostile_is_fixed_point(void **state)
{
	size_t runs = hostile_runs(4);
	uint64_t seed = 5;
	char text[512];

	(void)state;
	for (size_t i = 0; i < runs; i++) {
		size_t len = hostile_text(&seed, 0, 24, text, sizeof(text));
		struct result once = run(sanitize_code, text, len), twice;

		assert_int_equal(once.rc, 0);
		twice = run(sanitize_code, once.text, once.len);
		assert_int_equal(twice.rc, 0);
		assert_true(twice.cleaned.unchanged);
		done(&once);
		done(&twice);
	}
}

// Each byte of the result is the source's, or stands where something was changed.
static void sanitize_text_random_hostile_map_leads_to_source(void **state)
{
	size_t runs = hostile_runs(4);
	uint64_t seed = 99;
	char text[512];

	(void)state;
	for (size_t i = 0; i < runs; i++) {
		size_t len = hostile_text(&seed, 0, 24, text, sizeof(text)), last = 0;
		struct result result = run(sanitize_text, text, len);

		for (size_t at = 0; at < result.len; at++) {
			size_t source = offset_map_source(&result.cleaned.map, at);

			assert_in_range(source, last, len - 1);
			last = source;
			if ((unsigned char)result.text[at] < 0x80 && (unsigned char)text[source] < 0x80 &&
			    at + 1 < result.len && (unsigned char)result.text[at + 1] < 0x80 &&
			    text[source] >= ' ')
				assert_int_equal(result.text[at], text[source]);
		}
		done(&result);
	}
}

static void sanitize_text_clean_allocates_nothing(void **state)
{
	const char text[] = "# Title\r\n\r\ncaf\xC3\xA9 \xE2\x80\x94 <b> -- \xF0\x9F\x98\x80\xEF\xB8\x8F\n";
	struct result result = run(sanitize_text, text, sizeof(text) - 1);

	(void)state;
	assert_true(result.cleaned.unchanged);
	assert_null(result.cleaned.text.data);
	assert_null(result.cleaned.map.runs);
	assert_int_equal(result.notices.count, 0);
	assert_int_equal(result.stats.source_size, sizeof(text) - 1);
	assert_int_equal(result.stats.size, sizeof(text) - 1);
	done(&result);
}

static void sanitize_text_empty_is_unchanged(void **state)
{
	struct result result = run(sanitize_text, NULL, 0);

	(void)state;
	assert_int_equal(result.rc, 0);
	assert_true(result.cleaned.unchanged);
	done(&result);
	result = run(sanitize_code, NULL, 0);
	assert_true(result.cleaned.unchanged);
	done(&result);
}

static void sanitize_text_reformed_comments_go(void **state)
{
	(void)state;
	ASSERT_TEXT("<<!-- x -->!-- hidden again -->y", "y");
	ASSERT_TEXT(
		"\xEF\xBC\x9C\xEF\xBC\x81\xEF\xBC\x8D\xEF\xBC\x8D full \xEF\xBC\x8D\xEF\xBC\x8D\xEF\xBC\x9Eq",
		"q");
	ASSERT_TEXT("<!-\xE2\x80\x8B- zero width -\xE2\x81\xA0->q", "q");
	ASSERT_TEXT("\xEF\xB9\xA4!-- small form --\xEF\xB9\xA5q", "q");
	// The opener that formed at a seam is there from the next round on.
	ASSERT_TEXT("<!<!-- -->-- A <!-- B --> C -->z", "z");
	ASSERT_TEXT("<!--> not a comment", "<!--> not a comment");
	ASSERT_TEXT("<!---> not a comment", "<!---> not a comment");
}

static void sanitize_text_blocked_composition_is_composed(void **state)
{
	(void)state;
	ASSERT_TEXT("e\xCD\x8F\xCC\x81", "\xC3\xA9");
	ASSERT_TEXT("\xE1\x84\x80\xE2\x80\x8B\xE1\x85\xA1", "\xEA\xB0\x80");
}

static void sanitize_text_flag_that_a_comment_split_stays_whole(void **state)
{
#define SCOTLAND_TAGS                                                                                        \
	"\xF3\xA0\x81\xA7\xF3\xA0\x81\xA2\xF3\xA0\x81\xB3\xF3\xA0\x81\xA3\xF3\xA0\x81\xB4\xF3\xA0\x81\xBF"
	(void)state;
	ASSERT_TEXT("x\xF0\x9F\x8F\xB4<!-- -->" SCOTLAND_TAGS "y", "x\xF0\x9F\x8F\xB4" SCOTLAND_TAGS "y");
	ASSERT_TEXT("x\xF0\x9F\x8F\xB4\xE2\x80\x8B" SCOTLAND_TAGS "y", "x\xF0\x9F\x8F\xB4y");
}

static void sanitize_text_invalid_becomes_replacement(void **state)
{
	const char text[] = "a\xFF"
			    "b\xE2\x80"
			    "c\n\xF0\x9F\x98";
	struct result result = run(sanitize_text, text, sizeof(text) - 1);
	const struct notice *notice;

	(void)state;
	assert_string_equal(result.text, "a\xEF\xBF\xBD"
					 "b\xEF\xBF\xBD"
					 "c\n\xEF\xBF\xBD");
	notice = notices_find(&result.notices, NOTICE_TEXT_INVALID_UTF8);
	assert_non_null(notice);
	assert_int_equal(notice->count, 3);
	assert_int_equal(notice->line, 1);
	done(&result);
	// Many of them are no growth that is refused.
	{
		size_t len = (size_t)4 << 20;
		char *many = malloc(len);

		memset(many, 0xFF, len);
		result = run(sanitize_text, many, len);
		assert_int_equal(result.rc, 0);
		assert_int_equal(result.len, 3 * len);
		done(&result);
		free(many);
	}
}

static void sanitize_text_notices_count_and_place(void **state)
{
	const char text[] = "one\n<!-- c -->two <!-- d -->\n\xE2\x80\x8Bthree\xC2\xAD\n\xE2\x80\xAE"
			    "four\0\nfive\xF3\xA0\x81\x88\xF3\xA0\x81\xA9\n<!-- open";
	struct result result = run(sanitize_text, text, sizeof(text) - 1);
	const struct notice *notice;

	(void)state;
	notice = notices_find(&result.notices, NOTICE_HTML_COMMENT);
	assert_non_null(notice);
	assert_int_equal(notice->count, 3);
	assert_int_equal(notice->line, 2);
	assert_string_equal(notice->detail, "unterminated");
	notice = notices_find(&result.notices, NOTICE_INVISIBLE_CHARACTER);
	assert_non_null(notice);
	assert_int_equal(notice->count, 2);
	assert_int_equal(notice->line, 3);
	notice = notices_find(&result.notices, NOTICE_BIDI_CONTROL);
	assert_non_null(notice);
	assert_int_equal(notice->count, 1);
	assert_int_equal(notice->line, 4);
	notice = notices_find(&result.notices, NOTICE_TEXT_NUL);
	assert_non_null(notice);
	assert_int_equal(notice->line, 4);
	notice = notices_find(&result.notices, NOTICE_TAG_BLOCK);
	assert_non_null(notice);
	assert_int_equal(notice->count, 2);
	assert_int_equal(notice->line, 5);
	assert_string_equal(notice->detail, "Hi");
	assert_int_equal(result.stats.html_comments_stripped, 2);
	assert_true(result.stats.tag_block_detected);
	assert_int_equal(result.stats.invisible_stripped, 6);
	assert_false(result.stats.normalized);
	done(&result);
}

static void sanitize_text_map_gives_places_of_all_rounds(void **state)
{
	const char text[] = "\xEF\xBB\xBFx<!-- c -->\xEF\xBC\xA1y\xE2\x80\x8Bz\xFFw";
	struct result result = run(sanitize_text, text, sizeof(text) - 1);

	(void)state;
	assert_string_equal(result.text, "xAyz\xEF\xBF\xBDw");
	assert_int_equal(offset_map_source(&result.cleaned.map, 0), 3);
	assert_int_equal(offset_map_source(&result.cleaned.map, 1), 14);
	assert_int_equal(offset_map_source(&result.cleaned.map, 2), 17);
	assert_int_equal(offset_map_source(&result.cleaned.map, 3), 21);
	assert_int_equal(offset_map_source(&result.cleaned.map, 4), 22);
	assert_int_equal(offset_map_source(&result.cleaned.map, 6), 22);
	assert_int_equal(offset_map_source(&result.cleaned.map, 7), 23);
	done(&result);
}

static void sanitize_text_deep_nest_is_taken_out(void **state)
{
	size_t len;
	char *text = hostile_nest("<!", "<!-- -->", "-- -->", 50000, &len);
	struct result result = run(sanitize_text, text, len);

	(void)state;
	assert_int_equal(result.rc, 0);
	assert_int_equal(result.len, 0);
	assert_int_equal(result.stats.html_comments_stripped, 50001);
	done(&result);
	free(text);
}

static void sanitize_text_explosive_growth_is_refused(void **state)
{
	size_t len;
	char *text = hostile_nest("\xEF\xB7\xBA", "", "", 1 << 20, &len);
	struct result result = run(sanitize_text, text, len);

	(void)state;
	assert_int_equal(result.rc, -EFBIG);
	done(&result);
	free(text);
}

static void sanitize_code_keeps_all_but_invisible(void **state)
{
	(void)state;
	ASSERT_CODE("\xEF\xBB\xBFx = '\xEF\xBC\xA1'\r\n<!-- stays -->\r\n\xFF\xC3",
		    "\xEF\xBB\xBFx = '\xEF\xBC\xA1'\r\n<!-- stays -->\r\n\xFF\xC3");
	ASSERT_CODE("a\xE2\x80\x8B"
		    "b\0c\xEF\xBB\xBF"
		    "d\xE2\x80\xA8"
		    "e",
		    "abcd\ne");
}

static void sanitize_code_joined_bytes_are_looked_at_again(void **state)
{
	(void)state;
	ASSERT_CODE("x\xE2\0\x80\x8By", "xy");
	ASSERT_CODE("x\xE2\xE2\0\x80\x8B\x80\x8By", "xy");
}

static void sanitize_code_endless_joins_are_refused(void **state)
{
	size_t len;
	char *text = hostile_nest("\xE2", "\xE2\x80\x8B", "\x80\x8B", 1000, &len);
	struct result result = run(sanitize_code, text, len);

	(void)state;
	assert_int_equal(result.rc, -EOVERFLOW);
	done(&result);
	free(text);
}

static void sanitize_code_invalid_is_noticed_once(void **state)
{
	struct result result = run(sanitize_code, "a\n\xFF\0\xFE", 5);
	const struct notice *notice = notices_find(&result.notices, NOTICE_TEXT_INVALID_UTF8);

	(void)state;
	assert_non_null(notice);
	assert_int_equal(notice->count, 2);
	assert_int_equal(notice->line, 2);
	assert_non_null(notices_find(&result.notices, NOTICE_TEXT_NUL));
	done(&result);
}

static double cost_of(sanitizer *sanitize, const char *text, size_t len)
{
	double best = 1e9;

	for (int i = 0; i < 2; i++) {
		double start = hostile_seconds();
		struct cleaned cleaned;
		struct sanitize_stats stats = { .truncated = false };
		struct notices notices = { NULL, 0, 0 };
		int rc = sanitize(text, len, NULL, &cleaned, &stats, &notices);
		double took = hostile_seconds() - start;

		assert_int_equal(rc, 0);
		cleaned_release(&cleaned);
		notices_release(&notices);
		if (took < best)
			best = took;
	}
	return best;
}

// As prose and as code.
static double cost(const struct hostile_nest_family *family, size_t bytes)
{
	size_t unit = strlen(family->prefix) + strlen(family->suffix), len;
	char *text = hostile_nest(family->prefix, family->middle, family->suffix, bytes / unit, &len);
	double both = cost_of(sanitize_text, text, len) + cost_of(sanitize_code, text, len);

	free(text);
	return both;
}

#define MEBIBYTE ((size_t)1 << 20)

// Ordinary text: a character in ten thousand has to be changed, so that all steps run.
static double cost_of_ordinary(void)
{
	static const char line[] =
		"- Run `make test` \xE2\x80\x94 it says what failed, see [notes](notes.md).\n";
	char text[11000] = "\xE2\x80\xA6";
	const struct hostile_nest_family ordinary = { "ordinary", text, "", "" };

	for (size_t len = 3; len < 10000; len += sizeof(line) - 1)
		memcpy(text + len, line, sizeof(line));
	return cost(&ordinary, MEBIBYTE);
}

static void sanitize_hostile_families_grow_linearly_and_cost_at_most_50_times_ordinary(void **state)
{
	double ordinary = cost_of_ordinary();

	(void)state;
	for (size_t i = 0; i < HOSTILE_NEST_FAMILIES; i++)
		// Once more when a neighbour disturbed it.
		for (int attempt = 0;; attempt++) {
			double half = cost(&hostile_nest_families[i], MEBIBYTE / 2),
			       whole = cost(&hostile_nest_families[i], MEBIBYTE);

			if ((whole <= 2.5 * half || whole < 0.002) && whole <= 50 * ordinary)
				break;
			if (attempt == 4) {
				fprintf(stderr, "%s: %.4f s, half of it %.4f s, ordinary text %.4f s\n",
					hostile_nest_families[i].name, whole, half, ordinary);
				fail();
			}
			ordinary = cost_of_ordinary();
		}
}

static int run_against(sanitizer *sanitize, const char *text, size_t len, struct fake_clock *clock)
{
	const struct budget budget = fake_clock_budget(clock);
	struct cleaned cleaned;
	struct sanitize_stats stats = { .truncated = false };
	struct notices notices = { NULL, 0, 0 };
	int rc = sanitize(text, len, &budget, &cleaned, &stats, &notices);

	if (rc == 0)
		cleaned_release(&cleaned);
	notices_release(&notices);
	return rc;
}

// The budget is asked all along the slow work of so many passes, and the first yes ends it.
static void assert_stops(sanitizer *sanitize, const struct hostile_nest_family *family, size_t passes)
{
	struct fake_clock clock = { 0, SIZE_MAX };
	size_t unit = strlen(family->prefix) + strlen(family->suffix), len, questions;
	char *text = hostile_nest(family->prefix, family->middle, family->suffix, 4 * MEBIBYTE / unit, &len);

	assert_int_equal(run_against(sanitize, text, len, &clock), 0);
	questions = clock.asked;
	if (questions < passes * (len / BUDGET_BYTES)) {
		fprintf(stderr, "%s: only %zu questions\n", family->name, questions);
		fail();
	}
	for (size_t at = 1; at <= questions; at += 1 + questions / 20) {
		clock = (struct fake_clock){ 0, at - 1 };
		assert_int_equal(run_against(sanitize, text, len, &clock), -EOVERFLOW);
		assert_int_equal(clock.asked, at);
	}
	free(text);
}

static void sanitize_spent_budget_stops_slow_work(void **state)
{
	static const struct hostile_nest_family slow[] = {
		{ "marks", "\xCC\x81", "", "" },         { "letters and marks", "e\xCC\x81", "", "" },
		{ "fullwidth", "\xEF\xBC\xA1", "", "" }, { "zero width", "a\xE2\x80\x8B", "", "" },
		{ "invalid", "\xFF\xC3", "", "" },       { "comments", "<!-- -->", "", "" },
		{ "nest", "<!", "<!-- -->", "-- -->" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++)
		assert_stops(sanitize_text, &slow[i], 1);
	// One piece: while it is decomposed, not only while it is composed and stripped.
	assert_stops(sanitize_text, &slow[0], 2);
	assert_stops(sanitize_code, &slow[3], 1);
	assert_stops(sanitize_code, &slow[4], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sanitize_text_clean_allocates_nothing),
		cmocka_unit_test(sanitize_text_empty_is_unchanged),
		cmocka_unit_test(sanitize_text_reformed_comments_go),
		cmocka_unit_test(sanitize_text_blocked_composition_is_composed),
		cmocka_unit_test(sanitize_text_flag_that_a_comment_split_stays_whole),
		cmocka_unit_test(sanitize_text_invalid_becomes_replacement),
		cmocka_unit_test(sanitize_text_notices_count_and_place),
		cmocka_unit_test(sanitize_text_map_gives_places_of_all_rounds),
		cmocka_unit_test(sanitize_text_deep_nest_is_taken_out),
		cmocka_unit_test(sanitize_text_explosive_growth_is_refused),
		cmocka_unit_test(sanitize_code_keeps_all_but_invisible),
		cmocka_unit_test(sanitize_code_joined_bytes_are_looked_at_again),
		cmocka_unit_test(sanitize_code_endless_joins_are_refused),
		cmocka_unit_test(sanitize_code_invalid_is_noticed_once),
		cmocka_unit_test(sanitize_text_random_hostile_is_fixed_point),
		cmocka_unit_test(sanitize_code_random_hostile_is_fixed_point),
		cmocka_unit_test(sanitize_text_random_hostile_map_leads_to_source),
		cmocka_unit_test(sanitize_spent_budget_stops_slow_work),
		cmocka_unit_test(sanitize_hostile_families_grow_linearly_and_cost_at_most_50_times_ordinary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
