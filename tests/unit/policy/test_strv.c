// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/name_set.h"
#include "policy/strv.h"
#include "sanitize/cleanup.h"

static void add_copies_keeps_order(void **state)
{
	struct strv strv CLEANUP(strv) = { NULL, 0, 0 };
	char word[8] = "";

	(void)state;
	for (int i = 0; i < 100; i++) {
		(void)snprintf(word, sizeof(word), "w%d", i);
		assert_int_equal(strv_add(&strv, word), 0);
	}
	assert_int_equal(strv.count, 100);
	assert_string_equal(strv.items[0], "w0");
	assert_string_equal(strv.items[99], "w99");
	assert_true(strv_contains(&strv, "w50"));
	assert_false(strv_contains(&strv, "w5x"));
}

static void add_len_takes_a_part(void **state)
{
	struct strv strv CLEANUP(strv) = { NULL, 0, 0 };

	(void)state;
	assert_int_equal(strv_add_len(&strv, "abcdef", 3), 0);
	assert_int_equal(strv_add_len(&strv, NULL, 0), 0);
	assert_string_equal(strv.items[0], "abc");
	assert_string_equal(strv.items[1], "");
}

static void copy_appends(void **state)
{
	struct strv from CLEANUP(strv) = { NULL, 0, 0 }, to CLEANUP(strv) = { NULL, 0, 0 };

	(void)state;
	assert_int_equal(strv_add(&to, "a"), 0);
	assert_int_equal(strv_add(&from, "b"), 0);
	assert_int_equal(strv_copy(&to, &from), 0);
	assert_int_equal(to.count, 2);
	assert_string_equal(to.items[1], "b");
	assert_ptr_not_equal(to.items[1], from.items[0]);
}

static void name_set_equal_names_gives_last_index(void **state)
{
	struct name_set set CLEANUP(name_set) = { NULL, 0, 0 };
	size_t index = 0;

	(void)state;
	assert_false(name_set_find(&set, "a", &index));
	assert_int_equal(name_set_add(&set, "b", 1), 0);
	assert_int_equal(name_set_add(&set, "a", 5), 0);
	assert_int_equal(name_set_add(&set, "a", 2), 0);
	assert_int_equal(name_set_add(&set, "c", 0), 0);
	name_set_sort(&set);
	assert_true(name_set_find(&set, "a", &index));
	assert_int_equal(index, 5);
	assert_true(name_set_find(&set, "c", NULL));
	assert_false(name_set_find(&set, "", NULL));
	assert_false(name_set_find(&set, "d", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add_copies_keeps_order),
		cmocka_unit_test(add_len_takes_a_part),
		cmocka_unit_test(copy_appends),
		cmocka_unit_test(name_set_equal_names_gives_last_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
