// SPDX-License-Identifier: Apache-2.0
//
// May this request run, and how? Used by the launcher process only. The order
// of the checks is fixed: owner, re-entry, policy, steps, budget, breaker.
#pragma once

#include "fs/launcher.h"
#include "fs/launcher_protocol.h"
#include "fs/request.h"
#include "sandbox/job.h"

struct admission {
	const struct agent_config *agent;
	struct exec_request request;
	struct exec_sandbox sandbox;    // the agent's, tightened by the request; lists borrowed
	struct sandbox_support support; // what to use; strings borrowed
	char *cwd;                      // absolute; NULL: the private workspace
	struct strv warnings;
};
void admission_release(struct admission *admission);

// Sets `ret` and returns REFUSAL_NONE; or a reason, with a message for a person. `running` counts the jobs that hold a place.
enum refusal admit(const struct launcher_options *options, const struct launcher_message *message,
		   int arguments_fd, size_t running, struct admission *ret, struct error *error);
// Whether the process `pid` sees the same process tree as we do; a jailed one does not. False when that cannot be told.
bool admission_outside(pid_t pid);
