// SPDX-License-Identifier: Apache-2.0
//
// Input: what is written to `exec`, a shell line or a JSON object.
#include <errno.h>
#include <jansson.h>
#include <unistr.h>

#include "fs/request.h"
#include "fuzz.h"
#include "sandbox/job.h"

#define PREFIXES_MAX 512 // of a request whose every beginning is tried

static int parse(const char *text, size_t len, struct exec_request *ret, struct error *error)
{
	char *copy = fuzz_copy(text, len);
	int rc = request_parse(copy, len, ret, error);

	free(copy);
	return rc;
}

static bool complete(const char *text, size_t len)
{
	char *copy = fuzz_copy(text, len);
	bool is_complete = request_complete(copy, len);

	free(copy);
	return is_complete;
}

static bool is_utf8(const char *text)
{
	return u8_check((const uint8_t *)text, strlen(text)) == NULL;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool is_same_list(const struct strv *a, const struct strv *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

static void check_form(const struct exec_request *request)
{
	FUZZ_CHECK((request->command != NULL) != (request->argv.count > 0), "%zu arguments",
		   request->argv.count);
	FUZZ_CHECK(request->command == NULL || request->command[strspn(request->command, " \t\r\n")] != '\0',
		   "an empty command");
	FUZZ_CHECK(request->argv.count == 0 || request->argv.items[0][0] != '\0', "a program without name");
	FUZZ_CHECK(request->cwd == NULL || request->cwd[0] != '\0', "cwd");
	FUZZ_CHECK(request->skill == NULL || request->skill[0] != '\0', "skill");
	for (size_t i = 0; i < request->env.count; i++) {
		char *name = strdup(request->env.items[i]), *equals;

		if (name == NULL)
			abort();
		equals = strchr(name, '=');
		FUZZ_CHECK(equals != NULL, "'%s'", name);
		*equals = '\0';
		FUZZ_CHECK(job_env_allowed(name), "'%s' is set", name);
		free(name);
	}
}

// One line, no longer than asked, no character cut in two.
static void check_summary(const struct exec_request *request, bool utf8)
{
	static const size_t sizes[] = { 0, 1, 7, 100 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *summary = request_summary(request, sizes[i]);

		FUZZ_CHECK(summary != NULL && strlen(summary) <= sizes[i] + 3, "at most %zu", sizes[i]);
		FUZZ_CHECK(!fuzz_has_control(summary), "'%s'", summary);
		FUZZ_CHECK(!utf8 || is_utf8(summary), "'%s' at %zu", summary, sizes[i]);
		free(summary);
	}
}

static uint64_t tighter(uint64_t before, uint64_t asked)
{
	return asked != 0 && (before == 0 || asked < before) ? asked : before;
}

static void check_tighten(const struct exec_request *request)
{
	static const struct exec_sandbox agents[] = {
		{ .timeout_ms = 0 },
		{ .timeout_ms = 1000,
		  .memory_max = 1000,
		  .pids_max = 1000,
		  .file_size_max = 1000,
		  .tmp_size_max = 1000 },
	};

	for (size_t i = 0; i < sizeof(agents) / sizeof(agents[0]); i++) {
		const struct exec_sandbox *before = &agents[i];
		struct exec_sandbox after = *before;

		request_tighten(request, &after);
		FUZZ_CHECK(after.timeout_ms == tighter(before->timeout_ms, request->timeout_ms) &&
				   after.memory_max ==
					   tighter(before->memory_max, request->limits.memory_max) &&
				   after.pids_max == tighter(before->pids_max, request->limits.pids_max) &&
				   after.file_size_max ==
					   tighter(before->file_size_max, request->limits.file_size_max) &&
				   after.tmp_size_max ==
					   tighter(before->tmp_size_max, request->limits.tmp_size_max),
			   "looser than the agent's");
	}
}

static void put(json_t *object, const char *key, json_t *value)
{
	if (value == NULL || json_object_set_new(object, key, value) < 0)
		abort();
}

static void put_number(json_t *object, const char *key, uint64_t value)
{
	if (value != 0)
		put(object, key, json_integer((json_int_t)value));
}

// The request as a program would write it.
static char *as_json(const struct exec_request *request)
{
	json_t *root = json_object(), *part = json_array();
	char *text;

	for (size_t i = 0; i < request->argv.count; i++)
		if (json_array_append_new(part, json_string(request->argv.items[i])) < 0)
			abort();
	if (request->command != NULL)
		put(root, "command", json_string(request->command));
	else
		put(root, "argv", json_incref(part));
	json_decref(part);
	part = json_object();
	for (size_t i = 0; i < request->env.count; i++) {
		char *name = strdup(request->env.items[i]);

		if (name == NULL)
			abort();
		*strchr(name, '=') = '\0';
		put(part, name, json_string(strchr(request->env.items[i], '=') + 1));
		free(name);
	}
	put(root, "env", part);
	if (request->cwd != NULL)
		put(root, "cwd", json_string(request->cwd));
	if (request->skill != NULL)
		put(root, "skill", json_string(request->skill));
	if (request->tool != NULL)
		put(root, "tool", json_string(request->tool));
	if (request->input.len > 0)
		put(root, "stdin", json_stringn(request->input.data, request->input.len));
	put_number(root, "timeoutMs", request->timeout_ms);
	part = json_object();
	put_number(part, "memoryMax", request->limits.memory_max);
	put_number(part, "pidsMax", request->limits.pids_max);
	put_number(part, "fileSizeMax", request->limits.file_size_max);
	put_number(part, "tmpSizeMax", request->limits.tmp_size_max);
	put(root, "limits", part);
	text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	if (text == NULL)
		abort();
	return text;
}

static void check_again(const struct exec_request *request)
{
	struct exec_request again = { 0 };
	struct error error = { "" };
	char *text = as_json(request);
	int rc = parse(text, strlen(text), &again, &error);

	FUZZ_CHECK(rc == 0, "%s: %s", error.message, text);
	FUZZ_CHECK(is_same_text(request->command, again.command) &&
			   is_same_list(&request->argv, &again.argv) &&
			   is_same_text(request->cwd, again.cwd) && is_same_list(&request->env, &again.env) &&
			   request->input.len == again.input.len &&
			   (again.input.len == 0 ||
			    memcmp(request->input.data, again.input.data, again.input.len) == 0) &&
			   request->timeout_ms == again.timeout_ms &&
			   is_same_text(request->skill, again.skill) &&
			   is_same_text(request->tool, again.tool) &&
			   memcmp(&request->limits, &again.limits, sizeof(again.limits)) == 0,
		   "another request: %s", text);
	FUZZ_CHECK(complete(text, strlen(text)), "not complete: %s", text);
	request_release(&again);
	free(text);
}

// An object that is written bit by bit is judged when it has ended, never before.
static void check_prefixes(const char *text, size_t len)
{
	size_t end = len;

	while (end > 0 && strchr(" \t\r\n", text[end - 1]) != NULL && text[end - 1] != '\0')
		end--;
	FUZZ_CHECK(complete(text, len), "a good request of %zu bytes", len);
	for (size_t i = 0; i < end && i < PREFIXES_MAX; i++)
		FUZZ_CHECK(!complete(text, i), "%zu of %zu bytes", i, end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct piece input = fuzz_input(data, size);
	const bool object = input.len > 0 && input.data[0] == '{';
	const bool utf8 = u8_check((const uint8_t *)input.data, input.len) == NULL;
	struct exec_request request = { 0 };
	struct error error = { "" };
	int rc = parse(input.data, input.len, &request, &error);

	FUZZ_CHECK(object || !complete(input.data, input.len), "a shell line says that it is complete");
	if (rc < 0) {
		FUZZ_CHECK(rc == -EINVAL && error.message[0] != '\0', "%d", rc);
		FUZZ_CHECK(!fuzz_has_control(error.message), "'%s'", error.message);
		FUZZ_CHECK(is_utf8(error.message), "'%s' is not UTF-8", error.message);
		return 0;
	}
	FUZZ_CHECK(utf8 || !object, "JSON that is not UTF-8");
	check_form(&request);
	check_summary(&request, utf8);
	check_tighten(&request);
	if (utf8)
		check_again(&request);
	if (object)
		check_prefixes(input.data, input.len);
	request_release(&request);
	return 0;
}
