// SPDX-License-Identifier: Apache-2.0
//
// From findings to a decision. Ordered so that the larger wins.
#pragma once

#include <stdbool.h>

#include "policy/config.h"
#include "sanitize/inspect.h"

enum verdict { VERDICT_CLEAN, VERDICT_WARN, VERDICT_APPROVED, VERDICT_CRITICAL, VERDICT_ERROR };

const char *verdict_name(enum verdict verdict); // "clean", ...
bool verdict_hides(enum verdict verdict);       // critical and error

// Applies rules.severity, which replaces what the rule made of the finding, and then rules.contexts, which can only
// lower it, to the findings (SEVERITY_OFF ones are removed), then decides:
// scan_failed or an FS_* notice that hides gives VERDICT_ERROR, a CRITICAL finding gives VERDICT_CRITICAL
// unless `blockOnCritical` is off (then VERDICT_WARN).
enum verdict verdict_decide(const struct config *config, const struct agent_config *agent,
			    struct report *report);
