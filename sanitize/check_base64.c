// SPDX-License-Identifier: Apache-2.0
//
// Long runs of base64, in one line or wrapped.
#include <string.h>

#include "sanitize/check.h"
#include "sanitize/check_word.h"

#define LONG_RUN      80
#define WRAPPED_LINES 3
#define PATH_PART_MAX 20
#define PATH_CHANGES  5

static bool is_base64(char c)
{
	return byte_is_letter(c) || byte_is_digit(c) || c == '+' || c == '/';
}

static int byte_kind(char c)
{
	return byte_is_digit(c) ? 0 : c >= 'a' ? 1 : 2;
}

// A path: parts shorter than 20 that look like words (few changes between letter cases and digits).
static bool is_path(const char *data, size_t start, size_t end)
{
	size_t part = start, at;
	int changes = 0;

	for (at = start; at < end; at++) {
		if (data[at] == '+')
			return false;
		if (data[at] == '/') {
			part = at + 1;
			changes = 0;
			continue;
		}
		if (at - part + 1 >= PATH_PART_MAX)
			return false;
		if (at > part && byte_kind(data[at]) != byte_kind(data[at - 1]) && ++changes > PATH_CHANGES)
			return false;
	}
	return part > start;
}

static size_t run_end(const struct scan_text *text, size_t at, size_t *ret_padded)
{
	size_t end;

	while (at < text->len && is_base64(text->data[at]))
		at++;
	end = at;
	while (end < text->len && end - at < 2 && text->data[end] == '=')
		end++;
	*ret_padded = end;
	return at;
}

// The end of the block of equal lines that begins with the run at `start`, or 0. A shorter last line belongs to it
// when it is whole groups of four.
static size_t wrapped_end(const struct scan_text *text, size_t start, size_t width)
{
	size_t at = start, end = 0, lines = 0;

	while (start > 0 && byte_is_space(text->data[start - 1]))
		start--;
	if (start > 0 && text->data[start - 1] != '\n')
		return 0;
	for (;;) {
		size_t padded, last = run_end(text, at, &padded), feed = padded;

		if (last == at || last - at > width)
			break;
		while (feed < text->len && byte_is_space(text->data[feed]))
			feed++;
		if (feed < text->len && text->data[feed] == '\r')
			feed++;
		if (feed < text->len && text->data[feed] != '\n')
			break;
		if (last - at == width)
			lines++;
		else if ((padded - at) % 4 != 0)
			break;
		end = padded;
		if (last - at < width || padded > last || feed >= text->len)
			break;
		at = feed + 1;
		while (at < text->len && byte_is_space(text->data[at]))
			at++;
	}
	return lines >= WRAPPED_LINES ? end : 0;
}

// A run of 60 or more with its padding: long enough by itself, or the first line of a block.
bool check_base64_run(const struct scan_text *text, size_t *start, size_t *end, enum severity *severity,
		      size_t *resume)
{
	size_t padded, last = run_end(text, *start, &padded), block;

	(void)severity;
	if (is_path(text->data, *start, last))
		return false;
	if (last - *start >= LONG_RUN)
		return true;
	block = wrapped_end(text, *start, last - *start);
	if (block == 0)
		return false;
	*end = *resume = block;
	return true;
}
