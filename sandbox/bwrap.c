// SPDX-License-Identifier: Apache-2.0
//
// bubblewrap. Its options go through --args, since any process can read another's
// command line; its own environment is empty, since process 1 of the jail is bwrap and
// the command can read its /proc/1/environ.
#include "sandbox/bwrap.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/binds.h"
#include "sandbox/environment.h"
#include "sandbox/path.h"
#include "sandbox/provider.h"
#include "sanitize/buf.h"
#include "sanitize/cleanup.h"

#define ARGUMENTS_MAX 8900 // bwrap stops at 9000
#define SWEEP_MS      500
#define PROGRAM_MAX   (16 << 20)

// Every jail has these. With --disable-userns, --unshare-all is not enough: bwrap wants --unshare-user said.
static const char *const fixed_options[] = {
	"--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent", "--new-session",
	"--cap-drop",     "ALL",           "--clearenv",
};

// Runs "$@" under a limit of $1 processes, which counts from one in the jail's own user namespace: set outside, it would
// count all that the user runs. bash says -u, dash -p. A command that is missing is exit code 127 here; bwrap itself
// can't tell it from a failure of its own.
// Before that it looks whether the view, $2, is of the type $3, unless that is empty: bwrap binds by name, and when the
// skills were unmounted a moment before, what stands there is the raw folder. In here nobody can change it any more. The
// mount table is read, and no file asked, since a view that hangs must not hold what does not use it.
static const char wrapper[] =
	"ulimit -u \"$1\" 2>/dev/null || ulimit -p \"$1\" 2>/dev/null; v=$2; t=$3; shift 3; "
	"if [ -n \"$t\" ]; then f=; "
	"while read -r a b c d p r; do [ \"$p\" != \"$v\" ] || f=$r; done </proc/self/mountinfo; "
	"case $f in *\" - $t \"*) ;; *) echo 'skillfs: the skills are not mounted any more' >&2; exit 125;; "
	"esac; "
	"fi; unset a b c d f p r t v; exec \"$@\"";

// Options, NUL separated, as --args wants them.
struct options {
	struct buf text;
	size_t count;
	int rc; // the first error; later calls do nothing
};

static void put(struct options *options, const char *text)
{
	if (options->rc == 0)
		options->rc = buf_append(&options->text, text, strlen(text) + 1);
	if (options->rc == 0 && ++options->count > ARGUMENTS_MAX)
		options->rc = -E2BIG;
}

static void put_pair(struct options *options, const char *first, const char *second)
{
	put(options, first);
	put(options, second);
}

static void put_number(struct options *options, const char *option, const char *format, uint64_t number)
{
	char text[32];

	put(options, option);
	(void)snprintf(text, sizeof(text), strcmp(format, "octal") == 0 ? "%04jo" : "%ju", (uintmax_t)number);
	put(options, text);
}

