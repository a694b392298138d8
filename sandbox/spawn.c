// SPDX-License-Identifier: Apache-2.0
#include "sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/limits.h"
#include "sanitize/cleanup.h"

enum step { STEP_DESCRIPTORS, STEP_DEVICES, STEP_LIMITS, STEP_USER, STEP_DIRECTORY, STEP_EXEC };

static const char *const step_names[] = {
	[STEP_DESCRIPTORS] = "descriptors", [STEP_DEVICES] = "device files",
	[STEP_LIMITS] = "resource limits",  [STEP_USER] = "change of user",
	[STEP_DIRECTORY] = "cwd",           [STEP_EXEC] = "exec",
};

struct failure {
	int step;
	int error;
};

_Noreturn static void child_fail(int report, enum step step, int error)
{
	const struct failure failure = { (int)step, error };
	ssize_t rc = write(report, &failure, sizeof(failure));

	(void)rc; // nobody else to tell
	_exit(127);
}

static void child_signals(void)
{
	sigset_t none;

	// An ignored SIGCHLD makes bwrap wait for ever, a blocked SIGTERM would reach the command.
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

// The descriptors of the child: the standard ones, launch->fds, and behind them these two, which exec closes.
static int report_number(const struct launch *launch)
{
	return LAUNCH_FIRST_FD + (int)launch->fd_count;
}

static int program_number(const struct launch *launch)
{
	return report_number(launch) + 1;
}

// Moves everything above the numbers to be used first, since the sources may have any of them.
static void child_descriptors(const struct launch *launch, const struct job_spec *spec, int report)
{
	const int count = report_number(launch);
	const int above = program_number(launch) + 1;
	int sources[LAUNCH_FIRST_FD + LAUNCH_FDS_MAX] = { spec->stdin_fd, spec->stdout_fd, spec->stderr_fd };
	int program = launch->program_fd;

	for (size_t i = 0; i < launch->fd_count; i++)
		sources[LAUNCH_FIRST_FD + i] = launch->fds[i];
	report = fcntl(report, F_DUPFD_CLOEXEC, above);
	if (report < 0)
		_exit(127);
	for (int i = 0; i < count; i++) {
		sources[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, above);
		if (sources[i] < 0)
			child_fail(report, STEP_DESCRIPTORS, errno);
	}
	if (program >= 0)
		program = fcntl(program, F_DUPFD_CLOEXEC, above);
	for (int i = 0; i < count; i++)
		if (dup2(sources[i], i) < 0)
			child_fail(report, STEP_DESCRIPTORS, errno);
	if (dup3(report, count, O_CLOEXEC) < 0)
		child_fail(report, STEP_DESCRIPTORS, errno);
	if (launch->program_fd >= 0 && dup3(program, program_number(launch), O_CLOEXEC) < 0)
		child_fail(report, STEP_DESCRIPTORS, errno);
	// Without a program its number may still hold something of the caller's.
	if (syscall(SYS_close_range, launch->program_fd >= 0 ? above : program_number(launch), ~0U, 0) < 0)
		child_fail(count, STEP_DESCRIPTORS, errno);
}

// The jail's device files are the machine's own, bound by bwrap: a jail that root starts owns them, and one chmod of
// /dev/null in it would lock out everybody outside. In a mount namespace of ours they are read-only, which bwrap's binds
// keep and which does not keep anybody from reading and writing the devices. bwrap itself can't say that.
static int child_devices(void)
{
	static const char *const devices[] = { "/dev/null",   "/dev/zero",    "/dev/full",
					       "/dev/random", "/dev/urandom", "/dev/tty" };

	if (unshare(CLONE_NEWNS) < 0)
		return errno == EPERM
			       ? 0
			       : -errno; // root of a container without the right: its devices are its own
	if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		if (mount(devices[i], devices[i], NULL, MS_BIND, NULL) < 0) {
			if (errno == ENOENT)
				continue;
			return -errno;
		}
		if (mount(NULL, devices[i], NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NOEXEC,
			  NULL) < 0)
			return -errno;
	}
	return 0;
}

