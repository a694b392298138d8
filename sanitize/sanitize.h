// SPDX-License-Identifier: Apache-2.0
//
// The pipeline: 1. strip HTML comments, 2. NFKC, 3. strip invisible
// characters, repeated until nothing changes, 4. size limit. Pure: no I/O, no
// globals. Sanitizing what was sanitized changes nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sanitize/budget.h"
#include "sanitize/buf.h"
#include "sanitize/findings.h"

#define MAX_BODY_LENGTH_DEFAULT 20000
#define TRUNCATED_MARKER        "\n[TRUNCATED]"

// The product's four fields (the body aside) and ours.
struct sanitize_stats {
	size_t html_comments_stripped; // over all rounds
	bool truncated;
	bool tag_block_detected;
	size_t invisible_stripped;
	bool normalized;    // NFKC changed something
	size_t source_size; // bytes in
	size_t size;        // bytes served
};

// Where the bytes of a cleaned text came from: runs sorted by `to`; between two runs bytes map one to one,
// or (collapsed) all to `from`.
struct offset_run {
	uint32_t to; // no text is longer than BUF_MAX
	uint32_t from;
	bool collapsed;
};
struct offset_map {
	struct offset_run *runs;
	size_t count;
	size_t cap;
};
// The byte of the original text that byte `to` of the cleaned text came from. An empty map is the identity.
size_t offset_map_source(const struct offset_map *map, size_t to);
void offset_map_release(struct offset_map *map);

struct cleaned {
	struct buf text;       // steps 1-3; empty when `unchanged`
	bool unchanged;        // the result is the input, byte for byte
	struct offset_map map; // text -> input
};
void cleaned_release(struct cleaned *cleaned);

// Steps 1-3 to a fixed point over all of the text (front matter too). Invalid UTF-8 becomes U+FFFD. Adds to
// `stats` and `notices` (lines are those of the input). The first round does each step once, the following
// ones take comments out until none forms; linear in the text however deep comments are nested. 0, -ENOMEM,
// -EFBIG (NFKC makes the text more than twice as long and a MiB), -EOVERFLOW (no fixed point, or the budget is spent; NULL: no budget): the text must
// not be served.
int sanitize_text(const char *text, size_t len, const struct budget *budget, struct cleaned *ret,
		  struct sanitize_stats *stats, struct notices *notices);

// Step 3 alone, for code: drops invisible and tag characters, keeps all other bytes, invalid UTF-8 too (with
// a notice). CRLF and a leading byte order mark stay; U+2028, U+2029 and NEL become a line feed as in prose.
// 0, -ENOMEM, -EFBIG, -EOVERFLOW (invalid bytes that join to such characters again and again): the text must
// not be served.
int sanitize_code(const char *text, size_t len, const struct budget *budget, struct cleaned *ret,
		  struct sanitize_stats *stats, struct notices *notices);

// Step 4: how many bytes of `text` to keep so that the body behind the front matter has at most
// `max_characters` code points; equal to `len` when nothing is cut. The caller appends TRUNCATED_MARKER after
// a cut. A body that ends in the marker and fits without it is not cut again; no character, flag or keycap
// sequence is split.
size_t sanitize_cut(const char *text, size_t len, size_t max_characters);

// Length in bytes of the front matter including its closing line; 0 when there is none. A byte order mark and
// CRLF are accepted.
size_t front_matter_length(const char *text, size_t len);