// An unnamed file with `data`, read from the start.
static int data_fd(const char *name, const struct buf *data)
{
	CLEANUP(fd) int fd = memfd_create(name, MFD_CLOEXEC);
	size_t done = 0;

	if (fd < 0)
		return -errno;
	while (done < data->len) {
		ssize_t len = write(fd, data->data + done, data->len - done);

		if (len < 0)
			return -errno;
		done += (size_t)len;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return take_fd(fd);
}

static void put_mount(struct options *options, struct bind *bind, struct launch *launch, bool by_fd)
{
	const bool writable = bind->kind == BIND_READ_WRITE;

	// bwrap compares what it mounted with the descriptor: nothing can be put in the place between our look and its.
	if (by_fd && bind->fd >= 0) {
		int number = launch_add_fd(launch, take_fd(bind->fd));

		if (number < 0) {
			options->rc = options->rc < 0 ? options->rc : number;
			return;
		}
		put_number(options, writable ? "--bind-fd" : "--ro-bind-fd", "decimal", (uint64_t)number);
	} else {
		put_pair(options, writable ? "--bind" : "--ro-bind", bind->source);
	}
	put(options, bind->path);
}

static void put_bind(struct options *options, struct bind *bind, struct launch *launch, bool by_fd)
{
	switch (bind->kind) {
	case BIND_READ_ONLY:
	case BIND_READ_WRITE:
		put_mount(options, bind, launch, by_fd);
		break;
	case BIND_SYMLINK:
		put_pair(options, "--symlink", bind->source);
		put(options, bind->path);
		break;
	case BIND_TMPFS:
		put_number(options, "--perms", "octal", bind->mode);
		if (bind->size > 0)
			put_number(options, "--size", "decimal", bind->size);
		put_pair(options, "--tmpfs", bind->path);
		break;
	case BIND_PROC:
		put_pair(options, "--proc", bind->path);
		break;
	case BIND_DEV:
		put_pair(options, "--dev", bind->path);
		break;
	case BIND_SEAL:
		put_pair(options, "--remount-ro", bind->path);
		break;
	}
}

static void put_environment(struct options *options, const struct strv *env)
{
	for (size_t i = 0; i < env->count; i++) {
		const char *equals = strchr(env->items[i], '=');
		CLEANUP(free) char *name = strndup(env->items[i], (size_t)(equals - env->items[i]));

		if (name == NULL) {
			options->rc = -ENOMEM;
			return;
		}
		put_pair(options, "--setenv", name);
		put(options, equals + 1);
	}
}

// A program of the system that can only be there: no wrapper is needed to say that it is not.
static bool command_exists(const char *name, const char *path)
{
	if (name[0] == '/')
		return path_is_plain(name) &&
		       (path_is_within(name, "/usr") || path_is_within(name, "/bin")) &&
		       access(name, X_OK) == 0;
	if (strchr(name, '/') != NULL)
		return false;
	for (const char *at = path; at != NULL && *at != '\0';) {
		size_t len = strcspn(at, ":");
		char file[512];
		int need = snprintf(file, sizeof(file), "%.*s/%s", (int)len, at, name);

		if (need > 0 && (size_t)need < sizeof(file) && command_exists(file, NULL))
			return true;
		at += at[len] == ':' ? len + 1 : len;
	}
	return false;
}

// A path as /proc/self/mountinfo writes it.
static int mount_table_name(const char *path, struct buf *ret)
{
	int rc = 0;

	for (; rc == 0 && *path != '\0'; path++)
		rc = strchr(" \t\n\\", *path) == NULL ? buf_append_byte(ret, (unsigned char)*path)
						      : buf_printf(ret, "\\%03o", (unsigned)*path);
	return rc;
}

static int put_command(struct launch *launch, const struct job_spec *spec, const struct strv *env)
{
	// The kernel does not hold the number of processes for root.
	const bool counted = spec->sandbox->pids_max > 0 && spec->uid != 0;
	const bool checked = spec->view != NULL && spec->view_type != NULL;
	CLEANUP(buf) struct buf view = BUF_INIT;
	char pids[16];
	int rc = strv_add(&launch->argv, "--");

	if (rc == 0 && checked)
		rc = mount_table_name(spec->view, &view);

	if (counted)
		(void)snprintf(pids, sizeof(pids), "%u", spec->sandbox->pids_max);
	else
		(void)snprintf(pids, sizeof(pids), "unlimited");
	if (counted || checked || !command_exists(spec->argv.items[0], environment_get(env, "PATH"))) {
		const char *const prefix[] = { "/bin/sh",
					       "-c",
					       wrapper,
					       "sh",
					       pids,
					       checked ? view.data : "",
					       checked ? spec->view_type : "" };

		for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(prefix); i++)
			rc = strv_add(&launch->argv, prefix[i]);
	}
	return rc < 0 ? rc : strv_copy(&launch->argv, &spec->argv);
}

static int put_options(struct options *options, const struct sandbox_support *support,
		       const struct job_spec *spec, const struct strv *env, struct binds *binds,
		       struct launch *launch)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixed_options); i++)
		put(options, fixed_options[i]);
	if (spec->sandbox->network == NETWORK_OPEN)
		put(options, "--share-net");
	put_environment(options, env);
	for (size_t i = 0; i < binds->count; i++)
		put_bind(options, &binds->items[i], launch, support->bind_fd);
	put_pair(options, "--chdir", spec->cwd);
	return options->rc;
}

