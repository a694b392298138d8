// SPDX-License-Identifier: Apache-2.0
//
// The launcher process and the job table together, without FUSE: real commands,
// without a jail, so that nothing but a shell is needed.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "fs/admission.h"
#include "fs/audit.h"
#include "fs/jobs.h"
#include "fs/launcher.h"
#include "fs/launcher_protocol.h"
#include "fs/workspace.h"
#include "sanitize/cleanup.h"

#define PATIENCE_S 20

static const char configuration[] = "agents:\n"
				    "  default:\n"
				    "    skills: {execSandbox: {enabled: never}}\n"
				    "  locked:\n"
				    "    toolPolicy: {profile: coding, deny: [exec]}\n"
				    "  strict:\n"
				    "    skills: {execSandbox: {enabled: required}}\n"
				    "  quick:\n"
				    "    skills: {execSandbox: {enabled: never, timeoutMs: 300}}\n";

struct fixture {
	struct daemon daemon;
	struct jobs *jobs;
	struct job_caller caller;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned changes; // under the lock
	uint32_t checked; // under the lock; the last answer's id
	bool outside;
};

static void on_changed(void *context, struct job_record *record)
{
	struct fixture *fixture = context;

	(void)record;
	(void)pthread_mutex_lock(&fixture->lock);
	fixture->changes++;
	(void)pthread_cond_broadcast(&fixture->changed);
	(void)pthread_mutex_unlock(&fixture->lock);
}

static void on_checked(void *context, uint32_t id, bool outside)
{
	struct fixture *fixture = context;

	(void)pthread_mutex_lock(&fixture->lock);
	fixture->checked = id;
	fixture->outside = outside;
	(void)pthread_cond_broadcast(&fixture->changed);
	(void)pthread_mutex_unlock(&fixture->lock);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct jobs_observer observer = { .context = fixture, .changed = on_changed, .checked = on_checked };
	struct launcher_options options;
	struct error error = { "" };

	assert_non_null(fixture);
	(void)pthread_mutex_init(&fixture->lock, NULL);
	(void)pthread_cond_init(&fixture->changed, NULL);
	if (config_parse("test", configuration, strlen(configuration), &fixture->daemon.config, &error) < 0)
		fail_msg("%s", error.message);
	fixture->daemon.agent = config_agent(fixture->daemon.config, "default");
	fixture->daemon.owner = getuid();
	fixture->caller = (struct job_caller){ .uid = getuid(), .pid = getpid(), .outside = true };
	assert_int_equal(ledger_new(&fixture->daemon.ledger), 0);
	assert_int_equal(audit_open(NULL, &fixture->daemon.audit, &error), 0);
	options = (struct launcher_options){ .config = fixture->daemon.config,
					     .sandbox = &fixture->daemon.sandbox,
					     .source = "/nonexistent/skills",
					     .owner = getuid() };
	assert_int_equal(launcher_start(&options, &fixture->daemon.launcher, &error), 0);
	assert_int_equal(jobs_new(&fixture->daemon, &observer, &fixture->jobs, &error), 0);
	assert_int_equal(jobs_start(fixture->jobs, &error), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	jobs_free(fixture->jobs);
	launcher_stop(fixture->daemon.launcher);
	audit_close(fixture->daemon.audit);
	ledger_free(fixture->daemon.ledger);
	config_free(fixture->daemon.config);
	(void)pthread_mutex_destroy(&fixture->lock);
	(void)pthread_cond_destroy(&fixture->changed);
	free(fixture);
	return 0;
}

static void wait_for_change(struct fixture *fixture, unsigned seen)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	(void)pthread_mutex_lock(&fixture->lock);
	while (fixture->changes == seen) {
		if (pthread_cond_timedwait(&fixture->changed, &fixture->lock, &until) == ETIMEDOUT)
			fail_msg("nothing happened");
	}
	(void)pthread_mutex_unlock(&fixture->lock);
}

