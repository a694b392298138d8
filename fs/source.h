// SPDX-License-Identifier: Apache-2.0
//
// The source folder, by descriptors only: one O_PATH descriptor taken before
// anything is mounted; every access below it is openat2 without symlinks, magic
// links or other mounts. Never writes.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sanitize/buf.h"
#include "sanitize/error.h"

#define RESERVED_NAME ".skillfs"

struct source {
	int root_fd; // O_PATH, owned
	dev_t dev;
	uint64_t
		mount_id; // entries on other mounts are hidden; 0 where the kernel does not tell: then by dev
	char *path; // canonical, for messages and for rewriting absolute links; never opened after mounting
};

int source_open(const char *path, struct source **ret, struct error *error);
void source_close(struct source *source); // NULL is allowed

// A path below the root from its directory's ("" for the root) and a name. 0 or -ENOMEM.
int source_join(const char *dir_path, const char *name, char **ret);

// What an entry of the source is to the view.
enum entry_kind {
	ENTRY_MISSING,
	ENTRY_DIRECTORY,
	ENTRY_FILE,
	ENTRY_LINK,         // a symlink that stays beneath the root
	ENTRY_ESCAPE,       // a symlink that leaves it
	ENTRY_SPECIAL,      // fifo, socket, device
	ENTRY_NESTED_MOUNT, // on another device
	ENTRY_RESERVED,     // named .skillfs
};
bool entry_kind_hidden(enum entry_kind kind);

// Looks at `name` in the directory `dir_fd` whose path below the root is `dir_path` ("" for the root).
// `ret_target` (may be NULL) receives the target to show, relative, for ENTRY_LINK, and the target as it stands for
// ENTRY_ESCAPE; the caller frees. 0, -EAGAIN when the entry changed meanwhile, or a negative errno other than ENOENT.
int source_examine(const struct source *source, int dir_fd, const char *dir_path, const char *name,
		   enum entry_kind *ret_kind, struct stat *ret_stat, char **ret_target);
// Of an open descriptor, O_PATH ones too.
int source_stat(int fd, struct stat *ret);
// Of the folder that a directory stands in now; the caller sees to it that this one is not the root.
int source_stat_parent(int dir_fd, struct stat *ret);
// A directory below `dir_fd` (O_PATH) or a regular file (readable); -ELOOP, -EXDEV, -ENOENT, ...
int source_open_directory(int dir_fd, const char *name);
int source_open_file(int dir_fd, const char *name);
// All names in a directory, sorted bytewise, without "." and "..": NUL-terminated, one behind the other, in `ret`.
int source_list(int dir_fd, struct buf *ret, size_t *ret_count);

// How many directories stand in a directory, those that are hidden aside.
int source_count_directories(const struct source *source, int dir_fd, size_t *ret);

// Depth-first over all entries below the root, in sorted order, hidden ones too. A negative return of `visit` ends the walk.
struct source_entry {
	const char *path; // below the root
	const char *name; // its last component
	int dir_fd;       // of its directory; borrowed
	enum entry_kind kind;
	const struct stat *st;
	const char *target; // ENTRY_LINK, ENTRY_ESCAPE; else NULL
};
int source_walk(const struct source *source, int (*visit)(const struct source_entry *entry, void *context),
		void *context);
