// SPDX-License-Identifier: Apache-2.0
//
// Random texts of the pieces that rules are made of: scanning them reads
// nothing behind the end, gives well-formed matches, and these are the ones of the
// plain scan, with AVX2 and without it, with PCRE2's JIT and without it.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hostile_scan.h"
#include "sanitize/scan.h"
#include "sanitize/scan_text.h"
#include "spec/plain_scan.h"

#define TEXTS      20000
#define OWN_RULES  500
#define TOKENS_MAX 120

static void assert_well_formed(const struct matches *matches, size_t len)
{
	size_t last_end[64] = { 0 }, i;

	for (i = 0; i < matches->count; i++) {
		const struct match *match = &matches->items[i];

		assert_true(match->start < match->end && match->end <= len);
		assert_true(match->rule < rule_count && match->start >= last_end[match->rule]);
		assert_true(match->severity != SEVERITY_OFF);
		last_end[match->rule] = match->end;
	}
}

static void assert_same(const struct matches *got, const struct matches *want, const char *text, size_t len)
{
	size_t i;

	if (got->count == want->count &&
	    (got->count == 0 || memcmp(got->items, want->items, got->count * sizeof(*got->items)) == 0))
		return;
	fprintf(stderr, "text of %zu bytes:", len);
	for (i = 0; i < len; i++)
		fprintf(stderr, "%02x", (unsigned char)text[i]);
	fprintf(stderr, "\n");
	for (i = 0; i < got->count; i++)
		fprintf(stderr, "got %zu at %zu-%zu\n", got->items[i].rule, got->items[i].start,
			got->items[i].end);
	for (i = 0; i < want->count; i++)
		fprintf(stderr, "want %zu at %zu-%zu\n", want->items[i].rule, want->items[i].start,
			want->items[i].end);
	fail();
}

static void scan_hostile_text_equals_plain_scan(void **state)
{
	static const enum file_class classes[] = { CLASS_PROSE, CLASS_CODE, CLASS_BINARY };
	uint64_t seed = 0x2545f4914f6cdd1d;
	struct buf text = BUF_INIT;
	struct scanner *scanners[3];
	struct plain_scanner *plain;
	size_t i, j, count = 2, found = 0;

	(void)state;
	assert_int_equal(scanner_compile(NULL, 0, true, PREFILTER_SCALAR, &scanners[0], NULL), 0);
	assert_int_equal(scanner_compile(NULL, 0, false, PREFILTER_SCALAR, &scanners[1], NULL), 0);
	assert_false(scanner_has_jit(scanners[1]));
	if (scanner_compile(NULL, 0, true, PREFILTER_AVX2, &scanners[2], NULL) == 0)
		count = 3;
	assert_int_equal(plain_scanner_new(NULL, 0, &plain), 0);
	for (i = 0; i < TEXTS; i++) {
		struct matches want = { NULL, 0, 0 };
		enum file_class cls = classes[i % 3];
		size_t len;
		char *copy;

		make_hostile(&seed, TOKENS_MAX, &text);
		len = text.len;
		// A copy of exactly its length: reads beyond it show.
		copy = malloc(len == 0 ? 1 : len);
		assert_non_null(copy);
		if (len > 0)
			memcpy(copy, text.data, len);
		assert_int_equal(plain_scan(plain, cls, copy, len, &want), 0);
		assert_well_formed(&want, len);
		for (j = 0; j < count; j++) {
			struct matches got = { NULL, 0, 0 };

			assert_int_equal(scanner_scan(scanners[j], cls, copy, len, NULL, &got), 0);
			assert_same(&got, &want, copy, len);
			matches_release(&got);
		}
		found += want.count;
		matches_release(&want);
		free(copy);
	}
	assert_true(found > TEXTS);
	for (j = 0; j < count; j++)
		scanner_free(scanners[j]);
	plain_scanner_free(plain);
	buf_release(&text);
}

// ------------------------------------------------------------------ own rules

