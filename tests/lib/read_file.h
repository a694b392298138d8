// SPDX-License-Identifier: Apache-2.0
//
// A file into memory, for tools of the tests.
#pragma once

#include <errno.h>
#include <stdio.h>

#include "sanitize/buf.h"

// Appends. 0, -EFBIG when `ret` would be longer than `max`, or another error.
static inline int read_file(const char *path, size_t max, struct buf *ret)
{
	FILE *file = fopen(path, "r");
	char chunk[65536];
	size_t got;
	int rc = 0;

	if (file == NULL)
		return -errno;
	while (rc == 0 && (got = fread(chunk, 1, sizeof(chunk), file)) > 0)
		rc = ret->len + got > max ? -EFBIG : buf_append(ret, chunk, got);
	(void)fclose(file);
	return rc;
}
