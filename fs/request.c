// SPDX-License-Identifier: Apache-2.0
#include "fs/request.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "fs/output/text.h"
#include "sandbox/job.h"
#include "sanitize/cleanup.h"
#include "sanitize/utf8.h"

#define ENV_MAX 256

static inline void cleanup_json(json_t **value)
{
	json_decref(*value);
}

void request_release(struct exec_request *request)
{
	free(request->command);
	strv_release(&request->argv);
	free(request->cwd);
	strv_release(&request->env);
	buf_release(&request->input);
	free(request->skill);
	free(request->tool);
	*request = (struct exec_request){ 0 };
}

static int read_string(const char *key, const json_t *value, char **ret, struct error *error)
{
	if (!json_is_string(value) || json_string_length(value) == 0)
		return error_set(error, -EINVAL, "%s: a text is wanted", key);
	*ret = strdup(json_string_value(value));
	return *ret == NULL ? -ENOMEM : 0;
}

static int read_command(const char *key, const json_t *value, struct exec_request *request,
			struct error *error)
{
	return read_string(key, value, &request->command, error);
}

static int read_argv(const char *key, const json_t *value, struct exec_request *request, struct error *error)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(value) || json_array_size(value) == 0)
		return error_set(error, -EINVAL, "%s: a list of texts is wanted, with the program first",
				 key);
	json_array_foreach(value, i, item)
	{
		if (!json_is_string(item))
			return error_set(error, -EINVAL, "%s[%zu]: a text is wanted", key, i);
		if (strv_add(&request->argv, json_string_value(item)) < 0)
			return -ENOMEM;
	}
	if (request->argv.items[0][0] == '\0')
		return error_set(error, -EINVAL, "%s[0]: the program's name is empty", key);
	return 0;
}

static int read_cwd(const char *key, const json_t *value, struct exec_request *request, struct error *error)
{
	return read_string(key, value, &request->cwd, error);
}

