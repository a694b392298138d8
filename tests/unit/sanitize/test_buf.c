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

#include "sanitize/buf.h"

static void buf_empty_has_no_memory(void **state)
{
	struct buf buf = BUF_INIT;

	(void)state;
	assert_null(buf.data);
	assert_int_equal(buf_append(&buf, NULL, 0), 0);
	assert_int_equal(buf.len, 0);
	buf_release(&buf);
	buf_release(&buf);
}

static void buf_append_grows_and_terminates(void **state)
{
	struct buf buf = BUF_INIT;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_append_byte(&buf, (unsigned char)('a' + i % 26)), 0);
	assert_int_equal(buf_append_string(&buf, "end"), 0);
	assert_int_equal(buf_append(&buf, "\0x", 2), 0);
	assert_int_equal(buf.len, 1005);
	assert_memory_equal(buf.data + 1000, "end\0x", 6);
	buf_clear(&buf);
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf.data, "");
	buf_release(&buf);
	assert_null(buf.data);
}

static void buf_append_over_maximum_changes_nothing(void **state)
{
	struct buf buf = BUF_INIT;

	(void)state;
	assert_int_equal(buf_append_string(&buf, "kept"), 0);
	assert_int_equal(buf_reserve(&buf, BUF_MAX), -EFBIG);
	assert_int_equal(buf_reserve(&buf, SIZE_MAX), -EFBIG);
	assert_string_equal(buf.data, "kept");
	buf_release(&buf);
}

static void buf_printf_appends(void **state)
{
	struct buf buf = BUF_INIT;
	char long_text[500];

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	assert_int_equal(buf_printf(&buf, "%d-%s", 7, "y"), 0);
	assert_int_equal(buf_printf(&buf, "%s", long_text), 0);
	assert_int_equal(buf.len, 502);
	assert_memory_equal(buf.data, "7-yxx", 5);
	buf_release(&buf);
}

static void buf_detach_hands_over(void **state)
{
	struct buf buf = BUF_INIT;
	char *text = buf_detach(&buf);

	(void)state;
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(buf_append_string(&buf, "mine"), 0);
	text = buf_detach(&buf);
	assert_string_equal(text, "mine");
	assert_null(buf.data);
	assert_int_equal(buf.len, 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_empty_has_no_memory),
		cmocka_unit_test(buf_append_grows_and_terminates),
		cmocka_unit_test(buf_append_over_maximum_changes_nothing),
		cmocka_unit_test(buf_printf_appends),
		cmocka_unit_test(buf_detach_hands_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
