// SPDX-License-Identifier: Apache-2.0
//
// The scanner as it is compiled. Private to scan*.c.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>

#include "sanitize/scan.h"
#include "sanitize/scan_text.h"

struct compiled {
	const struct rule *rule;
	pcre2_code *code;
	bool anchored; // the prefilter says where to try; else the whole text is searched
	bool jit;
};

struct scanner {
	struct compiled *compiled;
	size_t count;
	struct rule *custom; // strings owned
	size_t custom_count;
	struct prefilter *prefilter; // owners are indices of `compiled`
	struct prefilter *binaries;
	size_t plain_count; // rules that are not anchored
	pcre2_match_context *limits;
	bool jit;
	char ruleset[sizeof(RULESET_VERSION) + 1 + 16];
};
