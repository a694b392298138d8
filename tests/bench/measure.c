// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bench.h"

// A turn is repeated until it is this long, so that the clock's own cost disappears.
#define TURN_SECONDS 0.02
#define GOALS_MAX    16

static struct goal goals[GOALS_MAX];
static size_t goal_count;

double thread_seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double children_seconds(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

double median_of(double *values, size_t count)
{
	if (count == 0)
		return 0;
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

static double turn(struct method *method, const struct corpus *corpus)
{
	double start = method->is_process ? children_seconds() : thread_seconds(), took;
	size_t passes = 0;

	do {
		struct tally tally = { 0 };
		int rc = method->pass(method->state, corpus, &tally);

		if (rc < 0) {
			method->missing = strerror(-rc);
			return 0;
		}
		if (method->rounds == 0 && passes == 0)
			method->tally = tally;
		passes++;
		took = (method->is_process ? children_seconds() : thread_seconds()) - start;
	} while (took < TURN_SECONDS);
	return took / (double)passes;
}

void measure(struct method *methods, size_t count, const struct corpus *corpus)
{
	for (size_t round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < count; i++) {
			struct method *method = &methods[i];

			if (method->missing != NULL ||
			    (method->rounds_max > 0 && round >= method->rounds_max))
				continue;
			method->seconds[method->rounds] = turn(method, corpus);
			method->rounds++;
		}
	}
	for (size_t i = 0; i < count; i++)
		methods[i].median =
			methods[i].missing == NULL ? median_of(methods[i].seconds, methods[i].rounds) : 0;
}

double megabytes(const struct method *method, const struct corpus *corpus)
{
	return method->median > 0 ? (double)corpus->size / method->median / 1e6 : 0;
}

double times_as_fast(const struct method *fast, const struct method *slow)
{
	return fast->median > 0 ? slow->median / fast->median : 0;
}

const char *show_ratio(double ratio, char ret[static RATIO_SIZE])
{
	int digits = ratio < 0.01 ? 4 : ratio < 1 ? 3 : ratio < 10 ? 2 : ratio < 100 ? 1 : 0;

	if (ratio <= 0)
		(void)snprintf(ret, RATIO_SIZE, "-");
	else
		(void)snprintf(ret, RATIO_SIZE, "%.*f", digits, ratio);
	return ret;
}

void goal_note(const char *what, double wanted, bool at_least, double value)
{
	if (goal_count == GOALS_MAX)
		abort();
	goals[goal_count++] = (struct goal){ what, wanted, at_least, value };
}

void goals_print(void)
{
	printf("## Goals\n\n| what | goal | measured | |\n| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < goal_count; i++) {
		const struct goal *goal = &goals[i];
		char wanted[RATIO_SIZE], value[RATIO_SIZE];
		bool reached = goal->at_least ? goal->value >= goal->wanted : goal->value <= goal->wanted;

		printf("| %s | at %s %s | %s | %s |\n", goal->what, goal->at_least ? "least" : "most",
		       show_ratio(goal->wanted, wanted), show_ratio(goal->value, value),
		       goal->value <= 0 ? "not measured"
		       : reached        ? "reached"
					: "**missed**");
	}
	printf("\n");
}
