// SPDX-License-Identifier: Apache-2.0
//
// Served bodies in memory, and which of them to drop first. The caller locks.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "sanitize/buf.h"

struct node;

struct body {
	atomic_size_t refs;
	struct buf data;
};

struct body *body_new(struct buf *data); // takes `data` over; NULL on -ENOMEM, when `data` stays
struct body *body_ref(struct body *body);
void body_unref(struct body *body); // NULL is allowed

// The nodes with a body, oldest first.
struct cache {
	struct node *oldest, *newest;
	uint64_t bytes, max;
};

// Gives the node its body (the reference goes over) and drops the oldest others above the limit. The newest stays even
// when it alone is too large: a reader is at it.
void cache_keep(struct cache *cache, struct node *node, struct body *body);
void cache_drop(struct cache *cache, struct node *node);