static void wait_for_end(struct fixture *fixture, struct job_record *record)
{
	for (;;) {
		unsigned seen;

		(void)pthread_mutex_lock(&fixture->lock);
		seen = fixture->changes;
		(void)pthread_mutex_unlock(&fixture->lock);
		if (job_record_ended(fixture->jobs, record))
			return;
		wait_for_change(fixture, seen);
	}
}

static struct job_record *submit(struct fixture *fixture, const char *agent, const char *text)
{
	struct job_record *record = NULL;

	assert_int_equal(jobs_submit(fixture->jobs, agent, &fixture->caller, text, strlen(text), &record), 0);
	return record;
}

// The whole answer in `ret`, and its RESULT; takes the record's reference.
static json_t *finish(struct fixture *fixture, struct job_record *record, struct buf *ret)
{
	CLEANUP(buf) struct buf answer = BUF_INIT;
	const char *last;
	json_t *line, *result;

	wait_for_end(fixture, record);
	assert_int_equal(job_record_answer(fixture->jobs, record, &answer), 0);
	job_record_unref(fixture->jobs, record);
	assert_true(answer.len > 0 && answer.data[answer.len - 1] == '\n');
	last = memrchr(answer.data, '\n', answer.len - 1);
	last = last == NULL ? answer.data : last + 1;
	line = json_loadb(last, (size_t)(answer.data + answer.len - last), 0, NULL);
	result = json_object_get(line, "skillfs");
	assert_true(json_is_object(result));
	json_incref(result);
	json_decref(line);
	if (ret != NULL)
		assert_int_equal(buf_append(ret, answer.data, (size_t)(last - answer.data)), 0);
	return result;
}

static const char *text_of(const json_t *result, const char *key)
{
	const char *text = json_string_value(json_object_get(result, key));

	return text == NULL ? "" : text;
}

static size_t count_events(struct fixture *fixture, const char *event)
{
	CLEANUP(buf) struct buf tail = BUF_INIT;
	CLEANUP(free) char *needle = NULL;
	size_t count = 0;

	assert_true(asprintf(&needle, "\"event\":\"%s\"", event) > 0);
	assert_int_equal(audit_tail(fixture->daemon.audit, &tail), 0);
	for (const char *at = tail.data; at != NULL && (at = strstr(at, needle)) != NULL; at++)
		count++;
	return count;
}

static void command_runs_and_is_told_in_full(void **state)
{
	static const char *const fields[] = { "job",         "state",      "exitCode",   "signal",
					      "tier",        "network",    "durationMs", "stdoutBytes",
					      "stderrBytes", "keptBytes",  "truncated",  "limit",
					      "warnings",    "policyHash", "boundBinary" };
	struct fixture *fixture = *state;
	CLEANUP(buf) struct buf output = BUF_INIT;
	json_t *result = finish(fixture, submit(fixture, "default", "printf hi; exit 3"), &output);

	assert_string_equal(output.data, "hi\n"); // the line end is ours
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (json_object_get(result, fields[i]) == NULL)
			fail_msg("no '%s'", fields[i]);
	}
	assert_string_equal(text_of(result, "state"), "exited");
	assert_int_equal(json_integer_value(json_object_get(result, "exitCode")), 3);
	assert_string_equal(text_of(result, "tier"), "none");
	assert_int_equal(json_integer_value(json_object_get(result, "stdoutBytes")), 2);
	assert_int_equal(json_integer_value(json_object_get(result, "keptBytes")), 2);
	assert_int_equal(json_array_size(json_object_get(result, "warnings")), 1);
	json_decref(result);
	assert_int_equal(count_events(fixture, "exec.start"), 1);
	assert_int_equal(count_events(fixture, "exec.end"), 1);
}

static void streams_are_kept_apart(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(buf) struct buf out = BUF_INIT;
	CLEANUP(buf) struct buf err = BUF_INIT;
	uint64_t offset = 0;
	struct job_record *record =
		submit(fixture, "default", "{\"command\":\"cat; echo e >&2\",\"stdin\":\"given\"}");

	wait_for_end(fixture, record);
	assert_int_equal(job_record_read(fixture->jobs, record, STREAM_STDOUT, &offset, 100, &out), 0);
	offset = 0;
	assert_int_equal(job_record_read(fixture->jobs, record, STREAM_STDERR, &offset, 100, &err), 0);
	assert_string_equal(out.data, "given");
	assert_string_equal(err.data, "e\n");
	job_record_unref(fixture->jobs, record);
}

