// SPDX-License-Identifier: Apache-2.0
//
// Scope cleanup: `CLEANUP(free) char *text = NULL;` frees at the end of the
// scope, `return take(text);` hands over instead.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(kind) __attribute__((cleanup(cleanup_##kind)))

static inline void cleanup_free(void *slot)
{
	free(*(void **)slot);
}

static inline void cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

// The pointer in `slot`; the slot is NULL afterwards.
#define take(slot)                                                                                           \
	({                                                                                                   \
		__typeof__(slot) taken_ = (slot);                                                            \
		(slot) = NULL;                                                                               \
		taken_;                                                                                      \
	})

// The descriptor in `slot`; the slot is -1 afterwards.
#define take_fd(slot)                                                                                        \
	({                                                                                                   \
		int taken_ = (slot);                                                                         \
		(slot) = -1;                                                                                 \
		taken_;                                                                                      \
	})

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
