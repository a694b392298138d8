// SPDX-License-Identifier: Apache-2.0
//
// What the steps ask about a code point, in one lookup. The table is made from libunistring while skillfs is
// built (generate/characters.c): it can't disagree with the library, costs nothing at start-up, and adds no
// generated megabyte to the repository.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// What step 3 does with a character.
enum character_kind {
	KIND_KEEP,
	KIND_DROP,
	KIND_BIDI,
	KIND_NUL,
	KIND_TAG,
	KIND_LINE,  // becomes a line feed: without it words would be glued together
	KIND_EMOJI, // U+FE0F: stays behind an emoji
};

enum {
	CHARACTER_BOUNDARY = 1, // nothing before it joins with it or is sorted behind it
	CHARACTER_EMOJI = 2,    // digits, # and * too
	CHARACTER_HANGUL = 4,   // a syllable, whose parts are computed
	CHARACTER_JOINS = 8,    // something may join with it from behind
};

struct character {
	uint16_t alone;        // NFKC of the character alone, in character_bytes
	uint16_t parts;        // its full compatibility decomposition, in character_parts
	uint16_t compositions; // what it becomes with what, in character_compositions
	uint8_t alone_len;     // in bytes; 0: the character itself
	uint8_t parts_len;     // 0: the character itself
	uint8_t compositions_len;
	uint8_t combining; // class
	uint8_t kind;
	uint8_t flags;
};

struct character_composition {
	uint32_t second;
	uint32_t composed;
};

#define CHARACTER_CLASS_SHIFT 24
#define CHARACTER_BLOCK       128 // code points that share a row of character_indexes

extern const uint16_t character_blocks[];
extern const uint16_t character_indexes[][CHARACTER_BLOCK];
extern const struct character characters[];
// Characters with a lower index are inert: they stay in all steps whatever stands before them, and are
// changed by nothing but one behind them that is not inert.
extern const uint16_t characters_inert;
extern const char character_bytes[];
extern const uint32_t character_parts[]; // with their combining class above the code point
extern const struct character_composition character_compositions[];

static inline uint16_t character_index(uint32_t code)
{
	return character_indexes[character_blocks[code / CHARACTER_BLOCK]][code % CHARACTER_BLOCK];
}

static inline const struct character *character_get(uint32_t code)
{
	return &characters[character_index(code)];
}

static inline bool character_is_inert(uint32_t code)
{
	return character_index(code) < characters_inert;
}
