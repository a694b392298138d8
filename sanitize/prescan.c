// SPDX-License-Identifier: Apache-2.0
//
// Plain ASCII by the block, all else a character at a time with the table. Two ways to look at a block, by
// vectors and by machine words; what stands between the blocks is shared.
#include "sanitize/prescan.h"

#include <stdint.h>
#include <string.h>

#include "sanitize/character.h"
#include "sanitize/steps.h"
#include "sanitize/utf8.h"

static inline __attribute__((always_inline)) bool is_opener(const char *text, size_t len)
{
	return len >= COMMENT_OPENER_LEN && memcmp(text, COMMENT_OPENER, COMMENT_OPENER_LEN) == 0;
}

// Bytes of a character that is not inert by itself but stays where it stands, 0 when it has to go.
static size_t kept_length(const char *text, size_t at, size_t len, uint32_t code)
{
	uint32_t previous;

	if (code == BLACK_FLAG)
		return invisible_flag_length(text + at, len - at);
	if (code != EMOJI_SELECTOR || at == 0)
		return 0;
	(void)utf8_decode_last(text, at, &previous);
	return invisible_selects_emoji(previous, text + at, len - at) ? 3 : 0;
}

// Where the characters outside ASCII that stand at `at` end; *ret_stop when one of them is not to be passed.
static inline __attribute__((always_inline)) size_t pass_wide(const char *text, size_t at, size_t len,
							      bool *ret_stop)
{
	uint32_t code;
	size_t width;

	do {
		width = utf8_decode(text + at, len - at, &code);
		if (code == UTF8_INVALID || !character_is_inert(code)) {
			width = code == UTF8_INVALID ? 0 : kept_length(text, at, len, code);
			if (width == 0) {
				*ret_stop = true;
				return at;
			}
		}
		at += width;
	} while (at < len && (unsigned char)text[at] >= 0x80);
	return at;
}

// From `at` to `end` a byte at a time (a wide character may pass `end`).
static inline __attribute__((always_inline)) size_t pass_bytes(const char *text, size_t at, size_t end,
							       size_t len, bool openers, bool *ret_stop)
{
	while (at < end) {
		if ((unsigned char)text[at] >= 0x80) {
			at = pass_wide(text, at, len, ret_stop);
			if (*ret_stop)
				return at;
			continue;
		}
		if (!invisible_is_plain(text[at]) ||
		    (openers && text[at] == '<' && is_opener(text + at, len - at))) {
			*ret_stop = true;
			return at;
		}
		at++;
	}
	return at;
}

#define EACH_BYTE(byte) (0x0101010101010101u * (byte))
#define HIGH            EACH_BYTE(0x80u)

// Whether the eight bytes are plain ASCII, and without `<` when openers matter.
static inline bool is_plain_word(const char *at, bool openers)
{
	uint64_t word, space, lines, control, angle;

	memcpy(&word, at, sizeof(word));
	if (word & HIGH)
		return false;
	// Each sum has the high bit of a byte that is at least as large as its complement to 0x80.
	space = word + EACH_BYTE(0x80u - ' ');
	lines = (word + EACH_BYTE(0x80u - '\t')) & ~(word + EACH_BYTE(0x80u - ('\n' + 1)));
	lines |= (word + EACH_BYTE(0x80u - '\r')) & ~(word + EACH_BYTE(0x80u - ('\r' + 1)));
	control = ~(space | lines) | (word + EACH_BYTE(0x80u - 0x7Fu));
	angle = openers ? (word + EACH_BYTE(0x80u - '<')) & ~(word + EACH_BYTE(0x80u - ('<' + 1))) : 0;
	return ((control | angle) & HIGH) == 0;
}

static inline __attribute__((always_inline)) size_t pass_words(const char *text, size_t len, bool openers)
{
	size_t at = 0;
	bool stop = false;

	while (len - at >= sizeof(uint64_t)) {
		if (is_plain_word(text + at, openers)) {
			at += sizeof(uint64_t);
			continue;
		}
		at = pass_bytes(text, at, at + sizeof(uint64_t), len, openers, &stop);
		if (stop)
			return at;
	}
	return pass_bytes(text, at, len, len, openers, &stop);
}

static size_t portable_inert(const char *text, size_t len)
{
	return pass_words(text, len, false);
}

static size_t portable_clean(const char *text, size_t len)
{
	return pass_words(text, len, true);
}

