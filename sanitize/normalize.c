// SPDX-License-Identifier: Apache-2.0
//
// Step 2: NFKC, in pieces that begin at a character which nothing before it can change or join with, so that
// the pieces together are what normalizing all of the text at once gives. Most pieces are one character, which
// the table answers; the others are decomposed, sorted and composed here and not by libunistring's
// u8_normalize(), which takes 30 ns a byte and more for short pieces: a mebibyte made for it would cost more
// than a hundred of ordinary text. The tests compare with it.
#include "sanitize/character.h"
#include "sanitize/cleanup.h"
#include "sanitize/steps.h"
#include "sanitize/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLASS_SHIFT CHARACTER_CLASS_SHIFT
#define CODE_MASK   0x1FFFFFu
#define PARTS_SMALL 64
#define PARTS_MAX   32 // of one character, and more than there are
#define SORT_SMALL  24

#define HANGUL_SYLLABLE  0xAC00u
#define HANGUL_SYLLABLES 11172u
#define HANGUL_LEAD      0x1100u
#define HANGUL_LEADS     19u
#define HANGUL_VOWEL     0x1161u
#define HANGUL_VOWELS    21u
#define HANGUL_TRAIL     0x11A7u // no trail, which is no character
#define HANGUL_TRAILS    28u

// A piece that is being normalized. The memory serves all pieces of a text.
struct piece {
	uint32_t small[PARTS_SMALL];
	uint32_t *parts;
	size_t count;
	size_t cap;
};

static inline void cleanup_piece(struct piece *piece)
{
	if (piece->parts != piece->small)
		free(piece->parts);
}

bool normalize_is_emoji(uint32_t character)
{
	return (character_get(character)->flags & CHARACTER_EMOJI) != 0;
}

static int piece_grow(struct piece *piece)
{
	const size_t cap = piece->cap * 2;
	uint32_t *grown = piece->parts == piece->small ? NULL : piece->parts;

	grown = reallocarray(grown, cap, sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	if (piece->parts == piece->small)
		memcpy(grown, piece->small, sizeof(piece->small));
	piece->parts = grown;
	piece->cap = cap;
	return 0;
}

static int piece_add(struct piece *piece, uint32_t code)
{
	const struct character *character = character_get(code);
	uint32_t *parts;

	if (piece->cap - piece->count < PARTS_MAX && piece_grow(piece) < 0)
		return -ENOMEM;
	parts = piece->parts + piece->count;
	if (character->flags & CHARACTER_HANGUL) {
		const uint32_t syllable = code - HANGUL_SYLLABLE, trail = syllable % HANGUL_TRAILS;

		*parts++ = HANGUL_LEAD + syllable / HANGUL_TRAILS / HANGUL_VOWELS;
		*parts++ = HANGUL_VOWEL + syllable / HANGUL_TRAILS % HANGUL_VOWELS;
		if (trail > 0)
			*parts++ = HANGUL_TRAIL + trail;
	} else if (character->parts_len == 0) {
		*parts++ = code | (uint32_t)character->combining << CLASS_SHIFT;
	} else {
		for (size_t i = 0; i < character->parts_len; i++)
			*parts++ = character_parts[character->parts + i];
	}
	piece->count = (size_t)(parts - piece->parts);
	return 0;
}

static void sort_few(uint32_t *marks, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const uint32_t mark = marks[i];
		size_t to = i;

		for (; to > 0 && marks[to - 1] >> CLASS_SHIFT > mark >> CLASS_SHIFT; to--)
			marks[to] = marks[to - 1];
		marks[to] = mark;
	}
}

