// SPDX-License-Identifier: Apache-2.0
#include "sandbox/job.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/path.h"
#include "sandbox/provider.h"
#include "sandbox/spawn.h"
#include "sanitize/cleanup.h"

#define REAP_TRIES 200 // of a millisecond

void launch_init(struct launch *launch)
{
	*launch = (struct launch){ .status_fd = -1, .program_fd = -1 };
}

int launch_add_fd(struct launch *launch, int fd)
{
	if (launch->fd_count == ARRAY_SIZE(launch->fds)) {
		(void)close(fd);
		return -E2BIG;
	}
	launch->fds[launch->fd_count++] = fd;
	return LAUNCH_FIRST_FD + (int)launch->fd_count - 1;
}

void launch_release(struct launch *launch)
{
	for (size_t i = 0; i < launch->fd_count; i++)
		(void)close(launch->fds[i]);
	if (launch->status_fd >= 0)
		(void)close(launch->status_fd);
	if (launch->program_fd >= 0)
		(void)close(launch->program_fd);
	strv_release(&launch->argv);
	strv_release(&launch->env);
	launch_init(launch);
}

const struct provider *provider_for(enum sandbox_tier tier)
{
	return tier == TIER_BWRAP || tier == TIER_BWRAP_SECCOMP ? &provider_bwrap : &provider_none;
}

static int check(const struct job_spec *spec, struct error *error)
{
	const char *name = spec->argv.count > 0 ? spec->argv.items[0] : "";

	if (name[0] == '\0')
		return error_set(error, -EINVAL, "no command");
	if (name[0] == '-')
		return error_set(error, -EINVAL, "command '%.100s': a name may not begin with '-'", name);
	if (!path_is_plain(spec->cwd))
		return error_set(error, -EINVAL, "cwd '%s': not a plain absolute path", spec->cwd);
	if (spec->workspace != NULL && !path_is_within(spec->cwd, spec->workspace) &&
	    !(spec->view != NULL && path_is_within(spec->cwd, spec->view)))
		return error_set(error, -EINVAL, "cwd '%s': neither in the workspace nor in the skills",
				 spec->cwd);
	if (geteuid() != 0 && (spec->uid != geteuid() || spec->gid != getegid()))
		return error_set(error, -EPERM, "only root can run a command as another user");
	return 0;
}

int job_spawn(const struct sandbox_support *support, const struct job_spec *spec, struct job *ret,
	      struct error *error)
{
	enum sandbox_tier tier = spec->sandbox->enabled == SANDBOX_NEVER ? TIER_NONE : support->tier;
	const struct provider *provider = provider_for(tier);
	CLEANUP(launch) struct launch launch;
	struct job job;
	int rc;

	launch_init(&launch);
	if (spec->sandbox->enabled == SANDBOX_REQUIRED && provider == &provider_none)
		return error_set(error, -EOPNOTSUPP, "a jail is required, and there is none: %s",
				 support->reason == NULL ? "unknown" : support->reason);
	rc = check(spec, error);
	if (rc < 0)
		return rc;
	rc = provider->plan(support, spec, &launch, error);
	if (rc < 0)
		return rc;
	rc = spawn(&launch, spec, &job.pid, &job.pidfd, error);
	if (rc < 0)
		return rc;
	job.status_fd = take_fd(launch.status_fd);
	job.tier = launch.tier;
	*ret = job;
	return 0;
}

int job_signal(const struct job *job, int signal)
{
	// Not reaped before job_collect(), so that neither number can be another's.
	if (job->tier == TIER_NONE)
		return kill(-job->pid, signal) < 0 ? -errno : 0;
	return syscall(SYS_pidfd_send_signal, job->pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}

static int wait_for(const struct job *job, int options, siginfo_t *ret)
{
	int rc;

	*ret = (siginfo_t){ 0 };
	do
		rc = waitid(P_PIDFD, (id_t)job->pidfd, ret, WEXITED | options);
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return -errno;
	return ret->si_pid == 0 ? -EAGAIN : 0;
}

// What was killed in the job's group is ours to reap when we are a subreaper. Not for ever: one that hangs in the kernel is
// left to whoever reaps orphans.
static void reap_group(pid_t group)
{
	for (int i = 0; i < REAP_TRIES; i++) {
		pid_t pid = waitpid(-group, NULL, WNOHANG);

		if (pid < 0)
			return;
		if (pid == 0)
			(void)poll(NULL, 0, 1);
	}
}

static int collect(struct job *job, int options, struct job_result *ret)
{
	const pid_t group = job->pid;
	siginfo_t how;
	int rc = wait_for(job, WNOWAIT | options, &how);

	if (rc == -EAGAIN)
		return rc;
	if (rc == 0) {
		provider_for(job->tier)->end(job, &how, ret);
		rc = wait_for(job, WNOHANG, &how);
		reap_group(group);
	}
	(void)close(job->pidfd);
	if (job->status_fd >= 0)
		(void)close(job->status_fd);
	*job = (struct job){ .pidfd = -1, .status_fd = -1 };
	return rc;
}

int job_collect(struct job *job, struct job_result *ret)
{
	return collect(job, WNOHANG, ret);
}

int job_kill(struct job *job, struct job_result *ret)
{
	(void)job_signal(job, SIGKILL);
	return collect(job, 0, ret);
}
