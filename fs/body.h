// SPDX-License-Identifier: Apache-2.0
//
// The bytes that are served for a file: immutable, reference counted, and named by the digest of their content,
// so that equal content is one body. Small ones lie in memory, large ones in a descriptor that the spool gave
// (fs/spool.h).
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/hash.h"
#include "sanitize/buf.h"

#define BODY_IN_MEMORY ((size_t)1 << 20) // larger ones go to the spool, where there is one

struct spool;

struct body {
	atomic_size_t refs;
	struct digest digest;
	size_t size;
	struct buf data;     // when `fd` is -1
	int fd;              // else a copy that nobody can change any more
	bool in_memory;      // the copy is a sealed memfd
	struct spool *spool; // which is told when the copy is gone
	// Under the cache's lock:
	struct body *slot_next;
	struct body *prev, *next; // the one used longest ago first
	int64_t used_ms;          // when, CLOCK_MONOTONIC
};

struct body *body_new(struct buf *data, const struct digest *digest); // takes `data` over; NULL on -ENOMEM
struct body *body_ref(struct body *body);
void body_unref(struct body *body); // NULL is allowed

// Up to `len` bytes from `offset` on. Returns how many; 0 behind the end. With `wait` false -EAGAIN when a disk would have
// to be waited for. -EIO.
ssize_t body_read(const struct body *body, char *ret, size_t len, size_t offset, bool wait);

static inline void cleanup_body(struct body **body)
{
	body_unref(*body);
}
