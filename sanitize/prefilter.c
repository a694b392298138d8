// SPDX-License-Identifier: Apache-2.0
#include "sanitize/prefilter.h"

#include <string.h>

#include "sanitize/prefilter_find.h"

struct pass {
	const struct prefilter *prefilter;
	const char *text;
	size_t len;
	struct prefilter_cursor *cursor;
	prefilter_found *found;
	void *arg;
};

// Eight bytes; NUL stands behind the end of the text.
static inline uint64_t load_word(const struct pass *pass, size_t at)
{
	size_t left = pass->len - at;
	uint64_t word = 0;

	if (left >= sizeof(word))
		memcpy(&word, pass->text + at, sizeof(word));
	else
		memcpy(&word, pass->text + at, left);
	return word;
}

static bool check_fits(const struct pass *pass, const struct check *check, size_t start)
{
	const unsigned char *text = (const unsigned char *)pass->text;
	size_t left = pass->len - start;

	if (((load_word(pass, start) ^ check->value) & check->mask) != 0)
		return false;
	if (check->at_word_start && start > 0 && pass->prefilter->word[text[start - 1]])
		return false;
	for (unsigned int i = 0; i < check->set_count; i++) {
		const struct set_check *more = &pass->prefilter->sets[check->first_set + i];

		if (!byte_set_has(&more->set, more->place < left ? text[start + more->place] : '\0'))
			return false;
	}
	return true;
}

static int look_at_hit(const struct pass *pass, const struct prefilter_hit *hit)
{
	const size_t *start = &pass->prefilter->bucket_start[hit->bucket];
	const struct check *checks = pass->prefilter->checks + start[0];
	uint32_t fits = hit->fits & (uint32_t)((UINT64_C(1) << (start[1] - start[0])) - 1);
	int rc = 0;

	for (; rc == 0 && fits != 0; fits &= fits - 1) {
		const struct check *check = &checks[__builtin_ctz(fits)];

		if (hit->at >= check->shift && check_fits(pass, check, hit->at - check->shift))
			rc = pass->found(pass->arg, check->owner, hit->at - check->shift);
	}
	return rc;
}

// `at` stands in the run, if there is one. Behind the end of the text stand NUL, which are in none.
static int look_at_run(const struct pass *pass, size_t at)
{
	const unsigned char *text = (const unsigned char *)pass->text;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < pass->prefilter->run_count; i++) {
		const struct run_check *run = &pass->prefilter->runs[i];
		size_t start = at, end = at;

		if (at < pass->cursor->run_end[i] || !byte_set_has(&run->set, text[at]))
			continue;
		while (start > 0 && byte_set_has(&run->set, text[start - 1]))
			start--;
		while (end < pass->len && byte_set_has(&run->set, text[end]))
			end++;
		pass->cursor->run_end[i] = end;
		if (end - start >= run->min)
			rc = pass->found(pass->arg, run->owner, start);
	}
	return rc;
}

// `text` is where the blocks were looked at, `base` its place in the whole.
static int look_at_blocks(const struct pass *pass, const struct prefilter_block *blocks, size_t count,
			  const char *text, size_t base)
{
	struct prefilter_hit hits[PREFILTER_HITS];
	size_t next = 0;
	int rc = 0;

	while (rc == 0 && next < count) {
		size_t found =
			pass->prefilter->narrow(&pass->prefilter->lines, text, blocks, count, &next, hits);

		for (size_t i = 0; rc == 0 && i < found && base + hits[i].at < pass->len; i++) {
			hits[i].at += base;
			rc = hits[i].bucket == PREFILTER_RUN ? look_at_run(pass, hits[i].at)
							     : look_at_hit(pass, &hits[i]);
		}
	}
	return rc;
}

static bool half_is_full(const char *text)
{
	for (size_t i = 0; i < PREFILTER_HALF; i++) {
		if ((signed char)text[i] <= PREFILTER_RUN_ABOVE)
			return false;
	}
	return true;
}

int prefilter_run(const struct prefilter *prefilter, const char *text, size_t len, size_t limit,
		  struct prefilter_cursor *cursor, prefilter_found *found, void *arg)
{
	const struct pass pass = { prefilter, text, len, cursor, found, arg };
	struct prefilter_block blocks[PREFILTER_BLOCKS];
	size_t stop = len - cursor->at > limit ? cursor->at + limit : len, count, end;
	char last[2 * PREFILTER_BLOCK + PREFILTER_BEHIND];
	int rc = 0;

	while (rc == 0 && cursor->at < stop) {
		size_t at = cursor->at, left = len - at, base = 0;
		bool before = at >= PREFILTER_HALF && half_is_full(text + at - PREFILTER_HALF);
		const char *from = text;

		if (left >= PREFILTER_BLOCK + PREFILTER_BEHIND) {
			end = at + (left - PREFILTER_BEHIND) / PREFILTER_BLOCK * PREFILTER_BLOCK;
			if (end - at > limit)
				end = at + (limit + PREFILTER_BLOCK - 1) / PREFILTER_BLOCK * PREFILTER_BLOCK;
			cursor->at =
				prefilter->find(&prefilter->tables, text, at, end, before, blocks, &count);
		} else {
			// What is left, with NUL behind it.
			memset(last, 0, sizeof(last));
			memcpy(last, text + at, left);
			from = last;
			base = at;
			end = left > PREFILTER_BLOCK ? 2 * PREFILTER_BLOCK : PREFILTER_BLOCK;
			(void)prefilter->find(&prefilter->tables, last, 0, end, before, blocks, &count);
			cursor->at = len;
		}
		rc = look_at_blocks(&pass, blocks, count, from, base);
	}
	return rc;
}
