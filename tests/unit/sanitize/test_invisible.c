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

#include "sanitize/steps.h"

static char *strip(const char *text, size_t len, bool keep_mark, struct invisible *found)
{
	struct edit edit = edit_begin(text, len);

	memset(found, 0, sizeof(*found));
	assert_int_equal(invisible_strip(&edit, keep_mark, found), 0);
	if (!edit.changed)
		return strndup(text, len);
	offset_map_release(&edit.map);
	return buf_detach(&edit.text);
}

static void assert_strip(const char *text, const char *want)
{
	struct invisible found;
	char *got = strip(text, strlen(text), false, &found);

	assert_string_equal(got, want);
	free(got);
}

// The list once more, as words say it.
static bool is_gone(uint32_t c)
{
	static const uint32_t list[][2] = {
		{ 0x200B, 0x200F },   { 0xAD, 0xAD },     { 0xE0000, 0xE007F }, { 0x2060, 0x2064 },
		{ 0x206A, 0x206F },   { 0xFEFF, 0xFEFF }, { 0x34F, 0x34F },     { 0x61C, 0x61C },
		{ 0x180B, 0x180E },   { 0x115F, 0x1160 }, { 0x17B4, 0x17B5 },   { 0x3164, 0x3164 },
		{ 0xFFA0, 0xFFA0 },   { 0xFFF9, 0xFFFB }, { 0x1D173, 0x1D17A }, { 0xFE00, 0xFE0F },
		{ 0xE0100, 0xE01EF }, { 0x202A, 0x202E }, { 0x2066, 0x2069 },   { 0, 8 },
		{ 0xB, 0xC },         { 0xE, 0x1F },      { 0x7F, 0x84 },       { 0x86, 0x9F },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (c >= list[i][0] && c <= list[i][1])
			return true;
	return false;
}

static void invisible_strip_all_code_points_follow_the_list(void **state)
{
	(void)state;
	for (uint32_t c = 0; c <= 0x10FFFF; c++) {
		uint8_t text[8] = "a", want[8] = "a";
		struct edit edit;
		struct invisible found = { .stripped = 0 };
		int width = u8_uctomb(text + 1, c, 6);
		size_t len, want_len = 1;

		if (width < 0)
			continue;
		len = 1 + (size_t)width;
		text[len++] = 'b';
		if (c == 0x85 || c == 0x2028 || c == 0x2029) {
			want[want_len++] = '\n';
		} else if (!is_gone(c)) {
			memcpy(want + 1, text + 1, (size_t)width);
			want_len += (size_t)width;
		}
		want[want_len++] = 'b';
		edit = edit_begin((char *)text, len);
		assert_int_equal(invisible_strip(&edit, false, &found), 0);
		if (want_len != len || memcmp(text, want, len) != 0) {
			assert_true(edit.changed);
			assert_int_equal(edit.text.len, want_len);
			assert_memory_equal(edit.text.data, want, want_len);
			assert_int_equal(found.stripped, 1);
			assert_int_equal(found.invisible.count + found.bidi.count + found.nul.count +
						 found.tags.count,
					 1);
		} else {
			assert_false(edit.changed);
		}
		edit_release(&edit);
	}
}

#define VS16   "\xEF\xB8\x8F"
#define KEYCAP "\xE2\x83\xA3"
#define SMILE  "\xF0\x9F\x98\x80"
#define ZWSP   "\xE2\x80\x8B"

static void invisible_strip_emoji_selector_stays_behind_emoji(void **state)
{
	(void)state;
	assert_strip(SMILE VS16 "x", SMILE VS16 "x");
	assert_strip(SMILE VS16 VS16, SMILE VS16);
	assert_strip(SMILE ZWSP VS16, SMILE VS16);
	assert_strip("\xC2\xA9" VS16, "\xC2\xA9" VS16);
	assert_strip("a" VS16 VS16 "b", "ab");
	assert_strip(VS16 "b", "b");
	assert_strip("\xE4\xB8\x80" VS16, "\xE4\xB8\x80");
}

static void invisible_strip_digits_keep_it_only_in_a_keycap(void **state)
{
	(void)state;
	assert_strip("1" VS16 KEYCAP, "1" VS16 KEYCAP);
	assert_strip("#" VS16 KEYCAP "*" VS16 KEYCAP, "#" VS16 KEYCAP "*" VS16 KEYCAP);
	assert_strip("base6" VS16 "4" VS16 " -d", "base64 -d");
	assert_strip("1" VS16 ZWSP KEYCAP, "1" KEYCAP);
}

#define FLAG        "\xF0\x9F\x8F\xB4"
#define TAG(letter) "\xF3\xA0\x81" letter
#define ENGLAND     FLAG TAG("\xA7") TAG("\xA2") TAG("\xA5") TAG("\xAE") TAG("\xA7") TAG("\xBF")
#define SCOTLAND    FLAG TAG("\xA7") TAG("\xA2") TAG("\xB3") TAG("\xA3") TAG("\xB4") TAG("\xBF")
#define WALES       FLAG TAG("\xA7") TAG("\xA2") TAG("\xB7") TAG("\xAC") TAG("\xB3") TAG("\xBF")
#define TEXAS       FLAG TAG("\xB5") TAG("\xB3") TAG("\xB4") TAG("\xB8") TAG("\xBF")

static void invisible_strip_flags_in_use_stay_whole(void **state)
{
	struct invisible found;
	char *got;

	(void)state;
	assert_strip(ENGLAND SCOTLAND "x" WALES, ENGLAND SCOTLAND "x" WALES);
	assert_strip(TEXAS, FLAG);
	assert_strip(FLAG ZWSP TAG("\xA7") TAG("\xBF"), FLAG);
	assert_strip(ENGLAND TAG("\xA8") TAG("\xBF"), ENGLAND);
	got = strip(WALES, strlen(WALES), false, &found);
	assert_int_equal(found.tags.count, 0);
	free(got);
	got = strip("ab" TEXAS, strlen("ab" TEXAS), false, &found);
	assert_int_equal(found.tags.count, 5);
	assert_int_equal(found.tags.first, 6);
	assert_string_equal(found.tag_text, "ustx");
	free(got);
}

static void invisible_strip_long_tag_text_is_clipped(void **state)
{
	struct invisible found;
	char text[4 * 500 + 1] = "";
	char *got;

	(void)state;
	for (size_t i = 0; i < 500; i++)
		memcpy(text + 4 * i, TAG("\xA8"), 4);
	got = strip(text, 2000, false, &found);
	assert_string_equal(got, "");
	assert_int_equal(found.tags.count, 500);
	assert_int_equal(strlen(found.tag_text), TAG_TEXT_MAX);
	free(got);
}

static void invisible_strip_mark_at_the_start_stays_when_asked(void **state)
{
	struct invisible found;
	char *got = strip("\xEF\xBB\xBFx\xEF\xBB\xBFy", 8, true, &found);

	(void)state;
	assert_string_equal(got, "\xEF\xBB\xBFxy");
	assert_int_equal(found.stripped, 1);
	free(got);
	got = strip("\xEF\xBB\xBFx", 4, false, &found);
	assert_string_equal(got, "x");
	assert_int_equal(found.stripped, 1);
	assert_int_equal(found.invisible.count, 0);
	free(got);
}

static void invisible_sequence_start_finds_what_a_cut_would_break(void **state)
{
	static const char text[] = "a" WALES "1" VS16 KEYCAP "z";
	const size_t len = sizeof(text) - 1;

	(void)state;
	for (size_t at = 0; at <= len; at++) {
		size_t want = at > 1 && at < 29 ? 1 : at > 29 && at < 36 ? 29 : at;

		assert_int_equal(invisible_sequence_start(text, len, at), want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invisible_strip_all_code_points_follow_the_list),
		cmocka_unit_test(invisible_strip_emoji_selector_stays_behind_emoji),
		cmocka_unit_test(invisible_strip_digits_keep_it_only_in_a_keycap),
		cmocka_unit_test(invisible_strip_flags_in_use_stay_whole),
		cmocka_unit_test(invisible_strip_long_tag_text_is_clipped),
		cmocka_unit_test(invisible_strip_mark_at_the_start_stays_when_asked),
		cmocka_unit_test(invisible_sequence_start_finds_what_a_cut_would_break),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
