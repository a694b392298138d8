// SPDX-License-Identifier: Apache-2.0
#include "sandbox/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sanitize/cleanup.h"

bool path_is_plain(const char *path)
{
	const char *component = path + 1;

	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return false;
	if (path[1] == '\0')
		return true;
	for (;;) {
		size_t len = strcspn(component, "/");

		if (len == 0 || (len == 1 && component[0] == '.') ||
		    (len == 2 && component[0] == '.' && component[1] == '.'))
			return false;
		if (component[len] == '\0')
			return true;
		component += len + 1;
	}
}

bool path_is_within(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return path[0] == '/';
	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

// Attributes as the kernel has them: no file system is asked, so no dead one can hold us.
static int identity(int fd, const char *path, uint32_t *ret_mode, uint64_t *ret_dev, uint64_t *ret_ino)
{
	struct statx stx;
	int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;

	if (statx(fd, path, flags, STATX_TYPE | STATX_INO, &stx) < 0)
		return -errno;
	*ret_mode = stx.stx_mode;
	*ret_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor);
	*ret_ino = stx.stx_ino;
	return 0;
}

int place_open(const char *path, bool links, struct place *ret)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = links ? 0 : RESOLVE_NO_SYMLINKS,
	};
	char link[32], target[PATH_MAX];
	struct place place = PLACE_INIT;
	CLEANUP(fd) int fd = -1;
	ssize_t len;
	int rc;

	fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	rc = identity(fd, "", &place.mode, &place.dev, &place.ino);
	if (rc < 0)
		return rc;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, target, sizeof(target));
	if (len < 0)
		return -errno;
	if ((size_t)len >= sizeof(target))
		return -ENAMETOOLONG;
	place.path = strndup(target, (size_t)len);
	if (place.path == NULL)
		return -ENOMEM;
	place.fd = take_fd(fd);
	*ret = place;
	return 0;
}

void place_release(struct place *place)
{
	if (place->fd >= 0)
		(void)close(place->fd);
	free(place->path);
	*place = PLACE_INIT;
}

// Makes `path` its own parent. False at the root.
static bool to_parent(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL || path[1] == '\0')
		return false;
	slash[slash == path ? 1 : 0] = '\0';
	return true;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

bool place_holds(const struct place *place, const char *path)
{
	char above[PATH_MAX];
	uint64_t dev = 0, ino = 0;
	uint32_t mode;

	if (path_is_within(path, place->path))
		return true;
	(void)snprintf(above, sizeof(above), "%s", path);
	while (to_parent(above))
		if (identity(AT_FDCWD, above, &mode, &dev, &ino) == 0 && dev == place->dev &&
		    ino == place->ino)
			return true;
	return false;
}

bool place_is_within(const struct place *place, const char *path)
{
	char parent[PATH_MAX], child[PATH_MAX], above[PATH_MAX];
	uint64_t dev = 0, ino = 0, above_dev = 0, above_ino = 0;
	uint32_t mode;

	if (path_is_within(place->path, path))
		return true;
	(void)snprintf(parent, sizeof(parent), "%s", path);
	if (!to_parent(parent) || identity(AT_FDCWD, parent, &mode, &dev, &ino) < 0)
		return false;
	(void)snprintf(child, sizeof(child), "%s", place->path);
	for (;;) {
		(void)snprintf(above, sizeof(above), "%s", child);
		if (!to_parent(above))
			return false;
		if (strcmp(last_component(child), last_component(path)) == 0 &&
		    identity(AT_FDCWD, above, &mode, &above_dev, &above_ino) == 0 && above_dev == dev &&
		    above_ino == ino)
			return true;
		(void)snprintf(child, sizeof(child), "%s", above);
	}
}
