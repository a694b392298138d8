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

// INT64_MAX when the clock cannot be read: later than any end.
static int64_t read_clock(clockid_t clock)
{
	struct timespec now;

	return clock_gettime(clock, &now) < 0 ? INT64_MAX : now.tv_sec * NS_PER_S + now.tv_nsec;
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
	budget->spent = wall == INT64_MAX || used >= budget->end;
	if (!budget->spent)
		budget->not_before = wall + (budget->end - used);
	return budget->spent;
}

void cpu_budget_begin(struct cpu_budget *budget, uint32_t ms)
{
	const int64_t now = read_clock(CLOCK_THREAD_CPUTIME_ID), wall = read_clock(CLOCK_MONOTONIC_COARSE);

	*budget = (struct cpu_budget){ .spent = now == INT64_MAX || wall == INT64_MAX };
	if (!budget->spent) {
		budget->end = now + (int64_t)ms * NS_PER_MS;
		budget->not_before = wall + (int64_t)ms * NS_PER_MS;
	}
	(void)snprintf(budget->limit, sizeof(budget->limit), "%" PRIu32 " ms of CPU time (mount.scanTimeMs)",
		       ms);
	budget->budget = (struct budget){ .is_spent = is_spent, .clock = budget };
}