static int child_user(uid_t uid, gid_t gid)
{
	if (geteuid() == 0 && (uid != 0 || gid != 0)) {
		if (setgroups(1, &gid) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
			return -errno;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	// After the change of user, which clears it.
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
}

_Noreturn static void child(const struct launch *launch, const struct job_spec *spec, int report,
			    pid_t parent)
{
	int rc;

	child_signals();
	child_descriptors(launch, spec, report);
	report = report_number(launch);
	(void)setsid();
	(void)umask(022);
	rc = launch->tier >= TIER_BWRAP && geteuid() == 0 && spec->uid == 0 ? child_devices() : 0;
	if (rc < 0)
		child_fail(report, STEP_DEVICES, -rc);
	rc = limits_apply(spec->sandbox);
	if (rc < 0)
		child_fail(report, STEP_LIMITS, -rc);
	rc = child_user(spec->uid, spec->gid);
	if (rc < 0)
		child_fail(report, STEP_USER, -rc);
	if (getppid() != parent)
		_exit(127);
	if (launch->cwd != NULL && chdir(launch->cwd) < 0)
		child_fail(report, STEP_DIRECTORY, errno);
	environ = launch->env.items;
	if (launch->program_fd >= 0)
		(void)fexecve(program_number(launch), launch->argv.items, environ);
	else if (launch->program != NULL)
		(void)execv(launch->program, launch->argv.items);
	else
		(void)execvp(launch->argv.items[0], launch->argv.items);
	rc = errno;
	// Without a jail this is the command itself: a missing one is an exit code, as in a shell. A name that was searched and
	// not found counts as missing, even where the search could not enter a folder.
	if (launch->program == NULL && (rc == ENOENT || rc == ENOTDIR || rc == EACCES)) {
		const bool forbidden = rc == EACCES && strchr(launch->argv.items[0], '/') != NULL;

		(void)dprintf(STDERR_FILENO, "%s: %s\n", launch->argv.items[0],
			      forbidden ? "Permission denied" : "not found");
		_exit(forbidden ? 126 : 127);
	}
	child_fail(report, STEP_EXEC, rc);
}

// NULL-terminates a list for exec without counting the NULL.
static int terminate(struct strv *list)
{
	int rc = strv_add(list, "");

	if (rc < 0)
		return rc;
	list->count--;
	free(list->items[list->count]);
	list->items[list->count] = NULL;
	return 0;
}

static int failed(const struct failure *failure, const struct launch *launch, struct error *error)
{
	const char *step = failure->step >= 0 && failure->step < (int)ARRAY_SIZE(step_names)
				   ? step_names[failure->step]
				   : "start";

	if (failure->step == STEP_EXEC && failure->error == E2BIG)
		return error_set(error, -E2BIG,
				 "the command is too long for the kernel (128 KiB an argument): put it into "
				 "a file or on stdin");
	return error_set(error, -failure->error, "%s: %s: %s", launch->argv.items[0], step,
			 strerror(failure->error));
}

int spawn(struct launch *launch, const struct job_spec *spec, pid_t *ret_pid, int *ret_pidfd,
	  struct error *error)
{
	struct failure failure;
	CLEANUP(fd) int ours = -1;
	CLEANUP(fd) int theirs = -1;
	CLEANUP(fd) int pidfd = -1;
	int ends[2], rc;
	pid_t parent = getpid(), pid;
	ssize_t len;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(error, -errno, "pipe: %s", strerror(errno));
	ours = ends[0];
	theirs = ends[1];
	rc = terminate(&launch->argv);
	if (rc == 0)
		rc = terminate(&launch->env);
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	pid = fork();
	if (pid < 0)
		return error_set(error, -errno, "fork: %s", strerror(errno));
	if (pid == 0)
		child(launch, spec, theirs, parent);
	(void)close(take_fd(theirs));
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	rc = pidfd < 0 ? -errno : 0;
	do
		len = read(ours, &failure, sizeof(failure));
	while (len < 0 && errno == EINTR);
	if (rc == 0 && len == 0) {
		*ret_pid = pid;
		*ret_pidfd = take_fd(pidfd);
		return 0;
	}
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (rc < 0)
		return error_set(error, rc, "pidfd: %s", strerror(-rc));
	return len == (ssize_t)sizeof(failure) ? failed(&failure, launch, error)
					       : error_set(error, -EIO, "the child could not be started");
}