// Stable, as sort_few() is; linear however many marks a stranger puts on a letter.
static int sort_many(uint32_t *marks, size_t count)
{
	CLEANUP(free) void *memory = reallocarray(NULL, count, sizeof(*marks));
	uint32_t *sorted = memory;
	size_t places[256] = { 0 }, place = 0, many;

	if (sorted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		places[marks[i] >> CLASS_SHIFT]++;
	for (size_t i = 0; i < 256; i++) {
		many = places[i];
		places[i] = place;
		place += many;
	}
	for (size_t i = 0; i < count; i++)
		sorted[places[marks[i] >> CLASS_SHIFT]++] = marks[i];
	memcpy(marks, sorted, count * sizeof(*marks));
	return 0;
}

// Marks between two starters into the order of their classes.
static int piece_sort(struct piece *piece)
{
	size_t start, end;
	bool sorted;

	for (start = 0; start < piece->count; start = end) {
		end = start + 1;
		if (piece->parts[start] >> CLASS_SHIFT == 0)
			continue;
		sorted = true;
		for (; end < piece->count && piece->parts[end] >> CLASS_SHIFT != 0; end++)
			sorted &= piece->parts[end - 1] >> CLASS_SHIFT <= piece->parts[end] >> CLASS_SHIFT;
		if (sorted)
			continue;
		if (end - start <= SORT_SMALL)
			sort_few(piece->parts + start, end - start);
		else if (sort_many(piece->parts + start, end - start) < 0)
			return -ENOMEM;
	}
	return 0;
}

// What the two become together, or 0.
static uint32_t compose(uint32_t first, uint32_t second)
{
	const struct character *character = character_get(first);
	const struct character_composition *list = character_compositions + character->compositions;

	if (first - HANGUL_LEAD < HANGUL_LEADS && second - HANGUL_VOWEL < HANGUL_VOWELS)
		return HANGUL_SYLLABLE +
		       ((first - HANGUL_LEAD) * HANGUL_VOWELS + (second - HANGUL_VOWEL)) * HANGUL_TRAILS;
	if (first - HANGUL_SYLLABLE < HANGUL_SYLLABLES && (first - HANGUL_SYLLABLE) % HANGUL_TRAILS == 0 &&
	    second > HANGUL_TRAIL && second - HANGUL_TRAIL < HANGUL_TRAILS)
		return first + (second - HANGUL_TRAIL);
	for (size_t i = 0; i < character->compositions_len; i++)
		if (list[i].second == second)
			return list[i].composed;
	return 0;
}

static int piece_compose(struct piece *piece, const struct budget *budget)
{
	uint32_t *starter = NULL, *out = piece->parts;
	uint32_t last = 0; // class of what stands before, 0 when that is the starter

	for (size_t i = 0; i < piece->count; i++) {
		const uint32_t part = piece->parts[i], class = part >> CLASS_SHIFT;
		uint32_t composed;

		if (i % BUDGET_BYTES == BUDGET_BYTES - 1 && budget_is_spent(budget))
			return -EOVERFLOW;
		// A mark of the same class or a starter in between keeps it away from the starter.
		if (starter != NULL && (last == 0 || last < class)) {
			composed = compose(*starter, part & CODE_MASK);
			if (composed != 0) {
				*starter = composed;
				continue;
			}
		}
		if (class == 0)
			starter = out;
		last = class;
		*out++ = part;
	}
	piece->count = (size_t)(out - piece->parts);
	return 0;
}

// The bytes of the piece, in its own memory: no character is longer than the code point was.
static const char *piece_encode(struct piece *piece, size_t *ret_len)
{
	char *bytes = (char *)piece->parts;
	size_t len = 0;

	for (size_t i = 0; i < piece->count; i++)
		len += utf8_encode(piece->parts[i] & CODE_MASK, bytes + len);
	*ret_len = len;
	return bytes;
}

static int normalize_piece(struct edit *edit, struct piece *piece, size_t start, size_t end)
{
	const char *text = edit->source, *result;
	uint32_t code;
	size_t len;
	int rc = 0;

	piece->count = 0;
	for (size_t at = start; at < end && rc == 0;) {
		at += utf8_decode(text + at, end - at, &code);
		rc = piece_add(piece, code);
		if (rc == 0)
			rc = edit_ask(edit, at);
	}
	if (rc == 0)
		rc = piece_sort(piece);
	if (rc == 0)
		rc = piece_compose(piece, edit->budget);
	if (rc < 0)
		return rc;
	result = piece_encode(piece, &len);
	if (len == end - start && memcmp(result, text + start, len) == 0)
		return 0;
	return edit_replace(edit, start, end, result, len);
}

// Where the piece ends whose first character ends at `end`; 0 when bytes are no UTF-8.
static size_t piece_end(const char *text, size_t end, size_t len)
{
	uint32_t next;
	size_t width;

	while (end < len && (unsigned char)text[end] >= 0x80) {
		width = utf8_decode(text + end, len - end, &next);
		if (next == UTF8_INVALID)
			return 0;
		if (character_get(next)->flags & CHARACTER_BOUNDARY)
			break;
		end += width;
	}
	return end;
}

// Where the piece begins in which the character at `at` stands, when that is no boundary: at the one before,
// when something can join with that.
static size_t piece_start(const char *text, size_t at)
{
	uint32_t previous;
	size_t width = utf8_decode_last(text, at, &previous);

	return character_get(previous)->flags & CHARACTER_JOINS ? at - width : at;
}

int normalize_text(struct edit *edit)
{
	CLEANUP(piece) struct piece piece = { .cap = PARTS_SMALL };
	const char *text = edit->source;
	size_t at = edit->start, done = 0, inert = INERT_RUN, start, end, width;
	const struct character *character;
	uint32_t code;
	int rc = 0;

	piece.parts = piece.small;
	while (rc == 0) {
		if (inert >= INERT_RUN) {
			inert = 0;
			at += edit->prescan->inert(text + at, edit->len - at);
		}
		if (at == edit->len)
			break;
		width = utf8_decode(text + at, edit->len - at, &code);
		if (code == UTF8_INVALID)
			return -EILSEQ;
		if (character_is_inert(code)) {
			inert++;
			at += width;
			continue;
		}
		inert = 0;
		character = character_get(code);
		start = at;
		if (at > done && (character->flags & CHARACTER_BOUNDARY) == 0)
			start = piece_start(text, at);
		end = piece_end(text, at + width, edit->len);
		if (end == 0)
			return -EILSEQ;
		rc = edit_ask(edit, start);
		if (rc == 0 && end - start > width)
			rc = normalize_piece(edit, &piece, start, end);
		else if (rc == 0 && character->alone_len > 0)
			rc = edit_replace(edit, start, end, character_bytes + character->alone,
					  character->alone_len);
		at = done = end;
	}
	return rc == 0 ? edit_finish(edit) : rc;
}
