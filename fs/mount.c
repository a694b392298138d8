// SPDX-License-Identifier: Apache-2.0
//
// From options to a daemon that is ready to run: configuration; dead mounts away; source
// descriptor; runtime directory; fork to the background. fs/daemon.c is its life from there.
#include "fs/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/audit.h"
#include "fs/commands/command.h"
#include "fs/launcher.h"
#include "fs/mount_options.h"
#include "fs/runtime.h"
#include "policy/rule_cost.h"
#include "sanitize/cleanup.h"

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
	CLEANUP(free) char *copy = NULL;
	CLEANUP(free) char *existing = NULL;
	size_t total, len;
	int rc;

	// "./", so that something of it always exists.
	if (asprintf(&copy, "%s%s", path[0] == '/' ? "" : "./", path) < 0)
		return -ENOMEM;
	total = strlen(copy);
	while (total > 1 && copy[total - 1] == '/')
		copy[--total] = '\0';
	len = total;
	while ((rc = mount_canonical(len == 0 ? "/" : copy, &existing, NULL)) == -ENOENT && len > 0) {
		while (len > 0 && copy[--len] != '/')
			;
		copy[len] = '\0';
	}
	if (rc < 0)
		return error_set(error, rc, "%s: %s", path, strerror(-rc));
	if (len == total) {
		*ret = take(existing);
		return 0;
	}
	for (size_t i = len + 1; i < total; i++)
		if (copy[i] == '\0')
			copy[i] = '/';
	if (asprintf(ret, "%s/%s", strcmp(existing, "/") == 0 ? "" : existing, copy + len + 1) < 0)
		return -ENOMEM;
	return 0;
}

// Where a directory of ours lies, with no link on the way. It must not lie in the skills: the source is never written, and the
// mount would cover it. Looked at before anything is made.
static int outside_skills(const struct daemon_options *options, const char *what, const char *path,
			  char **ret, struct error *error)
{
	CLEANUP(free) char *canonical = NULL;
	int rc = future_canonical(path, &canonical, error);

	if (rc < 0)
		return rc;
	if (lies_in(canonical, options->source) || lies_in(canonical, options->mountpoint))
		return error_set(
			error, -EINVAL,
			"%s: the %s directory must not lie in the skills folder; -o %s=DIR names another",
			canonical, what, what);
	*ret = take(canonical);
	return 0;
}

static int use_control_directory(struct daemon_options *options, const char *named, const char *id,
				 struct error *error)
{
	CLEANUP(free) char *usual = NULL;
	int rc = named == NULL ? runtime_control_path(id, &usual) : 0;

	if (rc == 0)
		rc = outside_skills(options, "control", named == NULL ? usual : named, &options->control_dir,
				    error);
	if (rc == 0)
		rc = heal(options->control_dir, error);
	if (rc == 0)
		rc = named == NULL ? runtime_make_tree(options->control_dir, error)
				   : runtime_make(options->control_dir, error);
	options->control_dir_made = rc == 0 && named == NULL;
	return rc;
}

static int use_state_directory(struct daemon *daemon, const char *named, const char *id, struct error *error)
{
	struct daemon_options *options = &daemon->options;
	CLEANUP(free) char *usual = NULL;
	CLEANUP(free) char *warning = NULL;
	struct error reason = { "" };
	int rc;

	if (named != NULL) {
		rc = outside_skills(options, "state", named, &options->state_dir, error);
		return rc < 0 ? rc : runtime_make(options->state_dir, error);
	}
	rc = runtime_state_path(id, &usual, &reason);
	if (rc == 0)
		rc = outside_skills(options, "state", usual, &options->state_dir, &reason);
	if (rc == 0)
		rc = runtime_make_tree(options->state_dir, &reason);
	if (rc == 0)
		return 0;
	// Nobody asked for this place: without it the mount is still worth having.
	free(take(options->state_dir));
	if (asprintf(&warning, "the audit log is kept in memory only: %s", error_text(&reason, rc)) < 0)
		return -ENOMEM;
	return strv_add(&daemon->warnings, warning);
}

static int use_directories(struct daemon *daemon, const struct mount_arguments *arguments,
			   struct error *error)
{
	CLEANUP(free) char *id = NULL;
	int rc;

	rc = runtime_id(daemon->options.mountpoint, &id);
	if (rc == 0 && (arguments->control == NULL || strcmp(arguments->control, "none") != 0))
		rc = use_control_directory(&daemon->options, arguments->control, id, error);
	return rc < 0 ? rc : use_state_directory(daemon, arguments->state, id, error);
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
	if (rc < 0)
		return error_prefix(error, rc, "the skills folder");
	if (rc == 0)
		rc = mount_canonical(arguments->paths[arguments->paths[1] == NULL ? 0 : 1],
				     &options->mountpoint, error);
	// It takes longest: where a dead mount is healed, the folder lies open from then on until the new one is there.
	if (rc == 0)
		rc = sandbox_detect(&daemon->sandbox);
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
		rc = strv_copy(&daemon->warnings, &daemon->config->warnings);
	if (rc == 0)
		rc = source_allow(daemon->source, &daemon->config->mount.follow_symlinks, &daemon->warnings);
	if (rc == 0)
		rc = rule_cost_warn(daemon->scanner, &daemon->warnings);
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

// In the child: 0 or an exit code. The parent reads one NUL byte when the mount answers, else the reason.
static int background(struct daemon *daemon, int told)
{
	struct error error = { "" };
	int rc;

	(void)setsid();
	(void)!chdir("/");
	// libfuse and fusermount3 speak on standard error while mounting: it is kept until the mount answers.
	rc = daemon_run(daemon, told, &error);
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
		rc = daemon_run(daemon, told[1], error);
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
		daemon_announce(daemon);
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
			     later ? "approvals are not supported by this version yet"
				   : "an unknown option, or one folder too many") < 0)
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
