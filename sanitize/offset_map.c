// SPDX-License-Identifier: Apache-2.0
//
// Where bytes of a changed text came from, and the edits that change it.
#include "sanitize/edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void offset_map_release(struct offset_map *map)
{
	free(map->runs);
	*map = (struct offset_map){ NULL, 0, 0 };
}

// How many runs begin at or before `to`.
static size_t runs_before(const struct offset_map *map, size_t to)
{
	size_t low = 0, high = map->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (map->runs[middle].to <= to)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t run_source(const struct offset_run *run, size_t to)
{
	return run->collapsed ? run->from : run->from + (to - run->to);
}

size_t offset_map_source(const struct offset_map *map, size_t to)
{
	size_t index = runs_before(map, to);

	return index == 0 ? to : run_source(&map->runs[index - 1], to);
}

static int offset_map_grow(struct offset_map *map)
{
	size_t cap = map->cap == 0 ? 16 : map->cap * 2;
	struct offset_run *grown = reallocarray(map->runs, cap, sizeof(*grown));

	if (grown == NULL)
		return -ENOMEM;
	map->runs = grown;
	map->cap = cap;
	return 0;
}

static inline __attribute__((always_inline)) int push(struct offset_map *map, size_t to, size_t from,
						      bool collapsed)
{
	const struct offset_run run = { (uint32_t)to, (uint32_t)from, collapsed };
	struct offset_run *last = map->count > 0 ? &map->runs[map->count - 1] : NULL;

	if (last == NULL ? (!collapsed && to == from)
			 : (!collapsed && !last->collapsed && run_source(last, to) == from))
		return 0;
	if (last != NULL && last->to == to) {
		*last = run;
		return 0;
	}
	if (map->count >= OFFSET_RUNS_MAX && last->to - last[-1].to < OFFSET_COARSE) {
		last[-1].collapsed = true;
		*last = run;
		return 0;
	}
	if (map->count == map->cap && offset_map_grow(map) < 0)
		return -ENOMEM;
	map->runs[map->count++] = run;
	return 0;
}

int offset_map_push(struct offset_map *map, size_t to, size_t from, bool collapsed)
{
	return push(map, to, from, collapsed);
}

int offset_map_compose(const struct offset_map *inner, const struct offset_map *outer, struct offset_map *ret)
{
	const struct offset_run identity = { 0, 0, false };
	struct offset_map map = { NULL, 0, 0 };
	size_t at = 0; // runs of `outer` at or before the place where we are
	int rc = 0;

	// The first stretch of `inner` has no run of its own: it is the identity.
	for (size_t i = 0; i <= inner->count && rc == 0; i++) {
		const struct offset_run *run = i == 0 ? &identity : &inner->runs[i - 1];
		size_t length = i < inner->count ? inner->runs[i].to - run->to : SIZE_MAX - run->from;
		const struct offset_run *over;

		while (at < outer->count && outer->runs[at].to <= run->from)
			at++;
		over = at == 0 ? &identity : &outer->runs[at - 1];
		if (length > 0)
			rc = offset_map_push(&map, run->to, run_source(over, run->from),
					     run->collapsed || over->collapsed);
		while (!run->collapsed && rc == 0 && at < outer->count &&
		       outer->runs[at].to - run->from < length) {
			over = &outer->runs[at++];
			rc = offset_map_push(&map, run->to + (over->to - run->from), over->from,
					     over->collapsed);
		}
	}
	if (rc < 0) {
		offset_map_release(&map);
		return rc;
	}
	*ret = map;
	return 0;
}

// A character may be replaced every two bytes of a mebibyte: this is the busiest place of the pipeline.
int edit_replace(struct edit *edit, size_t start, size_t end, const char *with, size_t with_len)
{
	const size_t kept = start - edit->taken;
	struct buf *text = &edit->text;
	int rc = 0;

	if (text->len + kept + with_len > edit->limit)
		return -EFBIG;
	if (!edit->changed) {
		edit->first = start;
		rc = buf_reserve(text, edit->len); // mostly the last allocation
	}
	if (rc == 0 && text->cap - text->len <= kept + with_len)
		rc = buf_reserve(text, kept + with_len);
	if (rc < 0)
		return rc;
	if (kept > 0)
		memcpy(text->data + text->len, edit->source + edit->taken, kept);
	text->len += kept;
	if (with_len > 0) {
		rc = push(&edit->map, text->len, start, true);
		memcpy(text->data + text->len, with, with_len);
		text->len += with_len;
	}
	text->data[text->len] = '\0';
	if (rc == 0)
		rc = push(&edit->map, text->len, end, false);
	edit->changed = true;
	edit->taken = end;
	return rc;
}

int edit_finish(struct edit *edit)
{
	int rc;

	if (!edit->changed)
		return 0;
	if (edit->text.len + (edit->len - edit->taken) > edit->limit)
		return -EFBIG;
	rc = buf_append(&edit->text, edit->source + edit->taken, edit->len - edit->taken);
	if (rc == 0)
		edit->taken = edit->len;
	return rc;
}

void edit_release(struct edit *edit)
{
	buf_release(&edit->text);
	offset_map_release(&edit->map);
}