// clang-format off
static const char *const atoms[] = {
	"a", "b", "sh", "\\w", "\\d", "\\s", ".", "[ab]", "[^a]", "[a-c\\d]", "\\|", "\\x41", "x", "-",
	"(?:sh|curl)", "(a|b|)", "(?:x)?", "\\b", "^", "$", "(?=a)", "(?<!a)", "(?!b)", "base64", "xmrig",
	"(?:env|(?:ab|ba)c)", "\xc2", "[\\xc2\\xe2]", "\\n", "[]a]", "[^]a]", "\\S", "\\W", "\\D", "{", "a{",
	"(?>ab|a)", "\\h", "\\R", "(?i)a", "(?<n>a)", "\\Qa\\E", "a\\K", "\\1", "[[:alpha:]]", "\\Bb", "\\Ab",
};
static const char *const repeats[] = {
	"", "", "", "", "", "", "?", "*", "+", "{2}", "{2,}", "{0,2}", "{1}", "{3}?", "+?", "{0}", "{,2}", "*+",
};
// clang-format on

#define PICK(list) (list)[random_next(seed) % (sizeof(list) / sizeof((list)[0]))]

static void make_pattern(uint64_t *seed, struct buf *ret)
{
	size_t count = 1 + random_next(seed) % 5, i;

	buf_clear(ret);
	for (i = 0; i < count; i++) {
		assert_int_equal(buf_append_string(ret, PICK(atoms)), 0);
		assert_int_equal(buf_append_string(ret, PICK(repeats)), 0);
		if (random_next(seed) % 6 == 0)
			assert_int_equal(buf_append_string(ret, "|"), 0);
	}
}

// Whatever an expression is made of, its anchors miss no match.
static void scan_own_rules_equal_plain_scan(void **state)
{
	static const char letters[] = "aabbcxsh|-{A1 \n\xc2\xe2";
	uint64_t value = 0x9e3779b97f4a7c15, *seed = &value;
	struct buf pattern = BUF_INIT, text = BUF_INIT;
	size_t i, j, k, anchored = 0, found = 0;

	(void)state;
	for (i = 0; i < OWN_RULES; i++) {
		struct custom_rule own = { "OWN", "own", SEVERITY_WARN, NULL, "" };
		struct scanner *scanners[2];
		struct plain_scanner *plain;

		make_pattern(seed, &pattern);
		own.pattern = pattern.data;
		if (plain_scanner_new(&own, 1, &plain) < 0)
			continue;
		assert_int_equal(scanner_compile(&own, 1, true, PREFILTER_SCALAR, &scanners[0], NULL), 0);
		assert_int_equal(scanner_compile(&own, 1, true, PREFILTER_BEST, &scanners[1], NULL), 0);
		anchored += !scanner_rule_is_plain(scanners[0], rule_count);
		for (j = 0; j < 30; j++) {
			static const enum file_class classes[] = { CLASS_CODE, CLASS_BINARY };
			enum file_class cls = classes[j % 2];
			struct matches want = { NULL, 0, 0 };
			size_t len = random_next(seed) % 90;

			buf_clear(&text);
			if (j % 3 == 0)
				make_hostile(seed, 12, &text);
			for (k = 0; k < len; k++)
				assert_int_equal(
					buf_append(&text, &letters[random_next(seed) % (sizeof(letters) - 1)],
						   1),
					0);
			if (plain_scan(plain, cls, text.data, text.len, &want) < 0)
				continue;
			for (k = 0; k < 2; k++) {
				struct matches got = { NULL, 0, 0 };

				// \K can be refused.
				if (scanner_scan(scanners[k], cls, text.data, text.len, NULL, &got) < 0) {
					assert_non_null(strstr(own.pattern, "\\K"));
					continue;
				}
				if (got.count != want.count)
					fprintf(stderr, "pattern %s\n", own.pattern);
				assert_same(&got, &want, text.data, text.len);
				found += got.count;
				matches_release(&got);
			}
			matches_release(&want);
		}
		scanner_free(scanners[0]);
		scanner_free(scanners[1]);
		plain_scanner_free(plain);
	}
	assert_true(anchored > OWN_RULES / 10 && found > OWN_RULES);
	buf_release(&pattern);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scan_hostile_text_equals_plain_scan),
		cmocka_unit_test(scan_own_rules_equal_plain_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
