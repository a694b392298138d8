// SPDX-License-Identifier: Apache-2.0
//
// Scanning is linear on any text: for each hostile family, twice the text
// costs at most 2.5 times the CPU time, with and without PCRE2's JIT, and with
// it a hostile text at most 50 times a benign one of the same size.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "hostile.h"
#include "sanitize/scan.h"
#include "sanitize/scan_text.h"

#define SIZE_JIT   ((size_t)512 << 10)
#define SIZE_PLAIN ((size_t)32 << 10)
#define GROWTH_MAX 2.5
#define BENIGN_MAX 50.0
// Below this a clock tick decides, not the text.
#define NOISE 0.002
// A neighbour on the same core can disturb a few of them in a row: the later ones come with a pause between.
#define TRIES       60
#define TRIES_QUICK 9
#define PAUSE_NS    5000000

static double scan_seconds(const struct scanner *scanner, enum file_class cls, const char *text, size_t len)
{
	struct matches matches = { NULL, 0, 0 };
	double start = hostile_seconds();
	int rc = scanner_scan(scanner, cls, text, len, NULL, &matches);

	// Some hold more matches than a text may.
	assert_true(rc == 0 || rc == -EOVERFLOW);
	matches_release(&matches);
	return hostile_seconds() - start;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

// Whether `large`, twice as long as `small`, costs at most GROWTH_MAX times, and at most `enough` seconds. The least of
// a few runs counts, and more of them are made as long as that looks too much. Frees both.
static bool is_linear(const struct scanner *scanner, enum file_class cls, const char *name, char *small,
		      char *large, size_t size, double enough, double *ret_seconds)
{
	double least_small = 1e9, least_large = 1e9;
	bool good = false;
	int i;

	for (i = 0; i < TRIES && !good; i++) {
		if (i >= TRIES_QUICK)
			(void)nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
		least_small = smaller(least_small, scan_seconds(scanner, cls, small, size));
		least_large = smaller(least_large, scan_seconds(scanner, cls, large, 2 * size));
		good = least_large <= enough &&
		       (least_large < NOISE || least_large <= GROWTH_MAX * least_small);
	}
	free(small);
	free(large);
	*ret_seconds = least_large;
	if (!good)
		print_error("%s, %s: %.2f ms, twice the text %.2f ms\n", name, file_class_name(cls),
			    1e3 * least_small, 1e3 * least_large);
	return good;
}

static bool family_is_linear(const struct scanner *scanner, enum file_class cls,
			     const struct hostile_family *family, size_t size, double enough,
			     double *ret_seconds)
{
	return is_linear(scanner, cls, family->name, hostile_fill(family, size),
			 hostile_fill(family, 2 * size), size, enough, ret_seconds);
}

static void check_families(bool jit, size_t size)
{
	static const enum file_class classes[] = { CLASS_PROSE, CLASS_CODE, CLASS_BINARY };
	const struct hostile_family good_text = { "benign", "", hostile_benign, "" };
	struct scanner *scanner;
	double good_seconds;
	int wrong = 0;
	size_t i;

	assert_int_equal(scanner_compile(NULL, 0, jit, PREFILTER_BEST, &scanner, NULL), 0);
	assert_true(family_is_linear(scanner, CLASS_PROSE, &good_text, size, 1e9, &good_seconds));
	// Without JIT the classes differ in nothing that is not seen with it.
	for (i = 0; i < (jit ? 3 : 1) * HOSTILE_FAMILIES; i++) {
		const struct hostile_family *family = &hostile_families[i / (jit ? 3 : 1)];
		enum file_class cls = jit ? classes[i % 3] : CLASS_PROSE;
		double seconds;

		wrong += !family_is_linear(scanner, cls, family, size, jit ? BENIGN_MAX * good_seconds : 1e9,
					   &seconds);
		if (getenv("SCAN_TIME_PRINT") != NULL)
			print_message("%6.1f x benign: %s, %s\n", seconds / good_seconds, family->name,
				      file_class_name(cls));
	}
	scanner_free(scanner);
	assert_int_equal(wrong, 0);
}

static void scan_hostile_families_grows_linearly(void **state)
{
	(void)state;
	check_families(true, SIZE_JIT);
}

static void scan_without_jit_grows_linearly(void **state)
{
	(void)state;
	check_families(false, SIZE_PLAIN);
}

// Half of the text, and the blanks of one option; what looks at them again for each of the commands shows here.
static char *make_long_option(size_t size)
{
	static const char command[] = "wget ", option[] = "-O";
	const size_t half = size / 2 - size / 2 % strlen(command);
	char *text = malloc(size + 1);

	assert_non_null(text);
	for (size_t at = 0; at < half; at++)
		text[at] = command[at % strlen(command)];
	memset(text + half, ' ', size - half);
	memcpy(text + half, option, strlen(option));
	text[size - 1] = '-';
	text[size] = '\0';
	return text;
}

static void scan_many_commands_before_a_long_option_is_linear(void **state)
{
	struct scanner *scanner;
	double seconds;

	(void)state;
	assert_int_equal(scanner_compile(NULL, 0, true, PREFILTER_BEST, &scanner, NULL), 0);
	assert_true(is_linear(scanner, CLASS_CODE, "one long option", make_long_option(SIZE_PLAIN),
			      make_long_option(2 * SIZE_PLAIN), SIZE_PLAIN, 1e9, &seconds));
	scanner_free(scanner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scan_hostile_families_grows_linearly),
		cmocka_unit_test(scan_without_jit_grows_linearly),
		cmocka_unit_test(scan_many_commands_before_a_long_option_is_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
