// SPDX-License-Identifier: Apache-2.0
//
// The launcher process: one thread, one poll loop over the two sockets, the
// jobs' pidfds and their deadlines. It is the only process that starts commands
// and the only one that unmounts. It ends with the daemon, and its jobs with it.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fs/admission.h"
#include "fs/launcher.h"
#include "fs/launcher_protocol.h"
#include "fs/mountinfo.h"
#include "fs/workspace.h"
#include "sanitize/cleanup.h"

#define ORPHAN_CHECK_MS 1000
#define REMOVERS_MAX    32

enum { FD_STDIN, FD_STDOUT, FD_STDERR, FD_COUNT };

struct run {
	bool used;
	bool running; // false: READY, waits for GO
	bool killed;  // asked for by the daemon
	bool timed_out;
	uint32_t id;
	struct admission admission;
	int fds[FD_COUNT];
	char *private_workspace; // NULL: the configured one
	int workspace_lock;
	struct job job;
	int64_t started;  // ms, CLOCK_MONOTONIC, as all times here
	int64_t deadline; // when something must be done about it; 0: never
};

struct process {
	const struct launcher_options *options;
	int calls, jobs;
	bool ending;
	struct run runs[LAUNCHER_JOBS_MAX];
	pid_t removers[REMOVERS_MAX]; // children that empty old workspaces; 0: free
	char *home;
	gid_t gid;
};

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void answer(struct process *process, struct launcher_message *message, enum launcher_op op,
		   uint32_t id)
{
	message->op = (uint32_t)op;
	message->id = id;
	// Without a daemon there is nobody to tell; the loop sees the end of the socket.
	(void)launcher_send(process->jobs, message, NULL, 0);
}

static struct run *find_run(struct process *process, uint32_t id)
{
	for (size_t i = 0; i < LAUNCHER_JOBS_MAX; i++) {
		if (process->runs[i].used && process->runs[i].id == id)
			return &process->runs[i];
	}
	return NULL;
}

// Removing can take long and a stranger decides how long: a child does it. `path` NULL: what others left behind.
static void remove_workspace(struct process *process, const char *path)
{
	pid_t *slot = NULL;

	for (size_t i = 0; i < REMOVERS_MAX && slot == NULL; i++) {
		if (process->removers[i] == 0)
			slot = &process->removers[i];
	}
	if (slot != NULL)
		*slot = fork();
	if (slot != NULL && *slot > 0)
		return;
	if (slot != NULL && *slot == 0) {
		(void)close(process->calls);
		(void)close(process->jobs);
	}
	if (path != NULL)
		(void)workspace_remove(path);
	else
		(void)workspace_sweep(process->options->owner);
	if (slot != NULL && *slot == 0)
		_exit(0);
	if (slot != NULL)
		*slot = 0;
}

static void release_run(struct process *process, struct run *run)
{
	for (size_t i = 0; i < FD_COUNT; i++) {
		if (run->fds[i] >= 0)
			(void)close(run->fds[i]);
	}
	if (run->private_workspace != NULL) {
		remove_workspace(process, run->private_workspace);
		(void)close(run->workspace_lock);
	}
	free(run->private_workspace);
	admission_release(&run->admission);
	*run = (struct run){ 0 };
}

static bool is_ours(const struct process *process, pid_t pid)
{
	for (size_t i = 0; i < LAUNCHER_JOBS_MAX; i++) {
		if (process->runs[i].running && process->runs[i].job.pid == pid)
			return true;
	}
	for (size_t i = 0; i < REMOVERS_MAX; i++) {
		if (process->removers[i] == pid)
			return true;
	}
	return false;
}

// What is left over from jobs without a jail has become our child, as we are the subreaper. With no such job running
// nobody owns it: it goes.
static void kill_orphans(const struct process *process)
{
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *file;

	for (size_t i = 0; i < LAUNCHER_JOBS_MAX; i++) {
		if (process->runs[i].running && process->runs[i].job.tier < TIER_BWRAP)
			return;
	}
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	if (file == NULL)
		return;
	if (getline(&line, &size, file) > 0) {
		for (char *at = line, *end; *at != '\0'; at = end) {
			long pid = strtol(at, &end, 10);

			if (end == at)
				break;
			if (pid > 0 && !is_ours(process, (pid_t)pid))
				(void)kill((pid_t)pid, SIGKILL);
			end += strspn(end, " \n");
		}
	}
	free(line);
	(void)fclose(file);
}