// The descriptors that bwrap reads and writes, before those of the binds.
static int add_channels(struct options *options, const struct sandbox_support *support, struct launch *launch)
{
	int ends[2], fd, number;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	launch->status_fd = ends[0];
	number = launch_add_fd(launch, ends[1]);
	if (number < 0)
		return number;
	put_number(options, "--json-status-fd", "decimal", (uint64_t)number);
	if (support->tier != TIER_BWRAP_SECCOMP)
		return options->rc;
	if (support->filter.len == 0)
		return -ENODATA; // never a jail without the filter that it is said to have
	fd = data_fd("skillfs-seccomp", &support->filter);
	number = fd < 0 ? fd : launch_add_fd(launch, fd);
	if (number < 0)
		return number;
	put_number(options, "--seccomp", "decimal", (uint64_t)number);
	return options->rc;
}

static int finish(struct options *options, const struct job_spec *spec, const struct strv *env,
		  struct launch *launch)
{
	char number_text[16];
	int fd = data_fd("skillfs-args", &options->text);
	int number = fd < 0 ? fd : launch_add_fd(launch, fd);
	int rc;

	if (number < 0)
		return number;
	(void)snprintf(number_text, sizeof(number_text), "%d", number);
	rc = strv_add(&launch->argv, "bwrap");
	if (rc == 0)
		rc = strv_add(&launch->argv, "--args");
	if (rc == 0)
		rc = strv_add(&launch->argv, number_text);
	return rc < 0 ? rc : put_command(launch, spec, env);
}

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

