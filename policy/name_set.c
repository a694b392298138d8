// SPDX-License-Identifier: Apache-2.0
#include "policy/name_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int name_set_add(struct name_set *set, const char *name, size_t index)
{
	if (set->count == set->cap) {
		size_t cap = set->cap < 32 ? 32 : set->cap * 2;
		struct named_index *items = reallocarray(set->items, cap, sizeof(*items));

		if (items == NULL)
			return -ENOMEM;
		set->items = items;
		set->cap = cap;
	}
	set->items[set->count++] = (struct named_index){ name, index };
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct named_index *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	if (order != 0)
		return order;
	return (a->index > b->index) - (a->index < b->index);
}

void name_set_sort(struct name_set *set)
{
	if (set->count > 1)
		qsort(set->items, set->count, sizeof(*set->items), compare);
}

bool name_set_find(const struct name_set *set, const char *name, size_t *ret_index)
{
	size_t low = 0, high = set->count;

	// The first item behind all that are equal or smaller.
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(set->items[middle].name, name) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || strcmp(set->items[low - 1].name, name) != 0)
		return false;
	if (ret_index != NULL)
		*ret_index = set->items[low - 1].index;
	return true;
}

void name_set_release(struct name_set *set)
{
	free(set->items);
	*set = (struct name_set){ NULL, 0, 0 };
}
