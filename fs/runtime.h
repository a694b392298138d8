// SPDX-License-Identifier: Apache-2.0
//
// The private directories of one mount: where its control files are shown, and
// where its state is kept. Never below the source.
#pragma once

#include "sanitize/error.h"

// A name for a mountpoint, the same each time: its last component and a hash ("skills-1f0c9a2e"). The caller frees.
int runtime_id(const char *mountpoint, char **ret);
// Makes <base>/<id>, 0700 and ours, where base is $XDG_RUNTIME_DIR/skillfs, /run/skillfs for root, or /tmp/skillfs-UID.
int runtime_control_dir(const char *id, char **ret, struct error *error);
// Makes $XDG_STATE_HOME/skillfs/<id>, ~/.local/state/skillfs/<id>, for root /var/lib/skillfs/<id>.
int runtime_state_dir(const char *id, char **ret, struct error *error);
// A directory that the user named: made if need be, canonical in `ret`.
int runtime_named_dir(const char *path, char **ret, struct error *error);
// Removes an empty control directory and, when that was the last, its parent.
void runtime_remove(const char *control_dir);
