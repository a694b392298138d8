// SPDX-License-Identifier: Apache-2.0
#include "fs/launcher_protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/request.h"
#include "sanitize/cleanup.h"

#define HEADER_SIZE offsetof(struct launcher_message, text)
#define SEALS       (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

const char *refusal_name(enum refusal refusal)
{
	static const char *const names[] = {
		[REFUSAL_NONE] = "none",       [REFUSAL_POLICY] = "policy",   [REFUSAL_STEPS] = "steps",
		[REFUSAL_BUDGET] = "budget",   [REFUSAL_BREAKER] = "breaker", [REFUSAL_BUSY] = "busy",
		[REFUSAL_REENTRY] = "reentry", [REFUSAL_CONFIG] = "config",   [REFUSAL_REQUEST] = "request",
	};

	return (size_t)refusal < ARRAY_SIZE(names) ? names[refusal] : "config";
}

const char *job_state_name(enum job_state state)
{
	static const char *const names[] = {
		[JOB_STATE_WAITING] = "waiting",
		[JOB_STATE_RUNNING] = "running",
		[JOB_STATE_REFUSED] = "refused",
		[JOB_STATE_SETUP_FAILED] = "setup_failed",
		[JOB_STATE_EXITED] = "exited",
		[JOB_STATE_SIGNALED] = "signaled",
		[JOB_STATE_TIMEOUT] = "timeout",
		[JOB_STATE_KILLED] = "killed",
		[JOB_STATE_OUTPUT_LIMIT] = "output_limit",
	};

	return (size_t)state < ARRAY_SIZE(names) ? names[state] : "setup_failed";
}

void launcher_set_text(struct launcher_message *message, const char *text, size_t len)
{
	if (len > sizeof(message->text))
		len = sizeof(message->text);
	memcpy(message->text, text, len);
	message->text_len = (uint32_t)len;
}

int launcher_send(int socket, const struct launcher_message *message, const int *fds, size_t fd_count)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * LAUNCHER_FDS_MAX)];
	} control;
	struct iovec part = { .iov_base = (void *)message, .iov_len = HEADER_SIZE + message->text_len };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *rights;
	ssize_t done;

	if (fd_count > LAUNCHER_FDS_MAX || message->text_len > sizeof(message->text))
		return -EINVAL;
	if (fd_count > 0) {
		memset(&control, 0, sizeof(control));
		header.msg_control = control.space;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(rights), fds, sizeof(int) * fd_count);
	}
	do {
		done = sendmsg(socket, &header, MSG_NOSIGNAL);
	} while (done < 0 && errno == EINTR);
	return done < 0 ? -errno : 0;
}

int launcher_receive(int socket, struct launcher_message *ret, int ret_fds[LAUNCHER_FDS_MAX],
		     size_t *ret_fd_count)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * LAUNCHER_FDS_MAX)];
	} control;
	struct iovec part = { .iov_base = ret, .iov_len = sizeof(*ret) };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	int fds[LAUNCHER_FDS_MAX];
	size_t count = 0;
	ssize_t done;

	do {
		done = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	} while (done < 0 && errno == EINTR);
	if (done < 0)
		return -errno;
	for (struct cmsghdr *at = CMSG_FIRSTHDR(&header); at != NULL; at = CMSG_NXTHDR(&header, at)) {
		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(at), count * sizeof(int));
	}
	if (done == 0)
		return 0;
	if ((size_t)done < HEADER_SIZE || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
	    ret->text_len != (size_t)done - HEADER_SIZE || (count > 0 && ret_fds == NULL)) {
		for (size_t i = 0; i < count; i++)
			(void)close(fds[i]);
		return -EBADMSG;
	}
	if (ret_fds != NULL) {
		memcpy(ret_fds, fds, count * sizeof(int));
		*ret_fd_count = count;
	}
	return 1;
}

void launcher_arguments_release(struct launcher_arguments *arguments)
{
	free(arguments->agent);
	strv_release(&arguments->narrowing);
	buf_release(&arguments->request);
	*arguments = (struct launcher_arguments){ 0 };
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t done = write(fd, data, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		data += done;
		len -= (size_t)done;
	}
	return 0;
}

int launcher_arguments_write(struct launcher_message *message, const char *agent,
			     const struct strv *narrowing, const char *request, size_t len)
{
	CLEANUP(buf) struct buf all = BUF_INIT;
	CLEANUP(fd) int fd = -1;
	size_t before;
	int rc;

	rc = buf_append_string(&all, agent);
	message->agent_len = (uint32_t)all.len;
	before = all.len;
	for (size_t i = 0; rc == 0 && narrowing != NULL && i < narrowing->count; i++)
		rc = buf_append(&all, narrowing->items[i], strlen(narrowing->items[i]) + 1);
	message->has_narrowing = narrowing != NULL;
	message->narrowing_len = (uint32_t)(all.len - before);
	if (rc == 0)
		rc = buf_append(&all, request, len);
	message->request_len = (uint32_t)len;
	if (rc < 0)
		return rc;
	if (all.len > LAUNCHER_ARGUMENTS_MAX || len > REQUEST_MAX_SIZE)
		return -E2BIG;
	fd = memfd_create("skillfs-request", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	rc = write_all(fd, all.data, all.len);
	if (rc < 0)
		return rc;
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return -errno;
	return take_fd(fd);
}

int launcher_arguments_read(const struct launcher_message *message, int fd, struct launcher_arguments *ret)
{
	CLEANUP(launcher_arguments) struct launcher_arguments arguments = { 0 };
	CLEANUP(free) char *all = NULL;
	size_t len = (size_t)message->agent_len + message->narrowing_len + message->request_len;
	const char *at, *end;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	int rc;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0)
		return -EBADMSG;
	if (len > LAUNCHER_ARGUMENTS_MAX || message->request_len > REQUEST_MAX_SIZE ||
	    st.st_size != (off_t)len)
		return -EBADMSG;
	all = malloc(len + 1);
	if (all == NULL)
		return -ENOMEM;
	if (pread(fd, all, len, 0) != (ssize_t)len)
		return -EBADMSG;
	all[len] = '\0';
	arguments.agent = strndup(all, message->agent_len);
	if (arguments.agent == NULL)
		return -ENOMEM;
	at = all + message->agent_len;
	end = at + message->narrowing_len;
	if (end > at && end[-1] != '\0')
		return -EBADMSG;
	for (; at < end; at += strlen(at) + 1) {
		rc = strv_add(&arguments.narrowing, at);
		if (rc < 0)
			return rc;
	}
	arguments.has_narrowing = message->has_narrowing != 0;
	rc = buf_append(&arguments.request, end, message->request_len);
	if (rc < 0)
		return rc;
	*ret = arguments;
	arguments = (struct launcher_arguments){ 0 };
	return 0;
}
