// SPDX-License-Identifier: Apache-2.0
//
// Step 1: HTML comments, from `<!--` to the nearest `-->` that starts after it.
// Nothing is put in their place, so a comment can form where one was taken out.
#include "sanitize/bitset.h"
#include "sanitize/cleanup.h"
#include "sanitize/steps.h"

#include <errno.h>
#include <string.h>

#define CLOSER     "-->"
#define CLOSER_LEN 3

// Bytes looked at one by one behind a character that turned out to be none: where there is one there are many,
// and a call for each would cost ten times as much.
#define NEAR 64

// Where the next opener begins at or after `from`; `len` when there is none. By memchr, which is the fastest
// search there is for what texts rarely hold.
static size_t find_opener(const char *text, size_t len, size_t from)
{
	const char *hit;
	size_t end, near;

	if (len < COMMENT_OPENER_LEN)
		return len;
	for (end = len - COMMENT_OPENER_LEN + 1; from < end; from = near) {
		hit = memchr(text + from, COMMENT_OPENER[0], end - from);
		if (hit == NULL)
			break;
		from = (size_t)(hit - text);
		near = end - from < NEAR ? end : from + NEAR;
		for (; from < near; from++)
			if (memcmp(text + from, COMMENT_OPENER, COMMENT_OPENER_LEN) == 0)
				return from;
	}
	return len;
}

// The same for a closer, by its last character: there are fewer of them than of dashes.
static size_t find_closer(const char *text, size_t len, size_t from)
{
	const char *hit;
	size_t near;

	for (size_t at = from + CLOSER_LEN - 1; at < len; at = near) {
		hit = memchr(text + at, CLOSER[CLOSER_LEN - 1], len - at);
		if (hit == NULL)
			break;
		at = (size_t)(hit - text);
		near = len - at < NEAR ? len : at + NEAR;
		for (; at < near; at++)
			if (text[at] == CLOSER[CLOSER_LEN - 1] &&
			    memcmp(text + at - (CLOSER_LEN - 1), CLOSER, CLOSER_LEN - 1) == 0)
				return at - (CLOSER_LEN - 1);
	}
	return len;
}

bool comment_find(const char *text, size_t len, size_t from, size_t *ret_start, size_t *ret_end)
{
	size_t start = find_opener(text, len, from);
	size_t end = start < len ? find_closer(text, len, start + COMMENT_OPENER_LEN) : len;

	if (end == len)
		return false;
	*ret_start = start;
	*ret_end = end + CLOSER_LEN;
	return true;
}

size_t comment_unterminated(const char *text, size_t len)
{
	size_t at = 0, start, end;

	while (comment_find(text, len, at, &start, &end))
		at = end;
	return find_opener(text, len, at);
}

int comment_strip(struct edit *edit, struct seen *seen)
{
	size_t at = edit->start, start, end;
	int rc = 0;

	while (rc == 0 && comment_find(edit->source, edit->len, at, &start, &end)) {
		rc = edit_replace(edit, start, end, NULL, 0);
		if (rc == 0)
			rc = edit_ask(edit, end);
		seen_add(seen, start);
		at = end;
	}
	return rc == 0 ? edit_finish(edit) : rc;
}

// Repeating passes over a nest like `<!<!<!-- -->-- -->-- -->` would cost a pass a level. Here a pass touches
// only what it takes out: the text stays where it is, a set says which bytes are left, two more where openers
// and closers begin. Taking out [start, end) never cuts another opener or closer in two, for `<` only begins
// one and `>` only ends one; so tokens are lost only inside, and new ones appear only across a seam, when the
// pass is over.
struct live_text {
	const char *text;
	struct bitset live;
	struct bitset openers;
	struct bitset closers;
	struct bitset seams; // the first byte of each comment that this pass took out
	const struct budget *budget;
	bool is_spent;
};

static void live_text_release(struct live_text *live)
{
	bitset_release(&live->live);
	bitset_release(&live->openers);
	bitset_release(&live->closers);
	bitset_release(&live->seams);
}

static inline void cleanup_live_text(struct live_text *live)
{
	live_text_release(live);
}

