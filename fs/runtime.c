// SPDX-License-Identifier: Apache-2.0
#include "fs/runtime.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/hash.h"
#include "sanitize/cleanup.h"

int runtime_id(const char *mountpoint, char **ret)
{
	const char *slash = strrchr(mountpoint, '/');
	CLEANUP(free) char *name = strndup(slash == NULL ? mountpoint : slash + 1, 32);
	uint64_t hash = hash_key(mountpoint, strlen(mountpoint), 0);

	if (name == NULL)
		return -ENOMEM;
	for (char *at = name; *at != '\0'; at++)
		if (!isascii((unsigned char)*at) ||
		    (!isalnum((unsigned char)*at) && *at != '-' && *at != '_' && (*at != '.' || at == name)))
			*at = '_';
	if (asprintf(ret, "%s-%08" PRIx32, name[0] == '\0' ? "root" : name, (uint32_t)hash) < 0)
		return -ENOMEM;
	return 0;
}

int runtime_make(const char *path, struct error *error)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_set(error, -errno, "%s: cannot make this directory: %s", path, strerror(errno));
	if (lstat(path, &st) < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	// Another user may have put something in its place.
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return error_set(error, -EPERM, "%s: not a directory of your own; remove it", path);
	if ((st.st_mode & 0077) != 0 && chmod(path, 0700) < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

static bool usable_base(const char *path)
{
	struct stat st;

	return path != NULL && path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && (st.st_mode & 0022) == 0;
}

int runtime_control_path(const char *id, char **ret)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	int rc;

	if (usable_base(xdg))
		rc = asprintf(ret, "%s/skillfs/%s", xdg, id);
	else if (geteuid() == 0 && usable_base("/run"))
		rc = asprintf(ret, "/run/skillfs/%s", id);
	else
		rc = asprintf(ret, "/tmp/skillfs-%u/%s", (unsigned)geteuid(), id);
	return rc < 0 ? -ENOMEM : 0;
}

static int make_parents(char *path, struct error *error)
{
	for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
		int rc;

		*at = '\0';
		rc = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
		if (rc < 0)
			rc = error_set(error, rc, "%s: cannot make this directory: %s", path, strerror(-rc));
		*at = '/';
		if (rc < 0)
			return rc;
	}
	return 0;
}

int runtime_make_tree(const char *path, struct error *error)
{
	CLEANUP(free) char *copy = strdup(path);
	char *slash;
	int rc;

	if (copy == NULL)
		return -ENOMEM;
	slash = strrchr(copy, '/');
	*slash = '\0';
	rc = make_parents(copy, error);
	if (rc == 0)
		rc = runtime_make(copy, error);
	return rc < 0 ? rc : runtime_make(path, error);
}

int runtime_state_path(const char *id, char **ret, struct error *error)
{
	const char *xdg = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	const struct passwd *user;
	int rc;

	if (home == NULL || home[0] != '/') {
		user = getpwuid(geteuid());
		home = user == NULL ? NULL : user->pw_dir;
	}
	if (xdg != NULL && xdg[0] == '/')
		rc = asprintf(ret, "%s/skillfs/%s", xdg, id);
	else if (geteuid() == 0)
		rc = asprintf(ret, "/var/lib/skillfs/%s", id);
	else if (home != NULL)
		rc = asprintf(ret, "%s/.local/state/skillfs/%s", home, id);
	else
		return error_set(error, -ENOENT,
				 "no home directory for the audit log; -o state=DIR names another");
	return rc < 0 ? -ENOMEM : 0;
}

void runtime_remove(const char *control_dir)
{
	CLEANUP(free) char *parent = strdup(control_dir);
	char *slash = parent == NULL ? NULL : strrchr(parent, '/');

	if (rmdir(control_dir) < 0 || slash == NULL)
		return;
	*slash = '\0';
	slash = strrchr(parent, '/');
	// Only a base directory that skillfs makes itself.
	if (slash != NULL && strncmp(slash + 1, "skillfs", 7) == 0)
		(void)rmdir(parent);
}
