// SPDX-License-Identifier: Apache-2.0
//
// A thread's CPU time costs a system call, and the budget is asked for every few thousand bytes. A thread gets no more
// CPU time than time passes, so the clock on the wall, read without one, says how long there is nothing to ask.
#include "fs/cpu_budget.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_MS 1000000
#define NS_PER_S  INT64_C(1000000000)
// When the thread's clock is read first, and the most that can have been used unseen until then.
#define FIRST_LOOK_MS 20
#define UNSEEN        (INT64_C(50) * NS_PER_MS)

// INT64_MAX when the clock cannot be read: later than any end.
static int64_t read_clock(clockid_t clock)
{
	struct timespec now;

	return clock_gettime(clock, &now) < 0 ? INT64_MAX : now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void end_budget(struct cpu_budget *budget)
{
	budget->spent = true;
	(void)snprintf(budget->limit, sizeof(budget->limit), "%" PRIu32 " ms of CPU time (mount.scanTimeMs)",
		       budget->ms);
}

// Most files are done before there is anything to ask: the thread's clock is first read when some time has passed, and
// what was used until then is taken to be that time, which is asked for far more often than UNSEEN.
static void first_look(struct cpu_budget *budget, int64_t wall, int64_t used)
{
	const int64_t passed = wall - budget->begun;

	budget->looked = true;
	budget->end = used + (int64_t)budget->ms * NS_PER_MS - (passed < UNSEEN ? passed : UNSEEN);
}

static bool is_spent(void *opaque)
{
	struct cpu_budget *budget = opaque;
	int64_t wall, used;

	if (budget->spent)
		return true;
	wall = read_clock(CLOCK_MONOTONIC_COARSE);
	if (wall < budget->not_before)
		return false;
	used = read_clock(CLOCK_THREAD_CPUTIME_ID);
	if (wall == INT64_MAX || used == INT64_MAX) {
		end_budget(budget);
		return true;
	}
	if (!budget->looked)
		first_look(budget, wall, used);
	if (used >= budget->end)
		end_budget(budget);
	else
		budget->not_before = wall + (budget->end - used);
	return budget->spent;
}

void cpu_budget_begin(struct cpu_budget *budget, uint32_t ms)
{
	const int64_t wall = read_clock(CLOCK_MONOTONIC_COARSE);

	*budget = (struct cpu_budget){
		.budget = { .is_spent = is_spent, .clock = budget },
		.ms = ms,
		.begun = wall,
	};
	if (ms == 0 || wall == INT64_MAX)
		end_budget(budget);
	else
		budget->not_before = wall + (ms < FIRST_LOOK_MS ? ms : FIRST_LOOK_MS) * (int64_t)NS_PER_MS;
}
