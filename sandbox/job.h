// SPDX-License-Identifier: Apache-2.0
//
// One command: spawned, watched, ended. Never blocks on the child except in
// job_kill(), which waits for a process that was sent SIGKILL.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/config.h"
#include "policy/strv.h"
#include "sandbox/sandbox.h"
#include "sanitize/error.h"

struct job_spec {
	const struct exec_sandbox *sandbox; // the agent's, already tightened by the request
	struct strv argv;      // what to run; a shell line is {"/bin/sh" or "/bin/bash", "-c", line}
	struct strv env;       // "NAME=value" that the request adds, already checked by job_env_allowed()
	const char *workspace; // canonical, exists, read-write; NULL: none, and cwd may be "/" (the probe)
	const char *view;      // canonical path of the skills mount, read-only; NULL when there is none
	const char *
		view_type; // what the view must be mounted as inside ("fuse.skillfs"), or nothing runs; NULL: not checked
	const char *
		source; // canonical path of the raw skills when it is not the view's; must not be seen inside; NULL
	const char *hide; // canonical path that must not be seen inside (the control directory); NULL
	const char *cwd;  // absolute, in the workspace or the view
	const char *home; // the caller's HOME, for the user binds and as $HOME
	uid_t uid;        // run as this user when we are root; else must be our own
	gid_t gid;
	int stdin_fd;  // borrowed
	int stdout_fd; // borrowed
	int stderr_fd; // borrowed
};

struct job {
	pid_t pid;
	int pidfd;     // owned; readable when the process has ended
	int status_fd; // owned; bwrap's --json-status-fd, or -1 without a jail
	enum sandbox_tier tier;
};

enum job_end { JOB_EXITED, JOB_SIGNALED, JOB_SETUP_FAILED };

struct job_result {
	enum job_end end;
	int exit_code; // JOB_EXITED
	int signal;    // JOB_SIGNALED
};

// Whether a request may set this variable (an allow-list: LANG, LC_*, TERM, CI, ...; never PATH, HOME or a loader's).
bool job_env_allowed(const char *name);

// 0; -EINVAL for a spec that is refused as unsafe (a read-write bind at or above HOME, or one that holds the skills
// source), -EOPNOTSUPP when what the sandbox asks for (`required`, broker-only, secureCredentialHome) can't be had without
// a jail, -E2BIG for an argument above the kernel's 128 KiB, -ENOENT, -EACCES, -EAGAIN, ... with a message: nothing runs then.
// A command that does not exist is no error: it ends with exit code 127, as in a shell.
int job_spawn(const struct sandbox_support *support, const struct job_spec *spec, struct job *ret,
	      struct error *error);
// Sends a signal to the whole job: the jail ends with any signal that ends a process, whatever the command does about it;
// without a jail it goes to the process group.
int job_signal(const struct job *job, int signal);
// After pidfd is readable: how it ended. What the command left running is killed. Frees the job, on failure too. -EAGAIN,
// and the job stays, while it runs. A command that a signal ended inside the jail has exit code 128 + signal.
int job_collect(struct job *job, struct job_result *ret);
// SIGKILL to the whole tree, then as job_collect().
int job_kill(struct job *job, struct job_result *ret);
