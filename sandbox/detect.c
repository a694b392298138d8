// SPDX-License-Identifier: Apache-2.0
//
// Which jail this machine can have. Nothing is believed that was not tried: a real jail,
// made by the code that makes all others, runs a shell that does nothing.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/job.h"
#include "sandbox/path.h"
#include "sandbox/sandbox.h"
#include "sandbox/seccomp_filter.h"
#include "sanitize/cleanup.h"

#define PROBE_MS   5000 // for all of the probing
#define OUTPUT_MAX 16384

#define HINT_INSTALL "apt install bubblewrap (dnf install bubblewrap, pacman -S bubblewrap)"

const char *sandbox_tier_name(enum sandbox_tier tier)
{
	switch (tier) {
	case TIER_NONE:
		return "none";
	case TIER_LANDLOCK_SECCOMP:
		return "landlock+seccomp";
	case TIER_BWRAP:
		return "bwrap";
	case TIER_BWRAP_SECCOMP:
		return "bwrap+seccomp";
	}
	return "none";
}

void sandbox_support_release(struct sandbox_support *support)
{
	free(support->program);
	free(support->reason);
	free(support->hint);
	buf_release(&support->filter);
	*support = (struct sandbox_support){ 0 };
}

// Options that the jail is built with; a bwrap without one of them is older than 0.8.
static const char *const needed_options[] = {
	"--args", "--json-status-fd", "--disable-userns", "--clearenv", "--size", "--perms", "--remount-ro",
};

// What bwrap says when it can't build a jail, the more telling first.
static const struct {
	const char *message;
	const char *reason;
	const char *hint;
} causes[] = {
	{ "setting up uid map: Permission denied", "AppArmor does not let bubblewrap make a user namespace",
	  "give bwrap an AppArmor profile that allows it: apt install apparmor-profiles, or "
	  "/etc/apparmor.d/bwrap with "
	  "`profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }`" },
	{ "loopback: Failed RTM_NEWADDR",
	  "the network namespace can't be set up: AppArmor or a container forbids it",
	  "give bwrap an AppArmor profile with `userns,`; in a container allow user namespaces" },
	{ "No space left on device", "user namespaces are used up or turned off",
	  "sysctl user.max_user_namespaces=10000" },
	{ "Can't mount proc", "the container masks /proc, so that no new one can be mounted",
	  "docker run --security-opt systempaths=unconfined, podman run --security-opt unmask=ALL" },
	{ "Failed to make / slave", "the container forbids mounts",
	  "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined" },
	{ "No permissions to create", "user namespaces are turned off here",
	  "sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000; in a container: docker "
	  "run --security-opt seccomp=unconfined; in a chroot there are none" },
	{ "Operation not permitted", "the kernel or a container forbids user namespaces",
	  "sysctl user.max_user_namespaces=10000; in a container: docker run --security-opt "
	  "seccomp=unconfined" },
	{ "Unknown option", "this bubblewrap is too old: 0.8 is needed", "install bubblewrap 0.8 or newer" },
	{ "prctl(PR_SET_SECCOMP)", "the kernel does not take seccomp filters",
	  "use a kernel with CONFIG_SECCOMP_FILTER" },
};

static const char *const program_folders[] = { "/usr/bin", "/bin", "/usr/local/bin" };

