// SPDX-License-Identifier: Apache-2.0
//
// One version of one source file: identity, verdict, findings, served body.
// Immutable once built; reference counted. The mount and the command line both
// build their answers here, so that they cannot differ.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/hash.h"
#include "fs/source.h"
#include "policy/config.h"
#include "policy/manifest.h"
#include "policy/verdict.h"
#include "sanitize/inspect.h"

struct identity {
	uint64_t dev;
	uint64_t ino;
	int64_t size;
	struct timespec mtime;
	struct timespec ctime;
};
struct identity identity_of(const struct stat *st);
bool identity_equal(const struct identity *a, const struct identity *b);

struct snapshot {
	atomic_size_t refs;
	char *path; // below the root, as it was when built; for messages and rebuilding
	struct identity identity;
	struct stat st; // the source's
	bool special;   // hidden, and no regular file
	enum verdict verdict;
	struct report report;                 // its body is moved out to ret_body
	size_t size;                          // of the served body
	char hash[HASH_TEXT_SIZE];            // of the served body
	char *tools;                          // effective tools, comma list; on SKILL.md only, else NULL
	struct skill_restriction restriction; // on a visible SKILL.md
};

struct snapshot_context {
	const struct source *source;
	const struct scanner *scanner;
	const struct config *config;
	const struct agent_config *agent;
};

// Reads, checks, scans and decides. Never fails for a file's sake: one that cannot be read, is too large or keeps changing
// gives VERDICT_ERROR with a notice. `ret_body` (may be NULL) receives the served bytes; empty when hidden.
// 0 or -ENOMEM.
int snapshot_build(const struct snapshot_context *context, int dir_fd, const char *name, const char *path,
		   struct snapshot **ret, struct buf *ret_body);
// A snapshot for a hidden entry that is no regular file: VERDICT_ERROR and one FS_* notice.
int snapshot_build_hidden(enum entry_kind kind, const char *path, const struct stat *st, const char *detail,
			  struct snapshot **ret);
struct snapshot *snapshot_ref(struct snapshot *snapshot);
void snapshot_unref(struct snapshot *snapshot); // NULL is allowed

static inline void cleanup_snapshot(struct snapshot **snapshot)
{
	snapshot_unref(*snapshot);
}
