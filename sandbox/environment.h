// SPDX-License-Identifier: Apache-2.0
//
// The environment of a command, built from nothing: what a program needs, a few
// variables of ours by an allow-list, and what the request adds (already checked by
// job_env_allowed()). Nothing else of our own environment gets in, so no secret does.
#pragma once

#include <stdbool.h>

#include "sandbox/job.h"

// "NAME=value" strings, each name once. `home` is the HOME inside. Jailed: PATH keeps only what the jail shows.
// 0, -ENOMEM, or -EINVAL for a malformed entry of spec->env.
int environment_build(const struct job_spec *spec, const char *home, bool jailed, struct strv *ret,
		      struct error *error);

// The value in a list of "NAME=value", or NULL.
const char *environment_get(const struct strv *env, const char *name);
