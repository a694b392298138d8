// SPDX-License-Identifier: Apache-2.0
//
// A set of borrowed names for many look-ups: fill, sort once, then search.
// Private to policy/. Each name carries the index of the entry that brought it in.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct named_index {
	const char *name;
	size_t index;
};

struct name_set {
	struct named_index *items;
	size_t count;
	size_t cap;
};

int name_set_add(struct name_set *set, const char *name, size_t index); // 0 or -ENOMEM
void name_set_sort(struct name_set *set);
// Needs a sorted set. `ret_index` may be NULL; of equal names the largest index.
bool name_set_find(const struct name_set *set, const char *name, size_t *ret_index);
void name_set_release(struct name_set *set);

static inline void cleanup_name_set(struct name_set *set)
{
	name_set_release(set);
}