static void long_output_keeps_its_end(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(buf) struct buf output = BUF_INIT;
	json_t *result = finish(
		fixture, submit(fixture, "default", "yes abcdefghi | head -c 3000000; echo; echo the-end"),
		&output);

	assert_int_equal(output.len, 50000);
	assert_memory_equal(output.data + output.len - 8, "the-end\n", 8);
	assert_true(json_is_true(json_object_get(result, "truncated")));
	assert_string_equal(text_of(result, "limit"), "output");
	assert_int_equal(json_integer_value(json_object_get(result, "keptBytes")), 50000);
	assert_int_equal(json_integer_value(json_object_get(result, "stdoutBytes")), 3000009);
	json_decref(result);
}

static void time_out_ends_the_tree(void **state)
{
	struct fixture *fixture = *state;
	json_t *result = finish(
		fixture, submit(fixture, "quick", "trap '' TERM; sleep 1000 & sleep 1000; sleep 1000"), NULL);

	assert_string_equal(text_of(result, "state"), "timeout");
	assert_string_equal(text_of(result, "limit"), "timeout");
	json_decref(result);
	// The request can only shorten it.
	result = finish(fixture,
			submit(fixture, "quick", "{\"command\":\"sleep 1000\",\"timeoutMs\":1000000}"), NULL);
	assert_string_equal(text_of(result, "state"), "timeout");
	json_decref(result);
}

static void child_that_holds_the_pipe_does_not_hold_the_answer(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(buf) struct buf output = BUF_INIT;
	json_t *result =
		finish(fixture, submit(fixture, "default", "setsid sleep 1000 & echo done"), &output);

	assert_string_equal(text_of(result, "state"), "exited");
	assert_string_equal(output.data, "done\n");
	json_decref(result);
}

static void kill_ends_a_job(void **state)
{
	struct fixture *fixture = *state;
	struct job_record *record = submit(fixture, "default", "echo up; sleep 1000");
	json_t *result;

	wait_for_change(fixture, 0);
	jobs_kill(fixture->jobs, record);
	result = finish(fixture, record, NULL);
	assert_string_equal(text_of(result, "state"), "killed");
	json_decref(result);
}

static void refusals_name_their_reason(void **state)
{
	static const struct {
		const char *agent, *request, *reason;
		bool outside, other_user;
	} cases[] = {
		{ "locked", "id", "policy", true, false },
		{ "strict", "id", "config", true, false },
		{ "nobody", "id", "config", true, false },
		{ "default", "id", "reentry", false, false },
		{ "default", "id", "policy", true, true },
		{ "default", "{", "request", true, false },
		{ "default", "{\"command\":\"id\",\"skill\":\"none\"}", "policy", true, false },
		{ "default", "{\"command\":\"id\",\"tool\":\"no-such-tool\"}", "policy", true, false },
		{ "default", "{\"command\":\"id\",\"cwd\":\"/etc\"}", "request", true, false },
		{ "default", "{\"command\":\"id\",\"cwd\":\"sub\"}", "request", true, false },
	};
	struct fixture *fixture = *state;
	const struct job_caller caller = fixture->caller;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf) struct buf output = BUF_INIT;
		json_t *result;

		fixture->caller = caller;
		fixture->caller.outside = cases[i].outside;
		fixture->caller.uid += cases[i].other_user;
		result = finish(fixture, submit(fixture, cases[i].agent, cases[i].request), &output);
		if (strcmp(text_of(result, "state"), "refused") != 0 ||
		    strcmp(text_of(result, "reason"), cases[i].reason) != 0)
			fail_msg("%s %s: %s %s %s", cases[i].agent, cases[i].request,
				 text_of(result, "state"), text_of(result, "reason"),
				 text_of(result, "message"));
		assert_true(strlen(text_of(result, "message")) > 0);
		assert_int_equal(output.len, 0);
		json_decref(result);
	}
	assert_int_equal(count_events(fixture, "exec.refused"), ARRAY_SIZE(cases));
	assert_int_equal(count_events(fixture, "exec.start"), 0);
	assert_true(count_events(fixture, "tool.policy_filtered") > 0);
}

