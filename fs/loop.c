// SPDX-License-Identifier: Apache-2.0
#include "fs/loop.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#define WAKE_SIGNAL SIGUSR1
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
