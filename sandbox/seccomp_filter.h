// SPDX-License-Identifier: Apache-2.0
//
// The system calls that a jailed command does not get: those that reach other
// processes, keys, the kernel itself, namespaces, mounts, or somebody's terminal.
// A deny list, since ordinary programs must go on working; what is not listed is
// still bounded by the namespaces and by having no capability.
#pragma once

#include "sanitize/buf.h"
#include "sanitize/error.h"

// The filter as classic BPF for `bwrap --seccomp`. 0, or a negative errno with a message.
int seccomp_filter_build(struct buf *ret, struct error *error);
