// SPDX-License-Identifier: Apache-2.0
//
// Open control files. A request that has to wait is parked in its file and
// answered by the job thread; whoever takes it out of the file, under the lock,
// is the one who answers. No lock is held while replying.
#include "fs/control_session.h"

#include <errno.h>
#include <fcntl.h>

#include "sanitize/cleanup.h"

static void link_file(struct control *control, struct open_file *file)
{
	(void)pthread_mutex_lock(&control->lock);
	// 0 stands for everybody in the answers to CHECK.
	if (++control->next_id == 0)
		control->next_id = 1;
	file->id = control->next_id;
	file->next = control->files;
	if (file->next != NULL)
		file->next->prev = file;
	control->files = file;
	(void)pthread_mutex_unlock(&control->lock);
}

// With the file out of everybody's sight afterwards.
static void close_file(struct control *control, struct open_file *file)
{
	struct fuse_pollhandle *poll;
	fuse_req_t parked;

	(void)pthread_mutex_lock(&control->lock);
	if (file->prev != NULL)
		file->prev->next = file->next;
	else if (control->files == file)
		control->files = file->next;
	if (file->next != NULL)
		file->next->prev = file->prev;
	handle_close(&file->handle, control->jobs);
	parked = take(file->parked);
	poll = take(file->poll);
	(void)pthread_mutex_unlock(&control->lock);
	if (parked != NULL)
		fuse_reply_err(parked, EINTR);
	if (poll != NULL)
		fuse_pollhandle_destroy(poll);
	free(file);
}

static void reply_open(struct control *control, fuse_req_t req, struct open_file *file)
{
	struct fuse_file_info info = file->info;

	info.fh = (uintptr_t)file;
	// The opener is gone: no RELEASE will come.
	if (fuse_reply_open(req, &info) == -ENOENT)
		close_file(control, file);
}

static int fill_handle(struct control *control, const struct tree_node *node, struct handle *handle)
{
	switch (tree_kind(node)) {
	case TREE_FILE:
		handle->kind = HANDLE_TEXT;
		return tree_render(control->tree, node, &handle->text);
	case TREE_EXEC:
		handle->kind = HANDLE_EXEC;
		handle->agent = tree_agent(control->tree, node);
		return 0;
	case TREE_STREAM:
	case TREE_WAIT:
		handle->kind = tree_kind(node) == TREE_WAIT ? HANDLE_WAIT : HANDLE_STREAM;
		handle->stream = tree_stream(node);
		handle->record = tree_job(control->tree, node);
		return handle->record == NULL ? -ENOENT : 0;
	case TREE_DIRECTORY:
		return -EISDIR;
	case TREE_LINK:
		return -ELOOP;
	}
	return -EINVAL;
}

void control_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct control *control = control_of(req);
	const struct fuse_ctx *caller = fuse_req_ctx(req);
	bool writing = (fi->flags & O_ACCMODE) != O_RDONLY;
	struct open_file *file;
	struct tree_node node;
	int rc = 0;

	if (!tree_find(control->tree, ino, &node))
		rc = -ENOENT;
	// The kernel keeps others out; this is the second lock.
	else if (caller->uid != control->daemon->owner || (writing && tree_kind(&node) != TREE_EXEC))
		rc = -EACCES;
	file = rc < 0 ? NULL : calloc(1, sizeof(*file));
	if (rc == 0)
		rc = file == NULL ? -ENOMEM : fill_handle(control, &node, &file->handle);
	if (rc < 0) {
		if (file != NULL)
			buf_release(&file->handle.text);
		free(file);
		fuse_reply_err(req, -rc);
		return;
	}
	file->nonblock = (fi->flags & O_NONBLOCK) != 0;
	file->handle.caller = (struct job_caller){ .uid = caller->uid, .pid = caller->pid };
	file->info = *fi;
	file->info.direct_io = 1;
	file->info.nonseekable = file->handle.kind == HANDLE_STREAM || file->handle.kind == HANDLE_WAIT;
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 11)
	file->info.noflush = 1; // FLUSH comes for each copy of the descriptor and ends nothing
#endif
	if (file->handle.kind != HANDLE_EXEC || !writing) {
		link_file(control, file);
		reply_open(control, req, file);
		return;
	}
	// The caller waits in open(2), so its pid is its own until the launcher has looked at it.
	file->opening = req;
	link_file(control, file);
	if (jobs_check(control->jobs, file->id, &file->handle.caller) == 0)
		return;
	(void)pthread_mutex_lock(&control->lock);
	req = take(file->opening); // the job thread may have answered it, when the launcher has just gone
	(void)pthread_mutex_unlock(&control->lock);
	if (req != NULL)
		reply_open(control, req, file);
}

