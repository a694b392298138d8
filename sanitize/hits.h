// SPDX-License-Identifier: Apache-2.0
//
// Matches of several forms of one text, with their places in the original: a match that more than one form shows
// is kept once. Private to inspect.c. All costs are linear in the matches, but for a form whose places go backwards
// (normalization may swap a few): its matches are sorted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sanitize/scan.h"

// More matches in one file are a limit that was hit.
#define HITS_MAX ((size_t)1 << 20)
// Forms of one text that are scanned: as it is, sanitized, as it is served.
#define HITS_FORMS 3

struct hit {
	struct match match;
	const char *text;  // borrowed: where the match was seen
	size_t start, end; // bytes of the original text
	enum stage stage;
};

// The hits of all forms but the last, by rule, then place.
struct hits_index {
	uint32_t *order;    // of hits
	uint32_t *farthest; // of the hits of one rule up to here in `order`: the one that reaches farthest
	size_t *rules;      // where in `order` a rule begins; one more at the end
	size_t *hints;      // where the last search for a rule ended
};

struct hits {
	struct hit *items; // form by form, each by place
	size_t count;
	size_t cap;
	size_t forms[HITS_FORMS + 1]; // where in `items` a form begins
	size_t form_count;
	struct hits_index index;
};

// Room for `extra` hits of one more form. 0, -ENOMEM, or -EOVERFLOW when these are too many.
int hits_begin_form(struct hits *hits, size_t extra, size_t rule_total);
// Keeps `hit`, or gives its severity to the hit of an earlier form, of the same rule, that it shares a byte with.
void hits_add(struct hits *hits, const struct hit *hit);
void hits_end_form(struct hits *hits);

// All hits by place, then rule: `cursor` begins zeroed. NULL at the end.
struct hits_cursor {
	size_t at[HITS_FORMS];
};
const struct hit *hits_next(const struct hits *hits, struct hits_cursor *cursor);
void hits_release(struct hits *hits);