// The place behind `word` when the bytes left spell it from `at` on, else BITSET_NONE.
static size_t live_spells(const struct live_text *live, size_t at, const char *word)
{
	for (; *word != '\0'; word++) {
		if (at == BITSET_NONE || live->text[at] != *word)
			return BITSET_NONE;
		if (word[1] != '\0')
			at = bitset_next(&live->live, at + 1);
	}
	return at + 1;
}

static void live_add_tokens(struct live_text *live, size_t at)
{
	if (live->text[at] == COMMENT_OPENER[0] && live_spells(live, at, COMMENT_OPENER) != BITSET_NONE)
		bitset_add(&live->openers, at);
	if (live->text[at] == CLOSER[0] && live_spells(live, at, CLOSER) != BITSET_NONE)
		bitset_add(&live->closers, at);
}

// One pass: whether anything was taken out.
static bool live_pass(struct live_text *live, struct seen *seen)
{
	size_t start, inside, closer, end, at = 0;
	bool any = false;

	while ((start = bitset_next(&live->openers, at)) != BITSET_NONE) {
		inside = live_spells(live, start, COMMENT_OPENER);
		closer = bitset_next(&live->closers, inside);
		if (closer == BITSET_NONE)
			break; // a later opener has none either
		end = live_spells(live, closer, CLOSER);
		bitset_remove_range(&live->openers, start, end);
		bitset_remove_range(&live->closers, start, end);
		bitset_remove_range(&live->live, start, end);
		bitset_add(&live->seams, start);
		if (seen->count == 0 || start < seen->first)
			seen->first = start;
		seen->count++;
		any = true;
		at = end;
		if (seen->count % BUDGET_CANDIDATES == 0 && budget_is_spent(live->budget)) {
			live->is_spent = true;
			return false;
		}
	}
	return any;
}

static void live_join_seams(struct live_text *live)
{
	size_t seam, at;

	for (seam = bitset_next(&live->seams, 0); seam != BITSET_NONE;
	     seam = bitset_next(&live->seams, seam + 1)) {
		bitset_remove(&live->seams, seam);
		at = seam;
		for (int back = 1; back < COMMENT_OPENER_LEN && at > 0; back++) {
			at = bitset_previous(&live->live, at - 1);
			if (at == BITSET_NONE)
				break;
			live_add_tokens(live, at);
		}
	}
}

int comment_strip_all(struct edit *edit, struct seen *seen)
{
	CLEANUP(live_text) struct live_text live = { .text = edit->source, .budget = edit->budget };
	struct seen here = { 0, 0 };
	size_t start, end;
	int rc;

	if (!comment_find(edit->source, edit->len, 0, &start, &end))
		return 0;
	rc = bitset_init(&live.live, edit->len, true);
	if (rc == 0)
		rc = bitset_init(&live.openers, edit->len, false);
	if (rc == 0)
		rc = bitset_init(&live.closers, edit->len, false);
	if (rc == 0)
		rc = bitset_init(&live.seams, edit->len, false);
	if (rc < 0)
		return rc;
	for (size_t at = find_opener(edit->source, edit->len, 0); at < edit->len;
	     at = find_opener(edit->source, edit->len, at + 1))
		bitset_add(&live.openers, at);
	for (size_t at = find_closer(edit->source, edit->len, 0); at < edit->len;
	     at = find_closer(edit->source, edit->len, at + 1))
		bitset_add(&live.closers, at);

	while (live_pass(&live, &here))
		live_join_seams(&live);
	if (live.is_spent)
		return -EOVERFLOW;

	for (start = bitset_next_missing(&live.live, 0, edit->len); start < edit->len && rc == 0;
	     start = bitset_next_missing(&live.live, end, edit->len)) {
		end = bitset_next(&live.live, start);
		if (end == BITSET_NONE)
			end = edit->len;
		rc = edit_replace(edit, start, end, NULL, 0);
	}
	if (seen->count == 0 || here.first < seen->first)
		seen->first = here.first;
	seen->count += here.count;
	return rc == 0 ? edit_finish(edit) : rc;
}
