// SPDX-License-Identifier: Apache-2.0
#include "sanitize/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int buf_reserve(struct buf *buf, size_t extra)
{
	size_t need, cap;
	char *data;

	if (extra > BUF_MAX || buf->len > BUF_MAX - extra)
		return -EFBIG;
	need = buf->len + extra + 1;
	if (need <= buf->cap)
		return 0;
	cap = buf->cap < 64 ? 64 : buf->cap + buf->cap / 2;
	if (cap < need)
		cap = need;
	data = realloc(buf->data, cap);
	if (data == NULL)
		return -ENOMEM;
	data[buf->len] = '\0';
	buf->data = data;
	buf->cap = cap;
	return 0;
}

int buf_append(struct buf *buf, const void *data, size_t len)
{
	int rc = buf_reserve(buf, len);

	if (rc < 0)
		return rc;
	if (len > 0)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
	return 0;
}

int buf_append_string(struct buf *buf, const char *text)
{
	return buf_append(buf, text, strlen(text));
}

int buf_append_byte(struct buf *buf, unsigned char byte)
{
	return buf_append(buf, &byte, 1);
}

int buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args, again;
	int need, rc;

	va_start(args, format);
	va_copy(again, args);
	need = vsnprintf(NULL, 0, format, args);
	va_end(args);
	rc = need < 0 ? -EINVAL : buf_reserve(buf, (size_t)need);
	if (rc == 0) {
		(void)vsnprintf(buf->data + buf->len, (size_t)need + 1, format, again);
		buf->len += (size_t)need;
	}
	va_end(again);
	return rc;
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data != NULL)
		buf->data[0] = '\0';
}

void buf_fit(struct buf *buf)
{
	char *data;

	if (buf->cap <= buf->len + buf->len / 8 + 64)
		return;
	data = realloc(buf->data, buf->len + 1);
	if (data == NULL)
		return;
	buf->data = data;
	buf->cap = buf->len + 1;
}

void buf_release(struct buf *buf)
{
	free(buf->data);
	*buf = BUF_INIT;
}

char *buf_detach(struct buf *buf)
{
	char *data;

	if (buf_reserve(buf, 0) < 0)
		return NULL;
	data = buf->data;
	*buf = BUF_INIT;
	return data;
}
