// SPDX-License-Identifier: Apache-2.0
//
// The pipeline as a whole, against the plain rounds that it stands for.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <uninorm.h>
#include <unistr.h>

#include "hostile.h"
#include "sanitize/steps.h"
#include "sanitize/utf8.h"

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

// The specification: each step over all of the text, again and again.

static bool spec_is_dropped(uint32_t c)
{
	return c < 9 || c == 11 || c == 12 || (c >= 14 && c < 32) || (c >= 0x7F && c < 0xA0 && c != 0x85) ||
	       c == 0xAD || c == 0x34F || c == 0x61C || c == 0x115F || c == 0x1160 || c == 0x17B4 ||
	       c == 0x17B5 || (c >= 0x180B && c <= 0x180E) || (c >= 0x200B && c <= 0x200F) ||
	       (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x2064) || (c >= 0x2066 && c <= 0x206F) ||
	       c == 0x3164 || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF || c == 0xFFA0 ||
	       (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0x1D173 && c <= 0x1D17A) ||
	       (c >= 0xE0000 && c <= 0xE007F) || (c >= 0xE0100 && c <= 0xE01EF);
}

static bool spec_is_flag(const uint32_t *c, size_t len)
{
	static const char *const names[] = { "gbeng", "gbsct", "gbwls" };

	for (size_t i = 0; i < 3; i++) {
		bool same = len >= 7 && c[0] == 0x1F3F4 && c[6] == 0xE007F;

		for (size_t k = 0; same && k < 5; k++)
			same = c[k + 1] == 0xE0000u + (unsigned char)names[i][k];
		if (same)
			return true;
	}
	return false;
}

static size_t spec_invisible(uint32_t *c, size_t len)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		if (spec_is_flag(c + i, len - i)) {
			memmove(c + out, c + i, 7 * sizeof(*c));
			out += 7;
			i += 6;
		} else if (c[i] == 0x85 || c[i] == 0x2028 || c[i] == 0x2029) {
			c[out++] = '\n';
		} else if (c[i] == 0xFE0F && out > 0 && normalize_is_emoji(c[out - 1]) &&
			   (c[out - 1] > 0x7F || (i + 1 < len && c[i + 1] == 0x20E3))) {
			c[out++] = c[i];
		} else if (!spec_is_dropped(c[i])) {
			c[out++] = c[i];
		}
	}
	return out;
}

static size_t spec_comments(uint32_t *c, size_t len)
{
	size_t out = 0;

	for (size_t i = 0; i < len;) {
		size_t end = 0;

		if (i + 4 <= len && c[i] == '<' && c[i + 1] == '!' && c[i + 2] == '-' && c[i + 3] == '-')
			for (size_t k = i + 4; end == 0 && k + 3 <= len; k++)
				if (c[k] == '-' && c[k + 1] == '-' && c[k + 2] == '>')
					end = k + 3;
		if (end > 0)
			i = end;
		else
			c[out++] = c[i++];
	}
	return out;
}

static char *spec_sanitize(const char *text, size_t len, size_t *ret_len)
{
	uint32_t *c = malloc((len + 1) * sizeof(*c)), *before, *normal;
	size_t count = 0, was, width;
	uint8_t *bytes;

	for (size_t at = 0; at < len; at += width) {
		width = utf8_decode(text + at, len - at, &c[count]);
		if (c[count] == UTF8_INVALID)
			c[count] = 0xFFFD;
		count++;
	}
	for (bool same = false; !same;) {
		before = malloc((count + 1) * sizeof(*c));
		memcpy(before, c, count * sizeof(*c));
		was = count;
		count = spec_comments(c, count);
		normal = u32_normalize(UNINORM_NFKC, c, count, NULL, &count);
		assert_non_null(normal);
		free(c);
		c = normal;
		count = spec_invisible(c, count);
		same = count == was && memcmp(c, before, count * sizeof(*c)) == 0;
		free(before);
	}
	bytes = u32_to_u8(c, count, NULL, ret_len);
	assert_non_null(bytes);
	free(c);
	return (char *)bytes;
}

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

