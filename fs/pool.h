// SPDX-License-Identifier: Apache-2.0
//
// Worker threads for everything that touches the source. What takes long (a large file) and bulk work (indexing, first
// listings) waits behind what somebody asked for, and never has all the threads.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct task {
	struct task *next;
	void (*run)(struct task *task); // owns the task: frees it, or has it queued again
	bool bulk;
	bool heavy; // takes long
};

struct pool;

int pool_new(struct pool **ret);
// Starts the threads; to be called after the last fork.
int pool_start(struct pool *pool, size_t threads);
void pool_queue(struct pool *pool, struct task *task);
// From inside a task that turns out to take long: has it queued again as such and returns true, unless it is already known.
bool task_put_off(struct pool *pool, struct task *task);
// Runs what is queued to its end and joins the threads.
void pool_free(struct pool *pool);
