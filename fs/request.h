// SPDX-License-Identifier: Apache-2.0
//
// What is written to `exec`: a shell line, or a JSON object (first byte `{`).
// Parsed twice by the same code: in the daemon for the skill's name, and in the
// launcher, which trusts nothing that the daemon says about it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/config.h"
#include "policy/strv.h"
#include "sanitize/buf.h"
#include "sanitize/error.h"

#define REQUEST_MAX_SIZE ((size_t)1 << 20)

// 0 stands for "not given" in each.
struct request_limits {
	uint64_t memory_max;
	uint32_t pids_max;
	uint64_t file_size_max;
	uint64_t tmp_size_max;
};

struct exec_request {
	char *command;       // a shell line, or NULL
	struct strv argv;    // otherwise
	char *cwd;           // NULL: the workspace
	struct strv env;     // "NAME=value"; the names are allowed ones
	struct buf input;    // bytes for standard input
	uint32_t timeout_ms; // 0: the configuration's
	char *skill;         // NULL; the folder's path below the root
	char *tool;          // NULL
	struct request_limits limits;
};

// -EINVAL with a message for a person, -E2BIG above REQUEST_MAX_SIZE, -ENOMEM.
int request_parse(const char *text, size_t len, struct exec_request *ret, struct error *error);
void request_release(struct exec_request *request);
// Whether `text` can be judged already: a JSON object that has ended, well or badly. A shell line never says so by itself.
bool request_complete(const char *text, size_t len);
// The command for a log line: the shell line, or the arguments with spaces between; at most `max` bytes, control characters as spaces,
// with "..." behind when clipped. The caller frees; NULL on -ENOMEM.
char *request_summary(const struct exec_request *request, size_t max);

// The agent's sandbox settings, tightened by the request; never loosened.
void request_tighten(const struct exec_request *request, struct exec_sandbox *sandbox);

static inline void cleanup_exec_request(struct exec_request *request)
{
	request_release(request);
}
