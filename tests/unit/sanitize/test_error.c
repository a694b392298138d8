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

#include "sanitize/error.h"

static void error_set_keeps_code_and_message(void **state)
{
	struct error error = { "" };

	(void)state;
	assert_int_equal(error_set(&error, -EINVAL, "line %d: %s", 3, "bad"), -EINVAL);
	assert_string_equal(error.message, "line 3: bad");
	assert_string_equal(error_text(&error, -EINVAL), "line 3: bad");
}

static void error_null_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(error_set(NULL, -EIO, "x"), -EIO);
	assert_int_equal(error_prefix(NULL, -EIO, "x"), -EIO);
	assert_string_equal(error_text(NULL, -EIO), strerror(EIO));
}

static void error_prefix_puts_what_before_why(void **state)
{
	struct error error = { "" };

	(void)state;
	assert_int_equal(error_prefix(&error, -ENOENT, "reading %s", "f"), -ENOENT);
	assert_non_null(strstr(error.message, "reading f: "));
	assert_non_null(strstr(error.message, strerror(ENOENT)));
	(void)error_prefix(&error, -ENOENT, "mounting");
	assert_memory_equal(error.message, "mounting: reading f: ", 21);
}

static void error_long_message_is_clipped(void **state)
{
	struct error error = { "" };
	char text[5000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	(void)error_set(&error, -EIO, "%s", text);
	assert_int_equal(strlen(error.message), sizeof(error.message) - 1);
	(void)error_prefix(&error, -EIO, "%s", text);
	assert_true(strlen(error.message) < sizeof(error.message));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error_set_keeps_code_and_message),
		cmocka_unit_test(error_null_is_allowed),
		cmocka_unit_test(error_prefix_puts_what_before_why),
		cmocka_unit_test(error_long_message_is_clipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
