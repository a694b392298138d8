// SPDX-License-Identifier: Apache-2.0
//
// The source folder, by descriptors only: one O_PATH descriptor taken before
// anything is mounted; every access below it is openat2 without symlinks, magic
// links or other mounts. The folders of mount.followSymlinks are held in the same way. Never writes.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "policy/strv.h"
#include "sanitize/buf.h"
#include "sanitize/error.h"

#define RESERVED_NAME ".skillfs"

// A folder outside into which links may lead.
struct follow_root {
	int fd;      // O_PATH, owned
	char *path;  // canonical
	char *named; // as configured: links may name it so
};

struct source {
	int root_fd; // O_PATH, owned
	dev_t dev;
	uint64_t
		mount_id; // entries on other mounts are hidden; 0 where the kernel does not tell: then by dev
	char *path; // canonical, for messages and for rewriting absolute links; never opened after mounting
	struct follow_root *follows;
	size_t follow_count;
};

int source_open(const char *path, struct source **ret, struct error *error);
void source_close(struct source *source); // NULL is allowed
// Opens the folders into which links may lead, before anything is mounted. One that can't be used leaves a warning, and
// the links into it hidden. 0 or -ENOMEM.
int source_allow(struct source *source, const struct strv *paths, struct strv *warnings);

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

// A link that is shown as the folder it leads to. Immutable; reference counted.
struct follow {
	atomic_uint refs;
	unsigned depth;       // followed links from the root to here, this one too
	uint64_t key;         // differs for each link and each place that it leads to; never 0
	struct follow *above; // by which the link itself was reached; NULL: it stands in the source
	char *at;             // its path in the view
	size_t root;          // where it leads: 0 the source, else 1 + the index in source->follows,
	char *inner;          // and the path below that
};
struct follow *follow_ref(struct follow *follow); // NULL is allowed
void follow_unref(struct follow *follow);         // NULL is allowed

// A directory of the view.
struct place {
	int fd;                // O_PATH
	const char *path;      // in the view; "" for the root
	struct follow *follow; // the innermost followed link on the way to it, or NULL
};

struct found {
	enum entry_kind kind;
	struct stat st; // of what is shown
	char *target;   // ENTRY_LINK: as shown, relative; ENTRY_ESCAPE: as it stands
	// Where a link was followed:
	struct follow *follow; // to a directory
	char *name;            // to a file: its name
	int fd;                // O_PATH of the directory, or of the file's directory; else -1
};
#define FOUND_INIT                                                                                           \
	{                                                                                                    \
		.kind = ENTRY_MISSING, .fd = -1                                                              \
	}
void found_release(struct found *found);
static inline void cleanup_found(struct found *found)
{
	found_release(found);
}

// Looks at `name` in a directory. `ret` is FOUND_INIT before, and the caller's to release whatever is returned. 0, -EAGAIN
// when the entry changed meanwhile, or a negative errno other than ENOENT.
int source_examine(const struct source *source, const struct place *dir, const char *name, struct found *ret);
// The directory at a path of the view, over followed links: a descriptor, and with a reference the innermost of them (or NULL).
int source_open_place(const struct source *source, const char *path, struct follow **ret_follow);
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
int source_count_directories(const struct source *source, const struct place *dir, size_t *ret);

// Depth-first over all entries below the root, in sorted order, hidden ones too. A negative return of `visit` ends the walk.
struct source_entry {
	const char *path; // below the root, as shown
	const char *name; // in `dir_fd`: the last component, or what a followed link leads to
	int dir_fd;       // of its directory; borrowed
	enum entry_kind kind;
	const struct stat *st;
	const char *target; // ENTRY_LINK, ENTRY_ESCAPE; else NULL
};
int source_walk(const struct source *source, int (*visit)(const struct source_entry *entry, void *context),
		void *context);
