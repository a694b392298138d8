// SPDX-License-Identifier: Apache-2.0
//
// The loop that both ways of narrowing have in common. It is taken into each with its way to compare, `fits_of`.
#pragma once

#include <string.h>

#include "sanitize/prefilter_find.h"

typedef uint32_t prefilter_fits(const struct prefilter_lines *lines, size_t bucket, uint64_t word);

static inline __attribute__((always_inline)) size_t narrow_with(
	prefilter_fits *fits_of, const struct prefilter_lines *lines, const char *text,
	const struct prefilter_block *blocks, size_t count, size_t *next, struct prefilter_hit *hits)
{
	size_t found = 0, index = *next;

	for (; index < count && PREFILTER_HITS - found >= PREFILTER_BLOCK_HITS; index++) {
		const struct prefilter_block *block = &blocks[index];

		if (block->run != 0)
			hits[found++] = (struct prefilter_hit){ .at = block->at, .bucket = PREFILTER_RUN };
		for (uint32_t places = block->places; places != 0; places &= places - 1) {
			unsigned int place = (unsigned int)__builtin_ctz(places);
			unsigned int buckets = block->buckets[place];
			uint64_t word;

			memcpy(&word, text + block->at + place, sizeof(word));
			do {
				struct prefilter_hit *hit = &hits[found];

				hit->at = block->at + place;
				hit->bucket = (uint32_t)__builtin_ctz(buckets);
				hit->fits = fits_of(lines, hit->bucket, word);
				found += hit->fits != 0;
				buckets &= buckets - 1;
			} while (buckets != 0);
		}
	}
	*next = index;
	return found;
}
