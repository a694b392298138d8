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

#include <unistr.h>

#include "hostile.h"
#include "sanitize/utf8.h"

static void utf8_decode_all_code_points_come_back(void **state)
{
	uint8_t bytes[6];
	uint32_t got;

	(void)state;
	for (uint32_t c = 0; c <= 0x10FFFF; c++) {
		int len = u8_uctomb(bytes, c, sizeof(bytes));

		if (len < 0)
			continue; // surrogates
		assert_int_equal(utf8_decode((char *)bytes, (size_t)len, &got), len);
		assert_int_equal(got, c);
		assert_int_equal(utf8_decode_last((char *)bytes, (size_t)len, &got), len);
		assert_int_equal(got, c);
		for (size_t cut = 1; cut < (size_t)len; cut++) {
			assert_int_equal(utf8_decode((char *)bytes, cut, &got), cut);
			assert_int_equal(got, UTF8_INVALID);
		}
	}
}

static void utf8_decode_invalid_is_maximal_part(void **state)
{
	static const struct {
		const char *bytes;
		size_t part;
	} cases[] = {
		{ "\x80", 1 },
		{ "\xC0\x80", 1 },
		{ "\xC1\xBF", 1 },
		{ "\xE0\x80\x80", 1 },
		{ "\xED\xA0\x80", 1 },
		{ "\xF0\x80\x80\x80", 1 },
		{ "\xF4\x90\x80\x80", 1 },
		{ "\xF5\x80\x80\x80", 1 },
		{ "\xFF", 1 },
		{ "\xE2\x80"
		  "a",
		  2 },
		{ "\xF0\x9F\x98"
		  "a",
		  3 },
		{ "\xF0\x9F"
		  "a",
		  2 },
		{ "\xC3"
		  "a",
		  1 },
	};
	uint32_t got;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(utf8_decode(cases[i].bytes, strlen(cases[i].bytes), &got), cases[i].part);
		assert_int_equal(got, UTF8_INVALID);
	}
}

static void utf8_decode_random_agrees_with_library(void **state)
{
	uint64_t seed = 3;
	char text[512];

	(void)state;
	for (size_t i = 0; i < hostile_runs(10); i++) {
		size_t len = hostile_text(&seed, 0, 24, text, sizeof(text)), count = 0, invalid = 0;
		const uint8_t *at = (const uint8_t *)text, *end = at + len;

		for (int width; at < end; at += width) {
			ucs4_t want;
			uint32_t got;
			size_t got_width = utf8_decode((const char *)at, (size_t)(end - at), &got);

			width = u8_mbtoucr(&want, at, (size_t)(end - at));
			assert_int_equal(width < 0, got == UTF8_INVALID);
			if (width < 0) {
				width = (int)got_width;
				count++;
				invalid += got_width;
				continue;
			}
			assert_int_equal(got, want);
			assert_int_equal(got_width, width);
			count++;
		}
		assert_int_equal(utf8_count(text, len), count);
		assert_int_equal(utf8_count_invalid(text, len), invalid);
	}
}

// Bytes that begin, end, forbid or break sequences, in texts long enough for all ways of counting.
static void utf8_count_of_broken_bytes_is_that_of_decoding(void **state)
{
	static const unsigned char bytes[] = { 0x00, 'a',  0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0,
					       0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED,
					       0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF };
	uint64_t seed = 3;
	char text[100];

	(void)state;
	for (size_t i = 0; i < hostile_runs(20); i++) {
		size_t len = (size_t)(hostile_random(&seed) % sizeof(text)), count = 0;
		uint32_t value;

		for (size_t k = 0; k < len; k++)
			text[k] = (char)bytes[hostile_random(&seed) % sizeof(bytes)];
		for (size_t at = 0; at < len; count++)
			at += utf8_decode(text + at, len - at, &value);
		assert_int_equal(utf8_count(text, len), count);
	}
}

static void utf8_ascii_length_stops_at_first_high_byte(void **state)
{
	char text[40];

	(void)state;
	for (size_t len = 0; len <= sizeof(text); len++)
		for (size_t high = 0; high <= len; high++) {
			memset(text, 'a', sizeof(text));
			if (high < len)
				text[high] = '\xC3';
			assert_int_equal(utf8_ascii_length(text, len), high);
		}
}

static void utf8_decode_last_of_broken_end_is_one_byte(void **state)
{
	uint32_t got;

	(void)state;
	assert_int_equal(utf8_decode_last("a\x80\x80\x80\x80\x80", 6, &got), 1);
	assert_int_equal(got, UTF8_INVALID);
	assert_int_equal(utf8_decode_last("\xE2\x80", 2, &got), 1);
	assert_int_equal(got, UTF8_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8_decode_all_code_points_come_back),
		cmocka_unit_test(utf8_decode_invalid_is_maximal_part),
		cmocka_unit_test(utf8_decode_random_agrees_with_library),
		cmocka_unit_test(utf8_count_of_broken_bytes_is_that_of_decoding),
		cmocka_unit_test(utf8_ascii_length_stops_at_first_high_byte),
		cmocka_unit_test(utf8_decode_last_of_broken_end_is_one_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
