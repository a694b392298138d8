// SPDX-License-Identifier: Apache-2.0
//
// From options to a running daemon: dead mounts, runtime directory, launcher, both
// sessions, signals, and taking it all down again.
#pragma once

#include "fs/daemon.h"
#include "fs/mountinfo.h"

// `skillfs mount` and `skillfs umount`: arguments as given, return the exit code.
int mount_main(int argc, char **argv);
int umount_main(int argc, char **argv);
