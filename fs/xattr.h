// SPDX-License-Identifier: Apache-2.0
//
// The extended attributes of the content mount, as one table. Answers come from
// the snapshot; hidden names are never named.
#pragma once

#include "fs/view.h"
#include "sanitize/buf.h"

// For `.hidden` and `.summary` of a directory the caller lists it first and passes the listing; NULL otherwise.
bool xattr_wants_listing(const struct node *node, const char *name);
// -ENODATA for a name that the node does not have.
int xattr_get(struct view *view, struct node *node, const char *name, const struct listing *listing,
	      struct buf *ret);
// All names the node has, NUL-terminated, one behind the other.
int xattr_list(const struct node *node, struct buf *ret);
