// SPDX-License-Identifier: Apache-2.0
//
// Ending a FUSE loop thread that sits in a read of its device.
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct fuse_session;

// Installs the handler that makes a blocked read return; once, before threads start.
void loop_signal_install(void);
// Joins a thread whose session was told to exit, waking it until it notices.
void loop_thread_join(pthread_t thread);

// Frees a session whose mount was taken down through the launcher. libfuse unmounts by name, and by now something else
// may stand there: it is asked only when the kernel says that the session's own mount is gone, to free what it holds.
void loop_session_destroy(struct fuse_session *session, bool mounted);
