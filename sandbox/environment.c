// SPDX-License-Identifier: Apache-2.0
#include "sandbox/environment.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/binds.h"
#include "sandbox/path.h"
#include "sanitize/buf.h"
#include "sanitize/cleanup.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define PASSWD_MAX   16384

// What a request may set. Never PATH, HOME, USER, SHELL, TMPDIR or XDG_*, which decide what runs and where files
// go, and nothing that a loader or an interpreter takes code from (LD_*, NODE_OPTIONS, PYTHONPATH, BASH_ENV, ...).
static const char *const request_names[] = {
	"LANG",
	"LANGUAGE",
	"TZ",
	"TERM",
	"COLORTERM",
	"FORCE_COLOR",
	"NO_COLOR",
	"COLUMNS",
	"LINES",
	"NODE_ENV",
	"RUST_BACKTRACE",
	"RUST_LOG",
	"PYTHONDONTWRITEBYTECODE",
	"PYTHONUNBUFFERED",
	"DEBUG",
	"VERBOSE",
	"LOG_LEVEL",
	"CI",
	"LS_COLORS",
	"CLICOLOR",
	"CLICOLOR_FORCE",
};

// What passes from our own environment, beside LC_*.
static const char *const inherited_names[] = { "LANG", "LANGUAGE", "TZ", "TERM" };

// Package managers keep their caches in the workspace: a cache shared with the host, or between agents, would be a
// channel from one to the other. `path` is below the workspace.
static const struct {
	const char *name;
	const char *path;
} redirects[] = {
	{ "XDG_CACHE_HOME", ".cache" },
	{ "XDG_STATE_HOME", ".local/state" },
	{ "NPM_CONFIG_CACHE", ".cache/npm" },
	{ "YARN_CACHE_FOLDER", ".cache/yarn" },
	{ "PNPM_HOME", ".local/pnpm" },
	{ "BUN_INSTALL", ".local/bun" },
	{ "DENO_DIR", ".cache/deno" },
	{ "PIP_CACHE_DIR", ".cache/pip" },
	{ "PYTHONUSERBASE", ".local" },
	{ "PIPX_HOME", ".local/pipx" },
	{ "PIPX_BIN_DIR", ".local/bin" },
	{ "UV_CACHE_DIR", ".cache/uv" },
	{ "UV_PYTHON_INSTALL_DIR", ".cache/uv/python" },
	{ "UV_TOOL_DIR", ".local/uv" },
	{ "MPLCONFIGDIR", ".cache/matplotlib" },
	{ "CARGO_HOME", ".cache/cargo" },
	{ "RUSTUP_HOME", ".cache/rustup" },
	{ "GOPATH", ".cache/go" },
	{ "GOMODCACHE", ".cache/go/pkg/mod" },
	{ "GOCACHE", ".cache/go-build" },
	{ "GEM_HOME", ".cache/gems" },
	{ "BUNDLE_PATH", ".cache/bundle" },
};

// The same everywhere.
static const char *const constants[] = { "PYTHONDONTWRITEBYTECODE=1", "MPLBACKEND=Agg" };

static bool is_locale_category(const char *name)
{
	const char *rest = name + 3;

	if (strncmp(name, "LC_", 3) != 0 || *rest == '\0')
		return false;
	return rest[strspn(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == '\0';
}

bool job_env_allowed(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(request_names); i++)
		if (strcmp(request_names[i], name) == 0)
			return true;
	return is_locale_category(name);
}

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=");
}

const char *environment_get(const struct strv *env, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < env->count; i++)
		if (name_length(env->items[i]) == len && strncmp(env->items[i], name, len) == 0)
			return env->items[i] + len + 1;
	return NULL;
}

// Adds an entry, in place of one of the same name.
static int put(struct strv *env, const char *entry)
{
	size_t len = name_length(entry);

	for (size_t i = 0; i < env->count; i++) {
		char *copy;

		if (name_length(env->items[i]) != len || strncmp(env->items[i], entry, len) != 0)
			continue;
		copy = strdup(entry);
		if (copy == NULL)
			return -ENOMEM;
		free(env->items[i]);
		env->items[i] = copy;
		return 0;
	}
	return strv_add(env, entry);
}

static int put_value(struct strv *env, const char *name, const char *value)
{
	CLEANUP(buf) struct buf entry = BUF_INIT;
	int rc = buf_printf(&entry, "%s=%s", name, value);

	return rc < 0 ? rc : put(env, entry.data);
}

