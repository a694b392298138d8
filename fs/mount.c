// SPDX-License-Identifier: Apache-2.0
//
// Order of things: options and configuration; dead mounts away; source descriptor;
// runtime directory; fork to the background; fork the launcher; both sessions made and
// mounted; threads; then the parent is told. The way down is the reverse.
#include "fs/mount.h"

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

#include <jansson.h>

#include "fs/audit.h"
#include "fs/commands/command.h"
#include "fs/content.h"
#include "fs/control.h"
#include "fs/launcher.h"
#include "fs/loop.h"
#include "fs/mount_options.h"
#include "fs/runtime.h"
#include "sanitize/cleanup.h"

#define DRAIN_MS 5000

static void daemon_release(struct daemon *daemon)
{
	if (daemon->start_lock >= 0)
		(void)close(daemon->start_lock);
	launcher_stop(daemon->launcher);
	if (daemon->options.control_dir_made)
		runtime_remove(daemon->options.control_dir);
	audit_close(daemon->audit);
	ledger_free(daemon->ledger);
	scanner_free(daemon->scanner);
	source_close(daemon->source);
	sandbox_support_release(&daemon->sandbox);
	strv_release(&daemon->warnings);
	config_free(daemon->config);
	free(daemon->options.source);
	free(daemon->options.mountpoint);
	free(daemon->options.agent);
	free(daemon->options.config_path);
	free(daemon->options.state_dir);
	free(daemon->options.control_dir);
}

