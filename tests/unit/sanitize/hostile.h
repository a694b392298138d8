// SPDX-License-Identifier: Apache-2.0
//
// Random texts of the pieces that a pipeline can be fooled with, the same in every run.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/hostile_families.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HOSTILE_SLOW 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOSTILE_SLOW 1
#endif
#ifdef HOSTILE_SLOW
#define HOSTILE_RUNS 200000
#else
#define HOSTILE_RUNS 1000000
#endif

// Another number of runs, for a longer look: HOSTILE_RUNS=50000000 ctest -R test_sanitize
static inline size_t hostile_runs(size_t part)
{
	const char *text = getenv("HOSTILE_RUNS");
	size_t runs = text == NULL ? HOSTILE_RUNS : (size_t)strtoull(text, NULL, 10);

	return runs / part;
}

static inline uint64_t hostile_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x * 0x2545F4914F6CDD1Du >> 16;
}

struct hostile_piece {
	const char *bytes;
	size_t len;
};

#define PIECE(bytes)                                                                                         \
	{                                                                                                    \
		bytes, sizeof(bytes) - 1                                                                     \
	}

// The first HOSTILE_JOINING change which characters a comment is made of when they join (U+0338).
#define HOSTILE_JOINING 1
static const struct hostile_piece hostile_pieces[] = {
	PIECE("\xCC\xB8"), // long solidus overlay: makes another character of < and >
	PIECE("<"),
	PIECE("<"),
	PIECE("!"),
	PIECE("!"),
	PIECE("-"),
	PIECE("-"),
	PIECE("--"),
	PIECE(">"),
	PIECE("<!--"),
	PIECE("<!--"),
	PIECE("-->"),
	PIECE("-->"),
	PIECE("<!"),
	PIECE("->"),
	PIECE("a"),
	PIECE("e"),
	PIECE("1"),
	PIECE("#"),
	PIECE(" "),
	PIECE("\n"),
	PIECE("\r\n"),
	PIECE("---\n"),
	PIECE("\t"),
	PIECE("\0"),
	PIECE("\x1B"),
	PIECE("\x7F"),
	PIECE("\xC2\x85"),     // NEL
	PIECE("\xC2\x9B"),     // C1
	PIECE("\xC2\xAD"),     // soft hyphen
	PIECE("\xC2\xA9"),     // copyright, an emoji
	PIECE("\xC2\xBD"),     // one half
	PIECE("\xC3\xA9"),     // e acute
	PIECE("\xC5\xBF"),     // long s
	PIECE("\xE1\xBA\x9B"), // long s with dot
	PIECE("\xCC\x81"),     // acute
	PIECE("\xCC\xA3"),     // dot below
	PIECE("\xCC\xB4"),     // tilde overlay
	PIECE("\xCD\x84"),     // dialytika tonos
	PIECE("\xCD\x8F"),     // grapheme joiner
	PIECE("\xE1\x84\x80"), // Hangul L
	PIECE("\xE1\x85\xA1"), // V
	PIECE("\xE1\x86\xA8"), // T
	PIECE("\xEA\xB0\x80"), // LV
	PIECE("\xE3\x85\xA4"), // filler
	PIECE("\xE3\x85\x8F"), // compatibility vowel
	PIECE("\xEF\xBE\xA0"), // halfwidth filler
	PIECE("\xEF\xBD\xB6"), // halfwidth ka
	PIECE("\xEF\xBE\x9E"), // halfwidth voiced mark
	PIECE("\xE0\xA6\xBE"), // Bengali aa, joins
	PIECE("\xE0\xA7\x87"), // Bengali e
	PIECE("\xEF\xBC\x9C"), // fullwidth <
	PIECE("\xEF\xBC\x81"), // !
	PIECE("\xEF\xBC\x8D"), // -
	PIECE("\xEF\xBC\x9E"), // >
	PIECE("\xEF\xB9\xA4"), // small <
	PIECE("\xEF\xB9\xA5"), // small >
	PIECE("\xEF\xB9\xA3"), // small -
	PIECE("\xEF\xB7\xBA"), // the longest expansion
	PIECE("\xE2\x80\x8B"), // zero width
	PIECE("\xE2\x80\x8D"),
	PIECE("\xE2\x80\xA8"), // line separator
	PIECE("\xE2\x80\xAE"), // override
	PIECE("\xE2\x81\xA0"),
	PIECE("\xE2\x86\x94"), // arrow, an emoji that joins
	PIECE("\xE2\x80\xBC"), // double exclamation, an emoji
	PIECE("\xE2\x83\xA3"), // keycap
	PIECE("\xEF\xB8\x8F"), // variation selectors
	PIECE("\xEF\xB8\x8E"),
	PIECE("\xEF\xB8\x8F\xE2\x83\xA3"),
	PIECE("\xEF\xBB\xBF"),
	PIECE("\xF0\x9F\x98\x80"), // emoji
	PIECE("\xF0\x9F\x8F\xB4"), // black flag
	PIECE("\xF3\xA0\x81\xA7"), // tag g
	PIECE("\xF3\xA0\x81\xBF"), // cancel tag
	PIECE("\xF3\xA0\x81\xA7\xF3\xA0\x81\xA2\xF3\xA0\x81\xA5\xF3\xA0\x81\xAE\xF3\xA0\x81\xA7\xF3\xA0\x81"
	      "\xBF"),
	PIECE("\xF0\x9F\x8F\xB4\xF3\xA0\x81\xA7\xF3\xA0\x81\xA2\xF3\xA0\x81\xB7\xF3\xA0\x81\xAC\xF3\xA0\x81"
	      "\xB3"
	      "\xF3\xA0\x81\xBF"),
	PIECE("\xF3\xA0\x84\x80"), // selector supplement
	PIECE("\xFF"),
	PIECE("\xE2"),
	PIECE("\x80"),
	PIECE("\x8B"),
	PIECE("\xE2\x80"),
	PIECE("\xF0\x9F"),
	PIECE("\xED\xA0\x80"), // a surrogate
	PIECE("\xC0\x80"),     // overlong
};

#define HOSTILE_PIECES (sizeof(hostile_pieces) / sizeof(hostile_pieces[0]))

// Up to `max` pieces from number `from` on; half of the texts use few different ones, so that they meet.
static inline size_t hostile_text(uint64_t *state, size_t from, size_t max, char *buffer, size_t size)
{
	size_t pieces = 1 + hostile_random(state) % max, len = 0, few[6];
	int is_few = hostile_random(state) % 2 == 0;

	for (size_t i = 0; i < 6; i++)
		few[i] = from + hostile_random(state) % (HOSTILE_PIECES - from);
	for (size_t i = 0; i < pieces; i++) {
		size_t choice = is_few ? few[hostile_random(state) % 6]
				       : from + hostile_random(state) % (HOSTILE_PIECES - from);
		const struct hostile_piece *piece = &hostile_pieces[choice];

		if (len + piece->len > size)
			break;
		memcpy(buffer + len, piece->bytes, piece->len);
		len += piece->len;
	}
	return len;
}

static inline double hostile_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
