// SPDX-License-Identifier: Apache-2.0
//
// The pipeline as its specification says it: each step over all of the text, with libunistring's own
// normalization, again and again. Slow and obvious; sanitize_text() and sanitize_code() must do the same.
#pragma once

#include "sanitize/sanitize.h"

// A place in the source. What came out of normalization came from somewhere in a stretch of it.
struct plain_place {
	size_t low, high;
};

struct plain_notice {
	size_t count;
	struct plain_place first; // valid while count > 0
};

struct plain_sanitized {
	int rc; // 0, or -EOVERFLOW when there is no fixed point
	char *text;
	size_t len;
	struct plain_place *places; // of each byte that begins a character
	struct sanitize_stats stats;
	struct plain_notice notices[NOTICE_BIDI_CONTROL + 1]; // by code
	bool is_unterminated;
	char tag_text[256];
};

struct plain_sanitized plain_sanitize_text(const char *text, size_t len);
struct plain_sanitized plain_sanitize_code(const char *text, size_t len);
void plain_sanitized_release(struct plain_sanitized *sanitized);
