// SPDX-License-Identifier: Apache-2.0
//
// Growing byte buffer with a hard maximum. `data` is NULL while empty and is
// otherwise followed by one NUL that does not count. Only growth allocates;
// a failed call changes nothing.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define BUF_MAX ((size_t)1 << 31)

struct buf {
	char *data;
	size_t len;
	size_t cap;
};

#define BUF_INIT ((struct buf){ NULL, 0, 0 })

// 0, -ENOMEM, or -EFBIG above BUF_MAX.
int buf_reserve(struct buf *buf, size_t extra);
int buf_append(struct buf *buf, const void *data, size_t len);
int buf_append_string(struct buf *buf, const char *text);
int buf_append_byte(struct buf *buf, unsigned char byte);
int buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_clear(struct buf *buf);   // keeps the memory
void buf_fit(struct buf *buf);     // gives back what is reserved and not used, when that is worth it
void buf_release(struct buf *buf); // back to BUF_INIT
// The bytes, NUL-terminated, never NULL but on -ENOMEM; the caller frees. The buffer is empty afterwards.
char *buf_detach(struct buf *buf);

static inline void cleanup_buf(struct buf *buf)
{
	buf_release(buf);
}
