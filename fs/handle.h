// SPDX-License-Identifier: Apache-2.0
//
// One open control file: what it gives to a reader and takes from a writer. No
// FUSE in here and nothing waits: a read that has nothing yet says -EAGAIN, and
// the caller comes again when the job has changed. The caller holds its own lock.
#pragma once

#include <sys/types.h>

#include "fs/daemon.h"
#include "fs/jobs.h"
#include "sanitize/buf.h"

enum handle_kind { HANDLE_TEXT, HANDLE_EXEC, HANDLE_STREAM, HANDLE_WAIT };

struct handle {
	enum handle_kind kind;
	const char *agent; // borrowed from the configuration
	struct job_caller caller;
	struct buf text;           // what is read; for HANDLE_EXEC the request until there is a job
	size_t position;           // HANDLE_EXEC reads in order, wherever the kernel thinks it is
	bool answered;             // HANDLE_EXEC, HANDLE_WAIT: `text` is the answer
	bool given_up;             // HANDLE_EXEC: written wrongly; the job is a refused one
	struct job_record *record; // a reference, or NULL
	enum job_stream stream;
	uint64_t offset; // HANDLE_STREAM
};

// Appends at most `size` bytes to `ret`; none at the end. -EAGAIN: not yet. For HANDLE_EXEC the first read starts the job.
int handle_read(struct handle *handle, struct jobs *jobs, off_t offset, size_t size, struct buf *ret);
// All of `data` or an error: -E2BIG, -EINVAL (the reason can be read then), -EACCES (the policy), -EBUSY when the job has
// been started already.
int handle_write(struct handle *handle, const struct daemon *daemon, struct jobs *jobs, const char *data,
		 size_t size);
// For O_TRUNC: what was written and not started is forgotten.
void handle_truncate(struct handle *handle);
// POLLIN and POLLOUT as they are now. Waiting for input on a complete request starts it, as a read would.
unsigned handle_poll(struct handle *handle, struct jobs *jobs, unsigned wanted);
// The last close: starts what was written and never read; ends a job whose answer nobody can read any more.
void handle_close(struct handle *handle, struct jobs *jobs);
