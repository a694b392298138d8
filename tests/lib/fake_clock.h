// SPDX-License-Identifier: Apache-2.0
//
// The clock behind a budget in tests: it counts the questions and says "spent"
// from one of them on.
#pragma once

#include "sanitize/budget.h"

struct fake_clock {
	size_t asked;
	size_t allowed; // questions that are answered with no
};

static inline bool fake_clock_is_spent(void *clock)
{
	struct fake_clock *fake = clock;

	return fake->asked++ >= fake->allowed;
}

static inline struct budget fake_clock_budget(struct fake_clock *clock)
{
	return (struct budget){ fake_clock_is_spent, clock };
}
