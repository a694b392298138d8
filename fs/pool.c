// SPDX-License-Identifier: Apache-2.0
#include "fs/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define THREADS_MAX 16

struct queue {
	struct task *first;
	struct task **last;
};

enum { QUEUE_ASKED, QUEUE_HEAVY, QUEUE_BULK, QUEUES };

struct pool {
	pthread_mutex_t lock; // all below
	pthread_cond_t wake;
	struct queue queues[QUEUES];
	size_t running;
	size_t long_running; // of them, heavy or bulk
	bool ending;
	pthread_t threads[THREADS_MAX];
	size_t thread_count;
};

int pool_new(struct pool **ret)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (pool == NULL)
		return -ENOMEM;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	for (size_t i = 0; i < QUEUES; i++)
		pool->queues[i].last = &pool->queues[i].first;
	*ret = pool;
	return 0;
}

// One thread is always left for what somebody asked for and is quick.
static bool long_allowed(const struct pool *pool)
{
	return pool->thread_count < 2 || pool->long_running < pool->thread_count - 1;
}

static size_t queue_of(const struct task *task)
{
	return task->bulk ? QUEUE_BULK : task->heavy ? QUEUE_HEAVY : QUEUE_ASKED;
}

static struct task *dequeue(struct pool *pool)
{
	for (size_t i = 0; i < (long_allowed(pool) ? QUEUES : QUEUE_HEAVY); i++) {
		struct task *task = pool->queues[i].first;

		if (task == NULL)
			continue;
		pool->queues[i].first = task->next;
		if (task->next == NULL)
			pool->queues[i].last = &pool->queues[i].first;
		task->next = NULL;
		return task;
	}
	return NULL;
}

static void *work(void *context)
{
	struct pool *pool = context;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct task *task = dequeue(pool);

		if (task != NULL) {
			bool is_long = queue_of(task) != QUEUE_ASKED; // the task may be gone when it has run

			pool->running++;
			pool->long_running += is_long;
			pthread_mutex_unlock(&pool->lock);
			task->run(task);
			pthread_mutex_lock(&pool->lock);
			pool->running--;
			pool->long_running -= is_long;
			// The last task may have been what the end waits for.
			if (pool->ending)
				pthread_cond_broadcast(&pool->wake);
		} else if (pool->ending && pool->running == 0) {
			break;
		} else {
			pthread_cond_wait(&pool->wake, &pool->lock);
		}
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

int pool_start(struct pool *pool, size_t threads)
{
	int rc = 0;

	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	pthread_mutex_lock(&pool->lock);
	while (rc == 0 && pool->thread_count < threads) {
		rc = pthread_create(&pool->threads[pool->thread_count], NULL, work, pool);
		if (rc == 0)
			pool->thread_count++;
	}
	threads = pool->thread_count;
	pthread_mutex_unlock(&pool->lock);
	return threads > 0 ? 0 : -rc; // fewer than asked for will do
}

void pool_queue(struct pool *pool, struct task *task)
{
	struct queue *queue = &pool->queues[queue_of(task)];

	task->next = NULL;
	pthread_mutex_lock(&pool->lock);
	*queue->last = task;
	queue->last = &task->next;
	pthread_cond_signal(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
}

bool task_put_off(struct pool *pool, struct task *task)
{
	if (task->bulk || task->heavy)
		return false;
	task->heavy = true;
	pool_queue(pool, task);
	return true;
}

void pool_free(struct pool *pool)
{
	if (pool == NULL)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->ending = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (size_t i = 0; i < pool->thread_count; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}
