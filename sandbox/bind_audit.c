// SPDX-License-Identifier: Apache-2.0
#include "sandbox/bind_audit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sanitize/buf.h"
#include "sanitize/cleanup.h"

#define ENTRIES_MAX 4096 // of a folder that is looked through for sockets

static const char *const system_folders[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc", "/boot", "/proc", "/sys", "/dev",
};

// Below HOME: no workspace may be here or below.
static const char *const credential_folders[] = { ".ssh", ".gnupg", ".aws", ".kube", ".docker", ".claude" };

bool audit_is_system(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_folders); i++)
		if (path_is_within(path, system_folders[i]) || path_is_within(system_folders[i], path))
			return true;
	return false;
}

// The same, by identity too. /usr/local/... is the one place below a system folder that people work in.
static bool place_is_system(const struct place *place)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_folders); i++)
		if (place_holds(place, system_folders[i]))
			return true;
	return audit_is_system(place->path) && !path_is_within(place->path, "/usr/local");
}

static int audit_credentials(const struct place *place, const char *home, struct error *error)
{
	for (size_t i = 0; i < ARRAY_SIZE(credential_folders); i++) {
		CLEANUP(buf) struct buf path = BUF_INIT;
		int rc = buf_printf(&path, "%s/%s", home, credential_folders[i]);

		if (rc < 0)
			return rc;
		if (place_is_within(place, path.data))
			return error_set(error, -EINVAL, "workspace '%s': it lies in ~/%s", place->path,
					 credential_folders[i]);
	}
	return 0;
}

// What must not be within reach of a writable bind, however it is called.
static int audit_apart(const struct place *place, const char *path, const char *what, struct error *error)
{
	if (path == NULL)
		return 0;
	if (place_holds(place, path))
		return error_set(error, -EINVAL,
				 "workspace '%s': it holds %s, '%s'; choose a folder beside it", place->path,
				 what, path);
	if (place_is_within(place, path))
		return error_set(error, -EINVAL,
				 "workspace '%s': it lies in %s, '%s'; choose a folder beside it",
				 place->path, what, path);
	return 0;
}

int audit_workspace(const struct job_spec *spec, const char *home, struct place *ret, struct error *error)
{
	const struct {
		const char *path;
		const char *what;
	} apart[] = {
		{ spec->view, "the skills" },
		{ spec->source, "the skills' source" },
		{ spec->hide, "the control directory" },
	};
	CLEANUP(place) struct place place = PLACE_INIT;
	CLEANUP(place) struct place real_home = PLACE_INIT;
	const char *path = spec->workspace;
	int rc;

	if (!path_is_plain(path))
		return error_set(error, -EINVAL, "workspace '%s': not a plain absolute path", path);
	rc = place_open(path, false, &place);
	if (rc == -ELOOP)
		return error_set(error, -EINVAL, "workspace '%s': it is, or lies below, a symbolic link",
				 path);
	if (rc < 0)
		return error_set(error, rc, "workspace '%s': %s", path, strerror(-rc));
	if (!S_ISDIR(place.mode))
		return error_set(error, -ENOTDIR, "workspace '%s': %s", path, strerror(ENOTDIR));
	for (size_t i = 0; i < ARRAY_SIZE(apart); i++) {
		rc = audit_apart(&place, apart[i].path, apart[i].what, error);
		if (rc < 0)
			return rc;
	}
	if (place_is_system(&place))
		return error_set(error, -EINVAL, "workspace '%s': it is, holds or lies in a system folder",
				 path);
	rc = place_open(home, true, &real_home);
	if (rc == -ENOMEM)
		return error_set(error, rc, "out of memory");
	if (place_holds(&place, home) ||
	    (rc == 0 && (place_holds(&place, real_home.path) ||
			 (place.dev == real_home.dev && place.ino == real_home.ino))))
		return error_set(error, -EINVAL,
				 "workspace '%s': it is or holds the home directory; choose a folder in it",
				 path);
	if (rc == 0) {
		rc = audit_credentials(&place, real_home.path, error);
		if (rc < 0)
			return rc;
	}
	*ret = place;
	place = PLACE_INIT;
	return 0;
}

