// SPDX-License-Identifier: Apache-2.0
//
// Where in a document a byte stands: front matter, fenced code, table, code
// span, HTML comment, or plain prose. Built at the first question, in one pass: most
// texts ask none.
//
// It reads Markdown as a renderer does where that decides a verdict (fences,
// tables with a delimiter row, code spans paired from the left within one
// block) and is lenient in indentation. Code and binary have one context; in
// code only the spans between ticks are kept.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sanitize/findings.h"

// More ranges than this in one text is no document: -EOVERFLOW.
#define CONTEXT_RANGES_MAX ((size_t)1 << 22)

struct text_range {
	uint32_t start, end;
};

struct text_ranges {
	struct text_range *items; // sorted, disjoint
	size_t count;
	size_t cap;
};

struct context_map {
	enum file_class cls;
	const char *text; // borrowed
	size_t len;
	bool built;
	int status;          // of building: 0, -ENOMEM, -EOVERFLOW; what is answered then says nothing
	size_t front_matter; // length
	struct text_ranges fences;
	struct text_ranges tables;
	struct text_ranges
		spans; // of single ticks, both ticks included; none inside fences of backticks that close
	struct text_ranges long_spans; // of more ticks than one
	struct text_ranges comments;
};

void context_map_begin(struct context_map *ret, enum file_class cls, const char *text, size_t len);
// Builds now; gives the status. Nothing happens when it is built.
int context_map_build(struct context_map *map);
void context_map_release(struct context_map *map);

enum context context_at(struct context_map *map, size_t position);
bool context_in_table(struct context_map *map, size_t position);
// The span between single ticks that opens at or after `position`, or NULL.
const struct text_range *context_next_span(struct context_map *map, size_t position);
// The one that holds `position`, or NULL.
const struct text_range *context_span_at(struct context_map *map, size_t position);

static inline void cleanup_context_map(struct context_map *map)
{
	context_map_release(map);
}
