// SPDX-License-Identifier: Apache-2.0
//
// The owner's virtual files as one table: what exists, with which mode, and
// what it holds. A file that is not in the table does not exist. No FUSE in here.
// Not thread-safe: the control loop alone calls it.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "fs/daemon.h"
#include "fs/jobs.h"
#include "sanitize/buf.h"

#define TREE_ROOT_INO 1

enum tree_kind {
	TREE_DIRECTORY,
	TREE_FILE, // rendered when opened
	TREE_LINK,
	TREE_EXEC,   // one open, one job
	TREE_STREAM, // a job's output; reading waits for more
	TREE_WAIT,   // reading waits for the job's end
};

struct tree_row;

// One name of the tree; a value, not an object.
struct tree_node {
	const struct tree_row *row;
	uint32_t agent; // index into the configuration
	uint32_t item;  // index of a profile or group, a skill's id, a job's number
};

struct tree;

int tree_new(const struct daemon *daemon, struct jobs *jobs, struct tree **ret);
void tree_free(struct tree *tree); // NULL is allowed

struct tree_node tree_root(void);
// Whether `ino` stands for something that exists now.
bool tree_find(struct tree *tree, uint64_t ino, struct tree_node *ret);
// 0, -ENOENT, -ENOTDIR, -ENOMEM.
int tree_lookup(struct tree *tree, const struct tree_node *parent, const char *name, struct tree_node *ret);
// Calls `visit` for each name in a directory; a negative return ends it.
int tree_list(struct tree *tree, const struct tree_node *parent,
	      int (*visit)(void *context, const char *name, const struct tree_node *node), void *context);
uint64_t tree_ino(const struct tree_node *node); // below 2^53, a different one for each name
uint64_t tree_parent_ino(const struct tree_node *node);
enum tree_kind tree_kind(const struct tree_node *node);
mode_t tree_mode(const struct tree_node *node); // type and permissions
// The bytes of a file or the target of a link. 0, -ENOENT, -ENOMEM.
int tree_render(struct tree *tree, const struct tree_node *node, struct buf *ret);
const char *tree_agent(const struct tree *tree, const struct tree_node *node);
// For TREE_STREAM and TREE_WAIT; NULL when it is gone, else with a reference.
struct job_record *tree_job(struct tree *tree, const struct tree_node *node);
enum job_stream tree_stream(const struct tree_node *node);

// A path as one name: `/` and `%` and control characters as %2F, ...; the root itself is %2E. The caller frees.
char *tree_name_encode(const char *path);
