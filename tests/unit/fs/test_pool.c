// SPDX-License-Identifier: Apache-2.0
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fs/pool.h"
#include "sanitize/cleanup.h"

#define THREADS 3

struct work {
	struct task task;
	sem_t *started; // posted when it begins
	sem_t *gate;    // waited for when not NULL
};

static void work_run(struct task *task)
{
	struct work *work = (struct work *)task;

	(void)sem_post(work->started);
	if (work->gate != NULL)
		while (sem_wait(work->gate) < 0)
			;
}

static bool happens(sem_t *semaphore)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	return sem_timedwait(semaphore, &until) == 0;
}

static void long_work_leaves_a_thread_for_what_is_asked(void **state)
{
	struct work slow[2 * THREADS], asked;
	sem_t slow_started, asked_started, gate;
	struct pool *pool = NULL;

	(void)state;
	(void)sem_init(&slow_started, 0, 0);
	(void)sem_init(&asked_started, 0, 0);
	(void)sem_init(&gate, 0, 0);
	assert_int_equal(pool_new(&pool), 0);
	assert_int_equal(pool_start(pool, THREADS), 0);
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
		slow[i] = (struct work){ { .run = work_run, .bulk = i % 2 == 0, .heavy = i % 2 == 1 },
					 &slow_started,
					 &gate };
		pool_queue(pool, &slow[i].task);
	}
	for (size_t i = 0; i < THREADS - 1; i++)
		assert_true(happens(&slow_started));
	asked = (struct work){ { .run = work_run }, &asked_started, NULL };
	pool_queue(pool, &asked.task);
	assert_true(happens(&asked_started));
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		(void)sem_post(&gate);
	for (size_t i = 0; i < ARRAY_SIZE(slow) - (THREADS - 1); i++)
		assert_true(happens(&slow_started));
	pool_free(pool);
	(void)sem_destroy(&slow_started);
	(void)sem_destroy(&asked_started);
	(void)sem_destroy(&gate);
}

struct slow_work {
	struct task task;
	struct pool *pool;
	sem_t *done;
};

static void slow_run(struct task *task)
{
	struct slow_work *work = (struct slow_work *)task;

	if (!task_put_off(work->pool, task))
		(void)sem_post(work->done);
}

static void work_that_takes_long_is_put_off_once(void **state)
{
	struct slow_work work = { .task = { .run = slow_run } };
	sem_t done;

	(void)state;
	(void)sem_init(&done, 0, 0);
	work.done = &done;
	assert_int_equal(pool_new(&work.pool), 0);
	assert_int_equal(pool_start(work.pool, 1), 0);
	pool_queue(work.pool, &work.task);
	assert_true(happens(&done));
	pool_free(work.pool);
	assert_true(work.task.heavy);
	(void)sem_destroy(&done);
}

static void free_runs_what_is_queued_with_one_thread_too(void **state)
{
	struct work works[100];
	sem_t started;
	struct pool *pool = NULL;
	int runs = 0;

	(void)state;
	(void)sem_init(&started, 0, 0);
	assert_int_equal(pool_new(&pool), 0);
	for (size_t i = 0; i < ARRAY_SIZE(works); i++) {
		works[i] = (struct work){ { .run = work_run, .bulk = i % 2 == 0 }, &started, NULL };
		pool_queue(pool, &works[i].task);
	}
	assert_int_equal(pool_start(pool, 1), 0);
	pool_free(pool);
	assert_int_equal(sem_getvalue(&started, &runs), 0);
	assert_int_equal(runs, ARRAY_SIZE(works));
	(void)sem_destroy(&started);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_work_leaves_a_thread_for_what_is_asked),
		cmocka_unit_test(work_that_takes_long_is_put_off_once),
		cmocka_unit_test(free_runs_what_is_queued_with_one_thread_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
