// SPDX-License-Identifier: Apache-2.0
//
// The private folder of one job that has no configured workspace: 0700, empty,
// below /tmp, gone afterwards. Whatever the job left in it is removed by
// descriptors, without following a link and without recursion.
#pragma once

#include <sys/types.h>

#include "sanitize/error.h"

// `ret_path` is the caller's to free. `ret_lock` is a descriptor that marks it as in use as long as it is open.
int workspace_create(uid_t uid, gid_t gid, char **ret_path, int *ret_lock, struct error *error);
// 0, or what stood in the way; as much as possible is gone then.
int workspace_remove(const char *path);
// Removes those of `uid` that nobody holds any more: their launcher was killed. Returns how many.
size_t workspace_sweep(uid_t uid);
