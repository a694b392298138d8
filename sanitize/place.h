// SPDX-License-Identifier: Apache-2.0
//
// Code points and lines up to places that only go forward. Private to the inspection.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sanitize/utf8.h"

struct place {
	size_t at;       // bytes of `data`
	size_t position; // code points before it
	size_t line;     // 1-based
};

// `to` is at most `len`. A place inside a character is that of the character.
static inline void place_move(struct place *place, const char *data, size_t len, size_t to)
{
	const char *from, *end;
	size_t start = to;
	uint32_t character;

	while (start > place->at && start < len && to - start < 3 && utf8_is_continuation(data[start]))
		start--;
	if (start < to && utf8_decode(data + start, len - start, &character) > to - start &&
	    character != UTF8_INVALID)
		to = start;
	from = data + place->at;
	end = data + to;
	place->position += utf8_count(from, (size_t)(end - from));
	while (from < end && (from = memchr(from, '\n', (size_t)(end - from))) != NULL) {
		place->line++;
		from++;
	}
	place->at = to;
}