static void cwd_as_people_write_it_is_understood(void **state)
{
	static const struct {
		bool absolute;
		const char *text;
	} spellings[] = {
		{ false, "sub" },     { false, "sub/" }, { false, "./sub" }, { false, "sub//" },
		{ false, "./sub/." }, { true, "/sub/" }, { true, "//sub" },  { true, "/./sub" },
	};
	struct fixture *fixture = *state;
	char path[] = "/tmp/skillfs-cwd-XXXXXX", sub[64], expect[80];
	struct agent_config *agent = (struct agent_config *)fixture->daemon.agent;
	struct launcher_options options = { .config = fixture->daemon.config,
					    .sandbox = &fixture->daemon.sandbox,
					    .source = "/nonexistent/skills",
					    .owner = getuid() };
	struct jobs_observer observer = { .context = fixture, .changed = on_changed, .checked = on_checked };
	struct error error = { "" };

	assert_non_null(mkdtemp(path));
	(void)snprintf(sub, sizeof(sub), "%s/sub", path);
	assert_int_equal(mkdir(sub, 0700), 0);
	(void)snprintf(expect, sizeof(expect), "%s\n", sub);
	// The launcher has its configuration from its start.
	jobs_free(fixture->jobs);
	launcher_stop(fixture->daemon.launcher);
	free(agent->workspace);
	agent->workspace = strdup(path);
	assert_int_equal(launcher_start(&options, &fixture->daemon.launcher, &error), 0);
	assert_int_equal(jobs_new(&fixture->daemon, &observer, &fixture->jobs, &error), 0);
	assert_int_equal(jobs_start(fixture->jobs, &error), 0);
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		CLEANUP(buf) struct buf output = BUF_INIT;
		char cwd[80], request[160];
		json_t *result;

		(void)snprintf(cwd, sizeof(cwd), "%s%s", spellings[i].absolute ? path : "",
			       spellings[i].text);
		(void)snprintf(request, sizeof(request), "{\"command\":\"pwd\",\"cwd\":\"%s\"}", cwd);
		result = finish(fixture, submit(fixture, "default", request), &output);
		if (output.data == NULL || strcmp(output.data, expect) != 0)
			fail_msg("%s: %s %s", cwd, text_of(result, "state"), text_of(result, "message"));
		json_decref(result);
	}
	assert_int_equal(rmdir(sub), 0);
	assert_int_equal(rmdir(path), 0);
}

static void jobs_above_the_limit_are_refused_busy(void **state)
{
	struct fixture *fixture = *state;
	struct job_record *records[LAUNCHER_JOBS_MAX];
	json_t *result;

	for (size_t i = 0; i < LAUNCHER_JOBS_MAX; i++)
		records[i] = submit(fixture, "default", "sleep 1000");
	result = finish(fixture, submit(fixture, "default", "true"), NULL);
	assert_string_equal(text_of(result, "reason"), "busy");
	json_decref(result);
	for (size_t i = 0; i < LAUNCHER_JOBS_MAX; i++) {
		jobs_kill(fixture->jobs, records[i]);
		json_decref(finish(fixture, records[i], NULL));
	}
	result = finish(fixture, submit(fixture, "default", "true"), NULL);
	assert_string_equal(text_of(result, "state"), "exited");
	json_decref(result);
}

