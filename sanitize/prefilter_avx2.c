// SPDX-License-Identifier: Apache-2.0
#include "sanitize/prefilter_narrow.h"

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
// Bytes ahead: a text is read for the first time.
#define PREFETCH 1024

bool prefilter_has_avx2(void)
{
	return __builtin_cpu_supports("avx2") != 0;
}

static AVX2 inline __m256i twice(const uint8_t *table)
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
}

static AVX2 inline __m256i look_up(__m256i bytes, __m256i low, __m256i high)
{
	const __m256i half = _mm256_set1_epi8(0x0F);

	return _mm256_and_si256(
		_mm256_shuffle_epi8(low, _mm256_and_si256(bytes, half)),
		_mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half)));
}

static AVX2 inline __m256i load(const char *text)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)text);
}

AVX2 size_t prefilter_find_avx2(const struct prefilter_tables *tables, const char *text, size_t at,
				size_t end, bool before, struct prefilter_block *blocks, size_t *ret_count)
{
	const __m256i above = _mm256_set1_epi8(PREFILTER_RUN_ABOVE), zero = _mm256_setzero_si256();
	const __m256i low0 = twice(tables->low[0]), low1 = twice(tables->low[1]),
		      low2 = twice(tables->low[2]), low3 = twice(tables->low[3]),
		      high0 = twice(tables->high[0]), high1 = twice(tables->high[1]),
		      high2 = twice(tables->high[2]), high3 = twice(tables->high[3]);
	uint32_t full_before = before ? UINT32_MAX : 0;
	size_t count = 0;

	for (; at < end && count < PREFILTER_BLOCKS; at += PREFILTER_BLOCK) {
		struct prefilter_block *block = &blocks[count];
		__m256i first = load(text + at), found;
		uint32_t full;

		_mm_prefetch(text + at + PREFETCH, _MM_HINT_T0);
		found = _mm256_and_si256(look_up(first, low0, high0),
					 look_up(load(text + at + 1), low1, high1));
		found = _mm256_and_si256(found, look_up(load(text + at + 2), low2, high2));
		found = _mm256_and_si256(found, look_up(load(text + at + 3), low3, high3));
		full = (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(first, above));
		// Written for each block and kept for few: a branch would be guessed wrong too often.
		_mm256_storeu_si256((__m256i *)(void *)block->buckets, found);
		block->at = at;
		block->places = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(found, zero));
		block->run = (uint32_t)(full == UINT32_MAX) |
			     (uint32_t)((full_before >> 16 | full << 16) == UINT32_MAX);
		full_before = full;
		count += (block->places | block->run) != 0;
	}
	*ret_count = count;
	return at;
}

static AVX2 inline uint32_t fits_of(const struct prefilter_lines *lines, size_t bucket, uint64_t word)
{
	const uint64_t *values = lines->values + bucket * lines->per_bucket;
	const uint64_t *masks = lines->masks + bucket * lines->per_bucket;
	const __m256i words = _mm256_set1_epi64x((long long)word), zero = _mm256_setzero_si256();
	uint32_t fits = 0;

	for (size_t i = 0; i < lines->per_bucket; i += PREFILTER_LINE) {
		__m256i value = _mm256_loadu_si256((const __m256i *)(const void *)(values + i));
		__m256i mask = _mm256_loadu_si256((const __m256i *)(const void *)(masks + i));
		__m256i differ = _mm256_and_si256(_mm256_xor_si256(words, value), mask);
		__m256i same = _mm256_cmpeq_epi64(differ, zero);

		fits |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same)) << i;
	}
	return fits;
}

AVX2 size_t prefilter_narrow_avx2(const struct prefilter_lines *lines, const char *text,
				  const struct prefilter_block *blocks, size_t count, size_t *next,
				  struct prefilter_hit *hits)
{
	return narrow_with(fits_of, lines, text, blocks, count, next, hits);
}
#else
bool prefilter_has_avx2(void)
{
	return false;
}

size_t prefilter_find_avx2(const struct prefilter_tables *tables, const char *text, size_t at, size_t end,
			   bool before, struct prefilter_block *blocks, size_t *ret_count)
{
	return prefilter_find_scalar(tables, text, at, end, before, blocks, ret_count);
}

size_t prefilter_narrow_avx2(const struct prefilter_lines *lines, const char *text,
			     const struct prefilter_block *blocks, size_t count, size_t *next,
			     struct prefilter_hit *hits)
{
	return prefilter_narrow_scalar(lines, text, blocks, count, next, hits);
}
#endif
