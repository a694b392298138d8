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
			     unsigned int before, struct prefilter_hit *hits, size_t cap, size_t *ret_count)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t count = 0;

	while (at < end && cap - count > PREFILTER_BLOCK) {
		unsigned int first = is_full(text + at) && is_full(text + at + 8);
		unsigned int second = is_full(text + at + 16) && is_full(text + at + 24);

		if (first & (before | second)) {
			hits[count].at = at;
			hits[count++].buckets = PREFILTER_RUN;
		}
		before = second;
		for (size_t stop = at + PREFILTER_BLOCK; at < stop; at++) {
			unsigned int buckets = tables->byte[0][bytes[at]] & tables->byte[1][bytes[at + 1]] &
					       tables->byte[2][bytes[at + 2]] &
					       tables->byte[3][bytes[at + 3]];

			if (buckets != 0) {
				hits[count].at = at;
				hits[count++].buckets = buckets;
			}
		}
	}
	*ret_count = count;
	return at;
}
