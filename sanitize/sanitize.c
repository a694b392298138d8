// SPDX-License-Identifier: Apache-2.0
//
// The steps in order, the rounds, and what is told about them.
//
// Why three rounds are enough for prose. The first does each step once. From then on the text holds no
// character that NFKC or step 3 takes away or turns into another, so that all that is left to happen is that
// comments form at the seams (taken out to the last, comment_strip_all) and that a mark joins the letter it
// now stands behind; and joining neither makes one of the characters of `<!--` and `-->` nor brings two of
// them together. A text that still changes afterwards is refused.
#include "sanitize/sanitize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/cleanup.h"
#include "sanitize/steps.h"
#include "sanitize/utf8.h"

#define ROUNDS_MAX      4
#define CODE_ROUNDS_MAX 8

// A text on its way through the steps. `map` leads to the source.
struct work {
	const struct prescan *prescan;
	const struct budget *budget;
	const char *source;
	size_t source_len;
	const char *text;
	size_t len;
	size_t start; // as in an edit
	struct buf owned;
	struct offset_map map;
	struct seen seen[NOTICE_BIDI_CONTROL + 1]; // by notice code; places in the source
	char tag_text[TAG_TEXT_MAX + 1];
	size_t tag_len;
	size_t invisible_stripped;
	bool normalized;
	bool unterminated;
	bool is_normal;   // nothing was changed since the text was normalized
	bool is_stripped; // nor since step 3 went over it
};

static inline void cleanup_work(struct work *work)
{
	buf_release(&work->owned);
	offset_map_release(&work->map);
}

static struct work work_begin(const struct prescan *prescan, const char *text, size_t len,
			      const struct budget *budget)
{
	if (text == NULL)
		text = ""; // an empty file
	return (struct work){ .prescan = prescan,
			      .budget = budget,
			      .source = text,
			      .source_len = len,
			      .text = text,
			      .len = len };
}

static struct edit work_edit(const struct work *work)
{
	struct edit edit = edit_begin(work->text, work->len);

	edit.start = work->start;
	edit.prescan = work->prescan;
	edit.budget = work->budget;
	return edit;
}

static void work_note(struct work *work, enum notice_code code, const struct seen *seen)
{
	struct seen *total = &work->seen[code];
	size_t at;

	if (seen->count == 0)
		return;
	at = offset_map_source(&work->map, seen->first);
	if (total->count == 0 || at < total->first)
		total->first = at;
	total->count += seen->count;
}

// Goes on with the result of an edit of work->text.
static int work_take(struct work *work, struct edit *edit)
{
	struct offset_map map;
	int rc;

	if (!edit->changed)
		return 0;
	work->is_normal = work->is_stripped = false;
	// A mark at the start joins with what stands before; a comment can end there.
	if (edit->first < work->start)
		work->start = edit->first;
	if (work->map.count > 0) {
		rc = offset_map_compose(&edit->map, &work->map, &map);
		if (rc < 0)
			return rc;
		offset_map_release(&work->map);
	} else {
		map = edit->map;
		edit->map = (struct offset_map){ NULL, 0, 0 };
	}
	work->map = map;
	buf_release(&work->owned);
	work->owned = edit->text;
	edit->text = BUF_INIT;
	work->text = work->owned.data;
	work->len = work->owned.len;
	return 1;
}

int repair_utf8(struct edit *edit, struct seen *seen)
{
	size_t at = edit->start, width, inert = INERT_RUN;
	uint32_t character;
	int rc = 0;

	for (; at < edit->len && rc == 0; at += width) {
		if (inert >= INERT_RUN) {
			inert = 0;
			width = edit->prescan->inert(edit->source + at, edit->len - at);
			if (width > 0)
				continue;
		}
		width = utf8_decode(edit->source + at, edit->len - at, &character);
		if (character != UTF8_INVALID) {
			inert++;
			continue;
		}
		inert = 0;
		seen_add(seen, at);
		rc = edit_replace(edit, at, at + width, UTF8_REPLACEMENT, 3);
		if (rc == 0)
			rc = edit_ask(edit, at);
	}
	return rc == 0 ? edit_finish(edit) : rc;
}

