// SPDX-License-Identifier: Apache-2.0
#include "fs/output/writer.h"

#include <errno.h>

#define ENOUGH ((size_t)64 << 10)

int writer_flush(struct writer *writer)
{
	size_t len = writer->text->len;

	if (writer->file == NULL)
		return 0;
	if (len > 0 && fwrite(writer->text->data, 1, len, writer->file) != len)
		return -EIO;
	buf_clear(writer->text);
	return 0;
}

int writer_step(struct writer *writer)
{
	return writer->text->len < ENOUGH ? 0 : writer_flush(writer);
}
