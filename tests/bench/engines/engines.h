// SPDX-License-Identifier: Apache-2.0
//
// The two comparators that speak only C++, behind a C face. NULL when they can't be made.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct re2_set;
// Adds the expressions that RE2 takes; `ret_taken` counts them.
struct re2_set *re2_set_new(const char *const *patterns, const int *case_sensitive, size_t count,
			    size_t *ret_taken);
// Which of the expressions match: a bit for each; -1 when it ran out of memory.
int re2_set_match(const struct re2_set *set, const char *text, size_t len, uint64_t *ret);

struct icu_nfkc;
struct icu_nfkc *icu_nfkc_new(void);
// NFKC of UTF-8 into a string that it keeps for the next call.
int icu_nfkc_normalize(struct icu_nfkc *nfkc, const char *text, size_t len, const char **ret,
		       size_t *ret_len);

#ifdef __cplusplus
}
#endif
