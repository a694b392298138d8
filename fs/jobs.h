// SPDX-License-Identifier: Apache-2.0
//
// The job table: what was asked for, what runs, and the results of the last
// JOBS_KEPT. One thread of its own reads the launcher's answers and the jobs'
// output; whoever waits for either is told through the observer. Thread-safe.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/daemon.h"
#include "fs/launcher_protocol.h"
#include "sanitize/buf.h"
#include "sanitize/error.h"

#define JOBS_KEPT      64                 // ended ones
#define JOBS_KEPT_SIZE ((size_t)64 << 20) // of their output, all together
#define BASH_TOOL      "bash"             // whose source profile shapes the output

struct jobs;
struct job_record;

enum job_stream { STREAM_STDOUT, STREAM_STDERR, STREAM_OUTPUT, STREAM_COUNT };

// Called from the job thread, with no lock held.
struct jobs_observer {
	void *context;
	void (*changed)(void *context, struct job_record *record); // more output, or the end
	void (*checked)(void *context, uint32_t id, bool outside); // the answer to jobs_check()
};

// Who asks, as found out when the file was opened.
struct job_caller {
	uid_t uid;
	pid_t pid;
	bool outside; // of our jails
};

int jobs_new(const struct daemon *daemon, const struct jobs_observer *observer, struct jobs **ret,
	     struct error *error);
int jobs_start(struct jobs *jobs, struct error *error);
// Kills what runs, waits for the ends (bounded), joins the thread. Nothing starts afterwards.
void jobs_stop(struct jobs *jobs);
void jobs_free(struct jobs *jobs); // stops first; NULL is allowed

// Asks the launcher about a caller that is known to wait; `id` is the asker's.
int jobs_check(struct jobs *jobs, uint32_t id, const struct job_caller *caller);
// One request as written. Always gives a record (with a reference), which may be a refused one already; -ENOMEM.
int jobs_submit(struct jobs *jobs, const char *agent, const struct job_caller *caller, const char *text,
		size_t len, struct job_record **ret);
// A record for a request that was not understood.
int jobs_refuse(struct jobs *jobs, const char *agent, const struct job_caller *caller, enum refusal refusal,
		const char *message, struct job_record **ret);
void jobs_kill(struct jobs *jobs, struct job_record *record);

void job_record_unref(struct jobs *jobs, struct job_record *record); // NULL is allowed
bool job_record_ended(struct jobs *jobs, const struct job_record *record);
// The RESULT as one line of JSON. 0 or -ENOMEM.
int job_record_status(struct jobs *jobs, const struct job_record *record, struct buf *ret);
// What the simple door gives: the output as its source profile lets it through, then {"skillfs": RESULT}.
int job_record_answer(struct jobs *jobs, const struct job_record *record, struct buf *ret);
// Appends output from `*offset` on. Nothing appended: none yet, or, after the end, no more.
int job_record_read(struct jobs *jobs, const struct job_record *record, enum job_stream stream,
		    uint64_t *offset, size_t max, struct buf *ret);

// NULL when there is no such job (any more); else with a reference.
struct job_record *jobs_find(struct jobs *jobs, const char *agent, uint32_t number);
uint32_t jobs_last(struct jobs *jobs, const char *agent); // the newest, which may still run; 0: none
// The numbers of all known jobs, rising; at most `max`. Returns how many.
size_t jobs_list(struct jobs *jobs, const char *agent, uint32_t *ret, size_t max);
size_t jobs_running(struct jobs *jobs);
bool jobs_usable(struct jobs *jobs);      // false when there is no launcher (any more)
uint64_t jobs_started(struct jobs *jobs); // since start
