// SPDX-License-Identifier: Apache-2.0
//
// The private directories of one mount: where its control files are shown, and
// where its state is kept. Never below the source.
#pragma once

#include "sanitize/error.h"

// A name for a mountpoint, the same each time: its last component and a hash ("skills-1f0c9a2e"). The caller frees.
int runtime_id(const char *mountpoint, char **ret);
// <base>/<id>, where base is $XDG_RUNTIME_DIR/skillfs, /run/skillfs for root, or /tmp/skillfs-UID. Makes the base, not the
// directory itself: a dead mount may stand there.
int runtime_control_dir(const char *id, char **ret, struct error *error);
// Makes $XDG_STATE_HOME/skillfs/<id>, ~/.local/state/skillfs/<id>, for root /var/lib/skillfs/<id>.
int runtime_state_dir(const char *id, char **ret, struct error *error);
// Makes a directory that is ours alone (0700); one that is there already must be.
int runtime_make(const char *path, struct error *error);
// Removes an empty control directory and, when that was the last, its parent.
void runtime_remove(const char *control_dir);
