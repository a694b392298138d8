// SPDX-License-Identifier: Apache-2.0
#include "fs/body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/spool.h"

struct body *body_new(struct buf *data, const struct digest *digest)
{
	struct body *body = calloc(1, sizeof(*body));

	if (body == NULL)
		return NULL;
	atomic_init(&body->refs, 1);
	body->digest = *digest;
	body->size = data->len;
	body->fd = -1;
	buf_fit(data);
	body->data = *data;
	*data = BUF_INIT;
	return body;
}

struct body *body_ref(struct body *body)
{
	atomic_fetch_add_explicit(&body->refs, 1, memory_order_relaxed);
	return body;
}

void body_unref(struct body *body)
{
	if (body == NULL || atomic_fetch_sub_explicit(&body->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (body->fd >= 0) {
		(void)close(body->fd);
		spool_give_back(body->spool, body->size, body->in_memory);
	}
	buf_release(&body->data);
	free(body);
}

static ssize_t read_copy(int fd, char *ret, size_t len, size_t offset, bool wait)
{
	struct iovec part = { .iov_base = ret, .iov_len = len };
	ssize_t got;

	do {
		got = preadv2(fd, &part, 1, (off_t)offset, wait ? 0 : RWF_NOWAIT);
	} while (got < 0 && errno == EINTR);
	if (got >= 0)
		return got;
	return !wait && (errno == EAGAIN || errno == EOPNOTSUPP) ? -EAGAIN : -EIO;
}

ssize_t body_read(const struct body *body, char *ret, size_t len, size_t offset, bool wait)
{
	size_t done = 0;

	if (offset >= body->size)
		return 0;
	if (len > body->size - offset)
		len = body->size - offset;
	if (body->fd < 0) {
		memcpy(ret, body->data.data + offset, len);
		return (ssize_t)len;
	}
	while (done < len) {
		ssize_t got = read_copy(body->fd, ret + done, len - done, offset + done, wait);

		if (got < 0)
			return got;
		if (got == 0)
			return wait ? -EIO : -EAGAIN; // shorter than it was written
		done += (size_t)got;
	}
	return (ssize_t)len;
}
