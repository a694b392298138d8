// SPDX-License-Identifier: Apache-2.0
//
// The daemon's end of the launcher: forking it, the calls that wait for an
// answer, and ending it. The process itself is launcher_process.c.
#include "fs/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/launcher_protocol.h"
#include "fs/mountinfo.h"
#include "sanitize/cleanup.h"

#define CALL_TIMEOUT_MS 15000 // longer than any call takes in the launcher
#define STOP_TIMEOUT_MS 10000

struct launcher {
	pid_t pid;
	int pidfd;
	int jobs;             // non-blocking
	pthread_mutex_t lock; // one call at a time
	int calls;            // under the lock
	bool broken;          // under the lock: an answer is outstanding
};

int launcher_jobs_socket(const struct launcher *launcher)
{
	return launcher == NULL ? -1 : launcher->jobs;
}

static void do_nothing(int signal)
{
	(void)signal;
}

// Everything that a daemon may have changed about itself and that children would inherit.
static void become_plain_process(int calls, int jobs)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	struct sigaction nothing = { .sa_handler = do_nothing, .sa_flags = SA_RESTART };
	static const int from_terminal[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };
	sigset_t none;
	int null, low, high;

	for (int signal = 1; signal < NSIG; signal++)
		(void)sigaction(signal, &standard, NULL);
	// A session of its own keeps Ctrl-C away; what is sent to us by hand is the daemon's to decide on as well. A handler and
	// not SIG_IGN, which jobs would inherit.
	(void)setsid();
	for (size_t i = 0; i < ARRAY_SIZE(from_terminal); i++)
		(void)sigaction(from_terminal[i], &nothing, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NAME, "skillfs-launch");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (chdir("/") < 0)
		_exit(1);

	// Whoever waits for the end of the daemon's output must not wait for us.
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		(void)dup2(null, fd);
	low = calls < jobs ? calls : jobs;
	high = calls < jobs ? jobs : calls;
	if (low > 3)
		(void)close_range(3, (unsigned)low - 1, 0);
	if (high > low + 1)
		(void)close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	(void)close_range((unsigned)high + 1, ~0U, 0);
}

static int socket_pair(int ret[2], int flags_of_ours)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
		return -errno;
	if (flags_of_ours != 0 && fcntl(ret[0], F_SETFL, flags_of_ours) < 0)
		return -errno;
	return 0;
}

int launcher_start(const struct launcher_options *options, struct launcher **ret, struct error *error)
{
	int calls[2] = { -1, -1 };
	int jobs[2] = { -1, -1 };
	struct launcher *launcher = calloc(1, sizeof(*launcher));
	int rc = launcher == NULL ? -ENOMEM : 0;
	pid_t pid = -1;

	if (rc == 0)
		rc = socket_pair(calls, 0);
	if (rc == 0)
		rc = socket_pair(jobs, O_NONBLOCK);
	if (rc == 0) {
		// Above the standard three, which the launcher replaces.
		for (int i = 0; i < 2; i++) {
			if (calls[i] <= 2 || jobs[i] <= 2)
				rc = -EBADF;
		}
	}
	if (rc == 0) {
		pid = fork();
		if (pid < 0)
			rc = -errno;
	}
	if (pid == 0) {
		become_plain_process(calls[1], jobs[1]);
		launcher_process(options, calls[1], jobs[1]);
		_exit(0);
	}
	if (calls[1] >= 0)
		(void)close(calls[1]);
	if (jobs[1] >= 0)
		(void)close(jobs[1]);
	if (rc < 0) {
		if (calls[0] >= 0)
			(void)close(calls[0]);
		if (jobs[0] >= 0)
			(void)close(jobs[0]);
		free(launcher);
		return error_set(error, rc, "launcher: %s", strerror(-rc));
	}
	(void)pthread_mutex_init(&launcher->lock, NULL);
	launcher->pid = pid;
	launcher->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	launcher->calls = calls[0];
	launcher->jobs = jobs[0];
	*ret = launcher;
	return 0;
}

// One call and its answer. The code that DONE carries, or -ETIMEDOUT, -EPIPE, ...
static int call(struct launcher *launcher, enum launcher_op op, const char *text)
{
	CLEANUP(free) struct launcher_message *message = calloc(1, sizeof(*message));
	struct pollfd wait = { .events = POLLIN };
	int rc;

	if (message == NULL)
		return -ENOMEM;
	message->op = (uint32_t)op;
	if (text != NULL) {
		if (strlen(text) >= sizeof(message->text))
			return -ENAMETOOLONG;
		launcher_set_text(message, text, strlen(text) + 1);
	}
	(void)pthread_mutex_lock(&launcher->lock);
	wait.fd = launcher->calls;
	rc = launcher->broken ? -EPIPE : launcher_send(launcher->calls, message, NULL, 0);
	if (rc == 0) {
		do {
			rc = poll(&wait, 1, CALL_TIMEOUT_MS);
		} while (rc < 0 && errno == EINTR);
		if (rc == 0)
			rc = -ETIMEDOUT;
		else if (rc < 0)
			rc = -errno;
		else
			rc = launcher_receive(launcher->calls, message, NULL, NULL);
		if (rc == 0)
			rc = -EPIPE;
		if (rc == 1 && message->op != LAUNCHER_DONE)
			rc = -EBADMSG;
		// What the answer says is no fault of the connection, whatever its code.
		launcher->broken = rc == -ETIMEDOUT || rc == -EBADMSG;
		if (rc == 1)
			rc = message->code;
	}
	(void)pthread_mutex_unlock(&launcher->lock);
	return rc;
}

int launcher_unmount(struct launcher *launcher, const char *path)
{
	int rc = launcher == NULL ? -EPIPE : call(launcher, LAUNCHER_UNMOUNT, path);

	// Without a launcher there is still what root may do by itself.
	if (rc == -EPIPE && geteuid() == 0)
		rc = mount_detach(path, true, NULL);
	return rc;
}

void launcher_stop(struct launcher *launcher)
{
	struct pollfd wait = { .events = POLLIN };
	int status, rc;

	if (launcher == NULL)
		return;
	(void)call(launcher, LAUNCHER_STOP, NULL);
	// The end of the sockets ends it as well.
	(void)close(launcher->calls);
	(void)close(launcher->jobs);
	wait.fd = launcher->pidfd;
	if (launcher->pidfd >= 0) {
		do {
			rc = poll(&wait, 1, STOP_TIMEOUT_MS);
		} while (rc < 0 && errno == EINTR);
		if (rc == 0)
			(void)syscall(SYS_pidfd_send_signal, launcher->pidfd, SIGKILL, NULL, 0);
		(void)close(launcher->pidfd);
	}
	// Not our child when the daemon went into the background in between.
	do {
		rc = (int)waitpid(launcher->pid, &status, 0);
	} while (rc < 0 && errno == EINTR);
	(void)pthread_mutex_destroy(&launcher->lock);
	free(launcher);
}
