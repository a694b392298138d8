// SPDX-License-Identifier: Apache-2.0
//
// The clock behind a budget. No case compares times: none is spent at once, an hour is not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fs/cpu_budget.h"

static void budget_of_nothing_is_spent(void **state)
{
	struct cpu_budget budget;

	(void)state;
	cpu_budget_begin(&budget, 0);
	assert_true(budget_is_spent(&budget.budget));
	assert_string_equal(budget.limit, "0 ms of CPU time (mount.scanTimeMs)");
}

static void budget_of_an_hour_is_not_spent(void **state)
{
	struct cpu_budget budget;

	(void)state;
	cpu_budget_begin(&budget, 3600000);
	assert_false(budget_is_spent(&budget.budget));
	// Nor when the thread's clock was read.
	budget.not_before = 0;
	assert_false(budget_is_spent(&budget.budget));
	assert_true(budget.looked && budget.not_before > budget.begun);
}

static void budget_ends_with_work_and_stays_spent(void **state)
{
	struct cpu_budget budget;

	(void)state;
	cpu_budget_begin(&budget, 1);
	while (!budget_is_spent(&budget.budget))
		;
	budget.end += INT64_C(3600000000000); // as if the clock went back
	assert_true(budget_is_spent(&budget.budget));
	assert_string_equal(budget.limit, "1 ms of CPU time (mount.scanTimeMs)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_of_nothing_is_spent),
		cmocka_unit_test(budget_of_an_hour_is_not_spent),
		cmocka_unit_test(budget_ends_with_work_and_stays_spent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
