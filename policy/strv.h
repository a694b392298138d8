// SPDX-License-Identifier: Apache-2.0
//
// A list of owned strings.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct strv {
	char **items;
	size_t count;
	size_t cap;
};

int strv_add(struct strv *strv, const char *text); // copies; 0 or -ENOMEM
int strv_add_len(struct strv *strv, const char *text, size_t len);
int strv_copy(struct strv *to, const struct strv *from); // appends
bool strv_contains(const struct strv *strv, const char *text);
void strv_release(struct strv *strv);

static inline void cleanup_strv(struct strv *strv)
{
	strv_release(strv);
}
