// SPDX-License-Identifier: Apache-2.0
//
// Private copies of large bodies, bounded in total: sealed memory (memfd) for a quarter of the room, then unlinked
// temporary files in a directory that only the owner can enter. A copy is written while its source is
// scanned, so that what is served later is what was scanned. Thread-safe.
#pragma once

#include <stdint.h>

#include "fs/body.h"

struct spool;

// Lets go of the copy that was used longest ago: true when there was one, false when there is none, or none but those that
// are in use just now (unless `force`). Called without locks.
struct spool_room {
	bool (*make)(void *context, bool force);
	void *context;
};

// `dir_fd`: where temporary files go, taken over; -1: memory only.
int spool_new(uint64_t max, int dir_fd, struct spool **ret);
void spool_set_room(struct spool *spool, const struct spool_room *room); // before the first copy
void spool_end(struct spool *spool);  // nobody waits for room any more: there is none then
void spool_free(struct spool *spool); // all copies must be gone
uint64_t spool_max(const struct spool *spool);
uint64_t spool_used(const struct spool *spool); // bytes, those of copies in the making included

// A copy in the making. Zero it; ends by copy_finish() or copy_discard().
struct copy {
	struct spool *spool;
	int fd;
	bool push, in_memory;
	size_t size;
	uint64_t reserved;
};

// `expected` bytes will come, or a few more or less. `push`: older copies are let go for it, and what is in use
// is waited for: a copy is let its readers for a while, or many readers of large files would only undo each other's
// work. -EFBIG when the spool can never hold it, -ENOSPC when it cannot now, or what opening or writing the copy gave.
int copy_begin(struct spool *spool, uint64_t expected, bool push, struct copy *ret);
int copy_append(struct copy *copy, const char *data, size_t len);
int copy_finish(struct copy *copy, const struct digest *digest, struct body **ret);
void copy_discard(struct copy *copy);

// For body_unref(): a copy is gone.
void spool_give_back(struct spool *spool, uint64_t size, bool in_memory);

static inline void cleanup_copy(struct copy *copy)
{
	copy_discard(copy);
}
