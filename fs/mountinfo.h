// SPDX-License-Identifier: Apache-2.0
//
// Our mounts as the kernel's mountinfo shows them, and taking dead ones away.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sanitize/error.h"

#define CONTENT_TYPE "fuse.skillfs"
#define CONTROL_TYPE "fuse.skillfs-control"

struct mount_entry {
	char *mountpoint;
	char *type;        // CONTENT_TYPE or CONTROL_TYPE
	bool dead;         // its daemon has ended: ENOTCONN
	char *control_dir; // of a live content mount with a control mount, else NULL
};

// All mounts of both types that this process sees, in mount order (a later one covers an earlier one at the same place).
int mount_list(struct mount_entry **ret, size_t *ret_count);
void mount_list_free(struct mount_entry *entries, size_t count);

// Whether the topmost mount at `path` is of that type (NULL: any of ours). Looks at mountinfo only; true when it can't.
bool mount_present(const char *path, const char *type);

// Canonical path of a folder that may be a dead mount itself. The caller frees.
int mount_canonical(const char *path, char **ret, struct error *error);
// Takes dead mounts of ours away from `path`; `ret_healed` counts them. -EBUSY when a live one stands there.
int mount_heal(const char *path, size_t *ret_healed, struct error *error);
// umount2() as root, else fusermount3; lazily when `lazy`. -ENOENT when the topmost mount there is not ours.
int mount_detach(const char *path, bool lazy, struct error *error);
// Our content mount that holds `path`; the caller frees both. `ret_control_dir` is NULL when it has none.
int mount_of(const char *path, char **ret_mountpoint, char **ret_control_dir, struct error *error);
