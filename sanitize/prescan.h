// SPDX-License-Identifier: Apache-2.0
//
// How far the pipeline has nothing to do. Most files are such text from beginning to end, and most of the rest
// is but for a few places; the steps then start where this stops.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// One way of doing it. All give the same answers, in whole characters from the beginning of valid UTF-8.
struct prescan {
	const char *name;
	// Bytes that normalizing and step 3 leave as they are, whatever stands before them. What follows may
	// still join with the last character.
	size_t (*inert)(const char *text, size_t len);
	// The same up to the first opener of a comment: equal to `len` when no step has anything to do.
	size_t (*clean)(const char *text, size_t len);
};

extern const struct prescan prescan_portable;
extern const struct prescan prescan_avx2; // only where prescan_has_avx2() says so

bool prescan_has_avx2(void);
const struct prescan *prescan_best(void);
