// SPDX-License-Identifier: Apache-2.0
//
// Starts what a provider planned: fork, a clean process, exec.
#pragma once

#include "sandbox/provider.h"

// The child has default signals, no descriptor but the standard ones and launch->fds, a session of its own, the limits of
// spec->sandbox, the user of spec, no way to new privileges, and dies with us. 0, or a negative errno with a message when
// it was not started. Blocks until the child has called exec, which waits for nothing.
int spawn(struct launch *launch, const struct job_spec *spec, pid_t *ret_pid, int *ret_pidfd,
	  struct error *error);
