// SPDX-License-Identifier: Apache-2.0
//
// Ending a FUSE loop thread that sits in a read of its device.
#pragma once

#include <pthread.h>

// Installs the handler that makes a blocked read return; once, before threads start.
void loop_signal_install(void);
// Joins a thread whose session was told to exit, waking it until it notices.
void loop_thread_join(pthread_t thread);
