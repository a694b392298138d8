// SPDX-License-Identifier: Apache-2.0
//
// Judges the binds that a person configured, by what they are rather than by what
// they are called. What passes is held open, so that the jail gets what was judged.
#pragma once

#include <stdbool.h>

#include "sandbox/job.h"
#include "sandbox/path.h"
#include "sanitize/error.h"

// All: 0, or a negative errno with a message; -EINVAL for what is refused as unsafe.
int audit_workspace(const struct job_spec *spec, const char *home, struct place *ret, struct error *error);
// One of readOnlyAllowPaths. -ENOENT without a message when there is none. `inside`: it lies in the workspace.
int audit_allowed(const struct job_spec *spec, const char *home, const char *path, bool inside,
		  struct place *ret, struct error *error);
int audit_broker(const char *path, struct place *ret, struct error *error);

// `path` is, holds or lies in a folder that the system needs: no home and no writable place can be there.
bool audit_is_system(const char *path);
