// SPDX-License-Identifier: Apache-2.0
//
// Where output goes: a buffer that is written out as it fills, so that a file with a million findings needs no more
// memory than one with ten; or, without a file, one that keeps all.
#pragma once

#include <stdio.h>

#include "sanitize/buf.h"

struct writer {
	struct buf *text; // borrowed
	FILE *file;       // borrowed; NULL keeps all in `text`
};

// When there is enough of it, or all. 0 or -EIO (errno says why).
int writer_step(struct writer *writer);
int writer_flush(struct writer *writer);
