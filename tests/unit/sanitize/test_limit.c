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

#include "hostile.h"
#include "sanitize/edit.h"

#define FRONT(text) front_matter_length(text, sizeof(text) - 1)

static void front_matter_length_closed_block_counts_closing_line(void **state)
{
	(void)state;
	assert_int_equal(FRONT("---\nname: x\n---\nbody"), 16);
	assert_int_equal(FRONT("---\r\nname: x\r\n---\r\nbody"), 19);
	assert_int_equal(FRONT("\xEF\xBB\xBF---\nname: x\n---\nbody"), 19);
	assert_int_equal(FRONT("--- \nname: x\n---\t\nbody"), 18);
	assert_int_equal(FRONT("---\n---\n"), 8);
	assert_int_equal(FRONT("---\na: b\n---"), 12);
	assert_int_equal(FRONT("---\na\n---\nb\n---\n"), 10);
}

static void front_matter_length_without_block_is_zero(void **state)
{
	(void)state;
	assert_int_equal(FRONT(""), 0);
	assert_int_equal(FRONT("---"), 0);
	assert_int_equal(FRONT("---\n"), 0);
	assert_int_equal(FRONT("body"), 0);
	assert_int_equal(FRONT(" ---\na\n---\n"), 0);
	assert_int_equal(FRONT("----\na\n----\n"), 0);
	assert_int_equal(FRONT("---\na: b\n"), 0);
	assert_int_equal(FRONT("---\na: b\n ---\n---x\n"), 0);
	assert_int_equal(FRONT("\n---\na: b\n---\n"), 0);
}

static void assert_cut(const char *text, size_t max, const char *want)
{
	size_t keep = sanitize_cut(text, strlen(text), max);

	assert_int_equal(keep, strlen(want));
	assert_memory_equal(text, want, keep);
}

static void sanitize_cut_counts_code_points(void **state)
{
	(void)state;
	assert_cut("", 0, "");
	assert_cut("abc", 3, "abc");
	assert_cut("abc", 2, "ab");
	assert_cut("abc", 0, "");
	assert_cut("\xF0\x9F\x98\x82\xF0\x9F\x98\x83", 2, "\xF0\x9F\x98\x82\xF0\x9F\x98\x83");
	assert_cut("\xF0\x9F\x98\x82\xF0\x9F\x98\x83", 1, "\xF0\x9F\x98\x82");
	assert_cut("abc", SIZE_MAX, "abc");
}

static void sanitize_cut_measures_body_behind_front_matter(void **state)
{
	(void)state;
	assert_cut("---\nname: long\n---\nabc", 3, "---\nname: long\n---\nabc");
	assert_cut("---\nname: long\n---\nabc", 2, "---\nname: long\n---\nab");
	assert_cut("---\nname: long\n---\nabc", 0, "---\nname: long\n---\n");
}

static void sanitize_cut_splits_no_sequence(void **state)
{
	(void)state;
	assert_cut("1\xEF\xB8\x8F\xE2\x83\xA3", 2, "");
	assert_cut("x1\xEF\xB8\x8F\xE2\x83\xA3", 3, "x");
	assert_cut("x1\xEF\xB8\x8F\xE2\x83\xA3y", 4, "x1\xEF\xB8\x8F\xE2\x83\xA3");
}

static void sanitize_cut_marked_body_is_not_cut_again(void **state)
{
	(void)state;
	assert_cut("abc" TRUNCATED_MARKER, 3, "abc" TRUNCATED_MARKER);
	assert_cut("abcd" TRUNCATED_MARKER, 3, "abc");
	assert_cut("abc [TRUNCATED]", 3, "abc");
	assert_cut(TRUNCATED_MARKER, 0, TRUNCATED_MARKER);
	// The cut makes a closing line of `---more`.
	assert_cut("---\nk\n---more", 9, "---\nk\n---");
	assert_cut("---\nk\n---" TRUNCATED_MARKER, 9, "---\nk\n---" TRUNCATED_MARKER);
	assert_cut("---\nk\n---more", 7, "---\nk\n-");
}

// Steps 1 to 4 and the marker, as they are served.
static char *serve(const char *text, size_t len, size_t max, size_t *ret_len)
{
	struct sanitize_stats stats = { .size = 0 };
	struct notices notices = { NULL, 0, 0 };
	struct cleaned cleaned;
	struct buf body = BUF_INIT;
	size_t keep;

	assert_int_equal(sanitize_text(text, len, NULL, &cleaned, &stats, &notices), 0);
	if (!cleaned.unchanged) {
		text = cleaned.text.data;
		len = cleaned.text.len;
	}
	keep = sanitize_cut(text, len, max);
	assert_int_equal(buf_append(&body, text, keep), 0);
	if (keep < len)
		assert_int_equal(buf_append_string(&body, TRUNCATED_MARKER), 0);
	*ret_len = body.len;
	cleaned_release(&cleaned);
	notices_release(&notices);
	return buf_detach(&body);
}

static void sanitize_cut_random_served_body_is_fixed_point(void **state)
{
	uint64_t seed = 1234;
	char text[600];

	(void)state;
	for (size_t i = 0; i < hostile_runs(5); i++) {
		size_t max = hostile_random(&seed) % 30, len = 0, once_len, twice_len;
		char *once, *twice;

		if (hostile_random(&seed) % 3 == 0) {
			memcpy(text, "---\n", 4);
			len = 4;
		}
		len += hostile_text(&seed, 0, 24, text + len, sizeof(text) - len);
		once = serve(text, len, max, &once_len);
		twice = serve(once, once_len, max, &twice_len);
		assert_int_equal(once_len, twice_len);
		assert_memory_equal(once, twice, once_len);
		free(once);
		free(twice);
	}
}

