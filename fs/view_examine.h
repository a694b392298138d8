// SPDX-License-Identifier: Apache-2.0
//
// What the files of the view share; private to fs/view*.c.
#pragma once

#include <stdlib.h>

#include "fs/view.h"

// One name, looked at.
struct examined {
	char *path; // in the view
	struct found found;
};
#define EXAMINED_INIT                                                                                        \
	{                                                                                                    \
		.found = FOUND_INIT                                                                          \
	}
static inline void cleanup_examined(struct examined *examined)
{
	free(examined->path);
	found_release(&examined->found);
}

struct place view_place(const struct node *dir, const char *dir_path);
// Again when the name changes meanwhile.
int view_examine(struct view *view, struct node *dir, const char *dir_path, const char *name,
		 struct examined *ret);
// What else than the source's bytes decides on a file's content.
uint64_t view_variant(const struct view *view, const char *name, const char *path);
// Something hidden that is no regular file.
int view_record_hidden(struct view *view, enum entry_kind kind, const char *path, const struct stat *st,
		       const char *target);
