// SPDX-License-Identifier: Apache-2.0
#define FUSE_USE_VERSION 35

#include "fs/mount_options.h"

#include <errno.h>
#include <fuse_opt.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#define OPTION(text, field)                                                                                  \
	{                                                                                                    \
		text, offsetof(struct mount_arguments, field), 1                                             \
	}

enum { KEY_IGNORED = 1, KEY_LATER };

// FUSE_OPT_KEY() as clang takes it without a warning.
#define IGNORED(text)                                                                                        \
	{                                                                                                    \
		text, UINT_MAX, KEY_IGNORED                                                                  \
	}

// Generic mount options that mount(8), fstab and systemd pass on. Those that would weaken the mount are accepted and
// not followed: it is always ro, nosuid and nodev.
static const struct fuse_opt option_table[] = {
	OPTION("-f", foreground),
	OPTION("-c %s", config_path),
	OPTION("config=%s", config_path),
	OPTION("agent=%s", agent),
	OPTION("state=%s", state),
	OPTION("control=%s", control),
	OPTION("entry_timeout_ms=%s", entry_timeout_ms),
	OPTION("audit_open", audit_open),
	OPTION("allow_other", allow_other),
	OPTION("noexec", noexec),
	{ "approvals=", UINT_MAX, KEY_LATER },
	IGNORED("ro"),
	IGNORED("rw"),
	IGNORED("suid"),
	IGNORED("nosuid"),
	IGNORED("dev"),
	IGNORED("nodev"),
	IGNORED("exec"),
	IGNORED("async"),
	IGNORED("sync"),
	IGNORED("atime"),
	IGNORED("noatime"),
	IGNORED("relatime"),
	IGNORED("auto"),
	IGNORED("noauto"),
	IGNORED("user"),
	IGNORED("nouser"),
	IGNORED("users"),
	IGNORED("defaults"),
	IGNORED("nofail"),
	IGNORED("_netdev"),
	IGNORED("x-"),
	IGNORED("comment="),
	FUSE_OPT_END,
};

static int take_option(void *data, const char *text, int key, struct fuse_args *args)
{
	struct mount_arguments *arguments = data;
	size_t count = arguments->paths[0] == NULL ? 0 : arguments->paths[1] == NULL ? 1 : 2;

	(void)args;
	if (key == KEY_IGNORED || strncmp(text, "x-", 2) == 0)
		return 0;
	if (key == FUSE_OPT_KEY_NONOPT && count < 2) {
		arguments->paths[count] = strdup(text);
		return arguments->paths[count] == NULL ? -1 : 0;
	}
	if (arguments->wrong == NULL)
		arguments->wrong = strdup(text);
	return 0;
}

void mount_arguments_release(struct mount_arguments *arguments)
{
	free(arguments->paths[0]);
	free(arguments->paths[1]);
	free(arguments->config_path);
	free(arguments->agent);
	free(arguments->state);
	free(arguments->control);
	free(arguments->entry_timeout_ms);
	free(arguments->wrong);
}

int mount_arguments_parse(int argc, char **argv, struct mount_arguments *ret)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	int rc = fuse_opt_parse(&args, ret, option_table, take_option);

	fuse_opt_free_args(&args);
	return rc < 0 ? -EINVAL : 0;
}