static void old_results_are_let_go(void **state)
{
	struct fixture *fixture = *state;
	uint32_t numbers[256];
	struct job_record *record;

	for (int i = 0; i < JOBS_KEPT + 6; i++)
		job_record_unref(fixture->jobs, submit(fixture, "default", "{"));
	assert_int_equal(jobs_list(fixture->jobs, "default", numbers, 256), JOBS_KEPT);
	assert_int_equal(numbers[0], 7);
	assert_int_equal(numbers[JOBS_KEPT - 1], JOBS_KEPT + 6);
	assert_int_equal(jobs_last(fixture->jobs, "default"), JOBS_KEPT + 6);
	assert_null(jobs_find(fixture->jobs, "default", 6));
	record = jobs_find(fixture->jobs, "default", 7);
	assert_non_null(record);
	job_record_unref(fixture->jobs, record);
	assert_null(jobs_find(fixture->jobs, "quick", 7));
}

static void stop_kills_what_runs(void **state)
{
	struct fixture *fixture = *state;
	struct job_record *record = submit(fixture, "default", "echo up; sleep 1000");
	json_t *result;

	wait_for_change(fixture, 0);
	jobs_stop(fixture->jobs);
	assert_true(job_record_ended(fixture->jobs, record));
	result = finish(fixture, record, NULL);
	assert_string_equal(text_of(result, "state"), "killed");
	json_decref(result);
	result = finish(fixture, submit(fixture, "default", "true"), NULL);
	assert_string_equal(text_of(result, "reason"), "config");
	json_decref(result);
}

static bool check(struct fixture *fixture, pid_t pid)
{
	const struct job_caller caller = { .uid = getuid(), .pid = pid };
	static uint32_t id;
	bool outside;

	assert_int_equal(jobs_check(fixture->jobs, ++id, &caller), 0);
	(void)pthread_mutex_lock(&fixture->lock);
	while (fixture->checked != id)
		(void)pthread_cond_wait(&fixture->changed, &fixture->lock);
	outside = fixture->outside;
	(void)pthread_mutex_unlock(&fixture->lock);
	return outside;
}

static void callers_are_told_apart_by_their_process_tree(void **state)
{
	struct fixture *fixture = *state;
	int gate[2];
	pid_t child;

	assert_true(check(fixture, getpid()));
	assert_false(check(fixture, 0));
	assert_false(check(fixture, -1));
	// Needs the right to make a process tree of its own.
	assert_int_equal(pipe(gate), 0);
	child = fork();
	if (child == 0) {
		pid_t inner;
		int failed = geteuid() == 0 ? unshare(CLONE_NEWPID) : unshare(CLONE_NEWUSER | CLONE_NEWPID);

		inner = failed ? -1 : fork();
		if (inner == 0) {
			(void)pause();
			_exit(0);
		}
		(void)!write(gate[1], &inner, sizeof(inner));
		(void)pause();
		_exit(0);
	}
	{
		pid_t inner = -1;

		assert_int_equal(read(gate[0], &inner, sizeof(inner)), sizeof(inner));
		if (inner > 0) {
			assert_false(check(fixture, inner));
			(void)kill(inner, SIGKILL);
		}
	}
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	(void)close(gate[0]);
	(void)close(gate[1]);
}

static void only_our_own_paths_are_unmounted(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(launcher_unmount(fixture->daemon.launcher, "/proc"), -EPERM);
	assert_int_equal(launcher_unmount(fixture->daemon.launcher, "/"), -EPERM);
}

static void arguments_must_be_sealed_and_whole(void **state)
{
	CLEANUP(launcher_arguments) struct launcher_arguments arguments = { 0 };
	CLEANUP(strv) struct strv narrowing = { 0 };
	CLEANUP(free) struct launcher_message *message = calloc(1, sizeof(*message));
	CLEANUP(fd) int fd = -1;
	CLEANUP(fd) int loose = memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(strv_add(&narrowing, "read"), 0);
	assert_int_equal(strv_add(&narrowing, "exec"), 0);
	fd = launcher_arguments_write(message, "default", &narrowing, "a\0b", 3);
	assert_true(fd >= 0);
	assert_int_equal(launcher_arguments_read(message, fd, &arguments), 0);
	assert_string_equal(arguments.agent, "default");
	assert_true(arguments.has_narrowing);
	assert_int_equal(arguments.narrowing.count, 2);
	assert_string_equal(arguments.narrowing.items[1], "exec");
	assert_int_equal(arguments.request.len, 3);
	assert_memory_equal(arguments.request.data, "a\0b", 3);
	launcher_arguments_release(&arguments);

	message->request_len++;
	assert_int_equal(launcher_arguments_read(message, fd, &arguments), -EBADMSG);
	message->request_len--;
	message->narrowing_len--; // ends within a name
	message->request_len++;
	assert_int_equal(launcher_arguments_read(message, fd, &arguments), -EBADMSG);
	assert_int_equal(write(loose, "default", 7), 7);
	*message = (struct launcher_message){ .agent_len = 7 };
	assert_int_equal(launcher_arguments_read(message, loose, &arguments), -EBADMSG);
}

