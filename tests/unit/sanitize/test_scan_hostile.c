// SPDX-License-Identifier: Apache-2.0
//
// Random texts of the pieces that rules are made of: scanning them reads
// nothing behind the end, gives well-formed matches, and PCRE2's two engines
// agree on all of them.
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
#include "sanitize/scan.h"
#include "sanitize/scan_text.h"

// clang-format off
static const char *const tokens[] = {
	"$(", ")", "(", "`", "``", "```", "\n", "\r\n", "\n\n", " ", " ", "\t", "|", "||", "|&", "\\", "\"",
	"'", ";", "&", "&&", "curl", "wget", "bash", "sh", "nc", "ncat", "zsh", "dash", "python3",
	"sudo", "env", "exec", "-i", "-O", "-", "-qO-", "--output-document=", "/dev/stdout", "-d",
	"--decode", "base64", "openssl enc", "-a", "-base64", "--version", "-V", "eval", "printenv",
	"/proc/", "self", "/environ", "$PID", "*", "//", "grep", "export -p", "declare -x", "stratum",
	"+tcp", "://", "xmrig", "T-Rex", "t-rex", "pool.", "ntp.org", "aa.bb", "/dev/tcp/", "-lvp", "<",
	"</", ">", "/>", "skill", "system", "available_skills", "<!--", "-->", "---\n", "a: b\n",
	"|-|-|\n", "|a|b|\n", "# ", "- ", "> ", "1. ", "~~~\n", "```sh\n", "x", "1", ".", "=",
	"\xc2\xa0", "\xe2\x80\x80", "\xef\xbb\xbf", "\xff", "\xc2", "\xe2\x80", "\x00", "\x1b", "{",
	"}", "[", "]", "\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41",
	"aB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9k", "==", "é", "/usr/bin/", "-u",
	"A=1",
};
// clang-format on

#define TEXTS      20000
#define TOKENS_MAX 120

static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 8;
}

static size_t make_hostile(uint64_t *seed, struct buf *ret)
{
	size_t count = random_next(seed) % TOKENS_MAX, i;

	buf_clear(ret);
	for (i = 0; i < count; i++) {
		const char *token = tokens[random_next(seed) % (sizeof(tokens) / sizeof(tokens[0]))];

		assert_int_equal(buf_append(ret, token, token[0] == '\0' ? 1 : strlen(token)), 0);
	}
	return ret->len;
}

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

// Random text does no harm, and PCRE2's two engines agree.
static void scan_hostile_text_is_safe_and_the_same_without_jit(void **state)
{
	static const enum file_class classes[] = { CLASS_PROSE, CLASS_CODE, CLASS_BINARY };
	uint64_t seed = 0x2545f4914f6cdd1d;
	struct buf text = BUF_INIT;
	struct scanner *fast, *plain;
	size_t i, found = 0;

	(void)state;
	assert_int_equal(scanner_compile(NULL, 0, true, PREFILTER_BEST, &fast, NULL), 0);
	assert_int_equal(scanner_compile(NULL, 0, false, PREFILTER_BEST, &plain, NULL), 0);
	assert_false(scanner_has_jit(plain));
	for (i = 0; i < TEXTS; i++) {
		struct matches a = { NULL, 0, 0 }, b = { NULL, 0, 0 };
		size_t len = make_hostile(&seed, &text);
		enum file_class cls = classes[i % 3];
		// A copy of exactly its length: reads beyond it show.
		char *copy = malloc(len + 1);

		assert_non_null(copy);
		copy = realloc(copy, len == 0 ? 1 : len);
		memcpy(copy, text.data == NULL ? "" : text.data, len);
		assert_int_equal(scanner_scan(fast, cls, copy, len, NULL, &a), 0);
		assert_int_equal(scanner_scan(plain, cls, copy, len, NULL, &b), 0);
		assert_well_formed(&a, len);
		assert_int_equal(a.count, b.count);
		if (a.count > 0)
			assert_memory_equal(a.items, b.items, a.count * sizeof(*a.items));
		found += a.count;
		matches_release(&a);
		matches_release(&b);
		free(copy);
	}
	assert_true(found > TEXTS);
	scanner_free(fast);
	scanner_free(plain);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scan_hostile_text_is_safe_and_the_same_without_jit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
