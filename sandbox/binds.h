// SPDX-License-Identifier: Apache-2.0
//
// What of the file system a jailed command sees, as an ordered list that any
// provider can carry out. Everything that is not in the list does not exist inside.
//
// Refused, since no order of mounts makes them safe: a workspace that is at or above
// the home directory or a system folder, or that holds, is or lies in the skills (a
// job would rename a folder above the view, and the next job would find the raw
// files beside it) or the control directory; a symbolic link in the path of the
// workspace, or of anything that is bound below it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/job.h"

enum bind_kind {
	BIND_READ_ONLY,
	BIND_READ_WRITE,
	BIND_SYMLINK, // `source` is the target
	BIND_TMPFS,
	BIND_PROC,
	BIND_DEV,  // null, zero, full, random, urandom, tty, pts
	BIND_SEAL, // what was built at `path` so far becomes read-only, the mounts below it stay as they are
};

struct bind {
	enum bind_kind kind;
	char *path;    // inside
	char *source;  // outside; NULL where the kind has none
	int fd;        // owned: O_PATH of the source, what was judged; -1
	unsigned mode; // BIND_TMPFS
	uint64_t size; // BIND_TMPFS; 0: the system's default
};

struct binds {
	struct bind *items;
	size_t count;
	size_t cap;
};

// HOME inside: the caller's where it can be covered, else a made-up one (a HOME of "/" or "/usr/games"). The caller frees.
int binds_home(const struct job_spec *spec, char **ret);

// 0, -ENOMEM, or a negative errno with a message.
int binds_build(const struct job_spec *spec, const char *home, struct binds *ret, struct error *error);
void binds_release(struct binds *binds);

// Whether the jail has something of the host at `path`: for PATH.
bool binds_show(const struct job_spec *spec, const char *home, const char *path);

static inline void cleanup_binds(struct binds *binds)
{
	binds_release(binds);
}
