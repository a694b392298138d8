// SPDX-License-Identifier: Apache-2.0
//
// The half of classify() that reads names; private to sanitize/.
#pragma once

#include <stdbool.h>

#include "sanitize/classify.h"

enum name_claim { NAME_SAYS_NOTHING, NAME_PROSE, NAME_CODE };

enum name_claim classify_name(const char *name);
bool classify_name_is_archive(const char *name);
