// SPDX-License-Identifier: Apache-2.0
//
// Finds every match of every rule in one text. A scanner is compiled once,
// immutable afterwards and safe to share between threads.
//
// Source of the rules' meaning: the rule table in rules.c and tests/data/vectors.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sanitize/budget.h"
#include "sanitize/error.h"
#include "sanitize/rules.h"

struct scanner;

// One rule of the configuration (rules.custom). All strings are copied.
struct custom_rule {
	const char *id;
	const char *category;
	enum severity severity;
	const char *pattern;
	const char *description;
};

// -ENOMEM, or -EINVAL with a message for a pattern that does not compile.
int scanner_new(const struct custom_rule *custom, size_t custom_count, struct scanner **ret,
		struct error *error);
void scanner_free(struct scanner *scanner); // NULL is allowed
bool scanner_has_jit(const struct scanner *scanner);
bool scanner_has_avx2(const struct scanner *scanner); // texts are searched 32 bytes at a time
// Version and hash of the rules in force: "2+<16 hex>".
const char *scanner_ruleset(const struct scanner *scanner);
size_t scanner_rule_count(const struct scanner *scanner);
const struct rule *scanner_rule(const struct scanner *scanner, size_t index);
// Whether a rule has no beginning that can be looked for together with the others: each text is searched for it alone.
bool scanner_rule_is_plain(const struct scanner *scanner, size_t index);

struct match {
	size_t rule;       // index, for scanner_rule()
	size_t start, end; // bytes of the text scanned
	enum severity severity;
	enum context context;
};

struct matches {
	struct match *items; // by start, then rule
	size_t count;
	size_t cap;
};
void matches_release(struct matches *matches);

// All matches in `text`. The class decides the contexts: prose is read as Markdown, code and binary are not.
// 0; -EOVERFLOW when a limit was hit or the budget (NULL: none) is spent: `ret_matches` holds some of them, and the
// verdict must be an error; -ENOMEM.
int scanner_scan(const struct scanner *scanner, enum file_class cls, const char *text, size_t len,
		 const struct budget *budget, struct matches *ret_matches);