static void sanitize_text_random_hostile_equals_plain_rounds(void **state)
{
	size_t runs = hostile_runs(4), spec_len;
	uint64_t seed = 77;
	char text[512], *spec;

	(void)state;
	for (size_t i = 0; i < runs; i++) {
		size_t len = hostile_text(&seed, HOSTILE_JOINING, 24, text, sizeof(text));

		spec = spec_sanitize(text, len, &spec_len);
		assert_result(sanitize_text, text, len, spec, spec_len);
		free(spec);
	}
}

static void sanitize_text_random_nests_equal_plain_rounds(void **state)
{
	size_t runs = hostile_runs(4), spec_len;
	uint64_t seed = 4711;
	char text[512], *spec;

	(void)state;
	for (size_t i = 0; i < runs; i++) {
		// Of the comment's own pieces alone.
		size_t len = 0, pieces = 1 + hostile_random(&seed) % 60;

		for (size_t k = 0; k < pieces; k++) {
			const struct hostile_piece *piece = &hostile_pieces[1 + hostile_random(&seed) % 15];

			memcpy(text + len, piece->bytes, piece->len);
			len += piece->len;
		}
		spec = spec_sanitize(text, len, &spec_len);
		assert_result(sanitize_text, text, len, spec, spec_len);
		free(spec);
	}
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

static double cost(sanitizer *sanitize, const struct hostile_nest_family *family, size_t bytes)
{
	size_t unit = strlen(family->prefix) + strlen(family->suffix), len;
	char *text = hostile_nest(family->prefix, family->middle, family->suffix, bytes / unit, &len);
	double best = 1e9;

	for (int i = 0; i < 3; i++) {
		double start = hostile_seconds();
		struct result result = run(sanitize, text, len);
		double took = hostile_seconds() - start;

		assert_int_equal(result.rc, 0);
		done(&result);
		if (took < best)
			best = took;
	}
	free(text);
	return best;
}

static void assert_linear(sanitizer *sanitize, const struct hostile_nest_family *family)
{
	// Long enough to be measured, and once more when a neighbour disturbed it.
	for (int attempt = 0;; attempt++) {
		double small = cost(sanitize, family, 1 << 18), large = cost(sanitize, family, 1 << 19);

		if (large <= 2.5 * small || large < 0.002)
			return;
		if (attempt == 4) {
			fprintf(stderr, "%s: %.4f s, then %.4f s for the double\n", family->name, small,
				large);
			fail();
		}
	}
}

static void sanitize_hostile_families_grow_linearly(void **state)
{
	(void)state;
	for (size_t i = 0; i < HOSTILE_NEST_FAMILIES; i++) {
		assert_linear(sanitize_text, &hostile_nest_families[i]);
		assert_linear(sanitize_code, &hostile_nest_families[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sanitize_text_clean_allocates_nothing),
		cmocka_unit_test(sanitize_text_empty_is_unchanged),
		cmocka_unit_test(sanitize_text_reformed_comments_go),
		cmocka_unit_test(sanitize_text_blocked_composition_is_composed),
		cmocka_unit_test(sanitize_text_invalid_becomes_replacement),
		cmocka_unit_test(sanitize_text_notices_count_and_place),
		cmocka_unit_test(sanitize_text_map_gives_places_of_all_rounds),
		cmocka_unit_test(sanitize_text_deep_nest_is_taken_out),
		cmocka_unit_test(sanitize_text_explosive_growth_is_refused),
		cmocka_unit_test(sanitize_code_keeps_all_but_invisible),
		cmocka_unit_test(sanitize_code_joined_bytes_are_looked_at_again),
		cmocka_unit_test(sanitize_code_endless_joins_are_refused),
		cmocka_unit_test(sanitize_code_invalid_is_noticed_once),
		cmocka_unit_test(sanitize_text_random_hostile_equals_plain_rounds),
		cmocka_unit_test(sanitize_text_random_nests_equal_plain_rounds),
		cmocka_unit_test(sanitize_text_random_hostile_is_fixed_point),
		cmocka_unit_test(sanitize_code_random_hostile_is_fixed_point),
		cmocka_unit_test(sanitize_text_random_hostile_map_leads_to_source),
		cmocka_unit_test(sanitize_hostile_families_grow_linearly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
