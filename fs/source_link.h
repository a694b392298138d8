// SPDX-License-Identifier: Apache-2.0
//
// What the files of the source share; private to fs/source*.c.
#pragma once

#include <dirent.h>

#include "fs/source.h"

// A folder whose tree the view shows as it stands: the source, or what a followed link led to.
struct source_base {
	int fd;           // O_PATH
	const char *path; // where it stands in the file system, canonical
};

// What one name is, without following a link. As source_examine(), but the only kind of link is ENTRY_LINK.
int source_examine_name(const struct source *source, int dir_fd, const char *name, enum entry_kind *ret_kind,
			struct stat *ret_stat);
#define SOURCE_LINKS_MAX 40 // on the way to one target; as the kernel's MAXSYMLINKS
// What is left of a path: takes its next component off, without the slashes behind it ("" at a slash). 0 or -ENOMEM.
int source_pending_name(char **pending, char **ret);
// The same with a link's target put before it. 0 or a negative errno.
int source_pending_link(char **pending, int dir_fd, const char *name);
int source_read_link(int dir_fd, const char *name, char **ret);
int source_open_listing(int dir_fd, DIR **ret);
// The part of an absolute target below `root`, or NULL when it lies elsewhere.
const char *source_path_below(const char *root, const char *target);
// Whether a link in `dir_path` (below the base) stays beneath the base: 1, 0 or a negative errno.
int source_link_stays(const struct source *source, const struct source_base *base, const char *dir_path,
		      const char *target);
// Its target as shown.
int source_link_shown(const struct source_base *base, const char *dir_path, const char *target, char **ret);
