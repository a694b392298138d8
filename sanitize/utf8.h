// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 as bytes from a stranger: every function takes any bytes, reads nothing
// behind `len` and says what is not valid. No locale, no tables. Decoding is inline: every step of the pipeline
// does it for every character that is not ASCII.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_INVALID     UINT32_MAX     // no code point
#define UTF8_REPLACEMENT "\xEF\xBF\xBD" // U+FFFD

static inline bool utf8_is_continuation(char byte)
{
	return ((unsigned char)byte & 0xC0) == 0x80;
}

// Bytes of the first character of `text` (len > 0), always at least 1. Invalid: *ret is UTF8_INVALID and the
// length is that of the maximal part of a sequence (Unicode 3.9, the practice that makes one U+FFFD each).
static inline size_t utf8_decode(const char *text, size_t len, uint32_t *ret)
{
	const unsigned char *bytes = (const unsigned char *)text;
	const unsigned char first = bytes[0];
	// The range of the second byte is where overlong forms, surrogates and code points above U+10FFFF are
	// refused.
	unsigned char low = 0x80, high = 0xBF;

	if (first < 0x80) {
		*ret = first;
		return 1;
	}
	*ret = UTF8_INVALID;
	if (first < 0xC2 || first > 0xF4 || len < 2)
		return 1;
	if (first < 0xE0) {
		if (!utf8_is_continuation(text[1]))
			return 1;
		*ret = (uint32_t)(first & 0x1F) << 6 | (bytes[1] & 0x3F);
		return 2;
	}
	if (first == 0xE0)
		low = 0xA0;
	else if (first == 0xED)
		high = 0x9F;
	else if (first == 0xF0)
		low = 0x90;
	else if (first == 0xF4)
		high = 0x8F;
	if (bytes[1] < low || bytes[1] > high)
		return 1;
	if (len < 3 || !utf8_is_continuation(text[2]))
		return 2;
	if (first < 0xF0) {
		*ret = (uint32_t)(first & 0x0F) << 12 | (uint32_t)(bytes[1] & 0x3F) << 6 | (bytes[2] & 0x3F);
		return 3;
	}
	if (len < 4 || !utf8_is_continuation(text[3]))
		return 3;
	*ret = (uint32_t)(first & 0x07) << 18 | (uint32_t)(bytes[1] & 0x3F) << 12 |
	       (uint32_t)(bytes[2] & 0x3F) << 6 | (bytes[3] & 0x3F);
	return 4;
}

// Writes the character's bytes (at most 4) and returns how many.
static inline size_t utf8_encode(uint32_t character, char *ret)
{
	if (character < 0x80) {
		ret[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		ret[0] = (char)(0xC0 | character >> 6);
		ret[1] = (char)(0x80 | (character & 0x3F));
		return 2;
	}
	if (character < 0x10000) {
		ret[0] = (char)(0xE0 | character >> 12);
		ret[1] = (char)(0x80 | (character >> 6 & 0x3F));
		ret[2] = (char)(0x80 | (character & 0x3F));
		return 3;
	}
	ret[0] = (char)(0xF0 | character >> 18);
	ret[1] = (char)(0x80 | (character >> 12 & 0x3F));
	ret[2] = (char)(0x80 | (character >> 6 & 0x3F));
	ret[3] = (char)(0x80 | (character & 0x3F));
	return 4;
}

// Bytes of the last character before `end` (end > 0), or 1 where the bytes before `end` are no whole
// character.
size_t utf8_decode_last(const char *text, size_t end, uint32_t *ret);

// How many bytes of ASCII the text begins with.
size_t utf8_ascii_length(const char *text, size_t len);

// Code points, where what one U+FFFD stands for counts as one.
size_t utf8_count(const char *text, size_t len);

// Bytes that belong to no character.
size_t utf8_count_invalid(const char *text, size_t len);

// Where character number `characters` begins, in text that is UTF-8; `len` when there are not as many.
size_t utf8_skip(const char *text, size_t len, size_t characters);

// How often the text holds this byte.
size_t utf8_count_byte(const char *text, size_t len, char byte);
