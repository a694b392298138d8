// SPDX-License-Identifier: Apache-2.0
//
// A set of small numbers that answers "the next one from here" and "the last
// one up to here" in a handful of steps, however few are left: each level holds
// one bit for a word of the level below that is not empty.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITSET_LEVELS 6 // 64^6 numbers
#define BITSET_NONE   SIZE_MAX

struct bitset {
	uint64_t *words; // of all levels
	uint64_t *level[BITSET_LEVELS];
	size_t size[BITSET_LEVELS]; // in words
	unsigned levels;
};

// An empty set of numbers below `limit` (at least 1), or all of them. 0 or -ENOMEM.
int bitset_init(struct bitset *set, size_t limit, bool full);
void bitset_release(struct bitset *set); // a zeroed set is allowed
void bitset_add(struct bitset *set, size_t number);
void bitset_remove(struct bitset *set, size_t number);
// Removes all of [start, end); costs what is removed, not the width.
void bitset_remove_range(struct bitset *set, size_t start, size_t end);
size_t bitset_next(const struct bitset *set, size_t from);     // smallest >= from, or BITSET_NONE
size_t bitset_previous(const struct bitset *set, size_t from); // largest <= from, or BITSET_NONE
// The smallest number >= from, below `limit`, that is not in the set; else `limit`.
size_t bitset_next_missing(const struct bitset *set, size_t from, size_t limit);

static inline void cleanup_bitset(struct bitset *set)
{
	bitset_release(set);
}
