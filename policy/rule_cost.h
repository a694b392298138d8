// SPDX-License-Identifier: Apache-2.0
//
// What the configuration's own rules cost: a rule whose pattern has a fixed
// beginning is looked for together with all others, any other takes a pass over each text.
#pragma once

#include "policy/strv.h"
#include "sanitize/scan.h"

// Adds a warning for each rule that takes a pass of its own. 0 or -ENOMEM.
int rule_cost_warn(const struct scanner *scanner, struct strv *warnings);
