// SPDX-License-Identifier: Apache-2.0
//
// The program's scanner, its specification, and the two loops that say how fast the memory is.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/scan.h"
#include "sanitize/scan_text.h"
#include "scanners.h"
#include "spec/plain_scan.h"

// The only place of the bench that makes scanners.
struct scanner *make_scanner(enum scanner_kind kind)
{
	static const enum prefilter_kind ways[] = {
		[SCANNER_CHOSEN] = PREFILTER_BEST,
		[SCANNER_AVX2] = PREFILTER_AVX2,
		[SCANNER_SCALAR] = PREFILTER_SCALAR,
	};
	struct scanner *scanner;

	return scanner_compile(NULL, 0, true, ways[kind], &scanner, NULL) == 0 ? scanner : NULL;
}

static void tally_matches(struct tally *tally, size_t text, const struct matches *matches)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < matches->count; i++) {
		const struct match *match = &matches->items[i];

		tally->pairs += (seen >> match->rule & 1) == 0;
		seen |= UINT64_C(1) << match->rule;
		tally_mix(tally, text);
		tally_mix(tally, match->rule);
		tally_mix(tally, match->start);
		tally_mix(tally, match->end);
		tally_mix(tally, ((uint64_t)match->severity << 8) | (uint64_t)match->context);
	}
	tally->found += matches->count;
}

int ours_pass(void *scanner, const struct corpus *corpus, struct tally *ret)
{
	int rc = 0;

	for (size_t i = 0; i < corpus->count && rc == 0; i++) {
		struct matches matches = { NULL, 0, 0 };

		rc = scanner_scan(scanner, CLASS_PROSE, corpus->texts[i].data, corpus->texts[i].len, NULL,
				  &matches);
		tally_matches(ret, i, &matches);
		matches_release(&matches);
	}
	return rc;
}

int specification_pass(void *plain_scanner, const struct corpus *corpus, struct tally *ret)
{
	int rc = 0;

	for (size_t i = 0; i < corpus->count && rc == 0; i++) {
		struct matches matches = { NULL, 0, 0 };

		rc = plain_scan(plain_scanner, CLASS_PROSE, corpus->texts[i].data, corpus->texts[i].len,
				&matches);
		tally_matches(ret, i, &matches);
		matches_release(&matches);
	}
	return rc;
}

// A copy of all texts, as memory gives and takes it.
int memcpy_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	static char *target;
	size_t at = 0;

	(void)state;
	(void)ret;
	if (target == NULL)
		target = malloc(corpus->size);
	if (target == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < corpus->count; i++) {
		memcpy(target + at, corpus->texts[i].data, corpus->texts[i].len);
		at += corpus->texts[i].len;
	}
	__asm__ volatile("" : : "r"(target) : "memory");
	return 0;
}

// Each text to the same place, which stays in the nearest cache.
int memcpy_cached_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	static char target[64 << 10];

	(void)state;
	(void)ret;
	for (size_t i = 0; i < corpus->count; i++) {
		if (corpus->texts[i].len > sizeof(target))
			return -EFBIG;
		memcpy(target, corpus->texts[i].data, corpus->texts[i].len);
		__asm__ volatile("" : : "r"(target) : "memory");
	}
	return 0;
}

int memchr_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	(void)state;
	for (size_t i = 0; i < corpus->count; i++)
		ret->found += memchr(corpus->texts[i].data, '\x01', corpus->texts[i].len) != NULL;
	return 0;
}
