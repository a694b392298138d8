// SPDX-License-Identifier: Apache-2.0
//
// Scanning: ours, the specification, plain expressions, other engines, memory.
#include <errno.h>
#include <stdio.h>

#include "sanitize/scan.h"
#include "scanners.h"
#include "spec/plain_scan.h"

enum {
	AVX2,
	SCALAR,
	SPECIFICATION,
	PLAIN_JIT,
	HYPERSCAN,
	HYPERSCAN_WHICH,
	RE2,
	RIPGREP,
	RIPGREP_LAST = RIPGREP + RG_KINDS - 1,
	MEMCHR,
	MEMCPY_CACHED,
	MEMCPY,
	METHODS
};

static void print_row(const struct method *method, const struct method *all, const struct corpus *corpus)
{
	const size_t against[] = { PLAIN_JIT, HYPERSCAN, MEMCPY };
	char ratio[RATIO_SIZE];

	if (method->missing != NULL) {
		printf("| %s | - | - | - | - | - | %s |\n", method->name, method->missing);
		return;
	}
	printf("| %s |", method->name);
	for (size_t i = 0; i < sizeof(against) / sizeof(against[0]); i++)
		printf(" %s |", show_ratio(times_as_fast(method, &all[against[i]]), ratio));
	if (method->tally.pairs > 0)
		printf(" %zu |", method->tally.pairs);
	else
		printf(" |");
	// The turns are sorted by now.
	printf(" %.0f (%.0f-%.0f) | %s |\n", megabytes(method, corpus),
	       (double)corpus->size / method->seconds[method->rounds - 1] / 1e6,
	       (double)corpus->size / method->seconds[0] / 1e6, method->note);
}

// Speed counts only between scanners that find the same.
static bool is_same(const struct method *a, const struct method *b)
{
	return a->tally.found == b->tally.found && a->tally.hash == b->tally.hash;
}

static void note_goals(const struct method *methods)
{
	const struct method *avx2 = &methods[AVX2], *scalar = &methods[SCALAR];

	goal_note("scan, AVX2: times 18 plain JIT scans", 40, true, times_as_fast(avx2, &methods[PLAIN_JIT]));
	goal_note("scan, AVX2: times Hyperscan", 3, true, times_as_fast(avx2, &methods[HYPERSCAN]));
	goal_note("scan, AVX2: of memcpy's speed", 0.125, true, times_as_fast(avx2, &methods[MEMCPY]));
	goal_note("the same, memcpy to one place", 0.125, true, times_as_fast(avx2, &methods[MEMCPY_CACHED]));
	goal_note("scan, scalar: times 18 plain JIT scans", 10, true,
		  times_as_fast(scalar, &methods[PLAIN_JIT]));
	goal_note("scan, scalar: times Hyperscan", 1, true, times_as_fast(scalar, &methods[HYPERSCAN]));
}

int section_scan(const struct corpus *corpus, const char *work)
{
	struct method methods[METHODS] = {
		[AVX2] = { .name = "ours, AVX2", .pass = ours_pass },
		[SCALAR] = { .name = "ours, scalar", .pass = ours_pass },
		[SPECIFICATION] = { .name = "specification",
				    .pass = specification_pass,
				    .note = "tests/spec/plain_scan.c: candidates and checks of the table, "
					    "rule by rule" },
		[PLAIN_JIT] = { .name = "18 plain PCRE2-JIT scans" },
		[HYPERSCAN] = { .name = "Hyperscan, all ends" },
		[HYPERSCAN_WHICH] = { .name = "Hyperscan, which rule" },
		[RE2] = { .name = "RE2 set" },
		[MEMCHR] = { .name = "memchr, absent byte", .pass = memchr_pass },
		[MEMCPY_CACHED] = { .name = "memcpy, to one place",
				    .pass = memcpy_cached_pass,
				    .note = "each text to the same place, which stays in the nearest cache" },
		[MEMCPY] = { .name = "memcpy", .pass = memcpy_pass, .note = "a copy of all texts" },
	};
	struct plain_scanner *plain = NULL;

	methods[AVX2].state = make_scanner(SCANNER_AVX2);
	methods[SCALAR].state = make_scanner(SCANNER_SCALAR);
	if (methods[AVX2].state == NULL)
		methods[AVX2].missing = "not on this processor";
	if (methods[SCALAR].state == NULL || plain_scanner_new(NULL, 0, &plain) < 0)
		return -ENOMEM;
	methods[SPECIFICATION].state = plain;
	plain_jit_new(&methods[PLAIN_JIT]);
	hyperscan_new(&methods[HYPERSCAN], &methods[HYPERSCAN_WHICH]);
	re2_new(&methods[RE2]);
	ripgrep_new(&methods[RIPGREP], corpus, work);
	measure(methods, METHODS, corpus);

	for (size_t i = AVX2; i <= SPECIFICATION; i++) {
		if (methods[i].state == NULL || is_same(&methods[i], &methods[SPECIFICATION]))
			continue;
		fprintf(stderr, "bench: %s found %zu matches, the specification %zu: not the same (%s)\n",
			methods[i].name, methods[i].tally.found, methods[SPECIFICATION].tally.found,
			methods[i].missing == NULL ? "places or contexts" : methods[i].missing);
		return -EILSEQ;
	}
	printf("## Scan\n\nOurs and the specification found the same %zu matches (rule, start, end, "
	       "severity, context).\n\n",
	       methods[SPECIFICATION].tally.found);
	printf("| method | x 18 plain JIT | x Hyperscan | x memcpy | texts x rules found | MB/s (range) | "
	       "note |\n");
	printf("| --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < METHODS; i++)
		print_row(&methods[i], methods, corpus);
	printf("\n");
	note_goals(methods);
	scanner_free(methods[AVX2].state);
	scanner_free(methods[SCALAR].state);
	plain_scanner_free(plain);
	return 0;
}
