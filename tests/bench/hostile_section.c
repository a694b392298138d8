// SPDX-License-Identifier: Apache-2.0
//
// A megabyte of what is made to be slow, against a megabyte of what is not.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hostile_families.h"
#include "sanitize/inspect.h"
#include "scanners.h"

#define SIZE       ((size_t)1 << 20)
#define WORST      5
#define FACTOR_MAX 50.0
#define GROWTH_MAX 2.5
// Neighbours disturb single runs: what looks too slow is measured again, and the least counts.
#define TRIES 15
// Below this a clock tick decides, not the text.
#define NOISE 0.002

struct cost {
	const char *name;
	double half, whole; // seconds for half of SIZE and for SIZE
	double factor, growth;
	bool limited; // gave up with SCAN_LIMIT
};

static int inspect_seconds(const struct scanner *scanner, const char *text, size_t len, double *least,
			   bool *ret_limited)
{
	const struct inspect_options options = { .max_body_length = MAX_BODY_LENGTH_DEFAULT, .scan = true };
	struct report report = { .verbatim = false };
	double start = thread_seconds(), took;
	int rc = inspect(scanner, &options, "hostile.md", text, len, &report);

	if (rc < 0)
		return rc;
	*ret_limited = *ret_limited || report.scan_failed;
	report_release(&report);
	took = thread_seconds() - start;
	if (took < *least)
		*least = took;
	return 0;
}

static double growth_of(const struct cost *cost)
{
	return cost->whole < NOISE ? 1 : cost->whole / cost->half;
}

static int measure_cost(const struct scanner *scanner, const char *half, size_t half_len, const char *whole,
			size_t whole_len, double benign, struct cost *ret)
{
	int rc = 0;

	ret->half = ret->whole = 1e9;
	for (int i = 0; i < TRIES && rc == 0; i++) {
		rc = inspect_seconds(scanner, half, half_len, &ret->half, &ret->limited);
		if (rc == 0)
			rc = inspect_seconds(scanner, whole, whole_len, &ret->whole, &ret->limited);
		ret->factor = benign > 0 ? ret->whole / benign : 1;
		ret->growth = growth_of(ret);
		// Always enough tries for the benign text, which all others are divided by.
		if (benign > 0 && i > 0 && ret->factor <= 0.8 * FACTOR_MAX && ret->growth <= 0.9 * GROWTH_MAX)
			break;
	}
	return rc;
}

static int by_factor(const void *left, const void *right)
{
	const struct cost *a = left, *b = right;

	return (a->factor < b->factor) - (a->factor > b->factor);
}

static int by_growth(const void *left, const void *right)
{
	const struct cost *a = left, *b = right;

	return (a->growth < b->growth) - (a->growth > b->growth);
}

static void print_worst(const char *by, const struct cost *costs)
{
	printf("| worst %s | ms | x benign | growth per doubling | |\n| --- | --- | --- | --- | --- |\n", by);
	for (size_t i = 0; i < WORST; i++)
		printf("| %s | %.1f | %.1f | %.2f | %s |\n", costs[i].name, 1e3 * costs[i].whole,
		       costs[i].factor, costs[i].growth, costs[i].limited ? "SCAN_LIMIT" : "");
	printf("\n");
}

int section_hostile(const struct corpus *corpus)
{
	static struct cost costs[HOSTILE_FAMILIES + HOSTILE_NEST_FAMILIES];
	const size_t count = sizeof(costs) / sizeof(costs[0]);
	struct scanner *scanner = make_scanner(SCANNER_CHOSEN);
	struct cost benign = { .name = "benign" };
	int rc = 0;

	if (scanner == NULL)
		return -ENOMEM;
	if (corpus->bytes.len < SIZE)
		rc = -ENODATA;
	if (rc == 0)
		rc = measure_cost(scanner, corpus->bytes.data, SIZE / 2, corpus->bytes.data, SIZE, 0,
				  &benign);
	for (size_t i = 0; i < count && rc == 0; i++) {
		char *half, *whole;
		size_t half_len = SIZE / 2, whole_len = SIZE;

		if (i < HOSTILE_FAMILIES) {
			const struct hostile_family *family = &hostile_families[i];

			costs[i].name = family->name;
			half = hostile_fill(family, half_len);
			whole = hostile_fill(family, whole_len);
		} else {
			const struct hostile_nest_family *family =
				&hostile_nest_families[i - HOSTILE_FAMILIES];
			size_t unit = strlen(family->prefix) + strlen(family->suffix);

			costs[i].name = family->name;
			half = hostile_nest(family->prefix, family->middle, family->suffix, SIZE / 2 / unit,
					    &half_len);
			whole = hostile_nest(family->prefix, family->middle, family->suffix, SIZE / unit,
					     &whole_len);
		}
		rc = measure_cost(scanner, half, half_len, whole, whole_len, benign.whole, &costs[i]);
		free(half);
		free(whole);
	}
	scanner_free(scanner);
	if (rc < 0)
		return rc;
	printf("## Hostile texts of 1 MiB\n\ninspect() of %zu families against 1 MiB of the corpus, which "
	       "takes %.1f ms.\n\n",
	       count, 1e3 * benign.whole);
	qsort(costs, count, sizeof(costs[0]), by_factor);
	goal_note("hostile 1 MiB: times benign 1 MiB, the worst", FACTOR_MAX, false, costs[0].factor);
	print_worst("by time", costs);
	qsort(costs, count, sizeof(costs[0]), by_growth);
	goal_note("hostile 1 MiB: growth per doubling, the worst", GROWTH_MAX, false, costs[0].growth);
	print_worst("by growth", costs);
	return 0;
}
