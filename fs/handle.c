// SPDX-License-Identifier: Apache-2.0
#include "fs/handle.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "fs/control_render.h"
#include "fs/request.h"
#include "fs/skill_tools.h"
#include "sanitize/cleanup.h"

#define EXEC_TOOL "exec"

static int give_text(const struct buf *text, size_t from, size_t size, struct buf *ret)
{
	if (from >= text->len)
		return 0;
	return buf_append(ret, text->data + from, text->len - from < size ? text->len - from : size);
}

static int submit(struct handle *handle, struct jobs *jobs)
{
	return jobs_submit(jobs, handle->agent, &handle->caller, handle->text.data, handle->text.len,
			   &handle->record);
}

static int read_help(struct handle *handle, size_t size, struct buf *ret)
{
	const char *help = exec_help();
	size_t len = strlen(help);
	size_t part = len - handle->position < size ? len - handle->position : size;
	int rc = buf_append(ret, help + handle->position, part);

	if (rc == 0)
		handle->position += part;
	return rc;
}

static int read_exec(struct handle *handle, struct jobs *jobs, size_t size, struct buf *ret)
{
	size_t before = ret->len;
	int rc = 0;

	if (handle->record == NULL && handle->text.len == 0)
		return read_help(handle, size, ret);
	if (handle->record == NULL)
		rc = submit(handle, jobs);
	if (rc < 0)
		return rc;
	if (!handle->answered) {
		if (!job_record_ended(jobs, handle->record))
			return -EAGAIN;
		buf_release(&handle->text);
		rc = job_record_answer(jobs, handle->record, &handle->text);
		if (rc < 0)
			return rc;
		handle->answered = true;
		handle->position = 0;
	}
	rc = give_text(&handle->text, handle->position, size, ret);
	handle->position += ret->len - before;
	return rc;
}

static int read_stream(struct handle *handle, struct jobs *jobs, size_t size, struct buf *ret)
{
	bool ended = job_record_ended(jobs, handle->record); // before the read: afterwards nothing is added
	size_t before = ret->len;
	int rc = job_record_read(jobs, handle->record, handle->stream, &handle->offset, size, ret);

	if (rc < 0)
		return rc;
	return ret->len == before && !ended ? -EAGAIN : 0;
}

static int read_wait(struct handle *handle, struct jobs *jobs, size_t size, struct buf *ret)
{
	size_t before = ret->len;
	int rc;

	if (!handle->answered) {
		if (!job_record_ended(jobs, handle->record))
			return -EAGAIN;
		rc = job_record_status(jobs, handle->record, &handle->text);
		if (rc < 0)
			return rc;
		handle->answered = true;
	}
	rc = give_text(&handle->text, handle->position, size, ret);
	handle->position += ret->len - before;
	return rc;
}

int handle_read(struct handle *handle, struct jobs *jobs, off_t offset, size_t size, struct buf *ret)
{
	switch (handle->kind) {
	case HANDLE_TEXT:
		return offset < 0 ? -EINVAL : give_text(&handle->text, (size_t)offset, size, ret);
	case HANDLE_EXEC:
		return read_exec(handle, jobs, size, ret);
	case HANDLE_STREAM:
		return read_stream(handle, jobs, size, ret);
	case HANDLE_WAIT:
		return read_wait(handle, jobs, size, ret);
	}
	return -EINVAL;
}

static int give_up(struct handle *handle, struct jobs *jobs, int code, const char *message)
{
	int rc = jobs_refuse(jobs, handle->agent, &handle->caller, REFUSAL_REQUEST, message, &handle->record);

	handle->given_up = true;
	return rc < 0 ? rc : code;
}

// A hint only, so that the writer hears of it: the launcher decides. `request` is empty while it is not known to be whole.
static bool may_exec(const struct daemon *daemon, const char *agent, const struct exec_request *request)
{
	const struct agent_config *config = config_agent(daemon->config, agent);
	CLEANUP(strv) struct strv known = { 0 };
	CLEANUP(effective_tools) struct effective_tools effective = { 0 };
	int rc = config == NULL ? -ENOENT
				: skill_effective_tools(daemon, config, request->skill, &known, &effective);

	return rc == 0 && effective_tools_allow(&effective, EXEC_TOOL) &&
	       (request->tool == NULL || effective_tools_allow(&effective, request->tool));
}

int handle_write(struct handle *handle, const struct daemon *daemon, struct jobs *jobs, const char *data,
		 size_t size)
{
	CLEANUP(exec_request) struct exec_request request = { 0 };
	struct error error = { "" };
	int rc;

	if (handle->kind != HANDLE_EXEC)
		return -EACCES;
	if (handle->given_up)
		return -EINVAL;
	if (handle->record != NULL)
		return -EBUSY;
	if (size > REQUEST_MAX_SIZE - handle->text.len)
		return give_up(handle, jobs, -E2BIG, "the request is larger than 1 MiB");
	handle->position = 0; // the help text may have been read before
	rc = buf_append(&handle->text, data, size);
	if (rc < 0)
		return rc;
	if (request_complete(handle->text.data, handle->text.len)) {
		rc = request_parse(handle->text.data, handle->text.len, &request, &error);
		if (rc == -EINVAL)
			return give_up(handle, jobs, rc, error_text(&error, rc));
		if (rc < 0)
			return rc;
	}
	return may_exec(daemon, handle->agent, &request) ? 0 : -EACCES;
}

void handle_truncate(struct handle *handle)
{
	if (handle->kind == HANDLE_EXEC && handle->record == NULL)
		buf_release(&handle->text);
}

static bool complete(const struct handle *handle)
{
	return handle->text.len > 0 && (handle->text.data[handle->text.len - 1] == '\n' ||
					request_complete(handle->text.data, handle->text.len));
}

unsigned handle_poll(struct handle *handle, struct jobs *jobs, unsigned wanted)
{
	uint64_t offset = handle->offset;
	CLEANUP(buf) struct buf some = BUF_INIT;

	switch (handle->kind) {
	case HANDLE_TEXT:
		return POLLIN | POLLRDNORM;
	case HANDLE_EXEC:
		if (handle->record == NULL && (wanted & POLLIN) != 0 && complete(handle))
			(void)submit(handle, jobs);
		if (handle->record == NULL)
			return POLLOUT | POLLWRNORM | (handle->text.len == 0 ? POLLIN | POLLRDNORM : 0);
		return job_record_ended(jobs, handle->record) ? POLLIN | POLLRDNORM : 0;
	case HANDLE_STREAM:
		if (job_record_ended(jobs, handle->record))
			return POLLIN | POLLRDNORM;
		(void)job_record_read(jobs, handle->record, handle->stream, &offset, 1, &some);
		return some.len > 0 ? POLLIN | POLLRDNORM : 0;
	case HANDLE_WAIT:
		return job_record_ended(jobs, handle->record) ? POLLIN | POLLRDNORM : 0;
	}
	return 0;
}

void handle_close(struct handle *handle, struct jobs *jobs)
{
	if (handle->kind == HANDLE_EXEC) {
		if (handle->record == NULL && handle->text.len > 0)
			(void)submit(handle, jobs); // `echo ls > exec`
		else if (handle->record != NULL && !job_record_ended(jobs, handle->record))
			jobs_kill(jobs, handle->record);
	}
	job_record_unref(jobs, handle->record);
	handle->record = NULL;
	buf_release(&handle->text);
}
