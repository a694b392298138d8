// SPDX-License-Identifier: Apache-2.0
//
// The arguments of `skillfs mount`, as text.
#pragma once

struct mount_arguments {
	char *paths[2]; // source, mountpoint
	char *config_path;
	char *agent;
	char *state;
	char *control;
	char *entry_timeout_ms;
	int foreground;
	int audit_open;
	int allow_other;
	int noexec;
	char *wrong; // the first thing that was not understood
};

// 0, -EINVAL when an option lacks its value; something unknown is left in `wrong`.
int mount_arguments_parse(int argc, char **argv, struct mount_arguments *ret);
void mount_arguments_release(struct mount_arguments *arguments);

static inline void cleanup_mount_arguments(struct mount_arguments *arguments)
{
	mount_arguments_release(arguments);
}
