// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>

#include "fs/commands/command.h"
#include "fs/mount.h"
#include "sanitize/cleanup.h"

// The daemon ends by itself when its mount is gone; wait for its control mount to go as well.
static bool wait_until_gone(const char *control_dir)
{
	for (int i = 0; control_dir != NULL && i < 1000; i++) {
		struct mount_entry *entries = NULL;
		size_t count = 0;
		bool there = false;

		if (mount_list(&entries, &count) < 0)
			return false;
		for (size_t k = 0; k < count; k++)
			there = there || strcmp(entries[k].mountpoint, control_dir) == 0;
		mount_list_free(entries, count);
		if (!there)
			return true;
		(void)poll(NULL, 0, 10);
	}
	return control_dir == NULL;
}

int umount_main(int argc, char **argv)
{
	CLEANUP(free) char *mountpoint = NULL;
	CLEANUP(free) char *canonical = NULL;
	CLEANUP(free) char *control_dir = NULL;
	struct error error = { "" };
	const char *path = NULL;
	bool now = false;
	int rc;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--now") == 0)
			now = true;
		else if (argv[i][0] == '-' || path != NULL)
			return command_usage("umount", argv[i]);
		else
			path = argv[i];
	}
	if (path == NULL)
		return command_usage("umount", "no MOUNTPOINT given");
	rc = mount_canonical(path, &canonical, &error);
	if (rc == 0)
		rc = mount_of(path, &mountpoint, &control_dir, &error);
	if (rc == -ENOTCONN)
		rc = mount_detach(canonical, true, &error); // dead: nobody is served any more
	else if (rc == 0 && strcmp(mountpoint, canonical) != 0)
		rc = error_set(&error, -EINVAL, "%s: not a mountpoint; the mount is at %s", canonical, mountpoint);
	else if (rc == 0)
		rc = mount_detach(mountpoint, now, &error);
	if (rc == -EBUSY && !now)
		rc = error_prefix(&error, rc, "in use (--now detaches it all the same)");
	if (rc < 0) {
		command_error("umount", error_text(&error, rc));
		return EXIT_FAILED;
	}
	if (!wait_until_gone(control_dir)) {
		command_error("umount", "the mount is gone, but its daemon has not ended within 10 s");
		return EXIT_FAILED;
	}
	return EXIT_OK;
}
