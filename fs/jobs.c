// SPDX-License-Identifier: Apache-2.0
#include "fs/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fs/audit.h"
#include "fs/jobs_record.h"
#include "fs/launcher.h"
#include "fs/request.h"
#include "fs/skill_tools.h"
#include "sanitize/cleanup.h"

#define DEFAULT_KEPT 500000

int jobs_watch(struct jobs *jobs, int fd, uint64_t tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = tag };

	return epoll_ctl(jobs->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int jobs_new(const struct daemon *daemon, const struct jobs_observer *observer, struct jobs **ret,
	     struct error *error)
{
	CLEANUP(buf) struct buf policy = BUF_INIT;
	struct jobs *jobs = calloc(1, sizeof(*jobs));
	int rc;

	if (jobs == NULL)
		return -ENOMEM;
	jobs->daemon = daemon;
	jobs->observer = *observer;
	jobs->launcher = launcher_jobs_socket(daemon->launcher);
	jobs->launcher_gone = jobs->launcher < 0;
	jobs->next_number = 1;
	(void)pthread_mutex_init(&jobs->lock, NULL);
	jobs->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	jobs->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	jobs->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = jobs->null_fd < 0 || jobs->epoll_fd < 0 || jobs->wake_fd < 0 ? -errno : 0;
	if (rc == 0)
		rc = jobs_watch(jobs, jobs->wake_fd, TAG_WAKE);
	if (rc == 0 && !jobs->launcher_gone)
		rc = jobs_watch(jobs, jobs->launcher, TAG_LAUNCHER);
	if (rc == 0)
		rc = config_print(daemon->config, &policy);
	if (rc < 0) {
		jobs_free(jobs);
		return error_set(error, rc, "jobs: %s", strerror(-rc));
	}
	hash_text(policy.data, policy.len, jobs->policy_hash);
	*ret = jobs;
	return 0;
}

// ---- The table; with the lock held ----

static void unref(struct job_record *record)
{
	if (--record->refs == 0)
		job_record_free(record);
}

static struct job_record *find(const struct jobs *jobs, uint32_t number)
{
	struct job_record *record = jobs->newest;

	while (record != NULL && record->number != number)
		record = record->next;
	return record;
}

// Lets go of the oldest results, and of the oldest output above its budget.
void jobs_trim(struct jobs *jobs)
{
	struct job_record **link = &jobs->newest;
	size_t ended = 0, size = 0;

	while (*link != NULL) {
		struct job_record *record = *link;

		if (!job_state_ended(record->state)) {
			link = &record->next;
			continue;
		}
		if (++ended > JOBS_KEPT) {
			*link = record->next;
			unref(record);
			continue;
		}
		for (size_t i = 0; i < STREAM_COUNT; i++) {
			size += output_ring_kept(&record->rings[i]);
			if (size > JOBS_KEPT_SIZE)
				output_ring_drop(&record->rings[i]);
		}
		link = &record->next;
	}
}

size_t jobs_count_unfinished(const struct jobs *jobs)
{
	size_t count = 0;

	for (const struct job_record *record = jobs->newest; record != NULL; record = record->next)
		count += !job_state_ended(record->state);
	return count;
}

// ---- Making records ----

static struct job_record *new_record(const char *agent, const struct job_caller *caller)
{
	struct job_record *record = calloc(1, sizeof(*record));

	if (record == NULL)
		return NULL;
	record->refs = 2; // the table's and the caller's
	record->fds[0] = -1;
	record->fds[1] = -1;
	record->exit_code = -1;
	record->caller = *caller;
	record->agent = strdup(agent);
	for (size_t i = 0; i < STREAM_COUNT; i++)
		record->rings[i].max = DEFAULT_KEPT;
	if (record->agent == NULL) {
		job_record_free(record);
		return NULL;
	}
	return record;
}

// False when nothing can start any more: the record is a refused one then.
static bool link_record(struct jobs *jobs, struct job_record *record)
{
	bool usable;

	(void)pthread_mutex_lock(&jobs->lock);
	record->number = jobs->next_number++;
	record->next = jobs->newest;
	jobs->newest = record;
	if (record->state == JOB_STATE_WAITING && (jobs->stopping || jobs->launcher_gone)) {
		record->state = JOB_STATE_REFUSED;
		record->refusal = REFUSAL_CONFIG;
		record->message =
			strdup(jobs->stopping ? "skillfs is going down" : "the launcher process has ended");
	}
	usable = !job_state_ended(record->state);
	jobs_trim(jobs);
	(void)pthread_mutex_unlock(&jobs->lock);
	return usable;
}

// What a refused record has to tell the log. Its fields are final.
void jobs_audit_refusal(const struct jobs *jobs, const struct job_record *record)
{
	json_t *fields;

	job_record_audit(jobs, record, "exec.refused");
	if (record->refusal != REFUSAL_POLICY)
		return;
	fields = json_pack("{s:s, s:s, s:s?, s:s?}", "agent", record->agent, "tool", "exec", "skill",
			   record->skill, "reason", record->message);
	if (fields != NULL)
		audit_event(jobs->daemon->audit, "tool.policy_filtered", fields);
}

static int give_refused(struct jobs *jobs, struct job_record *record, enum refusal refusal,
			const char *message, struct job_record **ret)
{
	record->state = JOB_STATE_REFUSED;
	record->refusal = refusal;
	record->message = strdup(message);
	(void)link_record(jobs, record);
	jobs_audit_refusal(jobs, record);
	*ret = record;
	return 0;
}

int jobs_refuse(struct jobs *jobs, const char *agent, const struct job_caller *caller, enum refusal refusal,
		const char *message, struct job_record **ret)
{
	struct job_record *record = new_record(agent, caller);

	return record == NULL ? -ENOMEM : give_refused(jobs, record, refusal, message, ret);
}

static int make_stdin(const struct exec_request *request)
{
	CLEANUP(fd) int fd = -1;
	size_t at = 0;

	if (request->input.len == 0)
		return -1;
	fd = memfd_create("skillfs-stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	while (at < request->input.len) {
		ssize_t done = pwrite(fd, request->input.data + at, request->input.len - at, (off_t)at);

		if (done < 0 && errno != EINTR)
			return -errno;
		at += done < 0 ? 0 : (size_t)done;
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return -errno;
	return take_fd(fd);
}

// Hands a request over. The write ends are the launcher's alone afterwards, so that the pipes end with the job.
static int hand_over(struct jobs *jobs, struct job_record *record, struct launcher_message *message,
		     int arguments, const struct exec_request *request)
{
	CLEANUP(fd) int input = make_stdin(request);
	CLEANUP(fd) int out_write = -1;
	CLEANUP(fd) int err_write = -1;
	int out[2], err[2];
	int rc;

	if (input < -1)
		return input;
	if (pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	record->fds[0] = out[0];
	out_write = out[1];
	if (pipe2(err, O_CLOEXEC) < 0)
		return -errno;
	record->fds[1] = err[0];
	err_write = err[1];
	for (size_t i = 0; i < 2; i++) {
		if (fcntl(record->fds[i], F_SETFL, O_NONBLOCK) < 0)
			return -errno;
	}
	if (!link_record(jobs, record)) {
		jobs_audit_refusal(jobs, record);
		return 0;
	}
	for (size_t i = 0; i < 2; i++) {
		rc = jobs_watch(jobs, record->fds[i], tag_of(record->number, i));
		if (rc < 0)
			return rc;
	}
	message->op = LAUNCHER_RUN;
	message->id = record->number;
	return launcher_send(jobs->launcher, message,
			     (int[]){ arguments, input < 0 ? jobs->null_fd : input, out_write, err_write },
			     4);
}

// For a record that stands in the table and whose request did not reach the launcher. False when it has ended otherwise.
static bool fail_record(struct jobs *jobs, struct job_record *record, int code)
{
	bool failed;

	(void)pthread_mutex_lock(&jobs->lock);
	failed = !job_state_ended(record->state);
	if (failed) {
		record->state = JOB_STATE_REFUSED;
		record->refusal = code == -EAGAIN ? REFUSAL_BUSY : REFUSAL_CONFIG;
		record->message = strdup(strerror(-code));
		jobs_trim(jobs);
	}
	(void)pthread_mutex_unlock(&jobs->lock);
	return failed;
}

int jobs_submit(struct jobs *jobs, const char *agent, const struct job_caller *caller, const char *text,
		size_t len, struct job_record **ret)
{
	const struct agent_config *config = config_agent(jobs->daemon->config, agent);
	CLEANUP(free) struct launcher_message *message = calloc(1, sizeof(*message));
	CLEANUP(exec_request) struct exec_request request = { 0 };
	CLEANUP(strv) struct strv narrowing = { 0 };
	CLEANUP(fd) int arguments = -1;
	struct error error = { "" };
	struct job_record *record = new_record(agent, caller);
	int rc;

	if (record == NULL || message == NULL) {
		if (record != NULL)
			job_record_free(record);
		return -ENOMEM;
	}
	if (config == NULL)
		return give_refused(jobs, record, REFUSAL_CONFIG, "no such agent", ret);
	rc = request_parse(text, len, &request, &error);
	if (rc < 0)
		return give_refused(jobs, record, REFUSAL_REQUEST, error_text(&error, rc), ret);
	hash_text(text, len, record->command_hash);
	record->command = request_summary(&request, COMMAND_SHOWN);
	record->skill = request.skill == NULL ? NULL : strdup(request.skill);
	record->profile = config_source_profile(config, request.tool == NULL ? BASH_TOOL : request.tool);
	for (size_t i = 0; record->profile != NULL && i < STREAM_COUNT; i++)
		record->rings[i].max = (size_t)record->profile->max_response_bytes;
	if (request.skill != NULL) {
		rc = skill_narrowing(jobs->daemon, config, request.skill, &narrowing);
		if (rc == -ENOENT)
			return give_refused(jobs, record, REFUSAL_POLICY, "no such skill is visible", ret);
	}
	message->uid = (uint32_t)caller->uid;
	message->pid = caller->pid;
	message->outside = caller->outside;
	if (rc == 0) {
		arguments = launcher_arguments_write(message, agent,
						     request.skill == NULL ? NULL : &narrowing, text, len);
		rc = arguments < 0 ? arguments : hand_over(jobs, record, message, arguments, &request);
	}
	if (rc < 0 && record->number == 0)
		return give_refused(jobs, record,
				    rc == -EMFILE || rc == -ENFILE ? REFUSAL_BUSY : REFUSAL_CONFIG,
				    strerror(-rc), ret);
	if (rc < 0 && fail_record(jobs, record, rc))
		jobs_audit_refusal(jobs, record);
	*ret = record;
	return 0;
}

int jobs_check(struct jobs *jobs, uint32_t id, const struct job_caller *caller)
{
	CLEANUP(free) struct launcher_message *message = calloc(1, sizeof(*message));
	bool gone;

	if (message == NULL)
		return -ENOMEM;
	(void)pthread_mutex_lock(&jobs->lock);
	gone = jobs->launcher_gone || jobs->stopping;
	(void)pthread_mutex_unlock(&jobs->lock);
	if (gone)
		return -ESHUTDOWN;
	message->op = LAUNCHER_CHECK;
	message->id = id;
	message->pid = caller->pid;
	message->uid = (uint32_t)caller->uid;
	return launcher_send(jobs->launcher, message, NULL, 0);
}

void jobs_send(struct jobs *jobs, enum launcher_op op, uint32_t id)
{
	CLEANUP(free) struct launcher_message *message = calloc(1, sizeof(*message));

	if (message == NULL)
		return;
	message->op = (uint32_t)op;
	message->id = id;
	(void)launcher_send(jobs->launcher, message, NULL, 0);
}

void jobs_kill(struct jobs *jobs, struct job_record *record)
{
	bool kill;

	(void)pthread_mutex_lock(&jobs->lock);
	kill = !job_state_ended(record->state) && !record->kill_asked && !jobs->launcher_gone;
	record->kill_asked = true;
	(void)pthread_mutex_unlock(&jobs->lock);
	if (kill)
		jobs_send(jobs, LAUNCHER_KILL, record->number);
}

int jobs_start(struct jobs *jobs, struct error *error)
{
	sigset_t all, before;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&jobs->thread, NULL, jobs_thread, jobs);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0)
		return error_set(error, -rc, "job thread: %s", strerror(rc));
	jobs->started = true;
	return 0;
}

void jobs_stop(struct jobs *jobs)
{
	uint32_t *numbers;
	size_t count = 0;

	(void)pthread_mutex_lock(&jobs->lock);
	jobs->stopping = true;
	numbers = calloc(jobs_count_unfinished(jobs) + 1, sizeof(*numbers));
	for (struct job_record *record = jobs->newest; numbers != NULL && record != NULL;
	     record = record->next) {
		if (!job_state_ended(record->state))
			numbers[count++] = record->number;
	}
	(void)pthread_mutex_unlock(&jobs->lock);
	for (size_t i = 0; i < count; i++)
		jobs_send(jobs, LAUNCHER_KILL, numbers[i]);
	free(numbers);
	if (!jobs->started)
		return;
	(void)eventfd_write(jobs->wake_fd, 1);
	(void)pthread_join(jobs->thread, NULL);
	jobs->started = false;
}

void jobs_free(struct jobs *jobs)
{
	if (jobs == NULL)
		return;
	jobs_stop(jobs);
	while (jobs->newest != NULL) {
		struct job_record *record = jobs->newest;

		jobs->newest = record->next;
		unref(record);
	}
	if (jobs->null_fd >= 0)
		(void)close(jobs->null_fd);
	if (jobs->epoll_fd >= 0)
		(void)close(jobs->epoll_fd);
	if (jobs->wake_fd >= 0)
		(void)close(jobs->wake_fd);
	(void)pthread_mutex_destroy(&jobs->lock);
	free(jobs);
}

// ---- Looking ----

struct job_record *jobs_ref(struct jobs *jobs, uint32_t number)
{
	struct job_record *record;

	(void)pthread_mutex_lock(&jobs->lock);
	record = find(jobs, number);
	if (record != NULL)
		record->refs++;
	(void)pthread_mutex_unlock(&jobs->lock);
	return record;
}

void job_record_unref(struct jobs *jobs, struct job_record *record)
{
	if (record == NULL)
		return;
	(void)pthread_mutex_lock(&jobs->lock);
	unref(record);
	(void)pthread_mutex_unlock(&jobs->lock);
}

bool job_record_ended(struct jobs *jobs, const struct job_record *record)
{
	bool ended;

	(void)pthread_mutex_lock(&jobs->lock);
	ended = job_state_ended(record->state);
	(void)pthread_mutex_unlock(&jobs->lock);
	return ended;
}

struct job_record *jobs_find(struct jobs *jobs, const char *agent, uint32_t number)
{
	struct job_record *record = jobs_ref(jobs, number);

	if (record != NULL && strcmp(record->agent, agent) != 0) {
		job_record_unref(jobs, record);
		return NULL;
	}
	return record;
}

uint32_t jobs_last(struct jobs *jobs, const char *agent)
{
	uint32_t number = 0;

	(void)pthread_mutex_lock(&jobs->lock);
	for (const struct job_record *record = jobs->newest; record != NULL && number == 0;
	     record = record->next) {
		if (strcmp(record->agent, agent) == 0)
			number = record->number;
	}
	(void)pthread_mutex_unlock(&jobs->lock);
	return number;
}

size_t jobs_list(struct jobs *jobs, const char *agent, uint32_t *ret, size_t max)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&jobs->lock);
	for (const struct job_record *record = jobs->newest; record != NULL && count < max;
	     record = record->next) {
		if (strcmp(record->agent, agent) == 0)
			ret[count++] = record->number;
	}
	(void)pthread_mutex_unlock(&jobs->lock);
	for (size_t i = 0; i < count / 2; i++) {
		uint32_t other = ret[i];

		ret[i] = ret[count - 1 - i];
		ret[count - 1 - i] = other;
	}
	return count;
}

size_t jobs_running(struct jobs *jobs)
{
	size_t count;

	(void)pthread_mutex_lock(&jobs->lock);
	count = jobs_count_unfinished(jobs);
	(void)pthread_mutex_unlock(&jobs->lock);
	return count;
}

uint64_t jobs_started(struct jobs *jobs)
{
	uint64_t count;

	(void)pthread_mutex_lock(&jobs->lock);
	count = jobs->started_count;
	(void)pthread_mutex_unlock(&jobs->lock);
	return count;
}

bool jobs_usable(struct jobs *jobs)
{
	bool usable;

	(void)pthread_mutex_lock(&jobs->lock);
	usable = !jobs->launcher_gone;
	(void)pthread_mutex_unlock(&jobs->lock);
	return usable;
}
