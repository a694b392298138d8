// SPDX-License-Identifier: Apache-2.0
//
// Worker threads for everything that touches the source. Bulk work (indexing, first listings)
// waits behind what somebody asked for.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct task {
	struct task *next;
	void (*run)(struct task *task); // owns the task: frees it, or has it queued again
	bool bulk;
};

struct pool;

int pool_new(struct pool **ret);
// Starts the threads; to be called after the last fork.
int pool_start(struct pool *pool, size_t threads);
void pool_queue(struct pool *pool, struct task *task);
// Runs what is queued to its end and joins the threads.
void pool_free(struct pool *pool);
