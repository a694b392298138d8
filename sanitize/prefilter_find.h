// SPDX-License-Identifier: Apache-2.0
//
// A prefilter as it is built, and what its two ways to search share. Private to prefilter*.c.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sanitize/anchor.h"
#include "sanitize/prefilter.h"

#define PREFILTER_WINDOW  4
#define PREFILTER_BUCKETS 8
// Bytes that are read behind a place.
#define PREFILTER_BEHIND 8
// Bytes looked at together, and the half of it: a run covers two whole halves one behind the other.
#define PREFILTER_BLOCK 32
#define PREFILTER_HALF  16
// All bytes of a run are larger than this, and printable ASCII: a stretch of text in a binary file ends in none.
#define PREFILTER_RUN_ABOVE 0x2A
#define PREFILTER_BLOCKS    64

// A block in which something was found.
struct prefilter_block {
	size_t at;
	uint32_t places; // where all four bytes fit, one bit each
	uint32_t run;    // not 0: this half of a block and the one before, or both halves, are full
	uint8_t buckets[PREFILTER_BLOCK]; // at each place
};

// For each of four neighbouring bytes the buckets that allow it there.
struct prefilter_tables {
	uint8_t low[PREFILTER_WINDOW][16];  // by its low half
	uint8_t high[PREFILTER_WINDOW][16]; // by its high half
	uint32_t refused[256]; // by all of it: a lane for each of the four, the buckets that don't allow it
};

// The anchors of each bucket, from the window on, as eight bytes and which of their bits count; as many for each bucket
// as the fullest has.
struct prefilter_lines {
	uint64_t *values, *masks;
	size_t per_bucket; // a multiple of PREFILTER_LINE, at most PREFILTER_FITS
};
#define PREFILTER_LINE 4
#define PREFILTER_FITS 32

struct prefilter_hit {
	size_t at;
	uint32_t bucket;
	uint32_t fits; // one bit for each anchor of the bucket
};
// The bucket of a hit where two halves are full.
#define PREFILTER_RUN PREFILTER_BUCKETS
// At most so many are in one block.
#define PREFILTER_BLOCK_HITS ((size_t)PREFILTER_BLOCK * PREFILTER_BUCKETS + 1)
#define PREFILTER_HITS       (2 * PREFILTER_BLOCK_HITS)

// Looks at the blocks from `at` on, to `end` or until PREFILTER_BLOCKS are found. `end` - `at` is a multiple of the
// block, and PREFILTER_BEHIND more bytes can be read behind `end`. `before`: the half before `at` is full. Gives the place reached.
typedef size_t prefilter_find(const struct prefilter_tables *tables, const char *text, size_t at, size_t end,
			      bool before, struct prefilter_block *blocks, size_t *ret_count);

// The places of the blocks from `*next` on where anchors fit as far as the lines say, while the hits of a block have
// room among PREFILTER_HITS. Gives how many.
typedef size_t prefilter_narrow(const struct prefilter_lines *lines, const char *text,
				const struct prefilter_block *blocks, size_t count, size_t *next,
				struct prefilter_hit *hits);

prefilter_find prefilter_find_scalar;
prefilter_narrow prefilter_narrow_scalar;
// Only where prefilter_has_avx2().
prefilter_find prefilter_find_avx2;
prefilter_narrow prefilter_narrow_avx2;
bool prefilter_has_avx2(void);

// Bytes of an anchor compared as one word.
#define COMPARED 8
_Static_assert(ANCHOR_SETS == COMPARED, "an anchor is compared as one word and its sets");
// An anchor as it is compared: small, since most of them are compared and few fit.
struct check {
	uint64_t value, mask; // of the bytes that are letters or single
	uint32_t owner;
	uint16_t first_set; // what else must hold
	uint8_t set_count;
	uint8_t shift; // from the window back to the start
	bool at_word_start;
};

struct set_check {
	struct byte_set set;
	size_t place;
};

struct run_check {
	struct byte_set set;
	size_t owner, min;
};

struct prefilter {
	prefilter_find *find;
	prefilter_narrow *narrow;
	enum prefilter_kind kind;
	struct prefilter_tables tables;
	struct check *checks; // by bucket
	struct set_check *sets;
	size_t set_count;
	size_t bucket_start[PREFILTER_BUCKETS + 1];
	struct prefilter_lines lines;
	struct run_check runs[PREFILTER_RUNS_MAX];
	size_t run_count;
	bool word[256];
};
