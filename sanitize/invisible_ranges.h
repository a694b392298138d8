// SPDX-License-Identifier: Apache-2.0
//
// The characters that step 3 looks at: the program that makes the character
// table reads them, so that the steps need one lookup for all they ask.
#pragma once

#include <stdint.h>

#include "sanitize/character.h"

struct invisible_range {
	uint32_t first, last;
	enum character_kind kind;
};

// Sorted.
static const struct invisible_range invisible_ranges[] = {
	{ 0x0000, 0x0000, KIND_NUL },
	{ 0x0001, 0x0008, KIND_DROP }, // C0 but tab, line feed, carriage return
	{ 0x000B, 0x000C, KIND_DROP },
	{ 0x000E, 0x001F, KIND_DROP },
	{ 0x007F, 0x0084, KIND_DROP }, // DEL and C1
	{ 0x0085, 0x0085, KIND_LINE }, // NEL
	{ 0x0086, 0x009F, KIND_DROP },
	{ 0x00AD, 0x00AD, KIND_DROP }, // soft hyphen
	{ 0x034F, 0x034F, KIND_DROP }, // combining grapheme joiner
	{ 0x061C, 0x061C, KIND_BIDI }, // Arabic letter mark
	{ 0x115F, 0x1160, KIND_DROP }, // Hangul fillers
	{ 0x17B4, 0x17B5, KIND_DROP }, // Khmer inherent vowels
	{ 0x180B, 0x180E, KIND_DROP }, // Mongolian selectors
	{ 0x200B, 0x200D, KIND_DROP }, // zero width
	{ 0x200E, 0x200F, KIND_BIDI }, // marks
	{ 0x2028, 0x2029, KIND_LINE }, // line and paragraph separator
	{ 0x202A, 0x202E, KIND_BIDI }, // embeddings and overrides
	{ 0x2060, 0x2064, KIND_DROP }, // word joiner, invisible operators
	{ 0x2066, 0x2069, KIND_BIDI }, // isolates
	{ 0x206A, 0x206F, KIND_DROP }, // deprecated format characters
	{ 0x3164, 0x3164, KIND_DROP }, // Hangul filler
	{ 0xFE00, 0xFE0E, KIND_DROP }, // variation selectors
	{ 0xFE0F, 0xFE0F, KIND_EMOJI },
	{ 0xFEFF, 0xFEFF, KIND_DROP },   // byte order mark
	{ 0xFFA0, 0xFFA0, KIND_DROP },   // halfwidth Hangul filler
	{ 0xFFF9, 0xFFFB, KIND_DROP },   // interlinear annotation
	{ 0x1D173, 0x1D17A, KIND_DROP }, // musical format characters
	{ 0xE0000, 0xE007F, KIND_TAG },
	{ 0xE0100, 0xE01EF, KIND_DROP }, // variation selectors supplement
};
