// SPDX-License-Identifier: Apache-2.0
//
// Where the front matter ends: a first line `---` up to the next line `---`.
#include "sanitize/sanitize.h"

#include <string.h>

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

// Length of the line at `text` with its line end when the line is `---` and blanks, else 0.
static size_t fence_length(const char *text, size_t len)
{
	size_t at = 3;

	if (len < 3 || memcmp(text, "---", 3) != 0)
		return 0;
	while (at < len && (text[at] == ' ' || text[at] == '\t'))
		at++;
	if (at + 1 < len && text[at] == '\r' && text[at + 1] == '\n')
		return at + 2;
	if (at < len)
		return text[at] == '\n' ? at + 1 : 0;
	return at;
}

size_t front_matter_length(const char *text, size_t len)
{
	size_t mark = len >= 3 && memcmp(text, BYTE_ORDER_MARK, 3) == 0 ? 3 : 0;
	size_t at = mark, fence;
	const char *end;

	fence = fence_length(text + at, len - at);
	if (fence == 0)
		return 0;
	for (at += fence; at < len; at = (size_t)(end - text) + 1) {
		fence = fence_length(text + at, len - at);
		if (fence > 0)
			return at + fence;
		end = memchr(text + at, '\n', len - at);
		if (end == NULL)
			break;
	}
	return 0;
}
