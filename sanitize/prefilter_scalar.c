// SPDX-License-Identifier: Apache-2.0
#include <stdbool.h>
#include <string.h>

#include "sanitize/prefilter_find.h"

// Whether all eight bytes are larger than PREFILTER_RUN_ABOVE and ASCII.
static inline bool is_full(const char *text)
{
	const uint64_t ones = 0x0101010101010101u, high = ones << 7;
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	// No byte is above 0x7F, so that no sum runs over into its neighbour.
	return (word & high) == 0 && ((word + (0x7F - PREFILTER_RUN_ABOVE) * ones) & high) == high;
}

size_t prefilter_find_scalar(const struct prefilter_tables *tables, const char *text, size_t at, size_t end,
			     bool before, struct prefilter_block *blocks, size_t *ret_count)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t count = 0;

	for (; at < end && count < PREFILTER_BLOCKS; at += PREFILTER_BLOCK) {
		struct prefilter_block *block = &blocks[count];
		bool first = is_full(text + at) && is_full(text + at + 8);
		bool second = is_full(text + at + 16) && is_full(text + at + 24);
		uint32_t places = 0;

		for (unsigned int i = 0; i < PREFILTER_BLOCK; i++) {
			const unsigned char *byte = bytes + at + i;
			unsigned int buckets = tables->byte[0][byte[0]] & tables->byte[1][byte[1]] &
					       tables->byte[2][byte[2]] & tables->byte[3][byte[3]];

			block->buckets[i] = (uint8_t)buckets;
			places |= (uint32_t)(buckets != 0) << i;
		}
		block->at = at;
		block->places = places;
		block->run = first && (before || second);
		before = second;
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
			       const struct prefilter_block *block, struct prefilter_hit *hits)
{
	size_t count = 0;

	for (uint32_t places = block->places; places != 0; places &= places - 1) {
		unsigned int place = (unsigned int)__builtin_ctz(places);
		uint64_t word;

		memcpy(&word, text + block->at + place, sizeof(word));
		for (unsigned int buckets = block->buckets[place]; buckets != 0; buckets &= buckets - 1) {
			struct prefilter_hit *hit = &hits[count];

			hit->at = block->at + place;
			hit->bucket = (uint32_t)__builtin_ctz(buckets);
			hit->fits = fits_of(lines, hit->bucket, word);
			count += hit->fits != 0;
		}
	}
	return count;
}
