// SPDX-License-Identifier: Apache-2.0
//
// Served bodies by the digest of their content, and which of them to let go first. Nodes hold none: who needs a
// body finds it here or has it rebuilt. Thread-safe.
#pragma once

#include <stdint.h>

#include "fs/body.h"

struct cache;

// Bodies in memory are held up to `max` bytes; copies up to what the spool takes. The spool is borrowed and outlives the cache.
int cache_new(uint64_t max, struct spool *spool, struct cache **ret);
void cache_free(struct cache *cache); // NULL is allowed

// With a reference, as the one used last; NULL when there is none of that content.
struct body *cache_find(struct cache *cache, const struct digest *digest, size_t size);
// Takes a reference over and gives one back: to `body`, or to the equal one that was there already.
struct body *cache_add(struct cache *cache, struct body *body);
uint64_t cache_bytes(struct cache *cache); // in memory