static void broken_packets_are_refused(void **state)
{
	CLEANUP(free) struct launcher_message *message = calloc(1, sizeof(*message));
	int pair[2], fds[LAUNCHER_FDS_MAX];
	size_t count = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(send(pair[0], "short", 5, 0), 5);
	assert_int_equal(launcher_receive(pair[1], message, fds, &count), -EBADMSG);
	message->text_len = 3;
	assert_int_equal(send(pair[0], message, offsetof(struct launcher_message, text), 0),
			 offsetof(struct launcher_message, text));
	assert_int_equal(launcher_receive(pair[1], message, fds, &count), -EBADMSG);
	(void)close(pair[0]);
	assert_int_equal(launcher_receive(pair[1], message, fds, &count), 0);
	(void)close(pair[1]);
}

static void workspace_is_removed_whatever_stands_in_it(void **state)
{
	CLEANUP(free) char *path = NULL;
	CLEANUP(fd) int outside = -1;
	CLEANUP(fd) int lock = -1;
	char kept[] = "/tmp/skillfs-kept-XXXXXX";
	struct stat st;
	int dir;

	(void)state;
	assert_int_equal(workspace_create(getuid(), getgid(), &path, &lock, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	outside = mkstemp(kept);
	assert_true(outside >= 0);
	// Deeper than a path may be long, with a link out, a locked folder that holds something, and odd names.
	dir = open(path, O_PATH | O_DIRECTORY);
	assert_int_equal(symlinkat(kept, dir, "link"), 0);
	assert_int_equal(symlinkat("/tmp", dir, "folder-link"), 0);
	assert_int_equal(mkdirat(dir, "locked", 0700), 0);
	assert_int_equal(mkdirat(dir, "locked/inner", 0700), 0);
	assert_int_equal(mkdirat(dir, "locked/inner/more", 0), 0);
	assert_int_equal(fchmodat(dir, "locked/inner", 0, 0), 0);
	assert_int_equal(fchmodat(dir, "locked", 0500, 0), 0);
	for (int depth = 0; depth < 3000; depth++) {
		int next;

		assert_int_equal(mkdirat(dir, "deep", 0700), 0);
		next = openat(dir, "deep", O_PATH | O_DIRECTORY);
		assert_true(next >= 0);
		(void)close(dir);
		dir = next;
	}
	(void)close(dir);
	assert_int_equal(workspace_remove(path), 0);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(stat(kept, &st), 0);
	(void)unlink(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(command_runs_and_is_told_in_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(streams_are_kept_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_output_keeps_its_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(time_out_ends_the_tree, set_up, tear_down),
		cmocka_unit_test_setup_teardown(child_that_holds_the_pipe_does_not_hold_the_answer, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(kill_ends_a_job, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refusals_name_their_reason, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cwd_as_people_write_it_is_understood, set_up, tear_down),
		cmocka_unit_test_setup_teardown(jobs_above_the_limit_are_refused_busy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(old_results_are_let_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stop_kills_what_runs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(callers_are_told_apart_by_their_process_tree, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(only_our_own_paths_are_unmounted, set_up, tear_down),
		cmocka_unit_test(arguments_must_be_sealed_and_whole),
		cmocka_unit_test(broken_packets_are_refused),
		cmocka_unit_test(workspace_is_removed_whatever_stands_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