// Reaps everything but the jobs, which job_collect() takes. Returns whether children are left.
static bool reap(struct process *process)
{
	for (;;) {
		siginfo_t info = { 0 };
		bool job = false;

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
			return errno == EINTR;
		if (info.si_pid == 0)
			return true;
		for (size_t i = 0; i < LAUNCHER_JOBS_MAX; i++)
			job = job || (process->runs[i].running && process->runs[i].job.pid == info.si_pid);
		if (job)
			return true;
		(void)waitpid(info.si_pid, NULL, WNOHANG);
		for (size_t i = 0; i < REMOVERS_MAX; i++) {
			if (process->removers[i] == info.si_pid)
				process->removers[i] = 0;
		}
	}
}

static void finish_run(struct process *process, struct run *run, const struct job_result *result)
{
	static const enum job_state states[] = {
		[JOB_EXITED] = JOB_STATE_EXITED,
		[JOB_SIGNALED] = JOB_STATE_SIGNALED,
		[JOB_SETUP_FAILED] = JOB_STATE_SETUP_FAILED,
	};
	struct launcher_message message = { 0 };
	enum job_state state = states[result->end];
	uint32_t id = run->id;

	if (run->timed_out)
		state = JOB_STATE_TIMEOUT;
	if (run->killed)
		state = JOB_STATE_KILLED;
	message.state = (uint32_t)state;
	message.exit_code = result->end == JOB_EXITED ? result->exit_code : -1;
	message.signal = result->end == JOB_SIGNALED ? result->signal : 0;
	message.duration_ms = now_ms() - run->started;
	if (state == JOB_STATE_SETUP_FAILED)
		launcher_set_text(&message, "the sandbox could not be set up", 32);
	release_run(process, run);
	answer(process, &message, LAUNCHER_ENDED, id);
}

static void handle_run(struct process *process, const struct launcher_message *message, int *fds,
		       size_t fd_count)
{
	struct launcher_message reply = { 0 };
	struct error error = { "" };
	struct admission admission = { 0 };
	enum refusal refusal;
	struct run *run = NULL;
	size_t running = 0;

	for (size_t i = 0; i < LAUNCHER_JOBS_MAX; i++) {
		if (process->runs[i].used)
			running++;
		else
			run = &process->runs[i];
	}
	if (fd_count != 1 + FD_COUNT || find_run(process, message->id) != NULL) {
		refusal = REFUSAL_REQUEST;
		(void)error_set(&error, 0, "the request did not arrive whole");
	} else {
		refusal = admit(process->options, message, fds[0], running, &admission, &error);
	}
	if (refusal == REFUSAL_NONE && run == NULL)
		refusal = REFUSAL_BUSY;
	if (refusal != REFUSAL_NONE) {
		admission_release(&admission);
		reply.reason = (uint32_t)refusal;
		launcher_set_text(&reply, error.message, strlen(error.message) + 1);
		answer(process, &reply, LAUNCHER_REFUSED, message->id);
		return;
	}
	*run = (struct run){ .used = true, .id = message->id, .admission = admission };
	for (size_t i = 0; i < FD_COUNT; i++)
		run->fds[i] = take_fd(fds[1 + i]);
	reply.tier = (uint32_t)admission.support.tier;
	reply.network = (uint32_t)admission.sandbox.network;
	for (size_t i = 0; i < admission.warnings.count; i++) {
		size_t len = strlen(admission.warnings.items[i]) + 1;

		if (reply.text_len + len > sizeof(reply.text))
			break;
		memcpy(reply.text + reply.text_len, admission.warnings.items[i], len);
		reply.text_len += (uint32_t)len;
	}
	answer(process, &reply, LAUNCHER_READY, message->id);
}

