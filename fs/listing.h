// SPDX-License-Identifier: Apache-2.0
//
// A listing as one OPENDIR saw it: immutable, shared by the handles that read it.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sanitize/buf.h"

struct listing_entry {
	uint64_t ino;
	uint32_t name; // its offset in `names`
	uint32_t type; // S_IFDIR, S_IFREG, S_IFLNK
};

struct listing {
	atomic_size_t refs;
	struct listing_entry *entries; // what is visible, sorted by name
	size_t count;
	uint32_t generation; // of its directory: equal ones in a row share it; from 1
	size_t hidden;       // names hidden directly in it
	struct buf names;    // all names in the source, hidden ones too: NUL-terminated, sorted
	size_t source_count; // of them
};

static inline const char *listing_name(const struct listing *listing, size_t i)
{
	return listing->names.data + listing->entries[i].name;
}

struct listing *listing_ref(struct listing *listing);
void listing_unref(struct listing *listing); // NULL is allowed
// The type of a visible name, 0 when it is not there.
uint32_t listing_find(const struct listing *listing, const char *name);
// Whether what is visible is the same.
bool listing_equal(const struct listing *a, const struct listing *b);