static int read_env(const char *key, const json_t *value, struct exec_request *request, struct error *error)
{
	const char *name;
	const json_t *item;

	if (!json_is_object(value))
		return error_set(error, -EINVAL, "%s: an object of texts is wanted", key);
	if (json_object_size(value) > ENV_MAX)
		return error_set(error, -EINVAL, "%s: more than %d variables", key, ENV_MAX);
	json_object_foreach((json_t *)value, name, item)
	{
		CLEANUP(free) char *entry = NULL;

		if (!json_is_string(item))
			return error_set(error, -EINVAL, "%s.%.100s: a text is wanted", key, name);
		if (name[0] == '\0' || strchr(name, '=') != NULL || !job_env_allowed(name))
			return error_set(error, -EINVAL, "%s: %.100s may not be set by a request", key, name);
		if (asprintf(&entry, "%s=%s", name, json_string_value(item)) < 0) {
			entry = NULL;
			return -ENOMEM;
		}
		if (strv_add(&request->env, entry) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_stdin(const char *key, const json_t *value, struct exec_request *request, struct error *error)
{
	if (!json_is_string(value))
		return error_set(error, -EINVAL, "%s: a text is wanted", key);
	return buf_append(&request->input, json_string_value(value), json_string_length(value));
}

static int read_number(const char *key, const json_t *value, json_int_t max, json_int_t *ret,
		       struct error *error)
{
	if (!json_is_integer(value) || json_integer_value(value) < 1)
		return error_set(error, -EINVAL, "%s: a whole number from 1 is wanted", key);
	*ret = json_integer_value(value) > max ? max : json_integer_value(value);
	return 0;
}

static int read_timeout(const char *key, const json_t *value, struct exec_request *request,
			struct error *error)
{
	json_int_t number = 0;
	int rc = read_number(key, value, UINT32_MAX, &number, error);

	if (rc == 0)
		request->timeout_ms = (uint32_t)number;
	return rc;
}

static int read_skill(const char *key, const json_t *value, struct exec_request *request, struct error *error)
{
	return read_string(key, value, &request->skill, error);
}

static int read_tool(const char *key, const json_t *value, struct exec_request *request, struct error *error)
{
	return read_string(key, value, &request->tool, error);
}

static int read_limits(const char *key, const json_t *value, struct exec_request *request,
		       struct error *error)
{
	struct request_limits *limits = &request->limits;
	const char *name;
	const json_t *item;

	if (!json_is_object(value))
		return error_set(error, -EINVAL, "%s: an object is wanted", key);
	json_object_foreach((json_t *)value, name, item)
	{
		json_int_t number = 0;
		json_int_t max = INT64_MAX;
		int rc;

		if (strcmp(name, "pidsMax") == 0)
			max = UINT32_MAX;
		rc = read_number(name, item, max, &number, error);
		if (rc < 0)
			return error_prefix(error, rc, "%s", key);
		if (strcmp(name, "memoryMax") == 0)
			limits->memory_max = (uint64_t)number;
		else if (strcmp(name, "pidsMax") == 0)
			limits->pids_max = (uint32_t)number;
		else if (strcmp(name, "fileSizeMax") == 0)
			limits->file_size_max = (uint64_t)number;
		else if (strcmp(name, "tmpSizeMax") == 0)
			limits->tmp_size_max = (uint64_t)number;
		else
			return error_set(error, -EINVAL,
					 "%s: unknown key '%.100s'; known are memoryMax, pidsMax, "
					 "fileSizeMax, tmpSizeMax",
					 key, name);
	}
	return 0;
}

static const struct request_key {
	const char *name;
	int (*read)(const char *key, const json_t *value, struct exec_request *request, struct error *error);
} request_keys[] = {
	{ "command", read_command }, // a line for the shell ...
	{ "argv", read_argv },       // ... or a program and its arguments
	{ "cwd", read_cwd },         // in the workspace or the skills mount
	{ "env", read_env },           { "stdin", read_stdin },
	{ "timeoutMs", read_timeout }, { "skill", read_skill }, // whose restriction narrows the tools
	{ "tool", read_tool },                                  // whose source profile shapes the output
	{ "limits", read_limits },
};

static int parse_object(const char *text, size_t len, struct exec_request *request, struct error *error)
{
	CLEANUP(json) json_t *root = NULL;
	json_error_t problem;
	const char *name;
	json_t *value;

	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &problem);
	if (root == NULL)
		return error_set(error, -EINVAL, "line %d, column %d: %s", problem.line, problem.column,
				 problem.text);
	json_object_foreach(root, name, value)
	{
		const struct request_key *key = NULL;
		int rc;

		for (size_t i = 0; i < ARRAY_SIZE(request_keys) && key == NULL; i++) {
			if (strcmp(request_keys[i].name, name) == 0)
				key = &request_keys[i];
		}
		if (key == NULL)
			return error_set(
				error, -EINVAL,
				"unknown key '%.100s'; known are command, argv, cwd, env, stdin, timeoutMs, "
				"skill, tool, limits",
				name);
		rc = key->read(name, value, request, error);
		if (rc < 0)
			return rc;
	}
	if ((request->command != NULL) == (request->argv.count > 0))
		return error_set(error, -EINVAL, "one of 'command' and 'argv' is wanted");
	return 0;
}

static int parse_line(const char *text, size_t len, struct exec_request *request, struct error *error)
{
	if (memchr(text, '\0', len) != NULL)
		return error_set(error, -EINVAL, "a NUL byte in the command");
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	request->command = strndup(text, len);
	return request->command == NULL ? -ENOMEM : 0;
}

// Messages name keys of the request and quote what is no JSON: they go to terminals and logs, and may have been clipped
// inside a character.
static int escape_message(struct error *error, int code)
{
	CLEANUP(buf) struct buf text = BUF_INIT;

	if (error == NULL || error->message[0] == '\0')
		return code;
	if (text_escape(&text, error->message, strlen(error->message), TEXT_NO_LIMIT) < 0)
		return -ENOMEM;
	if (text.len >= sizeof(error->message)) {
		text.len = sizeof(error->message) - 1;
		while (text.len > 0 && utf8_is_continuation(text.data[text.len]))
			text.len--;
	}
	return error_set(error, code, "%.*s", (int)text.len, text.data);
}

int request_parse(const char *text, size_t len, struct exec_request *ret, struct error *error)
{
	CLEANUP(exec_request) struct exec_request request = { 0 };
	int rc;

	if (len > REQUEST_MAX_SIZE)
		return error_set(error, -E2BIG, "the request is larger than %zu bytes", REQUEST_MAX_SIZE);
	if (len > 0 && text[0] == '{')
		rc = parse_object(text, len, &request, error);
	else
		rc = parse_line(text, len, &request, error);
	if (rc == 0 && request.command != NULL && request.command[strspn(request.command, " \t\r\n")] == '\0')
		rc = error_set(error, -EINVAL, "the command is empty");
	if (rc < 0)
		return escape_message(error, rc);
	*ret = request;
	request = (struct exec_request){ 0 };
	return 0;
}

bool request_complete(const char *text, size_t len)
{
	CLEANUP(json) json_t *root = NULL;
	json_error_t problem;

	if (len == 0 || text[0] != '{')
		return false;
	while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL && text[len - 1] != '\0')
		len--;
	// Objects end with a brace: parsing after each of many small writes would be quadratic.
	if (text[len - 1] != '}')
		return false;
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &problem);
	return root != NULL || json_error_code(&problem) != json_error_premature_end_of_input;
}

char *request_summary(const struct exec_request *request, size_t max)
{
	CLEANUP(buf) struct buf text = BUF_INIT;
	int rc = 0;

	if (request->command != NULL) {
		size_t len = strnlen(request->command, max + 1);

		rc = buf_append(&text, request->command, len);
	}
	for (size_t i = 0; rc == 0 && i < request->argv.count && text.len <= max; i++) {
		if (i > 0)
			rc = buf_append_byte(&text, ' ');
		if (rc == 0)
			rc = buf_append(&text, request->argv.items[i],
					strnlen(request->argv.items[i], max + 1));
	}
	if (rc == 0 && text.len > max) {
		text.len = max;
		while (text.len > 0 && utf8_is_continuation(text.data[text.len]))
			text.len--;
		rc = buf_append_string(&text, "...");
	}
	if (rc < 0)
		return NULL;
	// A shell line may hold any bytes; a log line may not.
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c < 0x20 || c == 0x7f)
			text.data[i] = ' ';
	}
	return buf_detach(&text);
}

#define TIGHTEN(field, value)                                                                                \
	do {                                                                                                 \
		if ((value) != 0 && ((field) == 0 || (value) < (field)))                                     \
			(field) = (value);                                                                   \
	} while (0)

void request_tighten(const struct exec_request *request, struct exec_sandbox *sandbox)
{
	TIGHTEN(sandbox->timeout_ms, request->timeout_ms);
	TIGHTEN(sandbox->memory_max, request->limits.memory_max);
	TIGHTEN(sandbox->pids_max, request->limits.pids_max);
	TIGHTEN(sandbox->file_size_max, request->limits.file_size_max);
	TIGHTEN(sandbox->tmp_size_max, request->limits.tmp_size_max);
}
