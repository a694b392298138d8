// SPDX-License-Identifier: Apache-2.0
#include "fs/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sanitize/cleanup.h"

#define SWEEP_AGE_S       5
#define WORKSPACE_FOLDER  "/tmp"
#define WORKSPACE_PREFIX  "skillfs-job-"
#define WORKSPACE_PATTERN WORKSPACE_FOLDER "/" WORKSPACE_PREFIX "XXXXXX"

int workspace_create(uid_t uid, gid_t gid, char **ret_path, int *ret_lock, struct error *error)
{
	CLEANUP(fd) int lock = -1;
	char path[] = WORKSPACE_PATTERN;
	int rc = 0;

	if (mkdtemp(path) == NULL)
		return error_set(error, -errno, "%s: %s", WORKSPACE_PATTERN, strerror(errno));
	if (geteuid() == 0 && uid != 0 && lchown(path, uid, gid) < 0)
		rc = -errno;
	if (rc == 0) {
		lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
			rc = -errno;
	}
	if (rc == 0) {
		*ret_path = strdup(path);
		if (*ret_path == NULL)
			rc = -ENOMEM;
	}
	if (rc < 0) {
		(void)rmdir(path);
		return error_set(error, rc, "%s: %s", path, strerror(-rc));
	}
	*ret_lock = take_fd(lock);
	return 0;
}

// Opens a folder for emptying it, also one that its owner has locked.
static int open_folder(int dir_fd, const char *name)
{
	CLEANUP(fd) int handle = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char link[64];
	struct stat st;
	int fd;

	if (handle < 0 || fstat(handle, &st) < 0)
		return -errno;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
	if ((st.st_mode & 0700) != 0700 && chmod(link, 0700) < 0)
		return -errno;
	fd = openat(handle, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int move_up(int dir_fd, const char *name, int root_fd, unsigned long *counter)
{
	char moved[32];

	do {
		(void)snprintf(moved, sizeof(moved), "%lu", ++*counter);
		if (renameat2(dir_fd, name, root_fd, moved, RENAME_NOREPLACE) == 0)
			return 0;
	} while (errno == EEXIST);
	return -errno;
}

// Empties the folder `dir_fd` but for subfolders that hold something: these are moved to `root_fd`, for a later pass.
// So each folder is opened once and depth costs nothing. Takes `dir_fd`.
static int empty_folder(int root_fd, int dir_fd, unsigned long *counter)
{
	DIR *dir = fdopendir(dir_fd);
	struct dirent *entry;
	int rc = 0;

	if (dir == NULL) {
		rc = -errno;
		(void)close(dir_fd);
		return rc;
	}
	while ((entry = readdir(dir)) != NULL) {
		int moved, fd;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dir_fd, entry->d_name, 0) == 0 ||
		    unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR) == 0)
			continue;
		moved = move_up(dir_fd, entry->d_name, root_fd, counter);
		if (moved == -EACCES || moved == -EPERM) {
			// A locked folder cannot be moved, since its ".." changes; opening it unlocks it.
			fd = open_folder(dir_fd, entry->d_name);
			if (fd >= 0) {
				(void)close(fd);
				moved = move_up(dir_fd, entry->d_name, root_fd, counter);
			}
		}
		if (moved < 0)
			rc = moved;
	}
	(void)closedir(dir);
	return rc;
}

int workspace_remove(const char *path)
{
	CLEANUP(fd) int root_fd = -1;
	unsigned long counter = 0;
	bool progress = true;
	int rc = 0;

	root_fd = open_folder(AT_FDCWD, path);
	if (root_fd < 0)
		return root_fd;
	while (progress) {
		DIR *dir;
		struct dirent *entry;
		int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			return -errno;
		dir = fdopendir(fd);
		if (dir == NULL) {
			(void)close(fd);
			return -ENOMEM;
		}
		progress = false;
		while ((entry = readdir(dir)) != NULL) {
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			if (unlinkat(root_fd, entry->d_name, 0) == 0) {
				progress = true;
				continue;
			}
			fd = open_folder(root_fd, entry->d_name);
			rc = fd < 0 ? fd : empty_folder(root_fd, fd, &counter);
			if (unlinkat(root_fd, entry->d_name, AT_REMOVEDIR) == 0)
				progress = true;
			else
				rc = -errno;
		}
		(void)closedir(dir);
	}
	if (rmdir(path) == 0)
		return 0;
	return rc < 0 ? rc : -errno;
}

size_t workspace_sweep(uid_t uid)
{
	DIR *dir = opendir(WORKSPACE_FOLDER);
	struct dirent *entry;
	size_t removed = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		CLEANUP(fd) int fd = -1;
		CLEANUP(free) char *path = NULL;
		struct stat st;

		if (strncmp(entry->d_name, WORKSPACE_PREFIX, strlen(WORKSPACE_PREFIX)) != 0 ||
		    strlen(entry->d_name) != strlen(WORKSPACE_PREFIX "XXXXXX"))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != uid)
			continue;
		// Young ones may not have been locked yet.
		if (time(NULL) - st.st_ctime < SWEEP_AGE_S || flock(fd, LOCK_EX | LOCK_NB) < 0)
			continue;
		if (asprintf(&path, "%s/%s", WORKSPACE_FOLDER, entry->d_name) < 0)
			path = NULL;
		removed += path != NULL && workspace_remove(path) == 0;
	}
	if (dir != NULL)
		(void)closedir(dir);
	return removed;
}
