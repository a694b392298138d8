// SPDX-License-Identifier: Apache-2.0
//
// skillfs mount and skillfs umount: all of the work is in fs/mount.c.
#include "fs/mount.h"

#include "fs/commands/command.h"

int command_mount(int argc, char **argv)
{
	return mount_main(argc, argv);
}

int command_umount(int argc, char **argv)
{
	return umount_main(argc, argv);
}
