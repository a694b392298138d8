// SPDX-License-Identifier: Apache-2.0
#include "fs/admission.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/skill_tools.h"
#include "sanitize/cleanup.h"

#define EXEC_TOOL "exec"

void admission_release(struct admission *admission)
{
	request_release(&admission->request);
	free(admission->cwd);
	strv_release(&admission->warnings);
	*admission = (struct admission){ 0 };
}

bool admission_outside(pid_t pid)
{
	char path[64];
	struct stat ours, theirs;

	if (pid <= 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return stat("/proc/self/ns/pid", &ours) == 0 && stat(path, &theirs) == 0 &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static enum refusal refuse(struct error *error, enum refusal refusal, const char *text)
{
	(void)error_set(error, 0, "%s", text);
	return refusal;
}

static enum refusal check_tool(const struct effective_tools *effective, const char *agent, const char *tool,
			       struct error *error)
{
	if (effective_tools_allow(effective, tool))
		return REFUSAL_NONE;
	for (size_t i = 0; i < effective->excluded_count; i++) {
		const struct excluded_tool *excluded = &effective->excluded[i];

		if (strcmp(excluded->tool, tool) != 0)
			continue;
		(void)error_set(error, 0, "the tool '%s' is not allowed for the agent '%s': %s%s%s", tool,
				agent, exclusion_name(excluded->reason), excluded->entry == NULL ? "" : " ",
				excluded->entry == NULL ? "" : excluded->entry);
		return REFUSAL_POLICY;
	}
	(void)error_set(error, 0, "the tool '%.100s' is not known for the agent '%s'", tool, agent);
	return REFUSAL_POLICY;
}

static enum refusal check_policy(const struct launcher_arguments *arguments,
				 const struct admission *admission, struct error *error)
{
	const struct agent_config *agent = admission->agent;
	CLEANUP(effective_tools) struct effective_tools effective = { 0 };
	CLEANUP(strv) struct strv known = { 0 };
	// Borrowed: never released.
	struct skill_restriction restriction = { .kind = RESTRICTION_LIST, .tools = arguments->narrowing };
	enum refusal refusal;

	// A skill without its list would run with the agent's full set.
	if (admission->request.skill != NULL && !arguments->has_narrowing)
		return refuse(error, REFUSAL_POLICY, "no such skill");
	if (known_tools(agent, &known) < 0 ||
	    resolve_tools(&agent->tool_policy, &known, arguments->has_narrowing ? &restriction : NULL,
			  &effective) < 0)
		return refuse(error, REFUSAL_CONFIG, "out of memory");
	refusal = check_tool(&effective, agent->id, EXEC_TOOL, error);
	if (refusal == REFUSAL_NONE && admission->request.tool != NULL)
		refusal = check_tool(&effective, agent->id, admission->request.tool, error);
	return refusal;
}

// "" or what follows `root` in `path`, without the slashes between; NULL when `path` is not below it or has a "..".
static const char *below(const char *root, const char *path)
{
	size_t len = strlen(root);

	for (const char *at = path; at != NULL; at = strchr(at, '/')) {
		at += strspn(at, "/");
		if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
			return NULL;
	}
	while (len > 0 && root[len - 1] == '/')
		len--;
	if (strncmp(root, path, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return path + len + strspn(path + len, "/");
}

// A folder beneath the workspace, links included.
static int check_folder(const char *workspace, const char *rest)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	CLEANUP(fd) int root = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd) int fd = -1;

	if (root < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root, rest[0] == '\0' ? "." : rest, &how, sizeof(how));
	return fd < 0 ? -errno : 0;
}

// Takes out doubled slashes, "." and a slash at the end, in place: `sub/` and `./sub` are what people and shells write.
static void tidy(char *path)
{
	const char *from = path;
	char *to = path;

	while (*from != '\0') {
		size_t len = strcspn(from += strspn(from, "/"), "/");

		if (len > 0 && !(len == 1 && from[0] == '.')) {
			*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

static enum refusal check_cwd(const struct launcher_options *options, struct admission *admission,
			      struct error *error)
{
	const char *workspace = admission->agent->workspace;
	const char *cwd = admission->request.cwd;
	CLEANUP(free) char *path = NULL;
	const char *rest;
	int rc;

	if (workspace != NULL) {
		rc = check_folder(workspace, "");
		if (rc < 0) {
			(void)error_set(error, rc, "workspace %s: %s", workspace, strerror(-rc));
			return REFUSAL_CONFIG;
		}
	}
	if (cwd == NULL || strcmp(cwd, ".") == 0)
		cwd = "";
	if (workspace == NULL && cwd[0] == '\0')
		return REFUSAL_NONE;
	if (workspace == NULL && cwd[0] != '/')
		return refuse(error, REFUSAL_REQUEST,
			      "cwd: without a configured workspace a job starts in an empty folder");
	if (cwd[0] == '/' || cwd[0] == '\0')
		path = strdup(cwd[0] == '/' ? cwd : workspace);
	else if (asprintf(&path, "%s/%s", workspace, cwd) < 0)
		path = NULL;
	if (path == NULL)
		return refuse(error, REFUSAL_CONFIG, "out of memory");
	tidy(path);
	if (options->mountpoint != NULL && below(options->mountpoint, path) != NULL &&
	    (options->control_dir == NULL || below(options->control_dir, path) == NULL)) {
		// The job finds out whether it is there: nobody in here may wait for the mount.
		admission->cwd = take(path);
		return REFUSAL_NONE;
	}
	rest = workspace == NULL ? NULL : below(workspace, path);
	if (rest == NULL) {
		(void)error_set(error, -EINVAL,
				"cwd: '%.200s' lies neither in the workspace nor in the skills mount", path);
		return REFUSAL_REQUEST;
	}
	rc = check_folder(workspace, rest);
	if (rc < 0) {
		(void)error_set(error, rc, "cwd: '%.200s': %s", path,
				rc == -EXDEV ? "leads out of the workspace" : strerror(-rc));
		return REFUSAL_REQUEST;
	}
	admission->cwd = take(path);
	return REFUSAL_NONE;
}

static enum refusal check_sandbox(const struct launcher_options *options, struct admission *admission,
				  struct error *error)
{
	const struct exec_sandbox *sandbox = &admission->sandbox;
	const char *reason = options->sandbox->reason;
	const char *hint = options->sandbox->hint;
	CLEANUP(buf) struct buf text = BUF_INIT;

	admission->support = *options->sandbox;
	if (sandbox->enabled == SANDBOX_NEVER) {
		admission->support.tier = TIER_NONE;
		(void)buf_append_string(&text, "the sandbox is turned off (execSandbox.enabled: never): "
					       "the command runs with all rights of its user");
	} else if (options->sandbox->tier == TIER_NONE) {
		(void)buf_printf(&text, "no sandbox%s%s%s%s", reason == NULL ? "" : ": ",
				 reason == NULL ? "" : reason, hint == NULL ? "" : "; ",
				 hint == NULL ? "" : hint);
	}
	if (admission->support.tier != TIER_NONE)
		return REFUSAL_NONE;
	if (text.data == NULL)
		return refuse(error, REFUSAL_CONFIG, "out of memory");
	if (sandbox->enabled == SANDBOX_REQUIRED) {
		(void)error_set(error, 0, "execSandbox.enabled is 'required', and there is %s", text.data);
		return REFUSAL_CONFIG;
	}
	// Running open would break the only promise that these make.
	if (sandbox->network == NETWORK_BROKER_ONLY || sandbox->secure_credential_home) {
		(void)error_set(error, 0, "%s cannot be had without a sandbox: %s",
				sandbox->network == NETWORK_BROKER_ONLY ? "network.mode 'broker-only'"
									: "secureCredentialHome",
				text.data);
		return REFUSAL_CONFIG;
	}
	return strv_add(&admission->warnings, text.data) < 0 ? refuse(error, REFUSAL_CONFIG, "out of memory")
							     : REFUSAL_NONE;
}

static enum refusal check_all(const struct launcher_options *options, const struct launcher_message *message,
			      const struct launcher_arguments *arguments, size_t running,
			      struct admission *admission, struct error *error)
{
	enum refusal refusal;
	int rc;

	if (message->uid != options->owner)
		return refuse(error, REFUSAL_POLICY, "only the owner of the mount may run commands");
	if (!message->outside)
		return refuse(error, REFUSAL_REENTRY,
			      "the caller sits in a jail of its own, or cannot be looked at: commands start "
			      "from outside");
	admission->agent = config_agent(options->config, arguments->agent);
	if (admission->agent == NULL)
		return refuse(error, REFUSAL_CONFIG, "no such agent");
	rc = request_parse(arguments->request.len == 0 ? "" : arguments->request.data, arguments->request.len,
			   &admission->request, error);
	if (rc < 0) {
		(void)error_prefix(error, rc, "bad request");
		return REFUSAL_REQUEST;
	}
	refusal = check_policy(arguments, admission, error);
	// Steps, budget and breaker come here.
	if (refusal == REFUSAL_NONE && running >= LAUNCHER_JOBS_MAX) {
		(void)error_set(error, 0, "%d commands are running already", LAUNCHER_JOBS_MAX);
		refusal = REFUSAL_BUSY;
	}
	if (refusal != REFUSAL_NONE)
		return refusal;
	admission->sandbox = admission->agent->sandbox;
	request_tighten(&admission->request, &admission->sandbox);
	refusal = check_sandbox(options, admission, error);
	if (refusal == REFUSAL_NONE)
		refusal = check_cwd(options, admission, error);
	return refusal;
}

enum refusal admit(const struct launcher_options *options, const struct launcher_message *message,
		   int arguments_fd, size_t running, struct admission *ret, struct error *error)
{
	CLEANUP(launcher_arguments) struct launcher_arguments arguments = { 0 };
	struct admission admission = { 0 };
	enum refusal refusal;

	if (launcher_arguments_read(message, arguments_fd, &arguments) < 0)
		return refuse(error, REFUSAL_REQUEST, "the request did not arrive whole");
	refusal = check_all(options, message, &arguments, running, &admission, error);
	if (refusal != REFUSAL_NONE) {
		admission_release(&admission);
		return refusal;
	}
	*ret = admission;
	return REFUSAL_NONE;
}
