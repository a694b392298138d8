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
#include "sanitize/bitset.h"
#include "sanitize/steps.h"

typedef int strip(struct edit *edit, struct seen *seen);

static char *stripped(strip *step, const char *text, size_t len, struct seen *seen, size_t *ret_len)
{
	struct edit edit = edit_begin(text, len);
	char *result;

	*seen = (struct seen){ 0, 0 };
	assert_int_equal(step(&edit, seen), 0);
	assert_int_equal(edit.changed, seen->count > 0);
	*ret_len = edit.changed ? edit.text.len : len;
	result = malloc(*ret_len + 1);
	if (*ret_len > 0)
		memcpy(result, edit.changed ? edit.text.data : text, *ret_len);
	result[*ret_len] = '\0';
	edit_release(&edit);
	return result;
}

static void assert_stripped(strip *step, const char *text, const char *want, size_t count, size_t first)
{
	struct seen seen;
	size_t len;
	char *got = stripped(step, text, strlen(text), &seen, &len);

	assert_string_equal(got, want);
	assert_int_equal(seen.count, count);
	if (count > 0)
		assert_int_equal(seen.first, first);
	free(got);
}

static void comment_strip_takes_nearest_closer(void **state)
{
	(void)state;
	assert_stripped(comment_strip, "", "", 0, 0);
	assert_stripped(comment_strip, "none -- > here", "none -- > here", 0, 0);
	assert_stripped(comment_strip, "a <!-- b\nc --> d --> e", "a  d --> e", 1, 2);
	assert_stripped(comment_strip, "<!---->", "", 1, 0);
	assert_stripped(comment_strip, "<!--><!--->x-->y", "x-->y", 1, 0);
	assert_stripped(comment_strip, "--><!-- x", "--><!-- x", 0, 0);
	assert_stripped(comment_strip, "<!-- a --!> b", "<!-- a --!> b", 0, 0);
	assert_stripped(comment_strip, "<!<!-- -->-- a -->", "<!-- a -->", 1, 2);
}

static void comment_strip_all_takes_what_forms(void **state)
{
	(void)state;
	assert_stripped(comment_strip_all, "plain", "plain", 0, 0);
	assert_stripped(comment_strip_all, "<!<!-- -->-- a -->", "", 2, 0);
	assert_stripped(comment_strip_all, "x<!<!<!-- -->-- -->-- -->y", "xy", 3, 1);
	assert_stripped(comment_strip_all, "a <!-- -<!-- -->->b", "a ->b", 1, 2);
	assert_stripped(comment_strip_all, "-<!-- -->-> <!-- o", "--> <!-- o", 1, 1);
}

static void comment_strip_all_random_equals_passes(void **state)
{
	static const char pieces[][8] = { "<", "!", "-", "--", ">", "<!--", "-->", "<!", "->", "a" };
	uint64_t seed = 12345;
	char text[400];

	(void)state;
	for (size_t i = 0; i < hostile_runs(4); i++) {
		size_t len = 0, total = 0, first = SIZE_MAX, all_len, next_len,
		       count = 1 + hostile_random(&seed) % 80;
		struct seen seen, pass;
		char *all, *now, *next;

		for (size_t k = 0; k < count; k++) {
			const char *piece =
				pieces[hostile_random(&seed) % (sizeof(pieces) / sizeof(pieces[0]))];

			memcpy(text + len, piece, strlen(piece));
			len += strlen(piece);
		}
		all = stripped(comment_strip_all, text, len, &seen, &all_len);
		now = stripped(comment_strip, text, len, &pass, &next_len);
		for (;;) {
			total += pass.count;
			if (pass.count == 0)
				break;
			if (first == SIZE_MAX)
				first = pass.first;
			next = stripped(comment_strip, now, next_len, &pass, &next_len);
			free(now);
			now = next;
		}
		assert_int_equal(all_len, next_len);
		assert_memory_equal(all, now, next_len);
		assert_int_equal(seen.count, total);
		if (total > 0)
			assert_true(seen.first <= first);
		free(all);
		free(now);
	}
}

static void comment_unterminated_is_the_first_left_open(void **state)
{
	(void)state;
	assert_int_equal(comment_unterminated("a <!-- b --> c", 14), 14);
	assert_int_equal(comment_unterminated("a <!-- b --> <!-- c", 19), 13);
	assert_int_equal(comment_unterminated("<!-->", 5), 0);
	assert_int_equal(comment_unterminated("", 0), 0);
}

static void bitset_random_agrees_with_array(void **state)
{
	uint64_t seed = 8;

	(void)state;
	for (int round = 0; round < 60; round++) {
		size_t limit = 1 + hostile_random(&seed) % (round % 3 == 0 ? 70 : 20000);
		char *plain = calloc(limit, 1);
		struct bitset set;

		assert_int_equal(bitset_init(&set, limit, round % 2), 0);
		memset(plain, round % 2, limit);
		for (int i = 0; i < 300; i++) {
			size_t at = hostile_random(&seed) % limit,
			       end = at + hostile_random(&seed) % (limit - at + 1), want;

			switch (hostile_random(&seed) % 4) {
			case 0:
				bitset_add(&set, at);
				plain[at] = 1;
				break;
			case 1:
				bitset_remove(&set, at);
				plain[at] = 0;
				break;
			case 2:
				if (hostile_random(&seed) % 8 == 0) {
					bitset_remove_range(&set, at, end);
					memset(plain + at, 0, end - at);
				}
				break;
			}
			at = hostile_random(&seed) % limit;
			for (want = at; want < limit && !plain[want]; want++)
				;
			assert_int_equal(bitset_next(&set, at), want == limit ? BITSET_NONE : want);
			for (want = at; want != SIZE_MAX && !plain[want]; want--)
				;
			assert_int_equal(bitset_previous(&set, at), want);
			for (want = at; want < limit && plain[want]; want++)
				;
			assert_int_equal(bitset_next_missing(&set, at, limit), want);
		}
		assert_int_equal(bitset_next(&set, limit + 100), BITSET_NONE);
		bitset_release(&set);
		free(plain);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comment_strip_takes_nearest_closer),
		cmocka_unit_test(comment_strip_all_takes_what_forms),
		cmocka_unit_test(comment_strip_all_random_equals_passes),
		cmocka_unit_test(comment_unterminated_is_the_first_left_open),
		cmocka_unit_test(bitset_random_agrees_with_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
