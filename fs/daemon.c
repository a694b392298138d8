// SPDX-License-Identifier: Apache-2.0
//
// The daemon's life: both sessions made and mounted, threads started, the waiting
// parent told, signals and mounts watched, and all of it taken down again.
#include "fs/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/audit.h"
#include "fs/content.h"
#include "fs/control.h"
#include "fs/launcher.h"
#include "fs/loop.h"
#include "fs/mountinfo.h"
#include "fs/output/json.h"
#include "sanitize/cleanup.h"

#define DRAIN_MS 5000

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

// What the sessions' threads report to the main thread, as eventfds.
struct signals {
	int ready; // one for each session that the kernel has greeted
	int ended; // one for each loop that has ended
};

static void notify(int fd)
{
	uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

static void on_ready(void *context)
{
	notify(((struct signals *)context)->ready);
}

static void on_ended(void *context)
{
	notify(((struct signals *)context)->ended);
}

// Waits until an eventfd semaphore was raised `count` times in all, or `ms` have gone by.
static bool wait_for(int fd, unsigned count, int ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct timespec start, now;
	uint64_t value;

	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	while (count > 0) {
		long passed;

		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		passed = (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000;
		if (passed >= ms || poll(&poll_fd, 1, (int)(ms - passed)) < 0)
			return false;
		if ((poll_fd.revents & POLLIN) && read(fd, &value, sizeof(value)) == sizeof(value))
			count--;
	}
	return true;
}

static int start(struct daemon *daemon, struct signals *signals, struct error *error)
{
	const struct launcher_options launcher = {
		.config = daemon->config,
		.sandbox = &daemon->sandbox,
		.source = daemon->options.source,
		.mountpoint = daemon->options.mountpoint,
		.control_dir = daemon->options.control_dir,
		.owner = daemon->owner,
	};
	unsigned sessions = daemon->options.control_dir == NULL ? 1 : 2;
	int rc;

	rc = launcher_start(&launcher, &daemon->launcher, error);
	if (rc == 0)
		rc = content_new(daemon, &daemon->content, error);
	if (rc == 0 && sessions == 2)
		rc = control_new(daemon, &daemon->control, error);
	if (rc == 0 && sessions == 2)
		rc = control_mount(daemon->control, error);
	if (rc == 0)
		rc = content_mount(daemon->content, error);
	if (rc < 0)
		return rc;

	// From here on nothing in this process may gain rights: what needs them is the launcher's.
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(error, -errno, "no_new_privs: %s", strerror(errno));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they look at their own process
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_set(error, -errno, "PR_SET_DUMPABLE: %s", strerror(errno));
#endif
	rc = content_start(daemon->content, on_ready, on_ended, signals, error);
	if (rc == 0 && sessions == 2)
		rc = control_start(daemon->control, on_ready, on_ended, signals, error);
	if (rc == 0 && !wait_for(signals->ready, sessions, 10000))
		rc = error_set(error, -ETIMEDOUT, "the kernel did not answer within 10 s");
	return rc;
}

// Both mounts away, lazily; readers that are still at it are served for a while.
static void stop(struct daemon *daemon, const struct signals *signals, unsigned already_ended)
{
	unsigned sessions = daemon->control == NULL ? 1 : 2;

	if (daemon->control != NULL) {
		// A job's jail holds a copy of the content mount.
		control_stop_jobs(daemon->control);
		(void)launcher_unmount(daemon->launcher, daemon->options.control_dir);
	}
	if (daemon->content != NULL)
		(void)launcher_unmount(daemon->launcher, daemon->options.mountpoint);
	if (already_ended < sessions)
		(void)wait_for(signals->ended, sessions - already_ended, DRAIN_MS);
	control_free(daemon->control);
	content_free(daemon->content);
	daemon->control = NULL;
	daemon->content = NULL;
}

void daemon_announce(const struct daemon *daemon)
{
	const struct daemon_options *options = &daemon->options;

	if (strcmp(options->source, options->mountpoint) == 0)
		fprintf(stderr, "skillfs: %s now shows its sanitized view\n", options->mountpoint);
	else
		fprintf(stderr, "skillfs: %s now shows the sanitized view of %s\n", options->mountpoint,
			options->source);
	if (options->control_dir != NULL)
		fprintf(stderr, "skillfs: findings, policy and exec: %s/" RESERVED_NAME "\n",
			options->mountpoint);
	fprintf(stderr, "skillfs: to end it: skillfs umount %s\n", options->mountpoint);
}

static json_t *mount_fields(const struct daemon *daemon)
{
	return json_pack("{s:o, s:o, s:s, s:s}", "source", json_text(daemon->options.source), "mount",
			 json_text(daemon->options.mountpoint), "agent", daemon->options.agent, "ruleset",
			 scanner_ruleset(daemon->scanner));
}

static void detach_from_terminal(void)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0)
		return;
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(null_fd, fd);
	(void)close(null_fd);
}

// An unmount ends the session's loop only when nobody holds the mount any more, and a job's jail holds a copy of it.
// So the kernel's list is watched as well.
static bool both_mounted(const struct daemon *daemon)
{
	return mount_present(daemon->options.mountpoint, CONTENT_TYPE) &&
	       (daemon->control == NULL || mount_present(daemon->options.control_dir, CONTROL_TYPE));
}

// Unlocks for the copies in other processes as well.
static void end_alone(struct daemon *daemon)
{
	if (daemon->start_lock < 0)
		return;
	(void)flock(daemon->start_lock, LOCK_UN);
	(void)close(take_fd(daemon->start_lock));
}

// The daemon's life: returns when it was told to end or was unmounted. `told` is the pipe to the waiting parent.
int daemon_run(struct daemon *daemon, int told, struct error *error)
{
	CLEANUP(fd) int signal_fd = -1;
	CLEANUP(fd) int mountinfo_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	struct signals signals = { eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE),
				   eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE) };
	struct pollfd poll_fds[3];
	unsigned ended = 0;
	sigset_t set;
	int rc;

	(void)umask(077);
	loop_signal_install();
	raise_descriptor_limit();
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	rc = signals.ready < 0 || signals.ended < 0 || signal_fd < 0 || mountinfo_fd < 0
		     ? -errno
		     : start(daemon, &signals, error);
	if (rc == 0) {
		audit_event(daemon->audit, "mount.start", mount_fields(daemon));
		if (daemon->options.foreground)
			daemon_announce(daemon);
		else
			detach_from_terminal();
		end_alone(daemon);
		(void)!write(told, "", 1);
		poll_fds[0] = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
		poll_fds[1] = (struct pollfd){ .fd = signals.ended, .events = POLLIN };
		poll_fds[2] = (struct pollfd){ .fd = mountinfo_fd, .events = POLLPRI };
		while (both_mounted(daemon)) {
			struct signalfd_siginfo info;
			uint64_t value;

			if (poll(poll_fds, 3, -1) < 0)
				continue;
			if (poll_fds[1].revents != 0 && read(signals.ended, &value, sizeof(value)) > 0) {
				ended = 1;
				break;
			}
			// A changed configuration takes a new mount in this version; a hang-up must not end us.
			if (poll_fds[0].revents != 0 &&
			    read(signal_fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGHUP)
				break;
		}
	}
	stop(daemon, &signals, ended);
	if (rc == 0)
		audit_event(daemon->audit, "mount.stop", mount_fields(daemon));
	(void)close(signals.ready);
	(void)close(signals.ended);
	return rc;
}
