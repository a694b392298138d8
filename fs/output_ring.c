// SPDX-License-Identifier: Apache-2.0
#include "fs/output_ring.h"

#include <stdlib.h>
#include <string.h>

// Byte `offset` of the stream stands at offset % max, from the start on: while the
// memory is smaller than `max`, nothing has wrapped yet.
static bool grow(struct output_ring *ring, uint64_t need)
{
	size_t cap = need > ring->max ? ring->max : (size_t)need;
	char *data;

	if (cap <= ring->cap)
		return true;
	if (cap < 2 * ring->cap)
		cap = 2 * ring->cap < ring->max ? 2 * ring->cap : ring->max;
	data = realloc(ring->data, cap);
	if (data == NULL)
		return false;
	ring->data = data;
	ring->cap = cap;
	return true;
}

size_t output_ring_kept(const struct output_ring *ring)
{
	return (size_t)(ring->total - ring->dropped);
}

void output_ring_append(struct output_ring *ring, const void *data, size_t len)
{
	const char *from = data;

	if (!grow(ring, ring->total + len)) {
		ring->total += len;
		output_ring_drop(ring);
		return;
	}
	if (len > ring->max) {
		ring->total += len - ring->max;
		from += len - ring->max;
		len = ring->max;
	}
	while (len > 0) {
		size_t at = (size_t)(ring->total % ring->max);
		size_t part = len < ring->max - at ? len : ring->max - at;

		memcpy(ring->data + at, from, part);
		from += part;
		len -= part;
		ring->total += part;
	}
	if (ring->total - ring->dropped > ring->max)
		ring->dropped = ring->total - ring->max;
}

int output_ring_read(const struct output_ring *ring, uint64_t *offset, size_t max, struct buf *ret)
{
	uint64_t from = *offset < ring->dropped ? ring->dropped : *offset;
	uint64_t end = ring->total - from < max ? ring->total : from + max;
	int rc = buf_reserve(ret, (size_t)(end - from));

	while (rc == 0 && from < end) {
		size_t at = (size_t)(from % ring->max);
		size_t part = end - from < ring->max - at ? (size_t)(end - from) : ring->max - at;

		rc = buf_append(ret, ring->data + at, part);
		from += part;
	}
	if (rc == 0)
		*offset = from;
	return rc;
}

void output_ring_drop(struct output_ring *ring)
{
	free(ring->data);
	ring->data = NULL;
	ring->cap = 0;
	ring->dropped = ring->total;
}
