// SPDX-License-Identifier: Apache-2.0
//
// What the generated control files hold. Each function appends to `ret` and
// returns 0, -ENOENT or -ENOMEM.
#pragma once

#include "fs/daemon.h"
#include "fs/jobs.h"
#include "sanitize/buf.h"

// What a generator gets: what the path named.
struct render_context {
	const struct daemon *daemon;
	struct jobs *jobs;
	const struct agent_config *agent; // NULL outside of agents/
	const char *skill;                // below the root; NULL outside of skills/
	uint32_t item;                    // profile, group, job number
};
typedef int render_function(const struct render_context *context, struct buf *ret);

render_function render_readme;
render_function render_status;
render_function render_findings;
render_function render_quarantine;
render_function render_audit;
render_function render_profile;
render_function render_group;
render_function render_config;
render_function render_rules;
render_function render_tools;
render_function render_policy;
render_function render_source_profiles;
render_function render_job_status;
render_function render_link_exec;
render_function render_link_jobs;
render_function render_link_last;

const char *exec_help(void); // what reading `exec` gives when nothing was asked
