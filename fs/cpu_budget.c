// SPDX-License-Identifier: Apache-2.0
#include "fs/cpu_budget.h"

#include <inttypes.h>
#include <stdio.h>

#define NS_PER_MS 1000000
#define NS_PER_S  1000000000

static bool is_spent(void *opaque)
{
	struct cpu_budget *budget = opaque;
	struct timespec now;

	if (budget->spent)
		return true;
	budget->spent = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) < 0 || now.tv_sec > budget->end.tv_sec ||
			(now.tv_sec == budget->end.tv_sec && now.tv_nsec >= budget->end.tv_nsec);
	return budget->spent;
}

void cpu_budget_begin(struct cpu_budget *budget, uint32_t ms)
{
	*budget = (struct cpu_budget){ .spent = false };
	(void)snprintf(budget->limit, sizeof(budget->limit), "%" PRIu32 " ms of CPU time (mount.scanTimeMs)",
		       ms);
	budget->budget = (struct budget){ .is_spent = is_spent, .clock = budget };
	budget->spent = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &budget->end) < 0;
	budget->end.tv_sec += ms / 1000;
	budget->end.tv_nsec += (long)(ms % 1000) * NS_PER_MS;
	if (budget->end.tv_nsec >= NS_PER_S) {
		budget->end.tv_sec++;
		budget->end.tv_nsec -= NS_PER_S;
	}
}