void control_on_checked(void *context, uint32_t id, bool outside)
{
	struct control *control = context;
	struct open_file *file;
	fuse_req_t req;

	do {
		req = NULL;
		(void)pthread_mutex_lock(&control->lock);
		for (file = control->files; file != NULL; file = file->next) {
			if (file->opening != NULL && (id == 0 || file->id == id))
				break;
		}
		if (file != NULL) {
			file->handle.caller.outside = outside;
			req = take(file->opening);
		}
		(void)pthread_mutex_unlock(&control->lock);
		if (req != NULL)
			reply_open(control, req, file);
	} while (id == 0 && req != NULL);
}

static void reply_read(fuse_req_t req, int rc, const struct buf *data)
{
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_buf(req, data->data, data->len);
}

// libfuse holds the request's own lock meanwhile; so nobody may call fuse_req_interrupt_func() with control->lock held.
static void on_interrupt(fuse_req_t req, void *context)
{
	struct open_file *file = context;
	struct control *control = control_of(req);
	bool ours;

	(void)pthread_mutex_lock(&control->lock);
	ours = file->parked == req;
	if (ours)
		file->parked = NULL;
	(void)pthread_mutex_unlock(&control->lock);
	if (ours)
		fuse_reply_err(req, EINTR);
}

void control_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct control *control = control_of(req);
	struct open_file *file = file_of(fi);
	CLEANUP(buf) struct buf data = BUF_INIT;
	int rc;

	(void)ino;
	// Before it is parked, since it may be answered and gone right after. INTERRUPT comes through this thread only.
	if (file->handle.kind != HANDLE_TEXT)
		fuse_req_interrupt_func(req, on_interrupt, file);
	(void)pthread_mutex_lock(&control->lock);
	rc = file->parked != NULL ? -EBUSY : handle_read(&file->handle, control->jobs, offset, size, &data);
	if (rc == -EAGAIN && fuse_req_interrupted(req)) {
		rc = -EINTR;
	} else if (rc == -EAGAIN && !file->nonblock && (fi->flags & O_NONBLOCK) == 0) {
		file->parked = req;
		file->parked_size = size;
		rc = 1;
	}
	(void)pthread_mutex_unlock(&control->lock);
	if (rc <= 0)
		reply_read(req, rc, &data);
}

// The job thread: output or the end has come.
void control_on_changed(void *context, struct job_record *record)
{
	struct control *control = context;
	struct fuse_pollhandle *poll;
	struct open_file *file;
	fuse_req_t req;

	do {
		CLEANUP(buf) struct buf data = BUF_INIT;
		int rc = 0;

		req = NULL;
		poll = NULL;
		(void)pthread_mutex_lock(&control->lock);
		for (file = control->files; file != NULL && req == NULL && poll == NULL; file = file->next) {
			if (file->handle.record != record)
				continue;
			if (file->parked != NULL) {
				rc = handle_read(&file->handle, control->jobs, 0, file->parked_size, &data);
				if (rc != -EAGAIN)
					req = take(file->parked);
			}
			if (file->poll != NULL && handle_poll(&file->handle, control->jobs, 0) != 0)
				poll = take(file->poll);
		}
		(void)pthread_mutex_unlock(&control->lock);
		if (req != NULL)
			reply_read(req, rc, &data);
		if (poll != NULL) {
			(void)fuse_lowlevel_notify_poll(poll);
			fuse_pollhandle_destroy(poll);
		}
	} while (req != NULL || poll != NULL);
}

void control_op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
		      struct fuse_file_info *fi)
{
	struct control *control = control_of(req);
	struct open_file *file = file_of(fi);
	int rc;

	(void)ino;
	(void)offset;
	(void)pthread_mutex_lock(&control->lock);
	rc = fuse_req_ctx(req)->uid != control->daemon->owner
		     ? -EACCES
		     : handle_write(&file->handle, control->daemon, control->jobs, data, size);
	(void)pthread_mutex_unlock(&control->lock);
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_write(req, size);
}

void control_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, 0);
}

void control_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	close_file(control_of(req), file_of(fi));
	fuse_reply_err(req, 0);
}

void control_op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *poll)
{
	struct control *control = control_of(req);
	struct open_file *file = file_of(fi);
	struct fuse_pollhandle *old = NULL;
	unsigned now;

	(void)ino;
	(void)pthread_mutex_lock(&control->lock);
	now = handle_poll(&file->handle, control->jobs, fi->poll_events);
	if (poll != NULL) {
		old = file->poll;
		file->poll = poll;
	}
	(void)pthread_mutex_unlock(&control->lock);
	if (old != NULL)
		fuse_pollhandle_destroy(old);
	fuse_reply_poll(req, now);
}

void control_close_files(struct control *control)
{
	while (control->files != NULL) {
		struct open_file *file = control->files;
		fuse_req_t opening = take(file->opening);

		if (opening != NULL)
			fuse_reply_err(opening, ENOTCONN);
		close_file(control, file);
	}
}
