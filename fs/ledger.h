// SPDX-License-Identifier: Apache-2.0
//
// What the owner can see: for each known path its newest snapshot, if there
// is something to tell (a finding, a notice, a hidden file), and the counters. Thread-safe.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/snapshot.h"
#include "policy/strv.h"

#define SKILL_MANIFEST "SKILL.md"

struct ledger;

struct ledger_counts {
	uint64_t files;    // known regular files
	uint64_t hidden;   // entries hidden now
	uint64_t warned;   // visible with a finding
	uint64_t skills;   // known SKILL.md, visible
	uint64_t scans;    // since start
	uint64_t findings; // standing now
	bool indexed;      // the first walk over the whole source has ended
};

int ledger_new(struct ledger **ret);
void ledger_free(struct ledger *ledger);
// `snapshot` is now what stands at `path`; NULL: nothing does any more. Takes a reference. Returns true when this is news
// for a path (new snapshot), so that the caller audits it once.
bool ledger_set(struct ledger *ledger, const char *path, struct snapshot *snapshot);
// Whether a snapshot of this version stands at the path.
bool ledger_holds(struct ledger *ledger, const char *path, const struct identity *identity);
// Whether anything stands at the path.
bool ledger_has(struct ledger *ledger, const char *path);
// Drops everything below a folder that is gone.
void ledger_forget_below(struct ledger *ledger, const char *path);
void ledger_count_scan(struct ledger *ledger);
void ledger_set_indexed(struct ledger *ledger);
void ledger_counts(struct ledger *ledger, struct ledger_counts *ret);
// The same for what is known below a folder ("" for all); `scans` stays 0.
void ledger_summary(struct ledger *ledger, const char *path, struct ledger_counts *ret);
// Calls `visit` for each entry with something to tell, by path; snapshots are valid during the call. No lock is held.
int ledger_each(struct ledger *ledger,
		int (*visit)(const char *path, const struct snapshot *snapshot, void *context),
		void *context);
// Paths of the visible skills (folders holding a SKILL.md), sorted; the folder's path below the root, "" for the root itself.
int ledger_skills(struct ledger *ledger, struct strv *ret);
// The snapshot of a skill's SKILL.md, with a reference, or NULL.
struct snapshot *ledger_skill(struct ledger *ledger, const char *skill_path);