static bool lies_in(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strcmp(folder, "/") == 0 ||
	       (strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

// The daemon itself, its launcher and its jails live on these.
static const char *const system_folders[] = { "/proc", "/sys", "/dev" };

static int check_mountpoint(const char *path, struct error *error)
{
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(system_folders); i++)
		if (lies_in(path, system_folders[i]) || lies_in(system_folders[i], path))
			return error_set(error, -EINVAL, "%s: nothing is mounted over a system folder", path);
	if (stat(path, &st) < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return error_set(error, -ENOTDIR, "%s: not a folder", path);
	return 0;
}

static int heal(const char *path, struct error *error)
{
	size_t healed = 0;
	int rc = mount_heal(path, &healed, error);

	if (rc == 0 && healed > 0)
		fprintf(stderr,
			"skillfs: %s: a dead mount stood here (its daemon had ended without unmounting); "
			"it is taken away\n",
			path);
	return rc;
}

static int use_configuration(struct daemon *daemon, const struct mount_arguments *arguments,
			     struct error *error)
{
	const char *agent = arguments->agent == NULL ? DEFAULT_AGENT : arguments->agent;
	char *end;
	long value;
	int rc;

	rc = command_load_config(arguments->config_path, &daemon->config, error);
	if (rc < 0)
		return rc;
	daemon->agent = config_agent(daemon->config, agent);
	if (daemon->agent == NULL)
		return error_set(error, -EINVAL, "agent=%s: the configuration has no such agent", agent);
	daemon->options.agent = strdup(agent);
	if (daemon->config->path != NULL)
		daemon->options.config_path = strdup(daemon->config->path);
	if (daemon->options.agent == NULL)
		return -ENOMEM;
	if (arguments->entry_timeout_ms != NULL) {
		errno = 0;
		value = strtol(arguments->entry_timeout_ms, &end, 10);
		if (errno != 0 || *end != '\0' || end == arguments->entry_timeout_ms || value < 0 ||
		    value > 3600000)
			return error_set(error, -EINVAL,
					 "entry_timeout_ms=%s: not a number from 0 to 3600000",
					 arguments->entry_timeout_ms);
		daemon->config->mount.entry_timeout_ms = (uint32_t)value;
	}
	return scanner_new(daemon->config->custom_rules, daemon->config->custom_rule_count, &daemon->scanner,
			   error);
}

// Where a path that need not exist lies.
static int future_canonical(const char *path, char **ret, struct error *error)
{
	CLEANUP(free) char *copy = strdup(path);
	CLEANUP(free) char *parent = NULL;
	size_t len = strlen(path);
	char *name, *slash;
	int rc;

	if (copy == NULL)
		return -ENOMEM;
	rc = mount_canonical(path, ret, NULL);
	if (rc != -ENOENT)
		return rc < 0 ? error_set(error, rc, "%s: %s", path, strerror(-rc)) : 0;
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	slash = strrchr(copy, '/');
	name = slash == NULL ? copy : slash + 1;
	if (slash != NULL)
		*slash = '\0';
	parent = realpath(slash == NULL ? "." : slash == copy ? "/" : copy, NULL);
	if (parent == NULL || name[0] == '\0')
		return error_set(error, -ENOENT, "%s: cannot make this directory: %s", path,
				 strerror(ENOENT));
	if (asprintf(ret, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, name) < 0)
		return -ENOMEM;
	return 0;
}

// A directory that the user named; it is made when it is not there, and may be a dead mount. The source is never
// written, and a directory below the mount would be hidden by it.
static int named_directory(const struct daemon_options *options, const char *what, const char *path,
			   char **ret, struct error *error)
{
	CLEANUP(free) char *canonical = NULL;
	int rc = future_canonical(path, &canonical, error);

	if (rc < 0)
		return rc;
	if (lies_in(canonical, options->source) || lies_in(canonical, options->mountpoint))
		return error_set(error, -EINVAL, "%s: the %s directory must not lie in the skills folder",
				 canonical, what);
	if (mkdir(canonical, 0700) < 0 && errno != EEXIST && errno != ENOTCONN)
		return error_set(error, -errno, "%s: cannot make this directory: %s", path, strerror(errno));
	*ret = take(canonical);
	return 0;
}

static int use_directories(struct daemon *daemon, const struct mount_arguments *arguments,
			   struct error *error)
{
	struct daemon_options *options = &daemon->options;
	CLEANUP(free) char *id = NULL;
	struct error state_error = { "" };
	int rc;

	rc = runtime_id(options->mountpoint, &id);
	if (rc < 0)
		return rc;
	if (arguments->control == NULL)
		rc = runtime_control_dir(id, &options->control_dir, error);
	else if (strcmp(arguments->control, "none") != 0)
		rc = named_directory(options, "control", arguments->control, &options->control_dir, error);
	if (rc == 0 && options->control_dir != NULL)
		rc = heal(options->control_dir, error);
	if (rc == 0 && options->control_dir != NULL)
		rc = runtime_make(options->control_dir, error);
	if (rc < 0)
		return rc;
	options->control_dir_made = options->control_dir != NULL && arguments->control == NULL;

	if (arguments->state != NULL) {
		rc = named_directory(options, "state", arguments->state, &options->state_dir, error);
		if (rc == 0)
			rc = runtime_make(options->state_dir, error);
		if (rc < 0)
			return rc;
	} else if (runtime_state_dir(id, &options->state_dir, &state_error) < 0) {
		CLEANUP(free) char *warning = NULL;

		free(take(options->state_dir));
		if (asprintf(&warning, "the audit log is kept in memory only: %s", state_error.message) < 0 ||
		    strv_add(&daemon->warnings, warning) < 0)
			return -ENOMEM;
	}
	// The source is never written, and a directory below the mount would be hidden by it.
	if (options->control_dir != NULL && (lies_in(options->control_dir, options->source) ||
					     lies_in(options->control_dir, options->mountpoint)))
		return error_set(error, -EINVAL,
				 "%s: the control directory must not lie in the skills folder",
				 options->control_dir);
	if (options->state_dir != NULL && (lies_in(options->state_dir, options->source) ||
					   lies_in(options->state_dir, options->mountpoint)))
		return error_set(error, -EINVAL, "%s: the state directory must not lie in the skills folder",
				 options->state_dir);
	return 0;
}

// Two that start at one place at the same time would both find it free, and stack. The lock is on the folder that is
// about to be covered; one that may not be read, or is covered already, is not locked.
static int begin_alone(struct daemon *daemon, struct error *error)
{
	const char *mountpoint = daemon->options.mountpoint;
	CLEANUP(fd) int fd = -1;

	if (mount_present(mountpoint, NULL))
		return 0;
	fd = open(mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return error_set(error, -EBUSY, "%s: skillfs is being mounted there right now", mountpoint);
	daemon->start_lock = take_fd(fd);
	return 0;
}

// For the copies in other processes as well.
static void end_alone(struct daemon *daemon)
{
	if (daemon->start_lock < 0)
		return;
	(void)flock(daemon->start_lock, LOCK_UN);
	(void)close(take_fd(daemon->start_lock));
}

// Everything that can fail for the user's sake, before anything is forked or mounted.
static int prepare(struct daemon *daemon, const struct mount_arguments *arguments, struct error *error)
{
	struct daemon_options *options = &daemon->options;
	int rc;

	options->foreground = arguments->foreground;
	options->allow_other = arguments->allow_other;
	options->audit_open = arguments->audit_open;
	options->noexec = arguments->noexec;
	daemon->owner = geteuid();
	(void)clock_gettime(CLOCK_MONOTONIC, &daemon->started);
	rc = use_configuration(daemon, arguments, error);
	if (rc < 0)
		return rc;
	rc = mount_canonical(arguments->paths[0], &options->source, error);
	if (rc == 0)
		rc = mount_canonical(arguments->paths[arguments->paths[1] == NULL ? 0 : 1],
				     &options->mountpoint, error);
	if (rc == 0)
		rc = begin_alone(daemon, error);
	if (rc == 0)
		rc = heal(options->source, error);
	if (rc == 0)
		rc = heal(options->mountpoint, error);
	if (rc == 0)
		rc = check_mountpoint(options->mountpoint, error);
	if (rc == 0)
		rc = source_open(options->source, &daemon->source, error);
	if (rc == 0)
		rc = use_directories(daemon, arguments, error);
	if (rc == 0)
		rc = audit_open(options->state_dir, &daemon->audit, error);
	if (rc == 0)
		rc = ledger_new(&daemon->ledger);
	if (rc == 0)
		rc = sandbox_detect(&daemon->sandbox);
	if (rc == 0)
		rc = strv_copy(&daemon->warnings, &daemon->config->warnings);
	if (rc == 0 && !scanner_has_jit(daemon->scanner))
		rc = strv_add(&daemon->warnings, "PCRE2 has no JIT here: scanning is slower");
	return rc;
}

static void print_warnings(const struct daemon *daemon)
{
	for (size_t i = 0; i < daemon->warnings.count; i++)
		fprintf(stderr, "skillfs: warning: %s\n", daemon->warnings.items[i]);
	if (daemon->sandbox.tier == TIER_NONE && daemon->options.control_dir != NULL)
		fprintf(stderr, "skillfs: WARNING: %s: %s%s%s\n",
			daemon_may_run_open(daemon) ? "exec runs commands WITHOUT a sandbox"
						    : "exec refuses all commands, there is no sandbox",
			daemon->sandbox.reason == NULL ? "none was found" : daemon->sandbox.reason,
			daemon->sandbox.hint == NULL ? "" : "; ",
			daemon->sandbox.hint == NULL ? "" : daemon->sandbox.hint);
}

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

static json_t *mount_fields(const struct daemon *daemon)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "source", daemon->options.source, "mount",
			 daemon->options.mountpoint, "agent", daemon->options.agent, "ruleset",
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

// The daemon's life: returns when it was told to end or was unmounted. `told` is the pipe to the waiting parent.
static int run(struct daemon *daemon, int told, struct error *error)
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
		if (!daemon->options.foreground)
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

static void print_mounted(const struct daemon *daemon)
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

// In the child: 0 or an exit code. The parent reads one NUL byte when the mount answers, else the reason.
static int background(struct daemon *daemon, int told)
{
	struct error error = { "" };
	int rc;

	(void)setsid();
	(void)!chdir("/");
	// libfuse and fusermount3 speak on standard error while mounting: it is kept until the mount answers.
	rc = run(daemon, told, &error);
	if (rc < 0) {
		const char *text = error_text(&error, rc);

		(void)!write(told, text, strlen(text));
	}
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

static int wait_for_child(int told, struct error *error)
{
	ssize_t got;
	size_t len = 0;

	while ((got = read(told, error->message + len, sizeof(error->message) - 1 - len)) > 0)
		if (error->message[0] == '\0' || (len += (size_t)got) >= sizeof(error->message) - 1)
			break;
	if (got > 0 && error->message[0] == '\0')
		return 0;
	error->message[len] = '\0';
	return -EIO;
}

static int mount_run(struct daemon *daemon, const struct mount_arguments *arguments, struct error *error)
{
	int told[2];
	pid_t pid;
	int rc;

	rc = prepare(daemon, arguments, error);
	if (rc < 0)
		return rc;
	print_warnings(daemon);
	if (pipe2(told, O_CLOEXEC) < 0)
		return -errno;
	if (daemon->options.foreground) {
		print_mounted(daemon);
		rc = run(daemon, told[1], error);
		(void)close(told[0]);
		(void)close(told[1]);
		return rc;
	}
	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		return error_set(error, -errno, "fork: %s", strerror(errno));
	if (pid == 0) {
		(void)close(told[0]);
		rc = background(daemon, told[1]);
		daemon_release(daemon);
		exit(rc);
	}
	(void)close(told[1]);
	rc = wait_for_child(told[0], error);
	(void)close(told[0]);
	daemon->options.control_dir_made = false; // the child's now
	if (rc == 0)
		print_mounted(daemon);
	return rc;
}

int mount_main(int argc, char **argv)
{
	CLEANUP(mount_arguments) struct mount_arguments arguments = { 0 };
	struct daemon daemon = { .start_lock = -1 };
	struct error error = { "" };
	int rc;

	// Nobody may be reading what we say: that is no reason to end half-way.
	(void)signal(SIGPIPE, SIG_IGN);
	if (mount_arguments_parse(argc, argv, &arguments) < 0)
		return command_usage("mount", "an option lacks its value");
	if (arguments.wrong != NULL) {
		CLEANUP(free) char *text = NULL;
		bool later = strncmp(arguments.wrong, "approvals=", 10) == 0;

		if (asprintf(&text, "%s: %s", arguments.wrong,
			     later ? "approvals are not supported by this version yet" : "not understood") <
		    0)
			text = NULL;
		return command_usage("mount", text);
	}
	if (arguments.paths[0] == NULL)
		return command_usage("mount", "no SOURCE given");
	rc = mount_run(&daemon, &arguments, &error);
	if (rc < 0)
		command_error("mount", error_text(&error, rc));
	daemon_release(&daemon);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}