// The steps below return 1 when they changed the text, 0, or an error.

static int work_repair(struct work *work)
{
	CLEANUP(edit) struct edit edit = work_edit(work);
	struct seen seen = { 0, 0 };
	int rc;

	// Each invalid byte may become three.
	edit.limit = work->len > BUF_MAX / 3 ? BUF_MAX : 3 * work->len;
	rc = repair_utf8(&edit, &seen);
	if (rc < 0)
		return rc;
	work_note(work, NOTICE_TEXT_INVALID_UTF8, &seen);
	return work_take(work, &edit);
}

static int work_comments(struct work *work, bool all)
{
	CLEANUP(edit) struct edit edit = work_edit(work);
	struct seen seen = { 0, 0 };
	int rc;

	rc = all ? comment_strip_all(&edit, &seen) : comment_strip(&edit, &seen);
	if (rc < 0)
		return rc;
	work_note(work, NOTICE_HTML_COMMENT, &seen);
	return work_take(work, &edit);
}

static int work_normalize(struct work *work)
{
	CLEANUP(edit) struct edit edit = work_edit(work);
	int rc;

	if (work->is_normal)
		return 0;
	rc = normalize_text(&edit);
	if (rc < 0)
		return rc;
	work->normalized |= edit.changed;
	rc = work_take(work, &edit);
	work->is_normal = true;
	return rc;
}

static int work_invisible(struct work *work, bool keep_mark)
{
	CLEANUP(edit) struct edit edit = work_edit(work);
	struct invisible found = { .stripped = 0 };
	size_t room;
	int rc;

	if (work->is_stripped)
		return 0;
	rc = invisible_strip(&edit, keep_mark, &found);
	if (rc < 0)
		return rc;
	if (work->seen[NOTICE_TEXT_INVALID_UTF8].count == 0)
		work_note(work, NOTICE_TEXT_INVALID_UTF8, &found.invalid);
	work_note(work, NOTICE_TEXT_NUL, &found.nul);
	work_note(work, NOTICE_INVISIBLE_CHARACTER, &found.invisible);
	work_note(work, NOTICE_BIDI_CONTROL, &found.bidi);
	work_note(work, NOTICE_TAG_BLOCK, &found.tags);
	room = TAG_TEXT_MAX - work->tag_len;
	if (found.tag_len < room)
		room = found.tag_len;
	memcpy(work->tag_text + work->tag_len, found.tag_text, room);
	work->tag_len += room;
	work->invisible_stripped += found.stripped;
	rc = work_take(work, &edit);
	work->is_stripped = !keep_mark;
	return rc;
}

static int work_round(struct work *work, bool first)
{
	int rc, changed = 0;

	rc = work_comments(work, !first);
	if (rc < 0)
		return rc;
	changed |= rc;
	rc = work_normalize(work);
	if (rc < 0)
		return rc;
	changed |= rc;
	rc = work_invisible(work, false);
	return rc < 0 ? rc : changed | rc;
}

static void work_find_unterminated(struct work *work)
{
	const size_t at = comment_unterminated(work->text, work->len);
	const struct seen seen = { 1, at };

	if (at == work->len)
		return;
	work->unterminated = true;
	work_note(work, NOTICE_HTML_COMMENT, &seen);
}

static size_t line_of(const struct work *work, size_t offset)
{
	return 1 + utf8_count_byte(work->source, offset, '\n');
}

static int work_tell(const struct work *work, struct sanitize_stats *stats, struct notices *notices)
{
	const struct seen *seen;
	const char *detail;
	int rc;

	for (int code = 0; code <= NOTICE_BIDI_CONTROL; code++) {
		seen = &work->seen[code];
		if (seen->count == 0)
			continue;
		detail = NULL;
		if (code == NOTICE_TAG_BLOCK && work->tag_len > 0)
			detail = work->tag_text;
		else if (code == NOTICE_HTML_COMMENT && work->unterminated)
			detail = "unterminated";
		rc = notices_add(notices, (enum notice_code)code, seen->count, line_of(work, seen->first),
				 detail);
		if (rc < 0)
			return rc;
	}
	stats->html_comments_stripped += work->seen[NOTICE_HTML_COMMENT].count - (work->unterminated ? 1 : 0);
	stats->tag_block_detected |= work->seen[NOTICE_TAG_BLOCK].count > 0;
	stats->invisible_stripped += work->invisible_stripped;
	stats->normalized |= work->normalized;
	stats->source_size += work->source_len;
	stats->size += work->len;
	return 0;
}

