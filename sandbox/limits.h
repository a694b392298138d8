// SPDX-License-Identifier: Apache-2.0
//
// Resource limits of one process (setrlimit(2)).
//
// memoryMax is held as RLIMIT_DATA, a bound on the private writable memory of
// each process: RLIMIT_AS would also count address space that is only reserved,
// and Node reserves far more than it uses. The sum over processes is not bounded,
// that takes a cgroup. pidsMax is held inside the jail (see bwrap.c), where the
// count begins at one; the kernel does not hold it for root.
#pragma once

#include "policy/config.h"

// For the child between fork and exec: nothing but system calls. Only ever lowers. 0 or a negative errno.
int limits_apply(const struct exec_sandbox *sandbox);
