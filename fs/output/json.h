// SPDX-License-Identifier: Apache-2.0
//
// Every JSON shape that users are promised, in one place. All functions return
// a new reference, or NULL when out of memory.
#pragma once

#include <jansson.h>

#include "fs/snapshot.h"
#include "policy/resolve.h"

#define JSON_FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY)

// ruleId, category, severity, description, matchedText, position, lineNumber, byteOffset, stage, context, approved.
json_t *json_finding(const struct finding *finding);
json_t *json_notices(const struct notices *notices); // code, count, line, detail
json_t *json_sanitize(const struct sanitize_stats *stats);
// path, class, verdict, findings, notices, sanitize; "findings" is empty: json_stream_findings() writes them into it. A path that is not UTF-8 has its bad bytes as U+FFFD and "pathBytes" in hex.
json_t *json_file(const char *path, const struct snapshot *snapshot);
// agent, skill (or null), profile, tools, excluded.
json_t *json_policy(const char *agent, const char *skill, const char *profile,
		    const struct effective_tools *effective);
// A string that may hold any bytes.
json_t *json_text(const char *text);
// Dumps with jansson, compact, with a newline when `line`; appends. 0 or -ENOMEM.
int json_append(struct buf *buf, const json_t *value, bool line);
