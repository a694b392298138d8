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
	const char *name; // in `names`
	uint64_t ino;
	uint32_t type; // S_IFDIR, S_IFREG, S_IFLNK
};

struct listing {
	atomic_size_t refs;
	struct listing_entry *entries; // sorted by name
	size_t count;
	size_t hidden; // names hidden directly in it
	struct buf names;
	struct buf source_names; // all names in the source, hidden ones too: NUL-terminated, sorted
	size_t source_count;
};

struct listing *listing_ref(struct listing *listing);
void listing_unref(struct listing *listing); // NULL is allowed
// The type of a visible name, 0 when it is not there.
uint32_t listing_find(const struct listing *listing, const char *name);
// Whether what is visible is the same.
bool listing_equal(const struct listing *a, const struct listing *b);
