// SPDX-License-Identifier: Apache-2.0
#include "fs/listing.h"

#include <stdlib.h>
#include <string.h>

struct listing *listing_ref(struct listing *listing)
{
	atomic_fetch_add_explicit(&listing->refs, 1, memory_order_relaxed);
	return listing;
}

void listing_unref(struct listing *listing)
{
	if (listing != NULL && atomic_fetch_sub_explicit(&listing->refs, 1, memory_order_acq_rel) == 1) {
		free(listing->entries);
		buf_release(&listing->names);
		free(listing);
	}
}

uint32_t listing_find(const struct listing *listing, const char *name)
{
	size_t low = 0, high = listing->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(listing_name(listing, middle), name);

		if (order == 0)
			return listing->entries[middle].type;
		*(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
	}
	return 0;
}

bool listing_equal(const struct listing *a, const struct listing *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->entries[i].ino != b->entries[i].ino || a->entries[i].type != b->entries[i].type ||
		    strcmp(listing_name(a, i), listing_name(b, i)) != 0)
			return false;
	return true;
}
