// SPDX-License-Identifier: Apache-2.0
//
// Bytes, blanks and words as the rules mean them: a word is ASCII letters,
// digits and underscore, a blank is ASCII white space or one of the Unicode
// blanks of the rule table. Private to the checks.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sanitize/scan_text.h"

// A path longer than this is none.
#define PATH_LENGTH_MAX 256

// Kinds of bytes, in one table: most of a scan's questions are of this sort.
enum byte_kind {
	BYTE_WORD = 1 << 0,
	BYTE_PATH = 1 << 1,   // stands in a path beside word characters
	BYTE_ENDS = 1 << 2,   // ends an argument: operator, quote, tick, closing bracket
	BYTE_BLANK = 1 << 3,  // ASCII blank
	BYTE_CHOICE = 1 << 4, // stands in a choice of words
	BYTE_BAR = 1 << 5,
};
extern const unsigned char byte_kinds[256];

static inline bool byte_is(char c, unsigned int kinds)
{
	return (byte_kinds[(unsigned char)c] & kinds) != 0;
}

static inline bool byte_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool byte_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool byte_is_word(char c)
{
	return byte_is(c, BYTE_WORD);
}

// Blank within a line.
static inline bool byte_is_space(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool byte_is_blank(char c)
{
	return byte_is(c, BYTE_BLANK);
}

// Length of the blank at `at`, 0 when there is none.
size_t blank_at(const struct scan_text *text, size_t at);
// Behind the blanks at `at`; an escaped line end counts as a blank.
size_t skip_blanks(const struct scan_text *text, size_t at);
bool blank_before(const struct scan_text *text, size_t at);
// Whether a shell would end an argument at `at`: blank, operator, quote, tick, closing bracket, end of text.
bool argument_ends(const struct scan_text *text, size_t at);
// Whether the text at `at` begins with `what` (lower case), in any letter case.
bool text_has(const struct scan_text *text, size_t at, const char *what);
size_t word_end(const struct scan_text *text, size_t at);
// Whether the word [start, end) is one of `words`, in any letter case; `words` ends with NULL.
bool word_is_one_of(const struct scan_text *text, size_t start, size_t end, const char *const *words);
// A word that is part of a flag (`-sh`, `--use-sh`) or a file extension (`.sh`) is not a command.
bool word_is_plain(const struct scan_text *text, size_t start);
// Whether `flag` (lower case) stands at `at` as a whole argument.
bool flag_asks_version(const struct scan_text *text, size_t at, size_t *ret_end);

// A shell behind blanks, a path and wrappers such as sudo and env; `interpreters` also takes python and the like.
// Sets the start of the name and the end of it.
bool command_is_shell(const struct scan_text *text, size_t at, bool interpreters, size_t *ret_name,
		      size_t *ret_end);

// Behind the bar at `bar`, which may be `|&`.
size_t behind_bar(const struct scan_text *text, size_t bar);
// Whether the bar at `bar` divides the cells of a table.
bool is_cell_border(const struct scan_text *text, size_t bar);
