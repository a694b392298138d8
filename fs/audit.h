// SPDX-License-Identifier: Apache-2.0
//
// The audit log: one JSON object a line, the last AUDIT_KEPT in memory, all of
// them appended to <state>/audit.jsonl when there is a state directory. Thread-safe.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "fs/snapshot.h"
#include "sanitize/buf.h"
#include "sanitize/error.h"

#define AUDIT_KEPT 4096

struct audit;

// `directory` is opened now (before mounting) and never again by path. NULL: memory only.
int audit_open(const char *directory, struct audit **ret, struct error *error);
void audit_close(struct audit *audit);
// Adds {"time", "event", ...fields}. `fields` is a jansson object, taken over (may be NULL). Never fails loudly: a line that
// could not be written is counted.
struct json_t;
void audit_event(struct audit *audit, const char *event, struct json_t *fields);
// skill.scan or skill.scan.reject, and skill.prompt.load for a SKILL.md.
void audit_snapshot(struct audit *audit, const char *path, const struct snapshot *snapshot);
// content.open, with -o audit_open.
void audit_open_file(struct audit *audit, const char *path, const struct snapshot *snapshot, uid_t uid,
		     pid_t pid);
uint64_t audit_lost(const struct audit *audit);
// The kept lines, oldest first. 0 or -ENOMEM.
int audit_tail(struct audit *audit, struct buf *ret);
