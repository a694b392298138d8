// SPDX-License-Identifier: Apache-2.0
//
// How much of a tool's output an agent is given: the built-in table, its
// ceilings, and the tail rule.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/config.h"

#define SOURCE_PROFILE_MAX_BYTES 5000000
#define SOURCE_PROFILE_MAX_CHARS 500000
#define SOURCE_PROFILE_MIN_BYTES 32000
#define SOURCE_PROFILE_MIN_CHARS 100

struct builtin_source_profile {
	const char *tool;
	uint64_t max_response_bytes;
	uint64_t max_chars;
	enum extraction strategy;
};
extern const struct builtin_source_profile builtin_source_profiles[];
extern const size_t builtin_source_profile_count;

const char *extraction_name(enum extraction extraction);
int extraction_parse(const char *text, enum extraction *ret); // 0 or -EINVAL
// Into the floors and ceilings.
void source_profile_clamp(struct source_profile *profile);

// The part of `text` that the profile lets through: the last max_response_bytes / max_chars for `tail`, the first
// otherwise; never splits a UTF-8 character. Returns offset and length in `text`.
void source_profile_window(const struct source_profile *profile, const char *text, size_t len,
			   size_t *ret_offset, size_t *ret_len);