static int work_finish(struct work *work, struct cleaned *ret, struct sanitize_stats *stats,
		       struct notices *notices)
{
	bool unchanged = work->text == work->source ||
			 (work->len == work->source_len && memcmp(work->text, work->source, work->len) == 0);
	int rc;

	rc = work_tell(work, stats, notices);
	if (rc < 0)
		return rc;
	*ret = (struct cleaned){ .unchanged = unchanged };
	if (unchanged)
		return 0;
	ret->text = work->owned;
	ret->map = work->map;
	work->owned = BUF_INIT;
	work->map = (struct offset_map){ NULL, 0, 0 };
	return 0;
}

void cleaned_release(struct cleaned *cleaned)
{
	buf_release(&cleaned->text);
	offset_map_release(&cleaned->map);
	*cleaned = (struct cleaned){ .unchanged = false };
}

// Whether no step has anything to do; else from where on. What an earlier round found clean is not looked at
// again but for the characters that may begin a comment with what follows.
static bool work_is_clean(struct work *work)
{
	size_t from = work->start;

	for (int back = 1;
	     back < COMMENT_OPENER_LEN && from > 0 && (unsigned char)work->text[from - 1] < 0x80; back++)
		from--;
	work->start = from + work->prescan->clean(work->text + from, work->len - from);
	return work->start == work->len;
}

// Without the repair, which is done once: the rounds put nothing into the text that is no UTF-8.
static int work_rounds(struct work *work)
{
	int rc = 1;

	for (int round = 0; rc > 0; round++) {
		if (round == ROUNDS_MAX || budget_is_spent(work->budget))
			return -EOVERFLOW;
		if (work_is_clean(work))
			return 0;
		rc = work_round(work, round == 0);
	}
	if (rc == 0)
		work_find_unterminated(work);
	return rc;
}

int sanitize_text_by(const struct prescan *prescan, const char *text, size_t len, const struct budget *budget,
		     struct cleaned *ret, struct sanitize_stats *stats, struct notices *notices)
{
	CLEANUP(work) struct work work = work_begin(prescan, text, len, budget);
	int rc = work_is_clean(&work) ? 0 : work_repair(&work);

	if (rc >= 0)
		rc = work_rounds(&work);
	return rc < 0 ? rc : work_finish(&work, ret, stats, notices);
}

int sanitize_text(const char *text, size_t len, const struct budget *budget, struct cleaned *ret,
		  struct sanitize_stats *stats, struct notices *notices)
{
	return sanitize_text_by(prescan_best(), text, len, budget, ret, stats, notices);
}

// Where bytes are no UTF-8, taking a character out from between them can make
// them one; such rounds are few in any file that was not made to need them.
int sanitize_code_by(const struct prescan *prescan, const char *text, size_t len, const struct budget *budget,
		     struct cleaned *ret, struct sanitize_stats *stats, struct notices *notices)
{
	CLEANUP(work) struct work work = work_begin(prescan, text, len, budget);
	int rc = 1;

	for (int round = 0; rc > 0; round++)
		rc = round < CODE_ROUNDS_MAX && !budget_is_spent(budget) ? work_invisible(&work, true)
									 : -EOVERFLOW;
	return rc < 0 ? rc : work_finish(&work, ret, stats, notices);
}

int sanitize_code(const char *text, size_t len, const struct budget *budget, struct cleaned *ret,
		  struct sanitize_stats *stats, struct notices *notices)
{
	return sanitize_code_by(prescan_best(), text, len, budget, ret, stats, notices);
}
