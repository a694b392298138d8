// SPDX-License-Identifier: Apache-2.0
//
// Session 2: the owner's virtual files. Its own mount, one loop thread; a read
// that has to wait is parked and answered later, never blocked on.
#pragma once

#include "fs/daemon.h"

int control_new(struct daemon *daemon, struct control **ret, struct error *error);
int control_mount(struct control *control, struct error *error);
int control_start(struct control *control, void (*ready)(void *), void (*ended)(void *), void *context,
		  struct error *error);
// No new jobs; those that run are killed. Idempotent.
void control_stop_jobs(struct control *control);
void control_free(struct control *control);
