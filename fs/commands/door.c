// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/door.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "fs/mount.h"
#include "fs/source.h"
#include "sanitize/buf.h"
#include "sanitize/cleanup.h"

// The canonical path of something that may be hidden: then that of its folder, and its name.
static char *resolve(const char *path)
{
	CLEANUP(free) char *copy = NULL;
	CLEANUP(free) char *folder = NULL;
	CLEANUP(buf) struct buf joined = BUF_INIT;
	char *real = realpath(path, NULL), *slash, *name;

	if (real != NULL || errno != ENOENT)
		return real;
	copy = strdup(path);
	if (copy == NULL)
		return NULL;
	slash = strrchr(copy, '/');
	name = slash == NULL ? copy : slash + 1;
	if (*name == '\0' || strcmp(name, "..") == 0) {
		errno = ENOENT;
		return NULL;
	}
	if (slash != NULL)
		slash[slash == copy] = '\0';
	// "/name" was cut to "/" by writing over its first letter; the name is taken from `path`.
	folder = realpath(slash == NULL ? "." : copy, NULL);
	if (folder == NULL)
		return NULL;
	name = strrchr(path, '/') == NULL ? (char *)path : strrchr(path, '/') + 1;
	if (buf_printf(&joined, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name) < 0)
		return NULL;
	return buf_detach(&joined);
}

// Cuts `path` to the folder that holds the `.skillfs` link, which only a view's root has.
static int find_root(char *path)
{
	for (;;) {
		CLEANUP(buf) struct buf link = BUF_INIT;
		struct stat st;
		char *slash;

		if (buf_printf(&link, "%s/" RESERVED_NAME, path) < 0)
			return -ENOMEM;
		if (lstat(link.data, &st) == 0 && S_ISLNK(st.st_mode))
			return 0;
		slash = strrchr(path, '/');
		if (slash == NULL)
			return -ENOENT;
		*slash = '\0';
	}
}

int door_open(const char *path, struct door *ret, struct error *error)
{
	CLEANUP(free) char *real = resolve(path);
	CLEANUP(free) char *root = NULL;
	CLEANUP(free) char *below = NULL;
	CLEANUP(free) char *control = NULL;
	int rc;

	if (real == NULL) {
		rc = -errno;
		return rc == -ENOTCONN
			       ? error_set(error, rc,
					   "%s: the mount is dead; mount it again, or skillfs umount it",
					   path)
			       : error_set(error, rc, "%s: %s", path, strerror(-rc));
	}
	root = strdup(real);
	if (root == NULL)
		return -ENOMEM;
	rc = find_root(root);
	if (rc < 0)
		return error_set(error, rc, "%s: not on a skillfs mount, or one without a control directory",
				 path);
	if (*root == '\0' && (free(root), root = strdup("/")) == NULL)
		return -ENOMEM;
	rc = mount_control_dir(root, &control, error);
	if (rc < 0)
		return rc;
	below = strdup(strcmp(root, "/") == 0      ? real + 1
		       : real[strlen(root)] == '/' ? real + strlen(root) + 1
						   : "");
	if (below == NULL)
		return -ENOMEM;
	*ret = (struct door){ take(root), take(control), take(below) };
	return 0;
}

static bool beneath(const char *path, const char *root)
{
	size_t len = strlen(root);

	return strncmp(path, root, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0' || strcmp(root, "/") == 0);
}

static bool usable(const struct mount_entry *entry)
{
	struct stat st;

	return !entry->dead && entry->control_dir != NULL && stat(entry->control_dir, &st) == 0 &&
	       st.st_uid == geteuid();
}

int door_find(struct door *ret, struct error *error)
{
	CLEANUP(free) char *here = getcwd(NULL, 0);
	CLEANUP(buf) struct buf names = BUF_INIT;
	struct mount_entry *entries = NULL;
	const struct mount_entry *found = NULL;
	size_t count = 0, usable_count = 0;
	int rc = mount_list(&entries, &count);

	if (rc < 0)
		return error_set(error, rc, "cannot read the mount table: %s", strerror(-rc));
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (!usable(&entries[i]))
			continue;
		rc = buf_printf(&names, "%s%s", usable_count == 0 ? "" : ", ", entries[i].mountpoint);
		usable_count++;
		if (here != NULL && beneath(here, entries[i].mountpoint)) {
			found = &entries[i];
			break;
		}
	}
	if (found == NULL && usable_count == 1)
		for (size_t i = 0; i < count && found == NULL; i++)
			if (usable(&entries[i]))
				found = &entries[i];
	if (rc == 0 && found != NULL)
		rc = door_open(found->mountpoint, ret, error);
	else if (rc == 0 && usable_count == 0)
		rc = error_set(error, -ENOENT,
			       "you have no skillfs mount; start one with skillfs mount FOLDER");
	else if (rc == 0)
		rc = error_set(error, -EINVAL, "which mount? Say -m with one of %s", names.data);
	mount_list_free(entries, count);
	return rc;
}

void door_close(struct door *door)
{
	free(door->mountpoint);
	free(door->control);
	free(door->below);
	*door = (struct door){ NULL, NULL, NULL };
}
