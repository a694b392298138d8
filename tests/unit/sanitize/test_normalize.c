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

#include <uninorm.h>
#include <unistr.h>

#include "hostile.h"
#include "sanitize/steps.h"
#include "sanitize/utf8.h"

static void assert_as_a_whole(const char *text, size_t len)
{
	struct edit edit = edit_begin(text, len);
	size_t want_len;
	char *want = (char *)u8_normalize(UNINORM_NFKC, (const uint8_t *)text, len, NULL, &want_len);

	edit.limit = BUF_MAX;
	assert_non_null(want);
	assert_int_equal(normalize_text(&edit), 0);
	if (edit.changed) {
		assert_int_equal(edit.text.len, want_len);
		assert_memory_equal(edit.text.data, want, want_len);
	} else {
		assert_int_equal(len, want_len);
		assert_memory_equal(text, want, want_len);
	}
	edit_release(&edit);
	free(want);
}

// Each code point behind a letter, a mark, a Hangul syllable and one of the scripts whose vowels join.
static void normalize_text_all_code_points_equal_whole(void **state)
{
	static const char *const before[] = {
		"", "e", "e\xCC\x81", "\xEA\xB0\x80", "\xE0\xA7\x87", "\xE1\x84\x80"
	};
	static const char *const after[] = { "", "\xCC\xA3", "\xE1\x86\xA8" };

	(void)state;
	for (uint32_t c = 0x80; c < 0xE0200; c++) {
		uint8_t text[32];
		size_t len;
		int width;

		if (c == 0x32000)
			c = 0xE0000;
		if (c >= 0xD800 && c < 0xE000)
			continue;
		for (size_t b = 0; b < sizeof(before) / sizeof(before[0]); b++) {
			const char *tail = after[(c + b) % 3];

			len = strlen(before[b]);
			memcpy(text, before[b], len);
			width = u8_uctomb(text + len, c, 6);
			assert_true(width > 0);
			len += (size_t)width;
			memcpy(text + len, tail, strlen(tail));
			len += strlen(tail);
			assert_as_a_whole((char *)text, len);
		}
	}
}

// Whatever the library composes joins across a piece: its second half must be none of our boundaries.
static void normalize_text_all_compositions_are_made(void **state)
{
	size_t pairs = 0;

	(void)state;
	for (uint32_t c = 0x80; c < 0x30000; c++) {
		ucs4_t parts[UC_DECOMPOSITION_MAX_LENGTH];
		uint8_t text[16];
		int tag, len;

		if (uc_decomposition(c, &tag, parts) != 2 || tag != UC_DECOMP_CANONICAL ||
		    uc_composition(parts[0], parts[1]) != c)
			continue;
		len = u8_uctomb(text, parts[0], 6);
		len += u8_uctomb(text + len, parts[1], 6);
		assert_as_a_whole((char *)text, (size_t)len);
		pairs++;
	}
	assert_true(pairs > 12000); // most of them Hangul
}

static void normalize_text_random_equals_whole(void **state)
{
	uint64_t seed = 21;
	char text[512];

	(void)state;
	for (size_t i = 0; i < hostile_runs(5); i++) {
		size_t len = hostile_text(&seed, 0, 24, text, sizeof(text)), out = 0, width;
		char valid[2048];
		uint32_t c;

		for (size_t at = 0; at < len; at += width) {
			width = utf8_decode(text + at, len - at, &c);
			if (c == UTF8_INVALID)
				continue;
			memcpy(valid + out, text + at, width);
			out += width;
		}
		assert_as_a_whole(valid, out);
	}
}

static void normalize_text_ascii_is_unchanged(void **state)
{
	struct edit edit = edit_begin("plain <text>\n", 13);

	(void)state;
	assert_int_equal(normalize_text(&edit), 0);
	assert_false(edit.changed);
	assert_null(edit.text.data);
}

static void normalize_text_a_mebibyte_of_marks_is_sorted(void **state)
{
	size_t len;
	char *text = hostile_nest("\xCC\x81\xCC\xA3\xCC\xB4", "", "", 174763, &len);
	double start = hostile_seconds();

	(void)state;
	assert_true(len > 1 << 20);
	assert_as_a_whole(text, len);
	assert_true(hostile_seconds() - start < 30); // quadratic would take hours
	free(text);
}

static void normalize_is_emoji_knows_bases(void **state)
{
	(void)state;
	assert_true(normalize_is_emoji(0x1F600));
	assert_true(normalize_is_emoji(0xA9));
	assert_true(normalize_is_emoji('#'));
	assert_false(normalize_is_emoji('a'));
	assert_false(normalize_is_emoji(0x4E00));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normalize_text_ascii_is_unchanged),
		cmocka_unit_test(normalize_text_all_code_points_equal_whole),
		cmocka_unit_test(normalize_text_all_compositions_are_made),
		cmocka_unit_test(normalize_text_random_equals_whole),
		cmocka_unit_test(normalize_text_a_mebibyte_of_marks_is_sorted),
		cmocka_unit_test(normalize_is_emoji_knows_bases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
