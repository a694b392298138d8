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

#include "fs/body.h"
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

// What a skill's manifest says.
struct snapshot_skill {
	char *tools; // effective tools, comma list
	struct skill_restriction restriction;
};

struct snapshot {
	atomic_uint refs;
	uint8_t verdict; // enum verdict
	uint8_t cls;     // enum file_class
	bool special;    // hidden, and no regular file
	bool passing;    // hidden for a reason that may pass without a change of the file
	// The source's:
	struct identity identity;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	uint32_t nlink;
	// Of the served body; nothing when hidden:
	size_t size;
	struct hashes hashes;
	struct report *report;        // NULL: nothing to tell; see snapshot_report()
	struct snapshot_skill *skill; // on a visible SKILL.md, else NULL
};

// What was found, borrowed; its body is not there. Most files have nothing to tell, and keep no report.
struct report snapshot_report(const struct snapshot *snapshot);
const struct findings *snapshot_findings(const struct snapshot *snapshot);
const struct notices *snapshot_notices(const struct snapshot *snapshot);
// As shown, but for st_ino.
void snapshot_stat(const struct snapshot *snapshot, struct stat *ret);

struct snapshot_context {
	const struct source *source;
	const struct scanner *scanner;
	const struct config *config;
	const struct agent_config *agent;
	struct spool *spool; // for large bodies; NULL: all are in memory
	bool few_findings;   // keep no more of them than a mount has memory for
};

// What is to become of the served bytes.
enum body_wanted {
	BODY_NONE,
	BODY_IF_ROOM, // nothing else is let go for them
	BODY_WANTED,
};
struct body_request {
	enum body_wanted wanted;
	struct body *body; // with a reference; NULL when hidden, not wanted, or when there was no room:
	int error;         // then a negative errno
};

// Reads, checks, scans and decides. Never fails for a file's sake: one that cannot be read, is too large or keeps changing
// gives VERDICT_ERROR with a notice. `name` is what to open in `dir_fd`; `path` is where it is shown, and its last component
// is the name that counts. `body` may be NULL: not wanted. 0 or -ENOMEM.
int snapshot_build(const struct snapshot_context *context, int dir_fd, const char *name, const char *path,
		   struct snapshot **ret, struct body_request *body);
// From a report that was made elsewhere; takes it over. -ENOMEM, when it is released.
int snapshot_of_report(enum verdict verdict, struct report *report, struct snapshot **ret);
// A snapshot for a hidden entry that is no regular file: VERDICT_ERROR and one FS_* notice.
int snapshot_build_hidden(enum entry_kind kind, const struct stat *st, const char *detail,
			  struct snapshot **ret);
struct snapshot *snapshot_ref(struct snapshot *snapshot);
void snapshot_unref(struct snapshot *snapshot); // NULL is allowed

static inline void cleanup_snapshot(struct snapshot **snapshot)
{
	snapshot_unref(*snapshot);
}
