// SPDX-License-Identifier: Apache-2.0
//
// A list of owned strings. A call that fails changes nothing.
#include "policy/strv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STRV_MAX ((size_t)1 << 24)

int strv_add_len(struct strv *strv, const char *text, size_t len)
{
	char *copy;

	if (strv->count == strv->cap) {
		size_t cap = strv->cap < 8 ? 8 : strv->cap * 2;
		char **items;

		if (cap > STRV_MAX)
			return -ENOMEM;
		items = reallocarray(strv->items, cap, sizeof(*items));
		if (items == NULL)
			return -ENOMEM;
		strv->items = items;
		strv->cap = cap;
	}
	copy = malloc(len + 1);
	if (copy == NULL)
		return -ENOMEM;
	if (len > 0)
		memcpy(copy, text, len);
	copy[len] = '\0';
	strv->items[strv->count++] = copy;
	return 0;
}

int strv_add(struct strv *strv, const char *text)
{
	return strv_add_len(strv, text, strlen(text));
}

int strv_copy(struct strv *to, const struct strv *from)
{
	size_t before = to->count;

	for (size_t i = 0; i < from->count; i++) {
		if (strv_add(to, from->items[i]) < 0) {
			while (to->count > before)
				free(to->items[--to->count]);
			return -ENOMEM;
		}
	}
	return 0;
}

bool strv_contains(const struct strv *strv, const char *text)
{
	for (size_t i = 0; i < strv->count; i++)
		if (strcmp(strv->items[i], text) == 0)
			return true;
	return false;
}

void strv_release(struct strv *strv)
{
	for (size_t i = 0; i < strv->count; i++)
		free(strv->items[i]);
	free(strv->items);
	*strv = (struct strv){ NULL, 0, 0 };
}
