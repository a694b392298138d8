// SPDX-License-Identifier: Apache-2.0
//
// The steps of the pipeline, private to sanitize/. Each reads edit->source and
// leaves its result in the edit; counts add up and a first place is an offset in edit->source.
// All are linear in the text. 0, -ENOMEM, -EFBIG, or -EOVERFLOW when the budget is spent.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sanitize/edit.h"

struct seen {
	size_t count;
	size_t first; // valid while count > 0
};

static inline void seen_add(struct seen *seen, size_t at)
{
	if (seen->count++ == 0)
		seen->first = at;
}

#define COMMENT_OPENER     "<!--"
#define COMMENT_OPENER_LEN 4

// comment.c. One pass takes out every comment from left to right; `all` repeats
// passes until none forms, with the result of the repetition and the cost of one pass.
int comment_strip(struct edit *edit, struct seen *seen);
int comment_strip_all(struct edit *edit, struct seen *seen);
// The first comment at or after `from`: false when there is none.
bool comment_find(const char *text, size_t len, size_t from, size_t *ret_start, size_t *ret_end);
// Where an opener stands that no closer follows; `len` when there is none.
size_t comment_unterminated(const char *text, size_t len);

// A step calls the prescan where this many inert characters stood in a row: a call costs as much as they do.
#define INERT_RUN 8

// normalize.c. NFKC of valid UTF-8.
int normalize_text(struct edit *edit);
bool normalize_is_emoji(uint32_t character); // digits, # and * too

#define TAG_TEXT_MAX   200
#define BLACK_FLAG     0x1F3F4
#define EMOJI_SELECTOR 0xFE0F

// What step 3 took out, by what is told to people.
struct invisible {
	struct seen invisible; // one by one, with what became a line feed; tags and NUL are not in it
	struct seen bidi;
	struct seen nul;
	struct seen tags;
	struct seen invalid;             // bytes that are no UTF-8: sequences, as one U+FFFD would stand for
	size_t stripped;                 // all that went, a byte order mark at the start too
	char tag_text[TAG_TEXT_MAX + 1]; // what the tag characters spell
	size_t tag_len;
};

// invisible.c. `keep_mark` leaves a byte order mark at the start alone.
int invisible_strip(struct edit *edit, bool keep_mark, struct invisible *found);
// Bytes that stay from a black flag on: the flag, with its tags when it is one of those in use.
size_t invisible_flag_length(const char *text, size_t len);
// Whether the emoji selector at `text` stays behind the character `previous`, the last one that stayed; a
// digit is an emoji only as part of a whole keycap.
bool invisible_selects_emoji(uint32_t previous, const char *text, size_t len);
// Printable ASCII, tab and line ends: most of every text.
static inline bool invisible_is_plain(char byte)
{
	return (byte >= 0x20 && byte < 0x7F) || byte == '\n' || byte == '\t' || byte == '\r';
}
// Start of the kept flag or keycap sequence that a cut at `at` would break, else `at`.
size_t invisible_sequence_start(const char *text, size_t len, size_t at);

// U+FFFD for each invalid sequence.
int repair_utf8(struct edit *edit, struct seen *seen);

// sanitize_text() and sanitize_code() by a given prescan: both must do the same.
int sanitize_text_by(const struct prescan *prescan, const char *text, size_t len, const struct budget *budget,
		     struct cleaned *ret, struct sanitize_stats *stats, struct notices *notices);
int sanitize_code_by(const struct prescan *prescan, const char *text, size_t len, const struct budget *budget,
		     struct cleaned *ret, struct sanitize_stats *stats, struct notices *notices);
