// SPDX-License-Identifier: Apache-2.0
//
// The clock behind a budget (sanitize/budget.h): how much CPU time one file may cost the thread that works on it.
// A clock that cannot be read counts as spent.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sanitize/budget.h"

struct cpu_budget {
	struct budget budget; // for inspect(); points to the rest, so the whole must stay where it is
	uint32_t ms;
	int64_t begun;      // ns of a cheaper clock, which goes at least as fast,
	int64_t not_before; // and before this time of it the budget cannot be spent
	bool looked;
	int64_t end;    // of the thread's CPU time, ns, once that was looked at
	bool spent;     // stays so
	char limit[48]; // "2000 ms of CPU time (mount.scanTimeMs)", once it is spent
};

// From now on, for the calling thread only.
void cpu_budget_begin(struct cpu_budget *budget, uint32_t ms);
