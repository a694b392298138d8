// SPDX-License-Identifier: Apache-2.0
#include "sanitize/utf8.h"

#include <string.h>

#define EACH_BYTE(byte) (0x0101010101010101u * (byte))
#define HIGH            EACH_BYTE(0x80u)

// How many bytes of a word of zeros and ones are one.
static size_t sum_of_bytes(uint64_t ones)
{
	return (size_t)(ones * EACH_BYTE(1u) >> 56);
}

static uint64_t load(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
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
	size_t at = 0;

	while (len - at >= 4 * sizeof(uint64_t)) {
		const char *here = text + at;

		if ((load(here) | load(here + 8) | load(here + 16) | load(here + 24)) & HIGH)
			break;
		at += 4 * sizeof(uint64_t);
	}
	while (len - at >= sizeof(uint64_t) && (load(text + at) & HIGH) == 0)
		at += sizeof(uint64_t);
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

size_t utf8_skip(const char *text, size_t len, size_t characters)
{
	size_t at = 0, begun;

	while (len - at >= sizeof(uint64_t)) {
		const uint64_t word = load(text + at);
		const uint64_t continuations = word >> 7 & ~(word >> 6) & EACH_BYTE(1u);

		begun = 8 - sum_of_bytes(continuations);
		if (begun > characters)
			break;
		characters -= begun;
		at += sizeof(word);
	}
	for (; at < len; at++)
		if (!utf8_is_continuation(text[at]) && characters-- == 0)
			break;
	return at;
}

size_t utf8_count_byte(const char *text, size_t len, char byte)
{
	const uint64_t pattern = EACH_BYTE((uint64_t)(unsigned char)byte);
	size_t at = 0, total = 0;

	while (len - at >= sizeof(uint64_t)) {
		const uint64_t other = load(text + at) ^ pattern;
		// The high bit of each byte that is not zero; no byte carries into the next.
		const uint64_t different = ((other & ~HIGH) + ~HIGH) | other;

		total += sum_of_bytes((~different & HIGH) >> 7);
		at += sizeof(other);
	}
	for (; at < len; at++)
		total += text[at] == byte;
	return total;
}
