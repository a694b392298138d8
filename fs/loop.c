// SPDX-License-Identifier: Apache-2.0
#define FUSE_USE_VERSION 35

#include "fs/loop.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#define WAKE_SIGNAL   SIGUSR1
#define WAKE_EVERY_NS 10000000L

static void wake(int signal)
{
	(void)signal;
}

void loop_signal_install(void)
{
	struct sigaction action = { .sa_handler = wake }; // no SA_RESTART: that is the point

	(void)sigaction(WAKE_SIGNAL, &action, NULL);
}

void loop_thread_join(pthread_t thread)
{
	for (;;) {
		struct timespec until;

		// Signalled again and again: one that comes just before the read would be lost.
		(void)pthread_kill(thread, WAKE_SIGNAL);
		(void)clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WAKE_EVERY_NS;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000L;
		}
		if (pthread_timedjoin_np(thread, NULL, &until) == 0)
			return;
	}
}

void loop_session_destroy(struct fuse_session *session, bool mounted)
{
	struct pollfd device = { .fd = fuse_session_fd(session), .events = 0 };

	if (mounted && poll(&device, 1, 0) == 1 && (device.revents & POLLERR) != 0)
		fuse_session_unmount(session);
	fuse_session_destroy(session);
}