static void offset_map_empty_is_identity(void **state)
{
	const struct offset_map map = { NULL, 0, 0 };

	(void)state;
	assert_int_equal(offset_map_source(&map, 0), 0);
	assert_int_equal(offset_map_source(&map, 12345), 12345);
}

static void edit_replace_joins_adjacent_removals(void **state)
{
	struct edit edit = edit_begin("0123456789", 10);

	(void)state;
	assert_int_equal(edit_replace(&edit, 2, 4, NULL, 0), 0);
	assert_int_equal(edit_replace(&edit, 4, 5, NULL, 0), 0);
	assert_int_equal(edit_replace(&edit, 7, 8, "xy", 2), 0);
	assert_int_equal(edit_finish(&edit), 0);
	assert_string_equal(edit.text.data, "0156xy89");
	assert_int_equal(offset_map_source(&edit.map, 1), 1);
	assert_int_equal(offset_map_source(&edit.map, 2), 5);
	assert_int_equal(offset_map_source(&edit.map, 3), 6);
	assert_int_equal(offset_map_source(&edit.map, 4), 7);
	assert_int_equal(offset_map_source(&edit.map, 5), 7);
	assert_int_equal(offset_map_source(&edit.map, 6), 8);
	assert_int_equal(edit.map.count, 3);
	edit_release(&edit);
}

static void edit_replace_over_limit_is_refused(void **state)
{
	struct edit edit = edit_begin("0123456789", 10);

	(void)state;
	edit.limit = 12;
	assert_int_equal(edit_replace(&edit, 0, 0, "xyz", 3), 0);
	assert_int_equal(edit_finish(&edit), -EFBIG);
	edit_release(&edit);
}

// Random edits of random edits lead where the characters say.
static void offset_map_compose_random_follows_bytes(void **state)
{
	uint64_t seed = 6;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		unsigned char text[200];
		struct offset_map total = { NULL, 0, 0 }, composed;
		char *now;
		size_t len = sizeof(text);

		for (size_t i = 0; i < len; i++)
			text[i] = (unsigned char)(i + 1); // its own place; 0 is what was put in
		now = malloc(len);
		memcpy(now, text, len);
		for (int step = 0; step < 4; step++) {
			struct edit edit = edit_begin(now, len);

			for (size_t at = hostile_random(&seed) % 20; at < len;
			     at += 1 + hostile_random(&seed) % 30) {
				size_t end = at + hostile_random(&seed) % 4;

				if (end > len)
					end = len;
				assert_int_equal(
					edit_replace(&edit, at, end, "\0\0\0", hostile_random(&seed) % 3), 0);
				at = end;
			}
			assert_int_equal(edit_finish(&edit), 0);
			if (!edit.changed)
				continue;
			assert_int_equal(offset_map_compose(&edit.map, &total, &composed), 0);
			offset_map_release(&total);
			total = composed;
			free(now);
			len = edit.text.len;
			now = buf_detach(&edit.text);
			offset_map_release(&edit.map);
		}
		for (size_t i = 0, last = 0; i < len; i++) {
			size_t source = offset_map_source(&total, i);

			assert_true(source >= last);
			last = source;
			if (now[i] != 0)
				assert_int_equal(source + 1, (unsigned char)now[i]);
		}
		free(now);
		offset_map_release(&total);
	}
}

static void offset_map_push_above_maximum_is_coarse(void **state)
{
	struct offset_map map = { NULL, 0, 0 };
	const size_t pushes = OFFSET_RUNS_MAX + 100000;
	size_t last = 0;

	(void)state;
	for (size_t i = 1; i <= pushes; i++)
		assert_int_equal(offset_map_push(&map, i, 3 * i, true), 0);
	assert_int_equal(offset_map_push(&map, pushes + 1, 3 * (pushes + 1), false), 0);
	assert_true(map.count < OFFSET_RUNS_MAX + 100);
	for (size_t i = 1; i <= pushes; i += 7) {
		size_t source = offset_map_source(&map, i);

		assert_true(source >= last && source <= 3 * i);
		assert_true(3 * i - source <= 3 * OFFSET_COARSE);
		last = source;
	}
	assert_int_equal(offset_map_source(&map, 100), 300);
	assert_int_equal(offset_map_source(&map, pushes + 1000), 3 * (pushes + 1) + 999);
	offset_map_release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(front_matter_length_closed_block_counts_closing_line),
		cmocka_unit_test(front_matter_length_without_block_is_zero),
		cmocka_unit_test(sanitize_cut_counts_code_points),
		cmocka_unit_test(sanitize_cut_measures_body_behind_front_matter),
		cmocka_unit_test(sanitize_cut_splits_no_sequence),
		cmocka_unit_test(sanitize_cut_marked_body_is_not_cut_again),
		cmocka_unit_test(sanitize_cut_random_served_body_is_fixed_point),
		cmocka_unit_test(offset_map_empty_is_identity),
		cmocka_unit_test(edit_replace_joins_adjacent_removals),
		cmocka_unit_test(edit_replace_over_limit_is_refused),
		cmocka_unit_test(offset_map_compose_random_follows_bytes),
		cmocka_unit_test(offset_map_push_above_maximum_is_coarse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
