// SPDX-License-Identifier: Apache-2.0
//
// The scanner as its specification says it: each rule's expression over the
// whole text, from left to right, one rule after the other. Slow and obvious;
// scanner_scan() must find the same matches.
#pragma once

#include "sanitize/scan.h"

struct plain_scanner;

// 0, -ENOMEM, or -EINVAL for a pattern that does not compile. `custom` is borrowed.
int plain_scanner_new(const struct custom_rule *custom, size_t custom_count, struct plain_scanner **ret);
void plain_scanner_free(struct plain_scanner *scanner); // NULL is allowed
// As scanner_scan(), without a budget and without limits on single matches.
int plain_scan(const struct plain_scanner *scanner, enum file_class cls, const char *text, size_t len,
	       struct matches *ret_matches);
