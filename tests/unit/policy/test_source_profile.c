// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/source_profile.h"

struct window {
	enum extraction strategy;
	uint64_t bytes, chars;
	const char *text;
	const char *kept;
};

static const struct window windows[] = {
	{ EXTRACTION_RAW, 100, 100, "hello", "hello" },
	{ EXTRACTION_RAW, 3, 100, "hello", "hel" },
	{ EXTRACTION_RAW, 100, 2, "hello", "he" },
	{ EXTRACTION_TAIL, 3, 100, "hello", "llo" },
	{ EXTRACTION_TAIL, 100, 2, "hello", "lo" },
	{ EXTRACTION_TAIL, 100, 0, "hello", "" },
	{ EXTRACTION_RAW, 0, 5, "hello", "" },
	// é is c3 a9, € is e2 82 ac, the face f0 9f 98 80
	{ EXTRACTION_RAW, 2, 100, "a\xc3\xa9z", "a" },
	{ EXTRACTION_RAW, 3, 100, "a\xc3\xa9z", "a\xc3\xa9" },
	{ EXTRACTION_TAIL, 2, 100, "a\xc3\xa9z", "z" },
	{ EXTRACTION_TAIL, 3, 100, "a\xc3\xa9z", "\xc3\xa9z" },
	{ EXTRACTION_TAIL, 2, 100, "\xe2\x82\xac", "" },
	{ EXTRACTION_TAIL, 3, 100, "\xf0\x9f\x98\x80", "" },
	{ EXTRACTION_RAW, 3, 100, "\xf0\x9f\x98\x80", "" },
	{ EXTRACTION_READABILITY, 100, 2, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac",
	  "\xe2\x82\xac\xe2\x82\xac" },
	{ EXTRACTION_TAIL, 100, 2, "x\xe2\x82\xac\xc3\xa9", "\xe2\x82\xac\xc3\xa9" },
	// bytes that are no UTF-8 count one each and may be cut anywhere
	{ EXTRACTION_RAW, 3, 100, "\x80\x80\x80\x80\x80", "\x80\x80\x80" },
	{ EXTRACTION_TAIL, 3, 100, "\x80\x80\x80\x80\x80", "\x80\x80\x80" },
	{ EXTRACTION_TAIL, 100, 2, "\xff\xfe\xfd", "\xfe\xfd" },
	{ EXTRACTION_RAW, 1, 100, "\xc0\x80", "\xc0" },
	{ EXTRACTION_RAW, 2, 100, "\xed\xa0\x80", "\xed\xa0" },
	{ EXTRACTION_RAW, 100, 3, "\xf0\x9f\x98", "\xf0\x9f\x98" },
};

static void window_keeps_the_right_part(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		const struct window *w = &windows[i];
		struct source_profile profile = { .max_response_bytes = w->bytes,
						  .max_chars = w->chars,
						  .strategy = w->strategy };
		size_t offset = 99, len = 99;

		source_profile_window(&profile, w->text, strlen(w->text), &offset, &len);
		if (len != strlen(w->kept) || memcmp(w->text + offset, w->kept, len) != 0)
			fail_msg("window %zu: offset %zu, length %zu", i, offset, len);
	}
}

static void window_of_nothing_is_nothing(void **state)
{
	struct source_profile profile = { .max_response_bytes = 5,
					  .max_chars = 5,
					  .strategy = EXTRACTION_TAIL };
	size_t offset = 9, len = 9;

	(void)state;
	source_profile_window(&profile, "", 0, &offset, &len);
	assert_int_equal(offset, 0);
	assert_int_equal(len, 0);
}

// Cutting any bytes at any place: at most the cap, at the right end, and no valid character is torn.
static void window_random_bytes_never_tears(void **state)
{
	static const char *const parts[] = { "a",    "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
					     "\x80", "\xff",     "\xe2\x82" };
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char text[64];
		bool start[65] = { false };
		size_t len = 0, offset, kept, chars = 0;
		struct source_profile profile;

		while (len < 40) {
			const char *part;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			part = parts[(seed >> 33) % 7];
			start[len] = true;
			// Each byte of a broken part is a character of its own.
			if (strcmp(part, "\xe2\x82") == 0)
				start[len + 1] = true;
			memcpy(text + len, part, strlen(part));
			len += strlen(part);
			// A broken part before a stray 80 would make a character after all.
			if (strcmp(part, "\xe2\x82") == 0) {
				start[len] = true;
				text[len++] = '.';
			}
		}
		start[len] = true;
		profile = (struct source_profile){
			.max_response_bytes = (seed >> 20) % 45,
			.max_chars = (seed >> 40) % 45,
			.strategy = round % 2 == 0 ? EXTRACTION_TAIL : EXTRACTION_RAW,
		};
		source_profile_window(&profile, text, len, &offset, &kept);
		assert_true(offset + kept <= len);
		assert_true(start[offset] && start[offset + kept]);
		for (size_t i = offset; i < offset + kept; i++)
			chars += start[i];
		assert_true(kept <= profile.max_response_bytes && chars <= profile.max_chars);
		if (profile.strategy == EXTRACTION_TAIL)
			assert_int_equal(offset + kept, len);
		else
			assert_int_equal(offset, 0);
		// One more character would be over a cap.
		if (kept < len && chars < profile.max_chars)
			assert_true(kept + 4 > profile.max_response_bytes);
	}
}

static void clamp_keeps_floors_and_ceilings(void **state)
{
	struct source_profile low = { .max_response_bytes = 1, .max_chars = 0 };
	struct source_profile high = { .max_response_bytes = UINT64_MAX, .max_chars = UINT64_MAX };
	struct source_profile good = { .max_response_bytes = 40000, .max_chars = 5000 };

	(void)state;
	source_profile_clamp(&low);
	source_profile_clamp(&high);
	source_profile_clamp(&good);
	assert_int_equal(low.max_response_bytes, 32000);
	assert_int_equal(low.max_chars, 100);
	assert_int_equal(high.max_response_bytes, 5000000);
	assert_int_equal(high.max_chars, 500000);
	assert_int_equal(good.max_response_bytes, 40000);
	assert_int_equal(good.max_chars, 5000);
}

static void extraction_names_read_back(void **state)
{
	enum extraction extraction;

	(void)state;
	for (int i = EXTRACTION_RAW; i <= EXTRACTION_READABILITY; i++) {
		assert_int_equal(extraction_parse(extraction_name((enum extraction)i), &extraction), 0);
		assert_int_equal(extraction, i);
	}
	assert_int_equal(extraction_parse("Raw", &extraction), -EINVAL);
}

static void builtin_table_is_the_documents(void **state)
{
	(void)state;
	assert_int_equal(builtin_source_profile_count, 5);
	assert_string_equal(builtin_source_profiles[2].tool, "bash");
	assert_int_equal(builtin_source_profiles[2].max_response_bytes, 500000);
	assert_int_equal(builtin_source_profiles[2].max_chars, 50000);
	assert_int_equal(builtin_source_profiles[2].strategy, EXTRACTION_TAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_keeps_the_right_part),
		cmocka_unit_test(window_of_nothing_is_nothing),
		cmocka_unit_test(window_random_bytes_never_tears),
		cmocka_unit_test(clamp_keeps_floors_and_ceilings),
		cmocka_unit_test(extraction_names_read_back),
		cmocka_unit_test(builtin_table_is_the_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
