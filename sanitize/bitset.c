// SPDX-License-Identifier: Apache-2.0
#include "sanitize/bitset.h"

#include <errno.h>
#include <stdlib.h>

#define BITS 64

int bitset_init(struct bitset *set, size_t limit, bool full)
{
	struct bitset made = { .levels = 0 };
	size_t total = 0, count = limit;

	do {
		made.size[made.levels] = (count + BITS - 1) / BITS;
		count = made.size[made.levels];
		total += count;
		made.levels++;
	} while (count > 1 && made.levels < BITSET_LEVELS);
	made.words = calloc(total, sizeof(*made.words));
	if (made.words == NULL)
		return -ENOMEM;
	made.level[0] = made.words;
	for (unsigned i = 1; i < made.levels; i++)
		made.level[i] = made.level[i - 1] + made.size[i - 1];
	count = limit;
	for (unsigned i = 0; full && i < made.levels; i++) {
		for (size_t word = 0; word < count / BITS; word++)
			made.level[i][word] = UINT64_MAX;
		if (count % BITS != 0)
			made.level[i][count / BITS] = (UINT64_C(1) << count % BITS) - 1;
		count = made.size[i];
	}
	*set = made;
	return 0;
}

void bitset_release(struct bitset *set)
{
	free(set->words);
	*set = (struct bitset){ .levels = 0 };
}

void bitset_add(struct bitset *set, size_t number)
{
	for (unsigned i = 0; i < set->levels; i++) {
		set->level[i][number / BITS] |= UINT64_C(1) << number % BITS;
		number /= BITS;
	}
}

void bitset_remove(struct bitset *set, size_t number)
{
	for (unsigned i = 0; i < set->levels; i++) {
		set->level[i][number / BITS] &= ~(UINT64_C(1) << number % BITS);
		if (set->level[i][number / BITS] != 0)
			return;
		number /= BITS;
	}
}

void bitset_remove_range(struct bitset *set, size_t start, size_t end)
{
	size_t number = bitset_next(set, start);

	while (number < end) {
		bitset_remove(set, number);
		number = bitset_next(set, number + 1);
	}
}

size_t bitset_next(const struct bitset *set, size_t from)
{
	size_t at = from;
	unsigned i = 0;

	// Up until a word has something at or behind `at`, then down along the first bits.
	for (;; at = at / BITS + 1, i++) {
		uint64_t rest;

		if (i == set->levels || at / BITS >= set->size[i])
			return BITSET_NONE;
		rest = set->level[i][at / BITS] >> at % BITS;
		if (rest != 0) {
			at += (size_t)__builtin_ctzll(rest);
			break;
		}
	}
	while (i-- > 0)
		at = at * BITS + (size_t)__builtin_ctzll(set->level[i][at]);
	return at;
}

size_t bitset_previous(const struct bitset *set, size_t from)
{
	size_t at = from;
	unsigned i = 0;

	for (;; at = at / BITS - 1, i++) {
		uint64_t rest;

		if (i == set->levels)
			return BITSET_NONE;
		rest = set->level[i][at / BITS] << (BITS - 1 - at % BITS);
		if (rest != 0) {
			at -= (size_t)__builtin_clzll(rest);
			break;
		}
		if (at < BITS)
			return BITSET_NONE;
	}
	while (i-- > 0)
		at = at * BITS + (BITS - 1 - (size_t)__builtin_clzll(set->level[i][at]));
	return at;
}

size_t bitset_next_missing(const struct bitset *set, size_t from, size_t limit)
{
	while (from < limit) {
		uint64_t missing = ~set->level[0][from / BITS] >> from % BITS;

		if (missing != 0) {
			from += (size_t)__builtin_ctzll(missing);
			break;
		}
		from = (from / BITS + 1) * BITS;
	}
	return from < limit ? from : limit;
}
