// SPDX-License-Identifier: Apache-2.0
//
// The 18 rules as complete regular expressions: what somebody would write who
// has an expression engine and nothing else. One table for all comparators, in
// the syntax that PCRE2, Hyperscan, RE2 and ripgrep share, so without look-around and
// possessive repetition; bytes, not characters. All gaps are bounded.
//
// They come as close to the rules as an expression can. What needs a pairing, a
// look at the text in front or a choice by context is left out (both ticks of a span, `||`, table
// cells, alternations, questions for a version): what they find differs from what the program finds.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct expression {
	const char *id; // of the rule
	const char *pattern;
	bool case_sensitive;
};

extern const struct expression expressions[];
extern const size_t expression_count;
