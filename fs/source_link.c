// SPDX-License-Identifier: Apache-2.0
//
// Where a symlink leads, without following it: whether it stays beneath a folder that is
// shown as it stands, and how it is shown then.
#include "fs/source_link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "sanitize/cleanup.h"

int source_read_link(int dir_fd, const char *name, char **ret)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(dir_fd, name, target, sizeof(target));

	if (len < 0)
		return -errno;
	if ((size_t)len >= sizeof(target))
		return -ENAMETOOLONG;
	*ret = strndup(target, (size_t)len);
	return *ret == NULL ? -ENOMEM : 0;
}

int source_pending_name(char **pending, char **ret)
{
	size_t len = strcspn(*pending, "/");
	CLEANUP(free) char *name = strndup(*pending, len);
	char *rest = strdup(*pending + len + strspn(*pending + len, "/"));

	if (name == NULL || rest == NULL) {
		free(rest);
		return -ENOMEM;
	}
	free(*pending);
	*pending = rest;
	*ret = take(name);
	return 0;
}

int source_pending_link(char **pending, int dir_fd, const char *name)
{
	CLEANUP(free) char *target = NULL;
	char *joined = NULL;
	int rc = source_read_link(dir_fd, name, &target);

	if (rc < 0)
		return rc;
	if (asprintf(&joined, "%s/%s", target, *pending) < 0)
		return -ENOMEM;
	free(*pending);
	*pending = joined;
	return 0;
}

// The part of an absolute target below a folder ("" for the folder itself), or NULL when it lies elsewhere.
const char *source_path_below(const char *root, const char *target)
{
	size_t len = strlen(root);

	if (strcmp(root, "/") == 0)
		len = 0;
	if (strncmp(target, root, len) != 0 || (target[len] != '/' && target[len] != '\0'))
		return NULL;
	target += len;
	while (*target == '/')
		target++;
	return target;
}

// Follows `target` from the directory `dir_path` as the kernel will follow it through the view: component by component,
// links included. Returns 1 when it stays beneath the base (it may dangle or loop), 0 when it leaves it.
int source_link_stays(const struct source *source, const struct source_base *base, const char *dir_path,
		      const char *target)
{
	CLEANUP(buf) struct buf current = BUF_INIT; // where we are: no links, no dots
	CLEANUP(free) char *pending = strdup(target);
	int links = 0;
	bool dangling = false;
	int rc = pending == NULL ? -ENOMEM : buf_append_string(&current, dir_path);

	while (rc == 0 && pending[0] != '\0') {
		CLEANUP(free) char *name = NULL;
		CLEANUP(fd) int fd = -1;
		enum entry_kind kind;
		struct stat st;

		if (pending[0] == '/') {
			const char *rest = source_path_below(base->path, pending);

			if (rest == NULL)
				return 0;
			memmove(pending, rest, strlen(rest) + 1);
			buf_clear(&current);
			dangling = false;
			continue;
		}
		rc = source_pending_name(&pending, &name);
		if (rc < 0)
			return rc;
		if (name[0] == '\0' || strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			char *slash;

			if (current.len == 0)
				return 0;
			slash = memrchr(current.data, '/', current.len);
			current.len = slash == NULL ? 0 : (size_t)(slash - current.data);
			current.data[current.len] = '\0';
			continue;
		}
		// Also where the source has no such name: on the mount, the control link stands there.
		if (strcmp(name, RESERVED_NAME) == 0)
			return 0;
		if (!dangling) {
			fd = current.len == 0 ? fcntl(base->fd, F_DUPFD_CLOEXEC, 0)
					      : source_open_directory(base->fd, current.data);
			if (fd == -ENOENT || fd == -ENOTDIR)
				dangling = true;
			else if (fd < 0)
				return 0;
		}
		if (!dangling) {
			rc = source_examine_name(source, fd, name, &kind, &st);
			if (rc < 0)
				return 0;
			if (kind == ENTRY_NESTED_MOUNT)
				return 0;
			if (kind == ENTRY_LINK) {
				if (++links > SOURCE_LINKS_MAX)
					return 1; // the kernel gives up here too: ELOOP
				rc = source_pending_link(&pending, fd, name);
				if (rc == -ENOMEM)
					return rc;
				if (rc < 0)
					return 0;
				continue;
			}
			dangling = kind == ENTRY_MISSING;
		}
		if (current.len > 0)
			rc = buf_append_byte(&current, '/');
		if (rc == 0)
			rc = buf_append_string(&current, name);
		if (current.len > PATH_MAX)
			return 0;
	}
	return rc < 0 ? rc : 1;
}

// The target to show: an absolute one is rewritten as seen from `dir_path`.
int source_link_shown(const struct source_base *base, const char *dir_path, const char *target, char **ret)
{
	CLEANUP(buf) struct buf shown = BUF_INIT;
	const char *rest;
	int rc = 0;

	if (target[0] != '/') {
		*ret = strdup(target);
		return *ret == NULL ? -ENOMEM : 0;
	}
	rest = source_path_below(base->path, target);
	if (rest == NULL)
		return -EXDEV;
	for (const char *at = dir_path; rc == 0 && *at != '\0'; at += strspn(at, "/")) {
		rc = buf_append_string(&shown, "../");
		at += strcspn(at, "/");
	}
	if (rc == 0)
		rc = buf_append_string(&shown, rest);
	if (rc == 0 && shown.len == 0)
		rc = buf_append_byte(&shown, '.');
	if (rc < 0)
		return rc;
	*ret = buf_detach(&shown);
	return *ret == NULL ? -ENOMEM : 0;
}
