// SPDX-License-Identifier: Apache-2.0
//
// A PATH of the command line, opened the way the mount opens its source, so that verdicts are the same.
#pragma once

#include <stdbool.h>

#include "fs/snapshot.h"
#include "fs/source.h"

struct target {
	struct source *source;
	char *name; // of the one file in `source`; NULL: the whole folder
};

// Symbolic links in `path` itself are followed: the user named it. A file's folder becomes the source.
int target_open(const char *path, struct target *ret, struct error *error);
void target_close(struct target *target);
// What the mount would make of one entry: a snapshot, or none for a folder or a link that is shown as it is.
// `ret_body` (may be NULL) receives the served bytes, in memory and with a reference, or NULL when hidden.
int target_snapshot(const struct snapshot_context *context, const struct source_entry *entry,
		    struct snapshot **ret, struct body **ret_body);
// Calls `visit` for every entry of a folder, sorted, or for the one file.
int target_walk(const struct target *target, int (*visit)(const struct source_entry *entry, void *context),
		void *context, struct error *error);

static inline void cleanup_target(struct target *target)
{
	target_close(target);
}