// A read-only mount does not keep anybody from connecting to a socket in it.
static int audit_sockets(const struct place *place, struct error *error)
{
	CLEANUP(fd) int fd = -1;
	struct dirent *entry;
	size_t seen = 0;
	DIR *dir;

	if (S_ISSOCK(place->mode))
		return error_set(error, -EINVAL, "readOnlyAllowPaths: '%s' is a socket", place->path);
	if (!S_ISDIR(place->mode))
		return 0;
	fd = openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0; // what can't be listed is left to the jail, which has no more rights than we
	dir = fdopendir(fd);
	if (dir == NULL)
		return -errno;
	(void)take_fd(fd);
	while ((entry = readdir(dir)) != NULL && seen++ < ENTRIES_MAX) {
		if (entry->d_type != DT_SOCK)
			continue;
		error_set(error, -EINVAL,
			  "readOnlyAllowPaths: '%s' holds a socket, '%.100s'; name folders without one",
			  place->path, entry->d_name);
		(void)closedir(dir);
		return -EINVAL;
	}
	(void)closedir(dir);
	return 0;
}

int audit_allowed(const struct job_spec *spec, const char *home, const char *path, bool inside,
		  struct place *ret, struct error *error)
{
	static const char *const made[] = { "/proc", "/sys", "/dev" };
	CLEANUP(place) struct place place = PLACE_INIT;
	bool elsewhere =
		spec->source != NULL && (spec->view == NULL || strcmp(spec->source, spec->view) != 0);
	int rc;

	if (!path_is_plain(path))
		return error_set(error, -EINVAL, "readOnlyAllowPaths: '%s' is not a plain absolute path",
				 path);
	// A job owns what lies in its workspace: a link there could lead the next job's bind anywhere.
	rc = place_open(path, !inside, &place);
	if (rc == -ENOENT)
		return rc;
	if (rc == -ELOOP)
		return error_set(
			error, -EINVAL,
			"readOnlyAllowPaths: '%s' is, or lies below, a symbolic link in the workspace", path);
	if (rc < 0)
		return error_set(error, rc, "readOnlyAllowPaths: '%s': %s", path, strerror(-rc));
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		if (path_is_within(path, made[i]) || path_is_within(place.path, made[i]))
			return error_set(error, -EINVAL,
					 "readOnlyAllowPaths: '%s' is %s, which the jail has of its own",
					 path, made[i]);
	if (path_is_within("/tmp", path) || path_is_within(home, path) || place_holds(&place, home) ||
	    place_holds(&place, "/tmp"))
		return error_set(
			error, -EINVAL,
			"readOnlyAllowPaths: '%s' is or holds the home directory or /tmp; name folders in it",
			path);
	// Seen through another name, no mount of ours would cover them.
	if ((elsewhere && (place_is_within(&place, spec->source) ||
			   (place_holds(&place, spec->source) && !path_is_within(spec->source, path)))) ||
	    (spec->view != NULL && place_is_within(&place, spec->view) &&
	     !path_is_within(path, spec->view)) ||
	    (spec->view != NULL && place_holds(&place, spec->view) && !path_is_within(spec->view, path)))
		return error_set(error, -EINVAL, "readOnlyAllowPaths: '%s' shows the skills' source", path);
	if (spec->hide != NULL && (place_is_within(&place, spec->hide) ||
				   (place_holds(&place, spec->hide) && !path_is_within(spec->hide, path))))
		return error_set(error, -EINVAL, "readOnlyAllowPaths: '%s' shows the control directory",
				 path);
	rc = audit_sockets(&place, error);
	if (rc < 0)
		return rc;
	*ret = place;
	place = PLACE_INIT;
	return 0;
}

int audit_broker(const char *path, struct place *ret, struct error *error)
{
	CLEANUP(place) struct place place = PLACE_INIT;
	int rc;

	if (!path_is_plain(path))
		return error_set(error, -EINVAL, "brokerSocketPath: '%s' is not a plain absolute path", path);
	rc = place_open(path, true, &place);
	if (rc < 0)
		return error_set(error, rc, "brokerSocketPath: '%s': %s", path, strerror(-rc));
	if (!S_ISSOCK(place.mode))
		return error_set(error, -ENOTSOCK, "brokerSocketPath: '%s' is not a socket", path);
	*ret = place;
	place = PLACE_INIT;
	return 0;
}
