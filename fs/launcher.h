// SPDX-License-Identifier: Apache-2.0
//
// The process that starts commands and unmounts: forked before anything is
// mounted and before any thread, single-threaded, with its own copy of the
// configuration. It never parses a skill's bytes.
#pragma once

#include "fs/daemon.h"
#include "policy/strv.h"

struct launcher; // the daemon's end

struct launcher_options {
	const struct config *config;
	const struct sandbox_support *sandbox;
	const char *source;      // canonical
	const char *mountpoint;  // the view
	const char *control_dir; // NULL: none
	uid_t owner;
};

// Forks. All descriptors but the standard ones are closed in the launcher. When the daemon dies, it kills its jobs and ends.
int launcher_start(const struct launcher_options *options, struct launcher **ret, struct error *error);
// Lazily unmounts `path` (fusermount3 where we are not root). 0 or a negative errno.
int launcher_unmount(struct launcher *launcher, const char *path);
// Kills the jobs, ends the process, waits for it, frees. NULL is allowed.
void launcher_stop(struct launcher *launcher);
