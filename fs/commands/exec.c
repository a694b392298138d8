// SPDX-License-Identifier: Apache-2.0
//
// skillfs exec: one job through the control directory's exec file. The handle is the job: signals keep their
// default action, so that Ctrl-C ends this process, the handle closes, and the job is killed with it.
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>

#include "fs/commands/command.h"
#include "fs/commands/door.h"
#include "fs/output/json.h"
#include "sanitize/cleanup.h"

// The answer is bounded by the source profile (5 MB at most) and the result line.
#define ANSWER_MAX  ((size_t)16 << 20)
#define CHUNK       ((size_t)64 << 10)
#define TIMEOUT_MAX 86400

enum { EXIT_TIMED_OUT = 124, EXIT_SIGNAL = 128 };
enum { OPTION_AGENT = 256, OPTION_SKILL, OPTION_TIMEOUT, OPTION_JSON };

struct exec_options {
	const char *mountpoint;
	const char *agent; // NULL: the mount's
	const char *skill;
	uint64_t timeout; // seconds; 0: the configuration's
	bool json;
	char **argv; // NULL-terminated
};

static int make_request(const struct exec_options *options, const struct door *door, struct buf *ret,
			struct error *error)
{
	CLEANUP(free) char *here = door_here(door);
	json_t *request = json_object(), *argv = json_array();
	int rc = request == NULL || argv == NULL ? -ENOMEM : 0;

	for (char **argument = options->argv; rc == 0 && *argument != NULL; argument++) {
		json_t *value = json_string(*argument);

		if (value == NULL)
			rc = error_set(error, -EILSEQ, "%s: not UTF-8, which a request cannot carry",
				       *argument);
		else if (json_array_append_new(argv, value) < 0)
			rc = -ENOMEM;
	}
	if (rc == 0 && json_object_set(request, "argv", argv) < 0)
		rc = -ENOMEM;
	// A folder of the mount is the same in the jail; elsewhere the job starts in its workspace.
	if (rc == 0 && here != NULL && json_object_set_new(request, "cwd", json_text(here)) < 0)
		rc = -ENOMEM;
	if (rc == 0 && options->skill != NULL &&
	    json_object_set_new(request, "skill", json_text(options->skill)) < 0)
		rc = -ENOMEM;
	if (rc == 0 && options->timeout > 0 &&
	    json_object_set_new(request, "timeoutMs", json_integer((json_int_t)options->timeout * 1000)) < 0)
		rc = -ENOMEM;
	if (rc == 0)
		rc = json_append(ret, request, true);
	json_decref(argv);
	json_decref(request);
	return rc;
}

// Reads to the end, appending.
static int read_all(int fd, size_t max, struct buf *ret)
{
	for (;;) {
		ssize_t got;
		int rc = buf_reserve(ret, CHUNK);

		if (rc < 0)
			return rc;
		got = read(fd, ret->data + ret->len, CHUNK);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		ret->len += (size_t)got;
		ret->data[ret->len] = '\0';
		if (ret->len > max)
			return -EFBIG;
	}
}

static const char *refused_write(int code)
{
	static const struct {
		int code;
		const char *why;
	} reasons[] = {
		{ -EACCES, "the policy does not allow it" },
		{ -EDQUOT, "a limit of the agent is used up: steps or budget" },
		{ -EAGAIN, "the circuit breaker is open, or too many jobs run: try again later" },
		{ -EINVAL, "the request is not valid" },
		{ -E2BIG, "the command is longer than 1 MiB" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].code == code)
			return reasons[i].why;
	return strerror(-code);
}