const struct prescan prescan_portable = { "portable", portable_inert, portable_clean };

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2  __attribute__((target("avx2,bmi")))
#define BLOCK sizeof(__m256i)

// The high bit of each byte of the block that is not plain ASCII, or (openers) is `!`: there are fewer of them
// than of `<`, and to see whether one stands in an opener costs less than to look for both.
static inline AVX2 __attribute__((always_inline)) __m256i special_bytes(const char *at, bool openers)
{
	// The characters that are not where the comparison with a space expects them, each at its low four
	// bits; -1 is no byte that the shuffle of itself gives.
	const __m256i odd = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		-1, openers ? '!' : -1, -1, -1, -1, -1, -1, -1, -1, '\t', '\n', -1, -1, '\r', -1, 0x7F));
	const __m256i block = _mm256_loadu_si256((const __m256i *)at);
	// Signed: bytes outside ASCII are smaller than a space too.
	const __m256i small = _mm256_subs_epi8(block, _mm256_set1_epi8(' '));

	return _mm256_xor_si256(small, _mm256_cmpeq_epi8(_mm256_shuffle_epi8(odd, block), block));
}

static inline AVX2 __attribute__((always_inline)) uint64_t mask_of(__m256i low, __m256i high)
{
	return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

// How far the text is plain in whole blocks: four at a time, one at a time, and to the byte in the last.
static inline AVX2 __attribute__((always_inline)) size_t pass_blocks(const char *text, size_t at, size_t len,
								     bool openers)
{
	while (len - at >= 4 * BLOCK) {
		const __m256i first = special_bytes(text + at, openers);
		const __m256i second = special_bytes(text + at + BLOCK, openers);
		const __m256i third = special_bytes(text + at + 2 * BLOCK, openers);
		const __m256i fourth = special_bytes(text + at + 3 * BLOCK, openers);
		const __m256i any =
			_mm256_or_si256(_mm256_or_si256(first, second), _mm256_or_si256(third, fourth));
		uint64_t mask;

		if (_mm256_movemask_epi8(any) == 0) {
			at += 4 * BLOCK;
			continue;
		}
		mask = mask_of(first, second);
		if (mask != 0)
			return at + (size_t)__builtin_ctzll(mask);
		return at + 2 * BLOCK + (size_t)__builtin_ctzll(mask_of(third, fourth));
	}
	while (len - at >= BLOCK) {
		const __m256i special = special_bytes(text + at, openers);
		const uint64_t mask = mask_of(special, special);

		if (mask != 0)
			return at + (size_t)__builtin_ctzll(mask);
		at += BLOCK;
	}
	if (at < len && len >= BLOCK) {
		// The last block, of which the first bytes were seen.
		const __m256i special = special_bytes(text + len - BLOCK, openers);
		const uint32_t mask = (uint32_t)_mm256_movemask_epi8(special) >> (BLOCK - (len - at));

		return mask == 0 ? len : at + (size_t)__builtin_ctz(mask);
	}
	return at;
}

static inline AVX2 __attribute__((always_inline)) size_t pass_vectors(const char *text, size_t len,
								      bool openers)
{
	size_t at = 0;
	bool stop = false;

	while (!stop) {
		at = pass_blocks(text, at, len, openers);
		if (at == len)
			return len;
		if (len < BLOCK)
			return pass_bytes(text, at, len, len, openers, &stop);
		if ((unsigned char)text[at] >= 0x80)
			at = pass_wide(text, at, len, &stop);
		else if (text[at] != '!' || !openers)
			return at;
		else if (at > 0 && is_opener(text + at - 1, len - at + 1))
			return at - 1;
		else
			at++;
	}
	return at;
}

static AVX2 size_t avx2_inert(const char *text, size_t len)
{
	return pass_vectors(text, len, false);
}

static AVX2 size_t avx2_clean(const char *text, size_t len)
{
	return pass_vectors(text, len, true);
}

const struct prescan prescan_avx2 = { "AVX2", avx2_inert, avx2_clean };

bool prescan_has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
}
#else
const struct prescan prescan_avx2 = { "AVX2", portable_inert, portable_clean };

bool prescan_has_avx2(void)
{
	return false;
}
#endif

const struct prescan *prescan_best(void)
{
	return prescan_has_avx2() ? &prescan_avx2 : &prescan_portable;
}
