// SPDX-License-Identifier: Apache-2.0
//
// One message for a person. A function that has something to tell takes a
// `struct error *error` last and fills it once, where the fact is known;
// callers prepend what they were doing. NULL is allowed everywhere: the code
// is returned and the text is dropped.
#pragma once

#include <stdarg.h>

struct error {
	char message[1024]; // empty when nothing was said
};

// Both return `code` (a negative errno), so that `return error_set(...)` is one line.
int error_set(struct error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
int error_prefix(struct error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

// The message, or the text of `code` when nothing was said.
const char *error_text(const struct error *error, int code);