// Writes the request and reads the answer. A refused write leaves its reason readable on the handle.
static int converse(int fd, const struct buf *request, struct buf *ret, int *ret_refused, struct error *error)
{
	int rc;

	*ret_refused = 0;
	for (size_t at = 0; at < request->len && *ret_refused == 0;) {
		ssize_t put = write(fd, request->data + at, request->len - at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			*ret_refused = -errno;
		else
			at += (size_t)put;
	}
	rc = read_all(fd, ANSWER_MAX, ret);
	if (rc == 0 || *ret_refused < 0)
		return 0;
	if (rc == -ENOTCONN || rc == -EIO || rc == -ECONNABORTED || rc == -ENODEV)
		return error_set(error, rc, "the mount went away: %s", strerror(-rc));
	return error_set(error, rc, "cannot read the answer: %s", strerror(-rc));
}

// The last line of the answer is the result; what stands before is the command's output, which may look like anything.
static int split_answer(const struct buf *answer, size_t *ret_output, json_t **ret_result,
			struct error *error)
{
	size_t end = answer->len, start;
	json_t *line, *result;

	if (end > 0 && answer->data[end - 1] == '\n')
		end--;
	for (start = end; start > 0 && answer->data[start - 1] != '\n';)
		start--;
	line = json_loadb(answer->data == NULL ? "" : answer->data + start, end - start, 0, NULL);
	result = json_object_get(line, "skillfs");
	if (!json_is_object(result)) {
		json_decref(line);
		return error_set(error, -EBADMSG, "no result: %.*s",
				 (int)(end - start < 500 ? end - start : 500),
				 answer->data == NULL ? "" : answer->data + start);
	}
	json_incref(result);
	json_decref(line);
	*ret_output = start;
	*ret_result = result;
	return 0;
}

// Copies a job's kept stream; false when the mount does not keep it apart.
static bool copy_stream(const char *jobs, json_int_t job, const char *name, FILE *out, size_t *ret_len)
{
	CLEANUP(buf) struct buf path = BUF_INIT;
	CLEANUP(buf) struct buf data = BUF_INIT;
	CLEANUP(fd) int fd = -1;

	if (buf_printf(&path, "%s/%" JSON_INTEGER_FORMAT "/%s", jobs, job, name) < 0)
		return false;
	fd = open(path.data, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read_all(fd, ANSWER_MAX, &data) < 0)
		return false;
	if (data.len > 0)
		(void)fwrite(data.data, 1, data.len, out);
	*ret_len = data.len;
	return true;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

// Cut output must not pass for all of it.
static void say_cut(const json_t *result, const char *total_key, const char *what, size_t kept)
{
	json_int_t total = json_integer_value(json_object_get(result, total_key));

	if (total > (json_int_t)kept)
		command_errorf("exec", "%s was cut: %zu of %" JSON_INTEGER_FORMAT " bytes were kept", what,
			       kept, total);
}

static void say_warnings(const json_t *result)
{
	const json_t *warning;
	size_t index;

	json_array_foreach(json_object_get(result, "warnings"), index, warning)
	{
		const char *text = json_string_value(warning);

		if (text != NULL)
			command_error("exec", text);
	}
}

static void say_state(const json_t *result, const char *state)
{
	static const struct {
		const char *state, *words;
	} table[] = {
		{ "refused", "refused" },
		{ "setup_failed", "the jail could not be set up" },
		{ "timeout", "timed out and was killed" },
		{ "killed", "was killed" },
		{ "output_limit", "was killed: too much output" },
	};
	const char *reason = text_of(result, "reason"), *message = text_of(result, "message");

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (strcmp(state, table[i].state) == 0)
			state = table[i].words;
	command_errorf("exec", "%s%s%s%s%s", state, reason == NULL ? "" : ": ", reason == NULL ? "" : reason,
		       message == NULL ? "" : ": ", message == NULL ? "" : message);
}

static int exit_code(const json_t *result, bool quiet)
{
	const char *state = text_of(result, "state");
	json_int_t code = json_integer_value(json_object_get(result, "exitCode"));

	if (state != NULL && strcmp(state, "exited") == 0 && code >= 0 && code <= 255)
		return (int)code;
	if (state != NULL && strcmp(state, "signaled") == 0) {
		const json_t *sent = json_object_get(result, "signal");
		json_int_t number = json_is_integer(sent) ? json_integer_value(sent) : SIGKILL;

		return EXIT_SIGNAL + (number > 0 && number < 128 ? (int)number : SIGKILL);
	}
	if (!quiet)
		say_state(result, state == NULL ? "no state in the result" : state);
	if (state != NULL && strcmp(state, "timeout") == 0)
		return EXIT_TIMED_OUT;
	if (state != NULL && (strcmp(state, "killed") == 0 || strcmp(state, "output_limit") == 0))
		return EXIT_SIGNAL + SIGKILL;
	return EXIT_EXEC_FAILED;
}

static int print_answer(const struct exec_options *options, const char *jobs, const struct buf *answer,
			size_t output, const json_t *result)
{
	json_int_t job = json_integer_value(json_object_get(result, "job"));
	CLEANUP(buf) struct buf line = BUF_INIT;
	size_t out = 0, err = 0;

	if (options->json) {
		if (json_append(&line, result, true) < 0)
			return EXIT_EXEC_FAILED;
		(void)fputs(line.data, stdout);
		return exit_code(result, true);
	}
	// The two streams apart where the mount keeps them, else merged as they came.
	if (job <= 0 || !copy_stream(jobs, job, "stdout", stdout, &out)) {
		if (output > 0)
			(void)fwrite(answer->data, 1, output, stdout);
		(void)fflush(stdout);
		if (json_is_true(json_object_get(result, "truncated")))
			command_errorf("exec", "the output was cut: its last %zu bytes were kept", output);
	} else {
		(void)fflush(stdout);
		(void)copy_stream(jobs, job, "stderr", stderr, &err);
		say_cut(result, "stdoutBytes", "standard output", out);
		say_cut(result, "stderrBytes", "standard error", err);
	}
	say_warnings(result);
	return exit_code(result, false);
}

static int open_exec(const struct exec_options *options, const struct door *door, struct buf *jobs,
		     int *ret_fd, struct error *error)
{
	CLEANUP(buf) struct buf base = BUF_INIT;
	CLEANUP(buf) struct buf exec = BUF_INIT;
	int fd, rc;

	// exec and jobs at the top are links to the mount's own agent.
	rc = options->agent == NULL ? buf_append_string(&base, door->control)
				    : buf_printf(&base, "%s/agents/%s", door->control, options->agent);
	if (rc == 0)
		rc = buf_printf(&exec, "%s/exec", base.data);
	if (rc == 0)
		rc = buf_printf(jobs, "%s/jobs", base.data);
	if (rc < 0)
		return rc;
	fd = open(exec.data, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	rc = -errno;
	if (rc == -ENOENT && options->agent != NULL)
		return error_set(error, rc, "%s: the mount has no such agent", options->agent);
	return error_set(error, rc, "%s: %s", exec.data,
			 rc == -EACCES ? "only the mount's owner may run commands" : strerror(-rc));
}

static int run_exec(const struct exec_options *options)
{
	CLEANUP(door) struct door door = { NULL, NULL, NULL };
	CLEANUP(buf) struct buf request = BUF_INIT;
	CLEANUP(buf) struct buf answer = BUF_INIT;
	CLEANUP(buf) struct buf jobs = BUF_INIT;
	CLEANUP(fd) int fd = -1;
	struct error error = { "" };
	json_t *result = NULL;
	size_t output = 0;
	int code = EXIT_EXEC_FAILED, refused = 0, rc;

	rc = options->mountpoint == NULL ? door_find(&door, &error)
					 : door_open(options->mountpoint, &door, &error);
	if (rc == 0)
		rc = make_request(options, &door, &request, &error);
	if (rc == 0)
		rc = open_exec(options, &door, &jobs, &fd, &error);
	if (rc == 0)
		rc = converse(fd, &request, &answer, &refused, &error);
	if (rc == 0) {
		rc = split_answer(&answer, &output, &result, &error);
		if (rc < 0 && refused < 0)
			rc = error_set(&error, refused, "refused: %s", refused_write(refused));
	}
	if (rc < 0)
		command_error("exec", error_text(&error, rc));
	else
		code = print_answer(options, jobs.data, &answer, output, result);
	json_decref(result);
	return code;
}

int command_exec(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "mountpoint", required_argument, NULL, 'm' },
		{ "agent", required_argument, NULL, OPTION_AGENT },
		{ "skill", required_argument, NULL, OPTION_SKILL },
		{ "timeout", required_argument, NULL, OPTION_TIMEOUT },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct exec_options options = { .mountpoint = NULL };
	int answer;

	// "+": the first word that is no option is the command, and what follows is its own.
	while ((answer = getopt_long(argc, argv, "+:m:h", long_options, NULL)) != -1)
		switch (answer) {
		case 'm':
			options.mountpoint = optarg;
			break;
		case OPTION_AGENT:
			if (*optarg == '\0' || *optarg == '.' || strchr(optarg, '/') != NULL)
				return command_usage("exec", "--agent is an agent's name");
			options.agent = optarg;
			break;
		case OPTION_SKILL:
			options.skill = optarg;
			break;
		case OPTION_TIMEOUT:
			if (command_number(optarg, 1, TIMEOUT_MAX, &options.timeout) < 0)
				return command_usage("exec",
						     "--timeout is a number of seconds from 1 to 86400");
			break;
		case OPTION_JSON:
			options.json = true;
			break;
		default:
			return command_bad_option("exec", argv, answer);
		}
	if (optind == argc)
		return command_usage("exec", "no command; write it behind --");
	options.argv = argv + optind;
	return run_exec(&options);
}
