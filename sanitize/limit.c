// SPDX-License-Identifier: Apache-2.0
//
// Step 4: the size limit. A body that carries the marker of an earlier cut is measured without it, so that
// cutting twice is cutting once; an author who ends a body with the marker gains its 12 characters.
#include "sanitize/steps.h"
#include "sanitize/utf8.h"

#include <string.h>

#define MARKER_LEN (sizeof(TRUNCATED_MARKER) - 1)

static size_t skip_characters(const char *text, size_t start, size_t len, size_t characters)
{
	// No more bytes than characters: nothing to count.
	return len - start <= characters ? len : start + utf8_skip(text + start, len - start, characters);
}

static bool fits(const char *text, size_t len, size_t max_characters)
{
	size_t front = front_matter_length(text, len);

	return skip_characters(text, front, len, max_characters) == len;
}

size_t sanitize_cut(const char *text, size_t len, size_t max_characters)
{
	size_t front = front_matter_length(text, len);
	size_t end = skip_characters(text, front, len, max_characters);

	if (end == len)
		return len;
	if (len >= MARKER_LEN && memcmp(text + len - MARKER_LEN, TRUNCATED_MARKER, MARKER_LEN) == 0 &&
	    fits(text, len - MARKER_LEN, max_characters))
		return len;
	return invisible_sequence_start(text, len, end);
}
