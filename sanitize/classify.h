// SPDX-License-Identifier: Apache-2.0
//
// Which class a file is of: by name first, by content where the name says nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sanitize/findings.h"

// `name` is the last path component, any bytes. The name wins over the content: helper.py with a leading NUL
// is code.
enum file_class classify(const char *name, const char *data, size_t len);
// What the name alone decides; the content decides where it says nothing.
enum name_claim { NAME_SAYS_NOTHING, NAME_PROSE, NAME_CODE };
enum name_claim classify_name(const char *name);
bool classify_is_skill_md(const char *name); // SKILL.md in any letter case
// Whether the beginning of a file settles that it is binary: a magic number or a NUL, under a name that claims no text.
bool classify_is_binary_already(const char *name, const char *data, size_t len);
bool classify_is_archive(const char *name, const char *data, size_t len);
// Whether a file of class binary reads as text all the same, to a person or an agent that looks at it: wide
// characters (UTF-16, UTF-32), or text with a few odd bytes. Its sanitized copy is then worth a scan.
bool classify_hides_text(const char *data, size_t len);