static int put_inherited(struct strv *env)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(inherited_names); i++) {
		const char *value = getenv(inherited_names[i]);

		if (value != NULL)
			rc = put_value(env, inherited_names[i], value);
	}
	for (char **entry = environ; rc == 0 && *entry != NULL; entry++) {
		CLEANUP(free) char *name = strndup(*entry, name_length(*entry));

		if (name == NULL)
			return -ENOMEM;
		if (is_locale_category(name))
			rc = put(env, *entry);
	}
	return rc;
}

// Our PATH without relative entries, and in a jail without what is not there; the system's folders are always in it.
static int put_path(struct strv *env, const struct job_spec *spec, const char *home, bool jailed)
{
	const char *ours = getenv("PATH");
	CLEANUP(strv) struct strv dirs = { 0 };
	CLEANUP(buf) struct buf path = BUF_INIT;
	const char *lists[] = { ours == NULL ? "" : ours, DEFAULT_PATH };
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (const char *at = lists[i]; *at != '\0';) {
			size_t len = strcspn(at, ":");
			CLEANUP(free) char *dir = strndup(at, len);

			if (dir == NULL)
				return -ENOMEM;
			at += at[len] == ':' ? len + 1 : len;
			if (!path_is_plain(dir) || strv_contains(&dirs, dir))
				continue;
			if (jailed && !binds_show(spec, home, dir))
				continue;
			rc = strv_add(&dirs, dir);
			if (rc < 0)
				return rc;
		}
	}
	rc = buf_append_string(&path, "PATH=");
	for (size_t i = 0; rc == 0 && i < dirs.count; i++)
		rc = buf_printf(&path, "%s%s", i == 0 ? "" : ":", dirs.items[i]);
	// Last, so that a program that a job installed never stands before the system's.
	if (rc == 0 && spec->workspace != NULL)
		rc = buf_printf(&path, ":%s/.local/bin", spec->workspace);
	return rc < 0 ? rc : put(env, path.data);
}

static int put_user(struct strv *env, uid_t uid)
{
	char buffer[PASSWD_MAX];
	struct passwd entry, *found = NULL;
	int rc = 0;

	// A user that has no name gets none.
	if (getpwuid_r(uid, &entry, buffer, sizeof(buffer), &found) != 0 || found == NULL)
		return 0;
	rc = put_value(env, "USER", found->pw_name);
	return rc < 0 ? rc : put_value(env, "LOGNAME", found->pw_name);
}

static int put_redirects(struct strv *env, const char *workspace)
{
	for (size_t i = 0; i < ARRAY_SIZE(redirects); i++) {
		CLEANUP(buf) struct buf entry = BUF_INIT;
		int rc = buf_printf(&entry, "%s=%s/%s", redirects[i].name, workspace, redirects[i].path);

		if (rc == 0)
			rc = put(env, entry.data);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static bool entry_is_valid(const char *entry)
{
	size_t len = name_length(entry);

	return entry[len] == '=' && len > 0 && (entry[0] < '0' || entry[0] > '9') &&
	       strspn(entry, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

int environment_build(const struct job_spec *spec, const char *home, bool jailed, struct strv *ret,
		      struct error *error)
{
	CLEANUP(strv) struct strv env = { 0 };
	int rc = put_path(&env, spec, home, jailed);

	if (rc == 0)
		rc = put_value(&env, "HOME", home);
	if (rc == 0)
		rc = put_user(&env, spec->uid);
	if (rc == 0)
		rc = put_value(&env, "TMPDIR", "/tmp");
	if (rc == 0)
		rc = put_inherited(&env);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(constants); i++)
		rc = put(&env, constants[i]);
	if (rc == 0 && spec->workspace != NULL)
		rc = put_redirects(&env, spec->workspace);
	for (size_t i = 0; rc == 0 && i < spec->env.count; i++) {
		if (!entry_is_valid(spec->env.items[i]))
			return error_set(error, -EINVAL, "environment: '%.60s' is not NAME=value",
					 spec->env.items[i]);
		rc = put(&env, spec->env.items[i]);
	}
	if (rc < 0)
		return error_set(error, rc, "environment: %s", strerror(-rc));
	*ret = env;
	env = (struct strv){ 0 };
	return 0;
}
