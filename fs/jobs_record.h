// SPDX-License-Identifier: Apache-2.0
//
// The inside of the job table, shared by jobs.c (the table), job_thread.c (its
// thread) and job_record.c (what a job looks like from outside).
#pragma once

#include <pthread.h>

#include "fs/jobs.h"
#include "fs/output_ring.h"

#define COMMAND_SHOWN 200 // bytes of a command in the audit log

struct job_record {
	// Fixed once made:
	struct job_record *next;
	uint32_t number;
	char *agent;
	struct job_caller caller;
	char *skill;   // NULL
	char *command; // clipped
	char command_hash[HASH_TEXT_SIZE];
	const struct source_profile *profile; // may be NULL
	// Under jobs->lock:
	size_t refs;
	enum job_state state;
	enum refusal refusal;
	char *message; // NULL
	enum sandbox_tier tier;
	enum network_mode network;
	struct strv warnings;
	int exit_code; // -1: none
	int signal;    // 0: none
	int64_t duration_ms;
	bool kill_asked;
	struct output_ring rings[STREAM_COUNT];
	size_t window_offset,
		window_len; // of the kept output, what the source profile lets through; set at the end
	int fds[2];         // read ends of stdout and stderr; only the job thread closes them
};

struct jobs {
	const struct daemon *daemon;
	struct jobs_observer observer;
	char policy_hash[HASH_TEXT_SIZE];
	int launcher; // the socket; borrowed
	int null_fd;
	int epoll_fd;
	int wake_fd;
	pthread_t thread;
	bool started;              // the thread
	pthread_mutex_t lock;      // all below
	struct job_record *newest; // a list, newest first
	uint32_t next_number;
	uint64_t started_count;
	bool stopping;
	bool launcher_gone;
};

static inline bool job_state_ended(enum job_state state)
{
	return state >= JOB_STATE_REFUSED;
}

void job_record_free(struct job_record *record);
struct json_t *job_record_json(const struct jobs *jobs,
			       const struct job_record *record); // with the lock held
// Decides which part of the output is given. With the lock held, once, at the end.
void job_record_close(struct job_record *record);

// exec.start, exec.end, exec.refused.
void job_record_audit(const struct jobs *jobs, const struct job_record *record, const char *event);

// jobs.c, for the thread:
void jobs_trim(struct jobs *jobs);                               // with the lock held
size_t jobs_count_unfinished(const struct jobs *jobs);           // with the lock held
struct job_record *jobs_ref(struct jobs *jobs, uint32_t number); // with a reference, or NULL
void jobs_send(struct jobs *jobs, enum launcher_op op, uint32_t id);
void jobs_audit_refusal(const struct jobs *jobs, const struct job_record *record);
int jobs_watch(struct jobs *jobs, int fd, uint64_t tag);

void *jobs_thread(void *jobs);

// What an event of the thread's epoll stands for; jobs are numbered from 1.
#define TAG_LAUNCHER 0
#define TAG_WAKE     1
static inline uint64_t tag_of(uint32_t number, size_t stream)
{
	return (uint64_t)1 << 40 | (uint64_t)number << 1 | stream;
}
