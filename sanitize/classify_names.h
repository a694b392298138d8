// SPDX-License-Identifier: Apache-2.0
//
// The half of classify() that reads names; private to sanitize/.
#pragma once

#include <stdbool.h>

#include "sanitize/classify.h"

bool classify_name_is_archive(const char *name);