static int spawn(struct process *process, struct run *run, struct error *error)
{
	const struct exec_request *request = &run->admission.request;
	struct job_spec spec = { .sandbox = &run->admission.sandbox };
	char *shell[] = { (char *)"/bin/bash", (char *)"-c", request->command };
	uid_t uid = process->options->owner;
	int rc;

	spec.workspace = run->admission.agent->workspace;
	if (spec.workspace == NULL) {
		rc = workspace_create(uid, process->gid, &run->private_workspace, &run->workspace_lock,
				      error);
		if (rc < 0)
			return rc;
		spec.workspace = run->private_workspace;
	}
	if (access(shell[0], X_OK) < 0)
		shell[0] = (char *)"/bin/sh";
	spec.argv = request->argv; // borrowed, both
	if (request->command != NULL)
		spec.argv =
			(struct strv){ .items = shell, .count = ARRAY_SIZE(shell), .cap = ARRAY_SIZE(shell) };
	spec.env = request->env;
	spec.view = process->options->mountpoint;
	spec.view_type = CONTENT_TYPE;
	if (spec.view == NULL || strcmp(process->options->source, spec.view) != 0)
		spec.source = process->options->source;
	spec.hide = process->options->control_dir;
	spec.cwd = run->admission.cwd == NULL ? spec.workspace : run->admission.cwd;
	spec.home = process->home;
	spec.uid = uid;
	spec.gid = process->gid;
	spec.stdin_fd = run->fds[FD_STDIN];
	spec.stdout_fd = run->fds[FD_STDOUT];
	spec.stderr_fd = run->fds[FD_STDERR];
	return job_spawn(&run->admission.support, &spec, &run->job, error);
}

static void handle_go(struct process *process, struct run *run)
{
	struct launcher_message reply = { 0 };
	struct error error = { "" };
	uint32_t id = run->id;
	int rc;

	if (run->running)
		return;
	run->started = now_ms();
	rc = spawn(process, run, &error);
	for (size_t i = 0; i < FD_COUNT; i++) {
		(void)close(run->fds[i]);
		run->fds[i] = -1;
	}
	if (rc < 0) {
		reply.state = JOB_STATE_SETUP_FAILED;
		reply.exit_code = -1;
		launcher_set_text(&reply, error_text(&error, rc), strlen(error_text(&error, rc)) + 1);
		release_run(process, run);
		// A spec that is unsafe says something about the configuration, not about the machine.
		if (rc == -EINVAL || rc == -EOPNOTSUPP) {
			reply.reason = REFUSAL_CONFIG;
			answer(process, &reply, LAUNCHER_REFUSED, id);
		} else {
			answer(process, &reply, LAUNCHER_ENDED, id);
		}
		return;
	}
	run->running = true;
	if (run->admission.sandbox.timeout_ms > 0)
		run->deadline = run->started + run->admission.sandbox.timeout_ms;
	reply.pid = run->job.pid;
	answer(process, &reply, LAUNCHER_STARTED, id);
}

static void handle_kill(struct process *process, struct run *run)
{
	struct launcher_message reply = { .state = JOB_STATE_KILLED, .exit_code = -1 };
	uint32_t id = run->id;

	if (run->running) {
		run->killed = true;
		run->deadline = 0;
		(void)job_signal(&run->job, SIGKILL);
		return;
	}
	release_run(process, run);
	answer(process, &reply, LAUNCHER_ENDED, id);
}

static void handle_job_message(struct process *process)
{
	struct launcher_message message;
	struct launcher_message reply = { 0 };
	int fds[LAUNCHER_FDS_MAX] = { -1, -1, -1, -1 };
	size_t fd_count = 0;
	struct run *run;
	int rc = launcher_receive(process->jobs, &message, fds, &fd_count);

	if (rc == 0)
		process->ending = true;
	if (rc <= 0)
		return;
	run = find_run(process, message.id);
	switch (message.op) {
	case LAUNCHER_CHECK:
		reply.outside = message.uid == process->options->owner && admission_outside(message.pid);
		answer(process, &reply, LAUNCHER_CHECKED, message.id);
		break;
	case LAUNCHER_RUN:
		handle_run(process, &message, fds, fd_count);
		break;
	case LAUNCHER_GO:
		if (run != NULL)
			handle_go(process, run);
		break;
	case LAUNCHER_SIGNAL:
		if (run != NULL && run->running && message.value > 0 && message.value < NSIG)
			(void)job_signal(&run->job, (int)message.value);
		break;
	case LAUNCHER_KILL:
		if (run != NULL)
			handle_kill(process, run);
		break;
	default:
		break;
	}
	for (size_t i = 0; i < fd_count; i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
	}
}

static int unmount(const struct process *process, const char *path)
{
	const struct launcher_options *options = process->options;

	if ((options->mountpoint == NULL || strcmp(path, options->mountpoint) != 0) &&
	    (options->control_dir == NULL || strcmp(path, options->control_dir) != 0))
		return -EPERM;
	return mount_detach(path, true, NULL);
}

