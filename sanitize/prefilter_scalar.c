// SPDX-License-Identifier: Apache-2.0
#include <stdbool.h>
#include <string.h>

#include "sanitize/prefilter_narrow.h"

// Whether all eight bytes are larger than PREFILTER_RUN_ABOVE and ASCII.
static inline bool is_full(const char *text)
{
	const uint64_t ones = 0x0101010101010101u, high = ones << 7;
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	// No byte is above 0x7F, so that no sum runs over into its neighbour.
	return (word & high) == 0 && ((word + (0x7F - PREFILTER_RUN_ABOVE) * ones) & high) == high;
}

// The four lanes of the state are windows under way: the highest has seen all its bytes. A bit is 0 as long as its
// bucket allows every byte so far.
static inline uint32_t step(const struct prefilter_tables *tables, uint32_t state, unsigned char byte)
{
	return state << 8 | tables->refused[byte];
}

// The places of one half where all four bytes fit.
static uint32_t places_of(const struct prefilter_tables *tables, const unsigned char *bytes, uint8_t *buckets)
{
	uint32_t state = UINT32_MAX, places = 0;

	for (unsigned int i = 0; i < PREFILTER_WINDOW - 1; i++)
		state = step(tables, state, bytes[i]);
	for (unsigned int i = 0; i < PREFILTER_HALF; i++) {
		state = step(tables, state, bytes[i + PREFILTER_WINDOW - 1]);
		buckets[i] = (uint8_t) ~(state >> 24);
		places |= (uint32_t)(buckets[i] != 0) << i;
	}
	return places;
}

size_t prefilter_find_scalar(const struct prefilter_tables *tables, const char *text, size_t at, size_t end,
			     bool before, struct prefilter_block *blocks, size_t *ret_count)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t count = 0;

	for (; at < end && count < PREFILTER_BLOCKS; at += PREFILTER_BLOCK) {
		const unsigned char *one = bytes + at, *two = one + PREFILTER_HALF;
		struct prefilter_block *block = &blocks[count];
		bool first = is_full(text + at) && is_full(text + at + 8);
		bool second = is_full(text + at + 16) && is_full(text + at + 24);
		uint32_t state = UINT32_MAX, other = UINT32_MAX, all = UINT32_MAX;

		// Both halves side by side: one step waits for the one before it.
		for (unsigned int i = 0; i < PREFILTER_WINDOW - 1; i++) {
			state = step(tables, state, one[i]);
			other = step(tables, other, two[i]);
		}
		for (unsigned int i = PREFILTER_WINDOW - 1; i < PREFILTER_HALF + PREFILTER_WINDOW - 1; i++) {
			state = step(tables, state, one[i]);
			other = step(tables, other, two[i]);
			all &= state & other;
		}
		block->at = at;
		block->run = first && (before || second);
		block->places = 0;
		before = second;
		if (all >> 24 != 0xFF) {
			block->places = places_of(tables, one, block->buckets);
			block->places |= places_of(tables, two, block->buckets + PREFILTER_HALF)
					 << PREFILTER_HALF;
		}
		count += (block->places | block->run) != 0;
	}
	*ret_count = count;
	return at;
}

static uint32_t fits_of(const struct prefilter_lines *lines, size_t bucket, uint64_t word)
{
	const uint64_t *values = lines->values + bucket * lines->per_bucket;
	const uint64_t *masks = lines->masks + bucket * lines->per_bucket;
	uint32_t fits = 0;

	for (size_t i = 0; i < lines->per_bucket; i++)
		fits |= (uint32_t)(((word ^ values[i]) & masks[i]) == 0) << i;
	return fits;
}

size_t prefilter_narrow_scalar(const struct prefilter_lines *lines, const char *text,
			       const struct prefilter_block *blocks, size_t count, size_t *next,
			       struct prefilter_hit *hits)
{
	return narrow_with(fits_of, lines, text, blocks, count, next, hits);
}
