// SPDX-License-Identifier: Apache-2.0
//
// The rule table. Ids, categories, severities and descriptions are the
// product's words; a rule is data and adding one touches nothing but the table.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sanitize/findings.h"

// Bumped when a rule's acceptance changes; part of the `.ruleset` attribute.
#define RULESET_VERSION "2"

// What a check may know about the text around a candidate (scan.h).
struct scan_text;

// Decides on one candidate [*start, *end) that the rule's expression found,
// may move both ends and lower the severity, and may say where the search goes
// on (*resume, never before the candidate's start + 1). NULL in the table: every match counts.
typedef bool rule_check(const struct scan_text *text, size_t *start, size_t *end, enum severity *severity,
			size_t *resume);

// Where a match begins that the candidate at `found` belongs to, SIZE_MAX when there is none.
typedef size_t rule_locate(const struct scan_text *text, size_t found);

// A cheap look at a candidate before the expression: false when nothing can match here.
typedef bool rule_glance(const struct scan_text *text, size_t start);

struct rule {
	const char *id;
	const char *category;
	enum severity severity;
	const char *description;
	const char *pattern; // PCRE2, byte mode, linear by construction
	bool case_sensitive;
	// The rest is needed only where the pattern alone would be slow or can't say it.
	// How each match begins (anchor.h), when the pattern does not say it well enough. A place behind the shortest
	// match must be a negated class: a text ends there, or a stretch of text in a binary file.
	const char *anchors;
	rule_locate *locate; // `anchors` fit inside a match and not always where it begins
	rule_glance *glance;
	rule_check *check;
};

extern const struct rule rules[];
extern const size_t rule_count;

const struct rule *rule_find(const char *id); // NULL when unknown
