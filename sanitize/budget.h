// SPDX-License-Identifier: Apache-2.0
//
// The time that one file may cost. sanitize/ has no clock: the caller brings
// one, and whatever takes long asks it now and then.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Bytes of plain work, and candidates looked at, between two questions.
#define BUDGET_BYTES      ((size_t)64 << 10)
#define BUDGET_CANDIDATES 256

struct budget {
	bool (*is_spent)(void *clock);
	void *clock;
};

// NULL is no limit.
static inline bool budget_is_spent(const struct budget *budget)
{
	return budget != NULL && budget->is_spent(budget->clock);
}
