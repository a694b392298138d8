// SPDX-License-Identifier: Apache-2.0
#include "sanitize/utf8.h"

#include <string.h>

// What may follow a lead byte: the length of the sequence and the range of its second byte, which is where
// overlong forms, surrogates and code points above U+10FFFF are refused.
struct lead {
	unsigned char first, last;
	unsigned char len;
	unsigned char low, high;
};

static const struct lead leads[] = {
	{ 0xC2, 0xDF, 2, 0x80, 0xBF }, { 0xE0, 0xE0, 3, 0xA0, 0xBF }, { 0xE1, 0xEC, 3, 0x80, 0xBF },
	{ 0xED, 0xED, 3, 0x80, 0x9F }, { 0xEE, 0xEF, 3, 0x80, 0xBF }, { 0xF0, 0xF0, 4, 0x90, 0xBF },
	{ 0xF1, 0xF3, 4, 0x80, 0xBF }, { 0xF4, 0xF4, 4, 0x80, 0x8F },
};

size_t utf8_decode(const char *text, size_t len, uint32_t *ret)
{
	const unsigned char *bytes = (const unsigned char *)text;
	const struct lead *lead = leads;
	uint32_t value;
	size_t at;

	if (bytes[0] < 0x80) {
		*ret = bytes[0];
		return 1;
	}
	*ret = UTF8_INVALID;
	if (bytes[0] < leads[0].first || bytes[0] > 0xF4)
		return 1;
	while (bytes[0] > lead->last)
		lead++;
	if (len < 2 || bytes[1] < lead->low || bytes[1] > lead->high)
		return 1;
	value = (uint32_t)(bytes[0] & (0x7F >> lead->len)) << 6 | (bytes[1] & 0x3F);
	for (at = 2; at < lead->len; at++) {
		if (at >= len || (bytes[at] & 0xC0) != 0x80)
			return at;
		value = value << 6 | (bytes[at] & 0x3F);
	}
	*ret = value;
	return lead->len;
}

size_t utf8_decode_last(const char *text, size_t end, uint32_t *ret)
{
	size_t back;

	for (back = 1; back <= 4 && back <= end; back++) {
		if (utf8_is_continuation(text[end - back]))
			continue;
		if (utf8_decode(text + end - back, back, ret) == back && *ret != UTF8_INVALID)
			return back;
		break;
	}
	*ret = UTF8_INVALID;
	return 1;
}

size_t utf8_ascii_length(const char *text, size_t len)
{
	const uint64_t high = 0x8080808080808080u;
	size_t at = 0;
	uint64_t word;

	while (len - at >= sizeof(word)) {
		memcpy(&word, text + at, sizeof(word));
		if (word & high)
			break;
		at += sizeof(word);
	}
	while (at < len && (unsigned char)text[at] < 0x80)
		at++;
	return at;
}

static size_t count(const char *text, size_t len, bool invalid_only)
{
	size_t at = 0, total = 0, ascii, width;
	uint32_t value;

	while (at < len) {
		ascii = utf8_ascii_length(text + at, len - at);
		at += ascii;
		if (!invalid_only)
			total += ascii;
		if (at == len)
			break;
		width = utf8_decode(text + at, len - at, &value);
		if (!invalid_only)
			total++;
		else if (value == UTF8_INVALID)
			total += width;
		at += width;
	}
	return total;
}

size_t utf8_count(const char *text, size_t len)
{
	return count(text, len, false);
}

size_t utf8_count_invalid(const char *text, size_t len)
{
	return count(text, len, true);
}
