// SPDX-License-Identifier: Apache-2.0
#include "fs/jobs_record.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "fs/audit.h"
#include "fs/output/json.h"
#include "policy/source_profile.h"
#include "sanitize/cleanup.h"

void job_record_free(struct job_record *record)
{
	for (size_t i = 0; i < STREAM_COUNT; i++)
		free(record->rings[i].data);
	for (size_t i = 0; i < ARRAY_SIZE(record->fds); i++) {
		if (record->fds[i] >= 0)
			(void)close(record->fds[i]);
	}
	strv_release(&record->warnings);
	free(record->agent);
	free(record->skill);
	free(record->command);
	free(record->message);
	free(record);
}

static json_t *text_list(const struct strv *texts)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && i < texts->count; i++)
		(void)json_array_append_new(list, json_text(texts->items[i]));
	return list;
}

static const char *limit_name(const struct job_record *record)
{
	if (record->state == JOB_STATE_TIMEOUT)
		return "timeout";
	if (job_state_ended(record->state) && record->window_len < record->rings[STREAM_OUTPUT].total)
		return "output";
	return NULL;
}

json_t *job_record_json(const struct jobs *jobs, const struct job_record *record)
{
	bool ran = record->state != JOB_STATE_REFUSED && record->state != JOB_STATE_WAITING;
	uint64_t total = record->rings[STREAM_OUTPUT].total;
	uint64_t kept = job_state_ended(record->state) ? record->window_len
						       : output_ring_kept(&record->rings[STREAM_OUTPUT]);
	json_t *result;

	result = json_pack("{s:I, s:s, s:o, s:o, s:s?, s:s?, s:I, s:I, s:I, s:I, s:b, s:s?, s:o, s:s, s:n}",
			   "job", (json_int_t)record->number, "state", job_state_name(record->state),
			   "exitCode", record->exit_code < 0 ? json_null() : json_integer(record->exit_code),
			   "signal", record->signal == 0 ? json_null() : json_integer(record->signal), "tier",
			   ran ? sandbox_tier_name(record->tier) : NULL, "network",
			   !ran ? NULL : (record->network == NETWORK_OPEN ? "open" : "broker-only"),
			   "durationMs", (json_int_t)record->duration_ms, "stdoutBytes",
			   (json_int_t)record->rings[STREAM_STDOUT].total, "stderrBytes",
			   (json_int_t)record->rings[STREAM_STDERR].total, "keptBytes", (json_int_t)kept,
			   "truncated", (int)(kept < total), "limit", limit_name(record), "warnings",
			   text_list(&record->warnings), "policyHash", jobs->policy_hash, "boundBinary");
	if (result != NULL && record->refusal != REFUSAL_NONE)
		(void)json_object_set_new(result, "reason", json_string(refusal_name(record->refusal)));
	if (result != NULL && record->message != NULL)
		(void)json_object_set_new(result, "message", json_text(record->message));
	return result;
}

void job_record_close(struct job_record *record)
{
	const struct output_ring *ring = &record->rings[STREAM_OUTPUT];
	CLEANUP(buf) struct buf kept = BUF_INIT;
	uint64_t offset = 0;

	record->window_offset = 0;
	record->window_len = output_ring_kept(ring);
	if (record->profile == NULL || record->window_len == 0)
		return;
	if (output_ring_read(ring, &offset, SIZE_MAX, &kept) < 0) {
		record->window_len = 0;
		return;
	}
	source_profile_window(record->profile, kept.data, kept.len, &record->window_offset,
			      &record->window_len);
}

int job_record_status(struct jobs *jobs, const struct job_record *record, struct buf *ret)
{
	json_t *result;
	int rc = -ENOMEM;

	(void)pthread_mutex_lock(&jobs->lock);
	result = job_record_json(jobs, record);
	(void)pthread_mutex_unlock(&jobs->lock);
	if (result != NULL)
		rc = json_append(ret, result, true);
	json_decref(result);
	return rc;
}

int job_record_answer(struct jobs *jobs, const struct job_record *record, struct buf *ret)
{
	uint64_t offset = 0;
	json_t *result, *line = NULL;
	int rc;

	(void)pthread_mutex_lock(&jobs->lock);
	result = job_record_json(jobs, record);
	// Offsets of the window count from the start of what was kept at the end.
	if (output_ring_kept(&record->rings[STREAM_OUTPUT]) > 0)
		offset = record->rings[STREAM_OUTPUT].dropped + record->window_offset;
	rc = output_ring_read(&record->rings[STREAM_OUTPUT], &offset, record->window_len, ret);
	(void)pthread_mutex_unlock(&jobs->lock);
	if (rc == 0 && ret->len > 0 && ret->data[ret->len - 1] != '\n')
		rc = buf_append_byte(ret, '\n');
	if (result != NULL)
		line = json_pack("{s:o}", "skillfs", result);
	if (rc == 0)
		rc = line == NULL ? -ENOMEM : json_append(ret, line, true);
	json_decref(line);
	return rc;
}

int job_record_read(struct jobs *jobs, const struct job_record *record, enum job_stream stream,
		    uint64_t *offset, size_t max, struct buf *ret)
{
	int rc;

	(void)pthread_mutex_lock(&jobs->lock);
	rc = output_ring_read(&record->rings[stream], offset, max, ret);
	(void)pthread_mutex_unlock(&jobs->lock);
	return rc;
}

void job_record_audit(const struct jobs *jobs, const struct job_record *record, const char *event)
{
	json_t *fields =
		json_pack("{s:I, s:s, s:I, s:I}", "job", (json_int_t)record->number, "agent", record->agent,
			  "uid", (json_int_t)record->caller.uid, "pid", (json_int_t)record->caller.pid);
	bool start = strcmp(event, "exec.start") == 0;
	json_t *result;

	if (fields == NULL)
		return;
	if (record->skill != NULL)
		(void)json_object_set_new(fields, "skill", json_text(record->skill));
	if (record->command != NULL && strcmp(event, "exec.end") != 0) {
		(void)json_object_set_new(fields, "command", json_text(record->command));
		(void)json_object_set_new(fields, "requestHash", json_string(record->command_hash));
	}
	if (start) {
		(void)json_object_set_new(fields, "tier", json_string(sandbox_tier_name(record->tier)));
		(void)json_object_set_new(
			fields, "network",
			json_string(record->network == NETWORK_OPEN ? "open" : "broker-only"));
		(void)json_object_set_new(fields, "policyHash", json_string(jobs->policy_hash));
	} else if (record->state == JOB_STATE_REFUSED) {
		(void)json_object_set_new(fields, "reason", json_string(refusal_name(record->refusal)));
		if (record->message != NULL)
			(void)json_object_set_new(fields, "message", json_text(record->message));
	} else {
		result = job_record_json(jobs, record);
		if (result != NULL)
			(void)json_object_update_missing(fields, result);
		json_decref(result);
	}
	audit_event(jobs->daemon->audit, event, fields);
}