// A sealed copy of the program, as a descriptor to execute.
static int copy_program(int from)
{
	CLEANUP(fd) int copy = memfd_create("bwrap", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	char path[32];
	ssize_t len;
	off_t size = 0;
	int fd;

	if (copy < 0 && errno == EINVAL) // before Linux 6.3
		copy = memfd_create("bwrap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (copy < 0)
		return -errno;
	while ((len = sendfile(copy, from, NULL, PROGRAM_MAX)) > 0) {
		size += len;
		if (size > PROGRAM_MAX)
			return -EFBIG;
	}
	if (len < 0 ||
	    fcntl(copy, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0 ||
	    fchmod(copy, 0555) < 0)
		return -errno;
	// What is open for writing can't be executed.
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

// Process 1 of the jail is bwrap, and its /proc/1/exe leads to the file outside, on a mount that is writable. Whoever owns
// that file could change it from inside, or make it set-user-ID: the jail of root, or of a user with a bwrap of their own,
// gets a copy. Nobody else does, since a profile of AppArmor goes by the path.
static int choose_program(const char *program, uid_t uid, int *ret_fd)
{
	CLEANUP(fd) int fd = open(program, O_RDONLY | O_CLOEXEC);
	char magic[4];
	struct stat st;
	int copy;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	// A script stands in for bwrap in the tests, and is not process 1.
	if (st.st_uid != uid || pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, "\177ELF", sizeof(magic)) != 0)
		return 0;
	copy = copy_program(fd);
	if (copy < 0)
		return copy;
	*ret_fd = copy;
	return 0;
}

static int plan(const struct sandbox_support *support, const struct job_spec *spec, struct launch *ret,
		struct error *error)
{
	CLEANUP(free) char *home = NULL;
	CLEANUP(strv) struct strv env = { 0 };
	CLEANUP(binds) struct binds binds = { 0 };
	struct options options = { 0 };
	int rc = binds_home(spec, &home);

	if (rc < 0)
		return error_set(error, rc, "out of memory");
	rc = environment_build(spec, home, true, &env, error);
	if (rc < 0)
		return rc;
	rc = binds_build(spec, home, &binds, error);
	if (rc < 0)
		return rc;
	rc = add_channels(&options, support, ret);
	if (rc == 0)
		rc = put_options(&options, support, spec, &env, &binds, ret);
	if (rc == 0)
		rc = finish(&options, spec, &env, ret);
	buf_release(&options.text);
	if (rc < 0)
		return error_set(error, rc, "jail: %s", strerror(-rc));
	rc = choose_program(support->program, spec->uid, &ret->program_fd);
	if (rc < 0)
		return error_set(error, rc, "%s: %s", support->program, strerror(-rc));
	ret->program = support->program;
	ret->tier = support->tier;
	return 0;
}

// `"name": 123` anywhere in the text; bwrap writes flat objects with numbers only.
static bool number_after(const char *text, const char *name, uint64_t *ret)
{
	const char *at = strstr(text, name);
	uint64_t number = 0;
	int digits = 0;

	if (at == NULL)
		return false;
	at += strlen(name);
	at += strspn(at, " ");
	if (*at++ != ':')
		return false;
	at += strspn(at, " ");
	for (; isdigit((unsigned char)*at) && digits < 18; at++, digits++)
		number = number * 10 + (uint64_t)(*at - '0');
	if (digits == 0 || isdigit((unsigned char)*at))
		return false;
	*ret = number;
	return true;
}

void bwrap_status_parse(const char *text, size_t len, struct bwrap_status *ret)
{
	char copy[BWRAP_STATUS_MAX + 1];
	uint64_t number;

	*ret = (struct bwrap_status){ 0 };
	if (len > BWRAP_STATUS_MAX)
		return;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (strlen(copy) != len)
		return;
	if (number_after(copy, "\"exit-code\"", &number) && number <= 255) {
		ret->has_exit_code = true;
		ret->exit_code = (int)number;
	}
	if (number_after(copy, "\"child-pid\"", &number) && number > 1 && number <= INT32_MAX)
		ret->child = (pid_t)number;
	if (number_after(copy, "\"pid-namespace\"", &number))
		ret->pid_ns = number;
}

// What bwrap has said so far. Said once, it is gone from the pipe: the caller asks once.
static void read_status(int fd, struct bwrap_status *ret)
{
	char text[BWRAP_STATUS_MAX];
	size_t len = 0;

	while (len < sizeof(text)) {
		ssize_t got = read(fd, text + len, sizeof(text) - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	bwrap_status_parse(text, len, ret);
}

// Process 1 of the jail takes all others with it, and is gone only when they are. The outer process has told it to die;
// this sees to it that it has, so that nothing writes into a workspace that is given to the next job.
static void sweep(const struct bwrap_status *status)
{
	CLEANUP(fd) int pidfd = -1;
	char path[64];
	struct pollfd wait;
	struct stat st;

	if (status->child == 0 || status->pid_ns == 0)
		return;
	pidfd = (int)syscall(SYS_pidfd_open, status->child, 0);
	if (pidfd < 0)
		return;
	// The number may be another process's by now: the namespace is this job's alone.
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", status->child);
	if (stat(path, &st) == 0) {
		if (st.st_ino != status->pid_ns)
			return;
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	}
	wait = (struct pollfd){ .fd = pidfd, .events = POLLIN };
	(void)poll(&wait, 1, SWEEP_MS);
	// Ours to reap when we are a subreaper, else this does nothing.
	(void)waitid(P_PIDFD, (id_t)pidfd, &(siginfo_t){ 0 }, WEXITED | WNOHANG);
}

static void end(const struct job *job, const siginfo_t *how, struct job_result *ret)
{
	struct bwrap_status status;

	// A bwrap that was ended while it built the jail leaves a child that waits for it for ever. Until it says its child's
	// number, that child is in its group; the number of the group is good while bwrap is not reaped.
	(void)kill(-job->pid, SIGKILL);
	read_status(job->status_fd, &status);
	sweep(&status);
	if (how->si_code != CLD_EXITED)
		*ret = (struct job_result){ .end = JOB_SIGNALED, .signal = how->si_status };
	else if (status.has_exit_code)
		*ret = (struct job_result){ .end = JOB_EXITED, .exit_code = status.exit_code };
	else
		*ret = (struct job_result){ .end = JOB_SETUP_FAILED };
}

const struct provider provider_bwrap = {
	.name = "bwrap",
	.plan = plan,
	.end = end,
};
