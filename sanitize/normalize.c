// SPDX-License-Identifier: Apache-2.0
//
// Step 2: NFKC. ASCII is copied; the rest is normalized in pieces that begin at a character which nothing
// before it can change or join with, so that the pieces together are what normalizing all of the text at once
// gives.
#include "sanitize/steps.h"
#include "sanitize/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <uninorm.h>

#define DECOMPOSITION_MAX UC_DECOMPOSITION_MAX_LENGTH

bool normalize_is_emoji(uint32_t character)
{
	return uc_is_property_emoji(character);
}

static bool is_hangul_syllable(uint32_t character)
{
	return character >= 0xAC00 && character <= 0xD7A3;
}

static bool is_hangul_vowel_or_trail(uint32_t character)
{
	return (character >= 0x1160 && character <= 0x11FF) || (character >= 0xD7B0 && character <= 0xD7FF);
}

// A starter that no composition has as its second half: those are marks or Hangul vowels and trailing
// consonants.
static bool is_lone_starter(uint32_t character)
{
	return uc_combining_class(character) == 0 && !is_hangul_vowel_or_trail(character) &&
	       !uc_is_general_category(character, UC_CATEGORY_M);
}

// Whether normalizing may be cut before this character.
static bool is_boundary(uint32_t character)
{
	ucs4_t parts[DECOMPOSITION_MAX];
	int tag;

	if (character < 0x80 || is_hangul_syllable(character))
		return true;
	while (is_lone_starter(character)) {
		if (uc_decomposition(character, &tag, parts) < 0)
			return true;
		character = parts[0];
	}
	return false;
}

// Whether this character, being a boundary, stays as it is while nothing follows that is none. May say no too
// often.
static bool is_inert(uint32_t character)
{
	ucs4_t parts[DECOMPOSITION_MAX], rest[DECOMPOSITION_MAX];
	int tag, count;

	while (character >= 0x80 && !is_hangul_syllable(character)) {
		count = uc_decomposition(character, &tag, parts);
		if (count < 0)
			return true;
		if (tag != UC_DECOMP_CANONICAL || count != 2 ||
		    uc_composition(parts[0], parts[1]) != character ||
		    uc_decomposition(parts[1], &tag, rest) >= 0)
			return false;
		character = parts[0];
	}
	return true;
}

static int normalize_piece(struct edit *edit, size_t start, size_t end)
{
	uint8_t small[256], *result;
	size_t size = sizeof(small);
	int rc = 0;

	result = u8_normalize(UNINORM_NFKC, (const uint8_t *)edit->source + start, end - start, small, &size);
	if (result == NULL)
		return errno == ENOMEM ? -ENOMEM : -EILSEQ;
	if (size != end - start || memcmp(result, edit->source + start, size) != 0)
		rc = edit_replace(edit, start, end, (const char *)result, size);
	if (result != small)
		free(result);
	return rc;
}

int normalize_text(struct edit *edit)
{
	const char *text = edit->source;
	size_t start, end, width, at = 0;
	uint32_t first, next;
	int rc = 0;

	// One piece a round: a character that nothing before it can change, and what may join with it.
	while (rc == 0 && at < edit->len) {
		start = at + utf8_ascii_length(text + at, edit->len - at);
		if (start == edit->len)
			break;
		if (start > at)
			start--;
		end = start + utf8_decode(text + start, edit->len - start, &first);
		if (first == UTF8_INVALID)
			return -EILSEQ;
		at = end;
		while (end < edit->len && (unsigned char)text[end] >= 0x80) {
			width = utf8_decode(text + end, edit->len - end, &next);
			if (next == UTF8_INVALID)
				return -EILSEQ;
			if (is_boundary(next))
				break;
			end += width;
		}
		if (end > at || !is_inert(first))
			rc = normalize_piece(edit, start, end);
		at = end;
	}
	return rc == 0 ? edit_finish(edit) : rc;
}
