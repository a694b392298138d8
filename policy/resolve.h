// SPDX-License-Identifier: Apache-2.0
//
// Effective tools: profile, plus allow, minus deny (deny always wins), then the
// skill's own restriction, which can only narrow. Names are exact.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/config.h"
#include "policy/manifest.h"
#include "policy/strv.h"

enum exclusion { EXCLUDED_NOT_IN_PROFILE, EXCLUDED_EXPLICIT_DENY, EXCLUDED_NOT_IN_SKILL };
const char *exclusion_name(enum exclusion exclusion); // "not_in_profile", ...

struct excluded_tool {
	const char *tool; // borrowed from `known`
	enum exclusion reason;
	const char *
		entry; // the profile's name, or the last deny entry that covers the tool; borrowed; NULL for a skill
};

struct effective_tools {
	struct strv tools; // in known-tool order
	struct excluded_tool *excluded;
	size_t excluded_count;
};
void effective_tools_release(struct effective_tools *effective);

// All tools of the profiles and groups in table order, then the agent's knownTools. 0 or -ENOMEM.
int known_tools(const struct agent_config *agent, struct strv *ret);
// `skill` may be NULL. `known` and `policy` must outlive the result. 0 or -ENOMEM.
int resolve_tools(const struct tool_policy *policy, const struct strv *known,
		  const struct skill_restriction *skill, struct effective_tools *ret);
// Whether one tool is allowed.
bool effective_tools_allow(const struct effective_tools *effective, const char *tool);