static int64_t now_ms(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// A program of the system: nobody but root can have put it there.
static bool is_trusted(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(path, X_OK) == 0;
}

static int find_program(char **ret)
{
	const char *other = secure_getenv("SKILLFS_BWRAP");
	char path[64];

	*ret = NULL;
	if (other != NULL) {
		if (!path_is_plain(other) || access(other, X_OK) < 0)
			return 0;
		*ret = strdup(other);
		return *ret == NULL ? -ENOMEM : 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(program_folders); i++) {
		(void)snprintf(path, sizeof(path), "%s/bwrap", program_folders[i]);
		if (!is_trusted(path))
			continue;
		*ret = strdup(path);
		return *ret == NULL ? -ENOMEM : 0;
	}
	return 0;
}

// Runs one command, its output into `ret_output`. 0 when it ended by itself with exit code 0; -ETIME, -EPROTO, ...
static int run(const struct sandbox_support *support, enum sandbox_mode mode, const struct strv *argv,
	       int64_t deadline, struct buf *ret_output, struct error *error)
{
	const struct exec_sandbox sandbox = { .enabled = mode, .tmp_size_max = 1 << 20 };
	const char *home = getenv("HOME");
	struct job_result result = { .end = JOB_SETUP_FAILED };
	struct job_spec spec;
	struct pollfd wait;
	struct job job;
	CLEANUP(fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	CLEANUP(fd) int output = memfd_create("skillfs-probe", MFD_CLOEXEC);
	ssize_t len;
	int rc, ready;

	if (null < 0 || output < 0)
		return error_set(error, -errno, "%s", strerror(errno));
	spec = (struct job_spec){ .sandbox = &sandbox,
				  .argv = *argv,
				  .cwd = "/",
				  .home = home,
				  .uid = geteuid(),
				  .gid = getegid(),
				  .stdin_fd = null,
				  .stdout_fd = output,
				  .stderr_fd = output };
	rc = job_spawn(support, &spec, &job, error);
	if (rc < 0)
		return rc;
	wait = (struct pollfd){ .fd = job.pidfd, .events = POLLIN };
	do {
		int64_t left = deadline - now_ms();

		ready = poll(&wait, 1, left < 0 ? 0 : (int)left);
	} while (ready < 0 && errno == EINTR);
	rc = ready > 0 ? job_collect(&job, &result) : job_kill(&job, &result);
	if (ready == 0)
		return error_set(error, -ETIME, "no answer within %d s", PROBE_MS / 1000);
	if (rc < 0)
		return error_set(error, rc, "%s", strerror(-rc));
	rc = buf_reserve(ret_output, OUTPUT_MAX);
	if (rc < 0)
		return rc;
	len = pread(output, ret_output->data, OUTPUT_MAX, 0);
	if (len > 0) {
		ret_output->len = (size_t)len;
		ret_output->data[len] = '\0';
	}
	return result.end == JOB_EXITED && result.exit_code == 0 ? 0 : -EPROTO;
}

static int say(struct sandbox_support *support, const char *reason, const char *detail, const char *hint)
{
	CLEANUP(buf) struct buf text = BUF_INIT;
	int rc = buf_append_string(&text, reason);

	if (rc == 0 && detail != NULL && detail[0] != '\0')
		rc = buf_printf(&text, " (%.*s)", (int)strcspn(detail, "\n"), detail);
	if (rc < 0)
		return rc;
	free(support->reason);
	free(support->hint);
	support->reason = buf_detach(&text);
	support->hint = hint == NULL ? NULL : strdup(hint);
	return support->reason == NULL || (support->hint == NULL && hint != NULL) ? -ENOMEM : 0;
}

static int say_cause(struct sandbox_support *support, const char *output, const struct error *error)
{
	const char *detail = output[0] != '\0' ? output : error->message;

	for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
		if (strstr(output, causes[i].message) != NULL)
			return say(support, causes[i].reason, detail, causes[i].hint);
	return say(support, "bubblewrap can't build a jail here", detail,
		   access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0
			   ? "in a container: allow user namespaces and mounts (docker run --security-opt "
			     "seccomp=unconfined)"
			   : NULL);
}

// What its --help names. 0, -EPROTO with a reason in `support`, -ENOMEM.
static int read_features(struct sandbox_support *support, int64_t deadline)
{
	char *items[] = { support->program, (char *)"--help" };
	const struct strv argv = { items, ARRAY_SIZE(items), 0 };
	CLEANUP(buf) struct buf output = BUF_INIT;
	struct error error = { 0 };
	int rc = run(support, SANDBOX_NEVER, &argv, deadline, &output, &error);

	if (rc == -ENOMEM)
		return rc;
	if (rc < 0) {
		rc = say_cause(support, output.data == NULL ? "" : output.data, &error);
		return rc < 0 ? rc : -EPROTO;
	}
	for (size_t i = 0; i < ARRAY_SIZE(needed_options); i++) {
		if (output.data != NULL && strstr(output.data, needed_options[i]) != NULL)
			continue;
		rc = say(support, "this bubblewrap is too old: 0.8 is needed", needed_options[i],
			 "install bubblewrap 0.8 or newer");
		return rc < 0 ? rc : -EPROTO;
	}
	support->bind_fd = strstr(output.data, "--ro-bind-fd") != NULL;
	return 0;
}

static int try_tier(struct sandbox_support *support, enum sandbox_tier tier, int64_t deadline)
{
	char *items[] = { (char *)"/bin/sh", (char *)"-c", (char *)":" };
	const struct strv argv = { items, ARRAY_SIZE(items), 0 };
	CLEANUP(buf) struct buf output = BUF_INIT;
	struct error error = { 0 };
	int rc;

	support->tier = tier;
	rc = run(support, SANDBOX_REQUIRED, &argv, deadline, &output, &error);
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	support->tier = TIER_NONE;
	rc = say_cause(support, output.data == NULL ? "" : output.data, &error);
	return rc < 0 ? rc : -EPROTO;
}

static int detect(struct sandbox_support *support)
{
	const int64_t deadline = now_ms() + PROBE_MS;
	struct error error = { 0 };
	int rc = find_program(&support->program);

	if (rc < 0)
		return rc;
	if (support->program == NULL)
		return say(support, "bubblewrap is not installed", NULL, HINT_INSTALL);
	rc = read_features(support, deadline);
	if (rc < 0)
		return rc == -EPROTO ? 0 : rc;
	rc = seccomp_filter_build(&support->filter, &error);
	if (rc == -ENOMEM)
		return rc;
	if (rc == 0) {
		rc = try_tier(support, TIER_BWRAP_SECCOMP, deadline);
		if (rc != -EPROTO)
			return rc;
	}
	buf_release(&support->filter);
	rc = try_tier(support, TIER_BWRAP, deadline);
	if (rc == 0)
		return say(support, "the seccomp filter can't be used", error.message, NULL);
	return rc == -EPROTO ? 0 : rc;
}

int sandbox_detect(struct sandbox_support *ret)
{
	struct sandbox_support support = { .tier = TIER_NONE };
	int rc = detect(&support);

	if (rc < 0) {
		sandbox_support_release(&support);
		return rc;
	}
	*ret = support;
	return 0;
}
