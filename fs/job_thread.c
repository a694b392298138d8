// SPDX-License-Identifier: Apache-2.0
//
// The job thread: the launcher's answers, the jobs' output, and their ends.
// Audit lines stand before anything starts, and before anybody hears of the end.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "fs/jobs_record.h"
#include "sanitize/cleanup.h"

#define READ_SIZE       ((size_t)64 << 10)
#define STOP_TIMEOUT_MS 5000

// One read. Returns false at the end of the stream or when it has nothing now.
static bool read_stream(struct jobs *jobs, struct job_record *record, size_t stream, bool *ret_end)
{
	char data[READ_SIZE];
	ssize_t len;

	*ret_end = false;
	if (record->fds[stream] < 0)
		return false;
	do {
		len = read(record->fds[stream], data, sizeof(data));
	} while (len < 0 && errno == EINTR);
	if (len < 0 && errno == EAGAIN)
		return false;
	if (len <= 0) {
		*ret_end = true;
		return false;
	}
	(void)pthread_mutex_lock(&jobs->lock);
	if (!job_state_ended(record->state)) {
		output_ring_append(&record->rings[stream], data, (size_t)len);
		output_ring_append(&record->rings[STREAM_OUTPUT], data, (size_t)len);
	}
	(void)pthread_mutex_unlock(&jobs->lock);
	return true;
}

static void close_stream(struct job_record *record, size_t stream)
{
	if (record->fds[stream] >= 0)
		(void)close(record->fds[stream]);
	record->fds[stream] = -1;
}

// What was written before the end is in the pipes now; whoever still holds them open may not keep us waiting.
static void drain(struct jobs *jobs, struct job_record *record)
{
	for (size_t stream = 0; stream < 2; stream++) {
		int size = record->fds[stream] < 0 ? 0 : fcntl(record->fds[stream], F_GETPIPE_SZ);
		bool end;

		for (size_t reads = 0; reads <= 2 + 2 * (size_t)(size < 0 ? 0 : size) / READ_SIZE; reads++) {
			if (!read_stream(jobs, record, stream, &end))
				break;
		}
		close_stream(record, stream);
	}
}

static void set_message(struct job_record *record, const struct launcher_message *message)
{
	size_t len = strnlen(message->text, message->text_len);

	free(record->message);
	record->message = len == 0 ? NULL : strndup(message->text, len);
}

static void end_record(struct jobs *jobs, struct job_record *record, const struct launcher_message *message)
{
	bool refused = message->op == LAUNCHER_REFUSED;

	drain(jobs, record);
	(void)pthread_mutex_lock(&jobs->lock);
	if (job_state_ended(record->state)) {
		(void)pthread_mutex_unlock(&jobs->lock);
		return;
	}
	record->state = refused ? JOB_STATE_REFUSED : (enum job_state)message->state;
	if (!job_state_ended(record->state))
		record->state = JOB_STATE_SETUP_FAILED;
	record->refusal = refused ? (enum refusal)message->reason : REFUSAL_NONE;
	record->exit_code = refused ? -1 : message->exit_code;
	record->signal = message->signal;
	record->duration_ms = message->duration_ms;
	set_message(record, message);
	job_record_close(record);
	jobs_trim(jobs);
	(void)pthread_mutex_unlock(&jobs->lock);
	if (refused)
		jobs_audit_refusal(jobs, record);
	else
		job_record_audit(jobs, record, "exec.end");
	jobs->observer.changed(jobs->observer.context, record);
}

static void handle_ready(struct jobs *jobs, struct job_record *record, const struct launcher_message *message)
{
	bool kill;

	(void)pthread_mutex_lock(&jobs->lock);
	record->tier = (enum sandbox_tier)message->tier;
	record->network = (enum network_mode)message->network;
	for (size_t at = 0; at < message->text_len;
	     at += strnlen(message->text + at, message->text_len - at) + 1)
		(void)strv_add_len(&record->warnings, message->text + at,
				   strnlen(message->text + at, message->text_len - at));
	record->state = JOB_STATE_RUNNING;
	kill = record->kill_asked || jobs->stopping;
	jobs->started_count += !kill;
	(void)pthread_mutex_unlock(&jobs->lock);
	// The line stands before anything runs.
	job_record_audit(jobs, record, "exec.start");
	jobs_send(jobs, kill ? LAUNCHER_KILL : LAUNCHER_GO, record->number);
}

