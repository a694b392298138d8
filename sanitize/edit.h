// SPDX-License-Identifier: Apache-2.0
//
// A step of the pipeline as a list of replacements, made from left to right:
// nothing is allocated before the first one, and the offset map grows beside the text.
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "sanitize/prescan.h"
#include "sanitize/sanitize.h"

// A map with this many runs grows only every OFFSET_COARSE bytes: from there on places are exact to that.
#define OFFSET_RUNS_MAX ((size_t)1 << 20)
#define OFFSET_COARSE   ((size_t)4096)

// Adds a run behind the others. 0 or -ENOMEM.
int offset_map_push(struct offset_map *map, size_t to, size_t from, bool collapsed);
// `inner` leads from a text to a middle text, `outer` from that to the source. Linear. 0 or -ENOMEM.
int offset_map_compose(const struct offset_map *inner, const struct offset_map *outer,
		       struct offset_map *ret);

struct edit {
	const char *source; // borrowed
	size_t len;
	size_t start; // what stands before, in whole characters, is left alone by all steps
	size_t first; // where the first replacement is, once `changed`
	size_t taken; // bytes of the source that `text` stands for
	size_t limit; // of the result, in bytes
	bool changed;
	struct buf text;
	struct offset_map map; // text -> source
	const struct prescan *prescan;
	const struct budget *budget; // NULL: none
	size_t asked;                // where the budget is asked the next time
};

// A result may be this much larger than its source; the rest of the growth that NFKC could make (11 times) is
// refused.
static inline size_t edit_limit(size_t len)
{
	return len > (BUF_MAX - ((size_t)1 << 20)) / 2 ? BUF_MAX : 2 * len + ((size_t)1 << 20);
}

static inline struct edit edit_begin(const char *source, size_t len)
{
	return (struct edit){ .source = source,
			      .len = len,
			      .limit = edit_limit(len),
			      .prescan = prescan_best(),
			      .asked = BUDGET_BYTES };
}

// Called at each place where a step works slowly: 0, or -EOVERFLOW when the budget is spent.
static inline int edit_ask(struct edit *edit, size_t at)
{
	if (at < edit->asked)
		return 0;
	edit->asked = at + BUDGET_BYTES;
	return budget_is_spent(edit->budget) ? -EOVERFLOW : 0;
}

// Puts `with` in the place of [start, end); start is not before the last end. 0, -ENOMEM, -EFBIG.
int edit_replace(struct edit *edit, size_t start, size_t end, const char *with, size_t with_len);
// Appends what is left. Nothing happens when nothing was replaced.
int edit_finish(struct edit *edit);
void edit_release(struct edit *edit);

static inline void cleanup_edit(struct edit *edit)
{
	edit_release(edit);
}
