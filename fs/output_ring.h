// SPDX-License-Identifier: Apache-2.0
//
// The end of a stream: the last `max` bytes of all that was appended, and how
// many there were. Memory grows with what is kept, never above `max`.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sanitize/buf.h"

struct output_ring {
	char *data;
	size_t cap;
	size_t max;
	uint64_t total;   // bytes seen
	uint64_t dropped; // bytes before this offset are gone
};

void output_ring_append(struct output_ring *ring, const void *data, size_t len);
// Appends to `ret` at most `max` bytes from `*offset` on, which moves; offsets before the kept part jump to it. 0 or -ENOMEM.
int output_ring_read(const struct output_ring *ring, uint64_t *offset, size_t max, struct buf *ret);
size_t output_ring_kept(const struct output_ring *ring);
// Frees the bytes; the count stays.
void output_ring_drop(struct output_ring *ring);
