// SPDX-License-Identifier: Apache-2.0
//
// What bubblewrap tells about a jail on --json-status-fd.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BWRAP_STATUS_MAX 4096

struct bwrap_status {
	bool has_exit_code; // only when the command was executed
	int exit_code;
	pid_t child;     // the jail's process 1 as we see it; 0: not said
	uint64_t pid_ns; // inode of its process namespace; 0: not said
};

// `text` is a sequence of flat JSON objects with numbers as values; anything else counts as not said.
void bwrap_status_parse(const char *text, size_t len, struct bwrap_status *ret);
