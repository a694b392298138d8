// SPDX-License-Identifier: Apache-2.0
//
// What the daemon and the launcher say to each other, over two SOCK_SEQPACKET
// pairs: the calls (UNMOUNT, STOP), each answered by one DONE before the next, and
// the jobs, where answers come when they come.
//
//	CHECK      -> CHECKED                    is the caller outside of our jails?
//	RUN        -> READY | REFUSED            all checks; READY holds one of the places
//	GO         -> STARTED, later ENDED       after the daemon has written its audit line
//	SIGNAL     (no answer)
//	KILL       (no answer but ENDED)
//
// One packet is one struct launcher_message, cut behind its text.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/strv.h"
#include "sanitize/buf.h"
#include "sanitize/error.h"

#define LAUNCHER_JOBS_MAX      8 // at once
#define LAUNCHER_TEXT_MAX      4096
#define LAUNCHER_FDS_MAX       4
#define LAUNCHER_ARGUMENTS_MAX ((size_t)4 << 20) // all that one RUN carries in its memfd
#define LAUNCHER_TERM_GRACE_MS 2000

enum launcher_op {
	LAUNCHER_CHECK = 1, // pid, uid
	LAUNCHER_RUN, // uid, outside, has_narrowing, lengths; descriptors: arguments, stdin, stdout, stderr
	LAUNCHER_GO,
	LAUNCHER_SIGNAL, // value: the signal
	LAUNCHER_KILL,
	LAUNCHER_UNMOUNT, // text: the path
	LAUNCHER_STOP,
	LAUNCHER_CHECKED, // outside
	LAUNCHER_READY,   // tier, network; text: warnings, each NUL-terminated
	LAUNCHER_REFUSED, // reason; text: the message
	LAUNCHER_STARTED, // pid
	LAUNCHER_ENDED,   // state, exit_code, signal, duration_ms; text: the message, for setup_failed
	LAUNCHER_DONE,    // code
};

// As printed in a RESULT. REASON_REQUEST is a request that cannot be understood.
enum refusal {
	REFUSAL_NONE,
	REFUSAL_POLICY,
	REFUSAL_STEPS,
	REFUSAL_BUDGET,
	REFUSAL_BREAKER,
	REFUSAL_BUSY,
	REFUSAL_REENTRY,
	REFUSAL_CONFIG,
	REFUSAL_REQUEST,
};
const char *refusal_name(enum refusal refusal);

enum job_state {
	JOB_STATE_WAITING, // for the launcher
	JOB_STATE_RUNNING,
	JOB_STATE_REFUSED,
	JOB_STATE_SETUP_FAILED,
	JOB_STATE_EXITED,
	JOB_STATE_SIGNALED,
	JOB_STATE_TIMEOUT,
	JOB_STATE_KILLED,
	JOB_STATE_OUTPUT_LIMIT,
};
const char *job_state_name(enum job_state state);

struct launcher_message {
	uint32_t op;
	uint32_t id; // the daemon's: a job's number, or a handle's for CHECK
	int32_t code;
	int32_t pid;
	uint32_t uid;
	uint32_t value;
	uint32_t outside;       // 1: the caller is known to be outside of our jails
	uint32_t has_narrowing; // 1: the list stands for a skill's restriction, also when it is empty
	uint32_t agent_len;     // the memfd: the agent's name, ...
	uint32_t narrowing_len; // ... tool names, each NUL-terminated, ...
	uint32_t request_len;   // ... and the request as it was written
	uint32_t tier;
	uint32_t network;
	uint32_t reason;
	uint32_t state;
	int32_t exit_code;
	int32_t signal;
	uint32_t text_len;
	int64_t duration_ms;
	char text[LAUNCHER_TEXT_MAX];
};

// Copies as much of `text` as fits.
void launcher_set_text(struct launcher_message *message, const char *text, size_t len);
// One packet. 0, -EAGAIN when the other side does not keep up, -EPIPE, ...
int launcher_send(int socket, const struct launcher_message *message, const int *fds, size_t fd_count);
// 1, 0 when the other side has gone, -EAGAIN, -EBADMSG (descriptors are closed then). `ret_fds` may be NULL.
int launcher_receive(int socket, struct launcher_message *ret, int ret_fds[LAUNCHER_FDS_MAX],
		     size_t *ret_fd_count);

// What a RUN carries, as the launcher reads it back.
struct launcher_arguments {
	char *agent;
	bool has_narrowing;
	struct strv narrowing;
	struct buf request;
};
void launcher_arguments_release(struct launcher_arguments *arguments);
// A sealed memfd, and its lengths in `message`. The descriptor or a negative errno.
int launcher_arguments_write(struct launcher_message *message, const char *agent,
			     const struct strv *narrowing, const char *request, size_t len);
// -EBADMSG for anything that is not what launcher_arguments_write() makes.
int launcher_arguments_read(const struct launcher_message *message, int fd, struct launcher_arguments *ret);

// The daemon's end of the jobs socket, non-blocking; -1 with `launcher` NULL.
struct launcher;
int launcher_jobs_socket(const struct launcher *launcher);

// The launcher process itself; returns when the daemon has gone or said STOP. Given by launcher_process.c.
struct launcher_options;
void launcher_process(const struct launcher_options *options, int calls, int jobs);

static inline void cleanup_launcher_arguments(struct launcher_arguments *arguments)
{
	launcher_arguments_release(arguments);
}
