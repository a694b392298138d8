// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 as bytes from a stranger: every function takes any bytes, reads nothing
// behind `len` and says what is not valid. No locale, no tables.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_INVALID     UINT32_MAX     // no code point
#define UTF8_REPLACEMENT "\xEF\xBF\xBD" // U+FFFD

// Bytes of the first character of `text` (len > 0), always at least 1. Invalid: *ret is UTF8_INVALID and the
// length is that of the maximal part of a sequence (Unicode 3.9, the practice that makes one U+FFFD each).
size_t utf8_decode(const char *text, size_t len, uint32_t *ret);

// Bytes of the last character before `end` (end > 0), or 1 where the bytes before `end` are no whole
// character.
size_t utf8_decode_last(const char *text, size_t end, uint32_t *ret);

// How many bytes of ASCII the text begins with.
size_t utf8_ascii_length(const char *text, size_t len);

// Code points, where what one U+FFFD stands for counts as one.
size_t utf8_count(const char *text, size_t len);

// Bytes that belong to no character.
size_t utf8_count_invalid(const char *text, size_t len);

static inline bool utf8_is_continuation(char byte)
{
	return ((unsigned char)byte & 0xC0) == 0x80;
}
