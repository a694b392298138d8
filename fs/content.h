// SPDX-License-Identifier: Apache-2.0
//
// Session 1: the read-only view of the skills. One loop thread answers what is in memory; everything that
// touches the source or scans goes to workers that reply later.
#pragma once

#include "fs/daemon.h"

// Creates the session; nothing is mounted yet.
int content_new(struct daemon *daemon, struct content **ret, struct error *error);
int content_mount(struct content *content, struct error *error);
// Starts its threads; `ready` is called once when the kernel has said INIT, `ended` once when the loop ends.
int content_start(struct content *content, void (*ready)(void *), void (*ended)(void *), void *context,
		  struct error *error);
// Ends the loop (the mount may be gone already), joins the threads and frees.
void content_free(struct content *content);
void content_counters(struct content *content, struct content_counters *ret);
