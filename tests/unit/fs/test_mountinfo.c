// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/resource.h>

#include "fs/mountinfo.h"

static void present_nothing_there_is_false(void **state)
{
	(void)state;
	assert_false(mount_present("/nonexistent/skillfs-test", CONTENT_TYPE));
}

// A daemon that takes its mount for gone ends, and uncovers the raw folder.
static void present_list_unreadable_is_true(void **state)
{
	struct rlimit limit, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_true(mount_present("/nonexistent/skillfs-test", CONTENT_TYPE));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(present_nothing_there_is_false),
		cmocka_unit_test(present_list_unreadable_is_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
