// SPDX-License-Identifier: Apache-2.0
//
// What the files of the content session share; private to fs/content*.c.
#pragma once

#define FUSE_USE_VERSION 35

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <time.h>

#include "fs/content.h"
#include "fs/spool.h"
#include "fs/view.h"

enum {
	CONTROL_LINK_ID = 2, // the store's ids begin behind it
};

struct content {
	struct daemon *daemon;
	struct fuse_session *session;
	struct view view;
	struct store *store;
	struct spool *spool;
	struct cache *cache;
	struct pool *pool;
	struct timespec since;
	double entry_timeout; // seconds
	bool real_opens;      // audit_open, or a kernel without NO_OPEN_SUPPORT
	pthread_t thread;
	bool thread_started;
	bool mounted;
	void (*ready)(void *);
	void (*ended)(void *);
	void *context;
	pthread_mutex_t directories_lock;
	struct open_directory *directories; // open ones, under directories_lock
	atomic_uint_least64_t messages, lookups, reads, listings;
};

// One message that a worker answers.
struct request {
	struct task task;
	struct content *content;
	fuse_req_t req;
	int (*perform)(struct request *request); // replies, or returns VIEW_PARKED
	struct node *node;                       // with a reference
	size_t size;
	off_t offset;
	struct fuse_file_info info;
	struct view_listing listing;
	char name[];
};

struct content *content_of(fuse_req_t req);
// Counts a message, and its kind where that has a counter of its own (else NULL).
void content_count(struct content *content, atomic_uint_least64_t *kind);
// The node with a reference; NULL when it is unknown, which is answered already.
struct node *content_node(fuse_req_t req, fuse_ino_t ino);
// The link to the control directory in the root of the view.
bool content_is_control_link(const struct content *content, fuse_ino_t parent, const char *name);
void content_control_link_stat(const struct content *content, struct stat *ret);

// A request on the pool; takes the node's reference over. NULL when out of memory, which is answered already.
struct request *request_new(fuse_req_t req, struct node *node, const char *name,
			    int (*perform)(struct request *request));
void request_queue(struct request *request); // NULL is allowed

// With all threads gone: the kernel does not close everything before it lets go of a session.
void content_close_directories(struct content *content);

void content_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info);
void content_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
			struct fuse_file_info *info);
void content_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info);
void content_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void content_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
