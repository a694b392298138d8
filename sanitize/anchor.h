// SPDX-License-Identifier: Apache-2.0
//
// How a match of a regular expression can begin: the sets of bytes that its
// first places must hold. Read from the expression itself, and never too
// narrow: wherever the expression matches, one of its anchors fits.
//
// Understood are literals, classes, `.`, groups, alternatives and fixed
// repetitions; an anchor ends where anything else begins, and assertions are passed
// over. An expression that changes its own options or has no fixed beginning gives no anchor.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANCHOR_SETS 8
#define ANCHORS_MAX 32

struct byte_set {
	uint64_t words[4];
};

static inline bool byte_set_has(const struct byte_set *set, unsigned char byte)
{
	return (set->words[byte / 64] >> (byte % 64) & 1) != 0;
}

struct anchor {
	struct byte_set sets[ANCHOR_SETS];
	size_t len;         // sets in use; bytes behind the end of a text count as NUL
	bool at_word_start; // no word character stands before it
	size_t run;         // not 0: the beginning of a run of at least so many bytes of sets[0]
};

// The number of anchors written, 0 when there are none. `expression` is in PCRE2's syntax and has been compiled.
size_t anchors_read(const char *expression, bool case_sensitive, struct anchor ret[ANCHORS_MAX]);
