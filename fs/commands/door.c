// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/door.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/mountinfo.h"
#include "sanitize/buf.h"
#include "sanitize/cleanup.h"

// Canonical paths of `path` and of what of it exists: of a hidden name that is its folder.
static int resolve(const char *path, char **ret_path, char **ret_existing, struct error *error)
{
	CLEANUP(free) char *existing = NULL;
	CLEANUP(free) char *folder = NULL;
	CLEANUP(buf) struct buf joined = BUF_INIT;
	struct error ignored = { "" };
	const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
	int rc = mount_canonical(path, &existing, error);

	if (rc == 0) {
		*ret_path = strdup(existing);
		if (*ret_path == NULL)
			return -ENOMEM;
		*ret_existing = take(existing);
		return 0;
	}
	if (rc != -ENOENT || *name == '\0' || strcmp(name, "..") == 0)
		return rc;
	folder = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (folder == NULL)
		return -ENOMEM;
	// The first message names what the user wrote.
	if (mount_canonical(folder, &existing, &ignored) < 0)
		return rc;
	rc = buf_printf(&joined, "%s/%s", strcmp(existing, "/") == 0 ? "" : existing, name);
	if (rc < 0)
		return rc;
	*ret_path = buf_detach(&joined);
	if (*ret_path == NULL)
		return -ENOMEM;
	*ret_existing = take(existing);
	return 0;
}

int door_open(const char *path, struct door *ret, struct error *error)
{
	CLEANUP(free) char *real = NULL;
	CLEANUP(free) char *existing = NULL;
	CLEANUP(free) char *mountpoint = NULL;
	CLEANUP(free) char *control = NULL;
	const char *below;
	int rc = resolve(path, &real, &existing, error);

	if (rc == 0) {
		rc = mount_of(existing, &mountpoint, &control, error);
		// Not the folder that was looked at in its place.
		if (rc == -ENOENT && strcmp(existing, real) != 0)
			rc = error_set(error, rc, "%s: no skillfs mount holds it", real);
	}
	if (rc < 0)
		return rc;
	if (control == NULL)
		return error_set(error, -ENOENT, "%s: mounted without a control directory (control=none)",
				 mountpoint);
	below = real + strlen(mountpoint);
	below = strdup(below + strspn(below, "/"));
	if (below == NULL)
		return -ENOMEM;
	*ret = (struct door){ take(mountpoint), take(control), (char *)below };
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

	return strcmp(entry->type, CONTENT_TYPE) == 0 && !entry->dead && entry->control_dir != NULL &&
	       stat(entry->control_dir, &st) == 0 && st.st_uid == geteuid();
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

char *door_here(const struct door *door)
{
	CLEANUP(free) char *here = getcwd(NULL, 0);

	return here != NULL && beneath(here, door->mountpoint) ? take(here) : NULL;
}

void door_close(struct door *door)
{
	free(door->mountpoint);
	free(door->control);
	free(door->below);
	*door = (struct door){ NULL, NULL, NULL };
}
