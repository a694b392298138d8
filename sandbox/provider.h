// SPDX-License-Identifier: Apache-2.0
//
// What a kind of jail has to say: how a job becomes one program to start. A
// provider plans and reads results; it never forks, so that a plan can be looked
// at by a test. spawn.c starts what was planned.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "policy/strv.h"
#include "sandbox/job.h"
#include "sandbox/sandbox.h"
#include "sanitize/error.h"

#define LAUNCH_FDS_MAX  160
#define LAUNCH_FIRST_FD 3

struct launch {
	const char *program; // borrowed: an absolute path; NULL: argv[0], searched in the PATH of `env`
	int program_fd;      // owned; -1: `program` itself, else what is executed in its place
	struct strv argv;
	struct strv env;         // the whole environment of what is started
	const char *cwd;         // borrowed; NULL: the provider sees to it
	int fds[LAUNCH_FDS_MAX]; // owned; they become LAUNCH_FIRST_FD and up, in this order
	size_t fd_count;
	int status_fd; // owned; the end that we read; -1
	enum sandbox_tier tier;
};

struct provider {
	const char *name;
	// 0, or a negative errno with a message: then nothing runs.
	int (*plan)(const struct sandbox_support *support, const struct job_spec *spec, struct launch *ret,
		    struct error *error);
	// The process has ended and is not reaped yet: kills what it left running, reads job->status_fd, and says what became
	// of the command.
	void (*end)(const struct job *job, const siginfo_t *how, struct job_result *ret);
};

extern const struct provider provider_bwrap;
extern const struct provider provider_none;

// The provider of a tier.
const struct provider *provider_for(enum sandbox_tier tier);

void launch_init(struct launch *launch);
// Hands `fd` over, on failure too. The number it will have in the child, or -E2BIG.
int launch_add_fd(struct launch *launch, int fd);
void launch_release(struct launch *launch);

static inline void cleanup_launch(struct launch *launch)
{
	launch_release(launch);
}
