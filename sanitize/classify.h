// SPDX-License-Identifier: Apache-2.0
//
// Which class a file is of: by name first, by content where the name says nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sanitize/findings.h"

// `name` is the last path component, any bytes. The name wins over the content: helper.py with a leading NUL is code.
enum file_class classify(const char *name, const char *data, size_t len);
// Whether the name alone decides, and on what.
bool classify_name(const char *name, enum file_class *ret);
bool classify_is_skill_md(const char *name); // SKILL.md in any letter case
bool classify_is_archive(const char *name, const char *data, size_t len);