static void end_all(struct process *process)
{
	for (size_t i = 0; i < LAUNCHER_JOBS_MAX; i++) {
		struct run *run = &process->runs[i];
		struct job_result result;

		if (!run->used)
			continue;
		if (run->running) {
			run->killed = true;
			if (job_kill(&run->job, &result) == 0) {
				run->running = false;
				finish_run(process, run, &result);
				continue;
			}
		}
		release_run(process, run);
	}
	// Each round may set free what hung below the one before.
	for (int rounds = 0; rounds < 100 && reap(process); rounds++) {
		kill_orphans(process);
		(void)poll(NULL, 0, rounds < 10 ? 1 : 20);
	}
}

static void handle_call(struct process *process)
{
	struct launcher_message message;
	int rc = launcher_receive(process->calls, &message, NULL, NULL);

	if (rc == 0)
		process->ending = true;
	if (rc <= 0)
		return;
	rc = -EINVAL;
	if (message.op == LAUNCHER_UNMOUNT && message.text_len > 0 &&
	    message.text[message.text_len - 1] == '\0')
		rc = unmount(process, message.text);
	if (message.op == LAUNCHER_STOP) {
		end_all(process);
		process->ending = true;
		rc = 0;
	}
	message = (struct launcher_message){ .op = LAUNCHER_DONE, .id = message.id, .code = rc };
	(void)launcher_send(process->calls, &message, NULL, 0);
}

static void check_job(struct process *process, struct run *run, bool ended)
{
	struct job_result result;
	int rc;

	if (ended) {
		rc = job_collect(&run->job, &result);
		if (rc == -EAGAIN)
			return;
		if (rc < 0)
			result = (struct job_result){ .end = JOB_SETUP_FAILED };
		run->running = false;
		finish_run(process, run, &result);
		return;
	}
	if (run->deadline == 0 || now_ms() < run->deadline)
		return;
	(void)job_signal(&run->job, run->timed_out ? SIGKILL : SIGTERM);
	run->deadline = run->timed_out ? 0 : now_ms() + LAUNCHER_TERM_GRACE_MS;
	run->timed_out = true;
}

static int next_timeout(const struct process *process, bool children)
{
	int64_t now = now_ms();
	int64_t wait = children ? ORPHAN_CHECK_MS : -1;

	for (size_t i = 0; i < LAUNCHER_JOBS_MAX; i++) {
		const struct run *run = &process->runs[i];
		int64_t left;

		if (!run->running || run->deadline == 0)
			continue;
		left = run->deadline > now ? run->deadline - now : 0;
		if (wait < 0 || left < wait)
			wait = left;
	}
	return (int)wait;
}

static void find_home(struct process *process)
{
	const char *home = getenv("HOME");
	const struct passwd *entry = getpwuid(process->options->owner);

	process->gid = getegid();
	if (geteuid() != process->options->owner && entry != NULL)
		process->gid = entry->pw_gid;
	if (geteuid() != process->options->owner || home == NULL || home[0] != '/')
		home = entry == NULL ? NULL : entry->pw_dir;
	process->home = strdup(home == NULL ? "/" : home);
}

void launcher_process(const struct launcher_options *options, int calls, int jobs)
{
	struct process process = { .options = options, .calls = calls, .jobs = jobs };
	bool children = false;

	find_home(&process);
	if (process.home == NULL)
		return;
	remove_workspace(&process, NULL);
	children = true;
	while (!process.ending) {
		struct pollfd fds[2 + LAUNCHER_JOBS_MAX] = {
			{ .fd = calls, .events = POLLIN },
			{ .fd = jobs, .events = POLLIN },
		};

		for (size_t i = 0; i < LAUNCHER_JOBS_MAX; i++) {
			fds[2 + i].fd = process.runs[i].running ? process.runs[i].job.pidfd : -1;
			fds[2 + i].events = POLLIN;
		}
		if (poll(fds, ARRAY_SIZE(fds), next_timeout(&process, children)) < 0)
			continue;
		for (size_t i = 0; i < LAUNCHER_JOBS_MAX; i++) {
			if (process.runs[i].running)
				check_job(&process, &process.runs[i],
					  fds[2 + i].fd >= 0 && fds[2 + i].revents != 0);
		}
		kill_orphans(&process);
		children = reap(&process);
		if (fds[1].revents != 0)
			handle_job_message(&process);
		if (!process.ending && fds[0].revents != 0)
			handle_call(&process);
	}
	end_all(&process);
	free(process.home);
}
