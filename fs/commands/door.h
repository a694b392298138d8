// SPDX-License-Identifier: Apache-2.0
//
// From a PATH of the command line to the mount around it and its control directory.
#pragma once

#include "sanitize/error.h"

struct door {
	char *mountpoint;
	char *control; // the control directory
	char *below;   // the path below the mountpoint, "" for the mountpoint itself
};

// `path` is a mountpoint or lies below one; its last part need not exist (a hidden file does not).
int door_open(const char *path, struct door *ret, struct error *error);
// The mount around the current folder, else the only mount that this user owns.
int door_find(struct door *ret, struct error *error);
// The current folder when it lies on the mount, else NULL; the caller frees.
char *door_here(const struct door *door);
void door_close(struct door *door);

static inline void cleanup_door(struct door *door)
{
	door_close(door);
}
