// SPDX-License-Identifier: Apache-2.0
//
// Who is building which file right now, and who waits for it: a worker never blocks on another, its task is parked
// and queued again. The caller locks.
#pragma once

#include "fs/pool.h"
#include "fs/snapshot.h"

struct claim {
	struct claim *next;
	struct identity identity;
	uint64_t variant;
	struct task *parked;
};

struct claims {
	struct claim *first;
};

enum claimed { CLAIMED, PARKED, BUSY };

// CLAIMED when nobody was at it; else PARKED with the task (BUSY when `task` is NULL). -ENOMEM.
int claims_add(struct claims *claims, const struct identity *identity, uint64_t variant, struct task *task);
// Ends a claim. Returns the tasks that were parked, chained.
struct task *claims_end(struct claims *claims, const struct identity *identity, uint64_t variant);
