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

size_t utf8_count_invalid(const char *text, size_t len)
{
	size_t at = 0, total = 0, width;
	uint32_t value;

	while (at < len) {
		at += utf8_ascii_length(text + at, len - at);
		if (at == len)
			break;
		width = utf8_decode(text + at, len - at, &value);
		if (value == UTF8_INVALID)
			total += width;
		at += width;
	}
	return total;
}

// Sixteen bytes at once, in the compiler's terms: a comparison gives 0xff for each byte where it holds.
#define LANES 16
typedef unsigned char lanes __attribute__((vector_size(LANES)));

static lanes load_lanes(const char *at)
{
	lanes bytes;

	memcpy(&bytes, at, sizeof(bytes));
	return bytes;
}

// How many of the 16 bytes at `text` belong to a character that began before them, as utf8_decode() tells characters. The
// three bytes before `text` are there. A byte that may lead never follows in a sequence, so that its own place is known
// without what stands before it.
static size_t followers(const char *text)
{
	const lanes byte = load_lanes(text), one = load_lanes(text - 1), two = load_lanes(text - 2),
		    three = load_lanes(text - 3);
	const lanes low = 0x80 | ((lanes)(one == 0xE0) & 0x20) | ((lanes)(one == 0xF0) & 0x10);
	const lanes high = 0xBF - (((lanes)(one == 0xED) & 0x20) | ((lanes)(one == 0xF4) & 0x30));
	const lanes second_before =
		(lanes)(two >= 0xE0) & (lanes)(two <= 0xF4) &
		(lanes)(one >= (0x80 | ((lanes)(two == 0xE0) & 0x20) | ((lanes)(two == 0xF0) & 0x10))) &
		(lanes)(one <= 0xBF - (((lanes)(two == 0xED) & 0x20) | ((lanes)(two == 0xF4) & 0x30)));
	const lanes third_before = (lanes)(three >= 0xF0) & (lanes)(three <= 0xF4) &
				   (lanes)(two >= (0x80 | ((lanes)(three == 0xF0) & 0x10))) &
				   (lanes)(two <= 0xBF - ((lanes)(three == 0xF4) & 0x30)) &
				   (lanes)(one >= 0x80) & (lanes)(one <= 0xBF);
	const lanes follows =
		((lanes)(one >= 0xC2) & (lanes)(one <= 0xF4) & (lanes)(byte >= low) & (lanes)(byte <= high)) |
		((second_before | third_before) & (lanes)(byte >= 0x80) & (lanes)(byte <= 0xBF));
	uint64_t halves[2];

	memcpy(halves, &follows, sizeof(halves));
	return sum_of_bytes((halves[0] & EACH_BYTE(1u)) + (halves[1] & EACH_BYTE(1u)));
}

size_t utf8_count(const char *text, size_t len)
{
	size_t at = utf8_ascii_length(text, len), total = at;
	char rest[3 + LANES] = "";
	uint32_t value;

	while (at < len && at < 3) {
		at += utf8_decode(text + at, len - at, &value);
		total++;
	}
	while (len - at >= LANES) {
		size_t ascii = utf8_ascii_length(text + at, len - at);

		if (ascii < LANES) {
			ascii = LANES;
			total -= followers(text + at);
		}
		total += ascii;
		at += ascii;
	}
	if (at == len)
		return total;
	memcpy(rest, text + at - 3, len - at + 3);
	return total + (len - at) - followers(rest + 3);
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
