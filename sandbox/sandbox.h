// SPDX-License-Identifier: Apache-2.0
//
// Running one command in a jail. The caller (the launcher process) has one
// thread, no descriptors that matter, and default signals; see job.h.
#pragma once

#include <stdbool.h>

#include "policy/config.h"
#include "sanitize/buf.h"
#include "sanitize/error.h"

enum sandbox_tier { TIER_NONE, TIER_LANDLOCK_SECCOMP, TIER_BWRAP, TIER_BWRAP_SECCOMP };
const char *sandbox_tier_name(enum sandbox_tier tier); // "none", "landlock+seccomp", "bwrap", "bwrap+seccomp"

struct sandbox_support {
	enum sandbox_tier tier;
	char *program;     // absolute path of bwrap; NULL when there is none
	char *reason;      // why the tier is not the best one, for a person; NULL when it is
	char *hint;        // what to do about it ("apt install bubblewrap"); NULL
	bool bind_fd;      // this bwrap binds by descriptor (--bind-fd)
	struct buf filter; // the compiled seccomp filter; empty without one
};

// Finds bwrap by absolute path in PATH-like system folders and proves it with a real jail of the same flags, within 5 s.
// Never fails for want of a jail: that is TIER_NONE with a reason. -ENOMEM.
// SKILLFS_BWRAP in the environment names another program (tests); a missing one counts as absent.
int sandbox_detect(struct sandbox_support *ret);
void sandbox_support_release(struct sandbox_support *support);
