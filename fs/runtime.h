// SPDX-License-Identifier: Apache-2.0
//
// The private directories of one mount: where its control files are shown, and
// where its state is kept. Never below the source.
#pragma once

#include "sanitize/error.h"

// A name for a mountpoint, the same each time: its last component and a hash ("skills-1f0c9a2e"). The caller frees.
int runtime_id(const char *mountpoint, char **ret);
// Names only, nothing is made: <base>/<id>, where base is $XDG_RUNTIME_DIR/skillfs, /run/skillfs for root, or /tmp/skillfs-UID.
int runtime_control_path(const char *id, char **ret);
// $XDG_STATE_HOME/skillfs/<id>, ~/.local/state/skillfs/<id>, for root /var/lib/skillfs/<id>. -ENOENT without a home.
int runtime_state_path(const char *id, char **ret, struct error *error);
// Makes a directory that is ours alone (0700); one that is there already must be.
int runtime_make(const char *path, struct error *error);
// The same with its parents; the last of them must be ours as well.
int runtime_make_tree(const char *path, struct error *error);
// Removes an empty control directory and, when that was the last, its parent.
void runtime_remove(const char *control_dir);
