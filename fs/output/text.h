// SPDX-License-Identifier: Apache-2.0
//
// Text for people: hostile bytes made harmless, and the report of `skillfs scan`.
// Whatever a terminal could act on, or an eye could miss, is shown as \u{202e} or \x{1b}; nothing here prints.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/output/writer.h"
#include "fs/snapshot.h"
#include "sanitize/buf.h"

#define TEXT_NO_LIMIT SIZE_MAX

// Controls, bidirectional overrides, zero-width, tag and other characters that leave no ink of their own.
bool text_character_hidden(uint32_t character);
// Appends at most `max` characters of `text`, escaped, and an ellipsis when there is more. 0, -ENOMEM, -EFBIG.
int text_escape(struct buf *buf, const char *text, size_t len, size_t max);

struct text_style {
	bool colour;
	bool verbose; // routine notices too (comments removed, body cut, ...)
};

// What a notice means, for a person.
const char *text_notice(enum notice_code code);
// Whether honest files have it all day: told for a clean file only when verbose.
bool text_notice_routine(enum notice_code code);
// `path:line:column: RULE severity: description`, the line with the match, and the notices worth telling. Nothing for a
// file with nothing to say. `source` is the file as it was scanned, or NULL when it is not at hand: no lines are shown then.
int text_file(struct writer *writer, const struct text_style *style, const char *path,
	      const struct report *report, enum verdict verdict, const char *source, size_t len);
