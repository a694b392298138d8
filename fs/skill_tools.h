// SPDX-License-Identifier: Apache-2.0
//
// A skill's own restriction, as known from its SKILL.md, applied to an agent.
#pragma once

#include "fs/daemon.h"
#include "policy/resolve.h"

// The folder's path below the root without slashes at its ends; "." is the root itself. `ret` points into `skill` or is
// allocated: the caller frees. NULL on -ENOMEM.
char *skill_path(const char *skill);
// The tools that the skill leaves; what the agent may not use anyway may be among them. -ENOENT when no such skill is
// visible, -ENOMEM.
int skill_narrowing(const struct daemon *daemon, const struct agent_config *agent, const char *skill,
		    struct strv *ret);
// The agent's effective tools; `skill` may be NULL. `ret_known` must outlive `ret`.
int skill_effective_tools(const struct daemon *daemon, const struct agent_config *agent, const char *skill,
			  struct strv *ret_known, struct effective_tools *ret);

static inline void cleanup_effective_tools(struct effective_tools *effective)
{
	effective_tools_release(effective);
}
