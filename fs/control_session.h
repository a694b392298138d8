// SPDX-License-Identifier: Apache-2.0
//
// The inside of the control session, shared by control.c (names, attributes,
// the session itself) and control_open.c (open files).
#pragma once

#define FUSE_USE_VERSION 314

#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <time.h>

#include "fs/control.h"
#include "fs/control_tree.h"
#include "fs/handle.h"
#include "fs/jobs.h"

struct open_file {
	// Fixed once made:
	struct open_file *next, *prev; // under control->lock
	uint32_t id;
	bool nonblock;
	struct fuse_file_info info; // as answered to OPEN
	// Under control->lock:
	struct handle handle;
	fuse_req_t opening; // an OPEN that waits for the launcher's word on the caller
	fuse_req_t parked;  // a READ that waits for the job
	size_t parked_size;
	struct fuse_pollhandle *poll;
};

struct control {
	struct daemon *daemon;
	struct fuse_session *session;
	struct jobs *jobs;
	struct tree *tree;                  // the loop thread's alone
	struct open_directory *directories; // open ones, the loop thread's alone
	struct timespec made;
	int wake_fd;
	bool mounted;
	pthread_t thread;
	bool started;
	void (*ready)(void *);
	void (*ended)(void *);
	void *context;
	pthread_mutex_t lock; // all below; taken before the job table's own
	struct open_file *files;
	uint32_t next_id;
};

static inline struct control *control_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static inline struct open_file *file_of(const struct fuse_file_info *fi)
{
	return (struct open_file *)(uintptr_t)fi->fh;
}

void control_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void control_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);
void control_op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
		      struct fuse_file_info *fi);
void control_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void control_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void control_op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *poll);

// From the job thread: see struct jobs_observer.
void control_on_changed(void *context, struct job_record *record);
void control_on_checked(void *context, uint32_t id, bool outside);
// With both threads gone.
void control_close_files(struct control *control);
