// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "fs/commands/command.h"
#include "fs/mount.h"
#include "sanitize/cleanup.h"

#define WAIT_STEP_MS     10
#define WAIT_MOUNT_STEPS 1000 // 10 s for the daemon to take its control mount down
#define WAIT_DIR_STEPS   100  // 1 s more for its directory, which stays when the user named it

// The daemon ends by itself when its mount is gone. False when its control mount stays.
static bool wait_until_gone(const char *control_dir)
{
	int step = 0;

	while (mount_present(control_dir, NULL)) {
		if (++step > WAIT_MOUNT_STEPS)
			return false;
		(void)poll(NULL, 0, WAIT_STEP_MS);
	}
	for (step = 0; access(control_dir, F_OK) == 0 && step < WAIT_DIR_STEPS; step++)
		(void)poll(NULL, 0, WAIT_STEP_MS);
	return true;
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
			return command_usage("umount", "takes one MOUNTPOINT, and no option but --now");
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
		rc = error_set(&error, -EINVAL, "%s: not a mountpoint; the mount is at %s", canonical,
			       mountpoint);
	else if (rc == 0)
		rc = mount_detach(mountpoint, now, &error);
	if (rc == -EBUSY && !now)
		rc = error_prefix(&error, rc, "in use (--now detaches it all the same)");
	if (rc < 0) {
		command_error("umount", error_text(&error, rc));
		return EXIT_FAILED;
	}
	if (control_dir != NULL && !wait_until_gone(control_dir)) {
		command_error("umount", "the mount is gone, but its daemon has not ended within 10 s");
		return EXIT_FAILED;
	}
	return EXIT_OK;
}