// Nobody will answer any more.
static void lose_launcher(struct jobs *jobs)
{
	struct launcher_message end = { .op = LAUNCHER_ENDED, .state = JOB_STATE_KILLED, .exit_code = -1 };
	struct job_record *record;

	(void)epoll_ctl(jobs->epoll_fd, EPOLL_CTL_DEL, jobs->launcher, NULL);
	launcher_set_text(&end, "the launcher process has ended", 31);
	(void)pthread_mutex_lock(&jobs->lock);
	jobs->launcher_gone = true;
	(void)pthread_mutex_unlock(&jobs->lock);
	jobs->observer.checked(jobs->observer.context, 0, false);
	do {
		(void)pthread_mutex_lock(&jobs->lock);
		for (record = jobs->newest; record != NULL && job_state_ended(record->state);)
			record = record->next;
		if (record != NULL)
			record->refs++;
		(void)pthread_mutex_unlock(&jobs->lock);
		if (record != NULL) {
			end_record(jobs, record, &end);
			job_record_unref(jobs, record);
		}
	} while (record != NULL);
}

static void handle_launcher(struct jobs *jobs)
{
	struct launcher_message message;
	struct job_record *record;
	int rc;

	while ((rc = launcher_receive(jobs->launcher, &message, NULL, NULL)) == 1) {
		if (message.op == LAUNCHER_CHECKED) {
			jobs->observer.checked(jobs->observer.context, message.id, message.outside != 0);
			continue;
		}
		record = jobs_ref(jobs, message.id);
		if (record == NULL)
			continue;
		if (message.op == LAUNCHER_READY)
			handle_ready(jobs, record, &message);
		if (message.op == LAUNCHER_REFUSED || message.op == LAUNCHER_ENDED)
			end_record(jobs, record, &message);
		job_record_unref(jobs, record);
	}
	if (rc != -EAGAIN)
		lose_launcher(jobs);
}

static void handle_output(struct jobs *jobs, uint64_t tag)
{
	size_t stream = tag & 1;
	struct job_record *record = jobs_ref(jobs, (uint32_t)(tag >> 1));
	bool end;

	if (record == NULL)
		return;
	if (read_stream(jobs, record, stream, &end))
		jobs->observer.changed(jobs->observer.context, record);
	else if (end)
		close_stream(record, stream);
	job_record_unref(jobs, record);
}

void *jobs_thread(void *context)
{
	struct jobs *jobs = context;
	struct epoll_event events[32];
	struct timespec now, deadline = { 0 };
	bool stopping = false;

	for (;;) {
		int count = epoll_wait(jobs->epoll_fd, events, ARRAY_SIZE(events), stopping ? 50 : -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.u64 == TAG_LAUNCHER)
				handle_launcher(jobs);
			else if (events[i].data.u64 != TAG_WAKE)
				handle_output(jobs, events[i].data.u64 & (((uint64_t)1 << 40) - 1));
			else if (!stopping) {
				stopping = true;
				(void)clock_gettime(CLOCK_MONOTONIC, &deadline);
				deadline.tv_sec += STOP_TIMEOUT_MS / 1000;
			}
		}
		if (stopping) {
			size_t unfinished;

			(void)clock_gettime(CLOCK_MONOTONIC, &now);
			(void)pthread_mutex_lock(&jobs->lock);
			unfinished = jobs_count_unfinished(jobs);
			(void)pthread_mutex_unlock(&jobs->lock);
			if (unfinished == 0 || now.tv_sec > deadline.tv_sec) {
				// Nobody reads the answers to CHECK any more.
				jobs->observer.checked(jobs->observer.context, 0, false);
				return NULL;
			}
		}
	}
}
