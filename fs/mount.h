// SPDX-License-Identifier: Apache-2.0
//
// From options to a running daemon: stale mounts, runtime directory, launcher, both
// sessions, signals, and taking it all down again.
#pragma once

#include <sys/types.h>

#include "policy/strv.h"
#include "sanitize/buf.h"
#include "sanitize/error.h"

// A skillfs mount as mountinfo shows it. The fs name holds the source and the control directory.
struct mount_entry {
	char *mountpoint;
	char *source;
	char *control_dir; // NULL
	bool dead;         // ENOTCONN
};
// All skillfs content mounts that this process sees.
int mount_list(struct mount_entry **ret, size_t *ret_count);
void mount_list_free(struct mount_entry *entries, size_t count);
// The control directory of the mount that `path` is, or lies below: through its `.skillfs` link. The caller frees.
int mount_control_dir(const char *path, char **ret, struct error *error);

// `skillfs mount`: options as given, returns the exit code.
int mount_main(int argc, char **argv);
// `skillfs umount MOUNTPOINT [--now]`.
int umount_main(int argc, char **argv);
