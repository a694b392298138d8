// SPDX-License-Identifier: Apache-2.0
#include "fs/source_link.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "sanitize/cleanup.h"

#define RESOLVE_ALL (RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS)

static int open_beneath(int dir_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (__u64)(unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = RESOLVE_ALL,
	};
	int tries = 8;
	long fd;

	// EAGAIN: something was renamed during the walk.
	do {
		fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	} while (fd < 0 && (errno == EINTR || errno == EAGAIN) && --tries > 0);
	return fd < 0 ? -errno : (int)fd;
}

// The kernel takes no path of PATH_MAX bytes and more: such a one is walked in pieces.
int source_open_directory(int dir_fd, const char *name)
{
	CLEANUP(fd) int held = -1;
	char piece[PATH_MAX];

	while (strlen(name) >= sizeof(piece)) {
		const char *slash = memrchr(name, '/', sizeof(piece) - 1);
		int fd;

		if (slash == NULL || slash == name)
			return -ENAMETOOLONG;
		memcpy(piece, name, (size_t)(slash - name));
		piece[slash - name] = '\0';
		fd = open_beneath(dir_fd, piece, O_PATH | O_DIRECTORY);
		if (fd < 0)
			return fd;
		if (held >= 0)
			(void)close(held);
		held = dir_fd = fd;
		name = slash + 1;
	}
	return open_beneath(dir_fd, name, O_PATH | O_DIRECTORY);
}

int source_open_file(int dir_fd, const char *name)
{
	// O_NONBLOCK: a fifo that is swapped in must not hang the caller.
	return open_beneath(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

int source_join(const char *dir_path, const char *name, char **ret)
{
	return asprintf(ret, "%s%s%s", dir_path, dir_path[0] == '\0' ? "" : "/", name) < 0 ? -ENOMEM : 0;
}

static struct timespec timespec_of(const struct statx_timestamp *time)
{
	return (struct timespec){ .tv_sec = time->tv_sec, .tv_nsec = time->tv_nsec };
}

static void stat_of(const struct statx *stx, struct stat *ret)
{
	*ret = (struct stat){
		.st_dev = makedev(stx->stx_dev_major, stx->stx_dev_minor),
		.st_ino = stx->stx_ino,
		.st_mode = stx->stx_mode,
		.st_nlink = stx->stx_nlink,
		.st_uid = stx->stx_uid,
		.st_gid = stx->stx_gid,
		.st_size = (off_t)stx->stx_size,
		.st_blksize = (blksize_t)stx->stx_blksize,
		.st_blocks = (blkcnt_t)stx->stx_blocks,
		.st_atim = timespec_of(&stx->stx_atime),
		.st_mtim = timespec_of(&stx->stx_mtime),
		.st_ctim = timespec_of(&stx->stx_ctime),
	};
}

// The mount that an entry lies on. Asks for nothing else and does not synchronize, so that another
// file system mounted below the source cannot stall us. 0 where the kernel does not tell.
static int mount_id_of(int dir_fd, const char *name, uint64_t *ret)
{
	struct statx stx;
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC |
		    (name[0] == '\0' ? AT_EMPTY_PATH : 0);

	if (statx(dir_fd, name, flags, STATX_MNT_ID, &stx) < 0)
		return -errno;
	*ret = (stx.stx_mask & STATX_MNT_ID) ? stx.stx_mnt_id : 0;
	return 0;
}

static int stat_entry(int dir_fd, const char *name, struct stat *ret)
{
	struct statx stx;
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name[0] == '\0' ? AT_EMPTY_PATH : 0);

	if (statx(dir_fd, name, flags, STATX_BASIC_STATS, &stx) < 0)
		return -errno;
	stat_of(&stx, ret);
	return 0;
}

int source_stat(int fd, struct stat *ret)
{
	return stat_entry(fd, "", ret);
}

int source_stat_parent(int dir_fd, struct stat *ret)
{
	return stat_entry(dir_fd, "..", ret);
}

int source_open(const char *path, struct source **ret, struct error *error)
{
	CLEANUP(fd) int fd = -1;
	CLEANUP(free) char *canonical = NULL;
	struct source *source;
	struct stat st;
	int rc;

	canonical = realpath(path, NULL);
	if (canonical == NULL)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	fd = open(canonical, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOTDIR)
		return error_set(error, -ENOTDIR, "%s: not a folder", canonical);
	if (fd < 0)
		return error_set(error, -errno, "%s: %s", canonical, strerror(errno));
	rc = stat_entry(fd, "", &st);
	if (rc < 0)
		return error_set(error, rc, "%s: %s", canonical, strerror(-rc));
	rc = source_open_directory(fd, ".");
	if (rc == -ENOSYS)
		return error_set(error, rc,
				 "this kernel has no openat2(2), without which no path is safe: "
				 "Linux 5.6 or newer is needed, and no filter that forbids the call");
	if (rc >= 0)
		(void)close(rc);
	source = calloc(1, sizeof(*source));
	if (source == NULL)
		return -ENOMEM;
	source->dev = st.st_dev;
	rc = mount_id_of(fd, "", &source->mount_id);
	if (rc < 0) {
		free(source);
		return error_set(error, rc, "%s: %s", canonical, strerror(-rc));
	}
	source->root_fd = take_fd(fd);
	source->path = take(canonical);
	*ret = source;
	return 0;
}

void source_close(struct source *source)
{
	if (source == NULL)
		return;
	(void)close(source->root_fd);
	for (size_t i = 0; i < source->follow_count; i++) {
		(void)close(source->follows[i].fd);
		free(source->follows[i].path);
		free(source->follows[i].named);
	}
	free(source->follows);
	free(source->path);
	free(source);
}

bool entry_kind_hidden(enum entry_kind kind)
{
	switch (kind) {
	case ENTRY_DIRECTORY:
	case ENTRY_FILE:
	case ENTRY_LINK:
		return false;
	case ENTRY_MISSING:
	case ENTRY_ESCAPE:
	case ENTRY_SPECIAL:
	case ENTRY_NESTED_MOUNT:
	case ENTRY_RESERVED:
		return true;
	}
	return true;
}

// Whether an entry lies on another mount than its directory. Most lie where the source does, which costs no look.
static bool on_other_mount(const struct source *source, int dir_fd, uint64_t mount_id)
{
	uint64_t of_dir;

	if (mount_id == source->mount_id)
		return false;
	return source->follow_count == 0 || mount_id_of(dir_fd, "", &of_dir) < 0 || of_dir != mount_id;
}

static bool on_other_device(const struct source *source, int dir_fd, dev_t dev)
{
	struct stat st;

	if (dev == source->dev)
		return false;
	return source->follow_count == 0 || stat_entry(dir_fd, "", &st) < 0 || st.st_dev != dev;
}

int source_examine_name(const struct source *source, int dir_fd, const char *name, enum entry_kind *ret_kind,
			struct stat *ret_stat)
{
	uint64_t mount_id = 0;
	int rc;

	*ret_stat = (struct stat){ 0 };
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strchr(name, '/') != NULL) {
		*ret_kind = ENTRY_MISSING;
		return 0;
	}
	rc = mount_id_of(dir_fd, name, &mount_id);
	if (rc == -ENOENT || rc == -ENOTDIR) {
		*ret_kind = ENTRY_MISSING;
		return 0;
	}
	if (rc < 0)
		return rc;
	if (strcmp(name, RESERVED_NAME) == 0) {
		*ret_kind = ENTRY_RESERVED;
		return 0;
	}
	if (on_other_mount(source, dir_fd, mount_id)) {
		*ret_kind = ENTRY_NESTED_MOUNT;
		return 0;
	}
	rc = stat_entry(dir_fd, name, ret_stat);
	if (rc == -ENOENT) {
		*ret_kind = ENTRY_MISSING;
		return 0;
	}
	if (rc < 0)
		return rc;
	if (mount_id == 0 && on_other_device(source, dir_fd, ret_stat->st_dev))
		*ret_kind = ENTRY_NESTED_MOUNT;
	else if (S_ISDIR(ret_stat->st_mode))
		*ret_kind = ENTRY_DIRECTORY;
	else if (S_ISREG(ret_stat->st_mode))
		*ret_kind = ENTRY_FILE;
	else if (S_ISLNK(ret_stat->st_mode))
		*ret_kind = ENTRY_LINK;
	else
		*ret_kind = ENTRY_SPECIAL;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int source_open_listing(int dir_fd, DIR **ret)
{
	CLEANUP(fd) int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret = fdopendir(fd);
	if (*ret == NULL)
		return -errno;
	(void)take_fd(fd);
	return 0;
}

int source_list(int dir_fd, struct buf *ret, size_t *ret_count)
{
	CLEANUP(buf) struct buf names = BUF_INIT;
	CLEANUP(buf) struct buf sorted = BUF_INIT;
	CLEANUP(free) const char **index = NULL;
	struct dirent *entry;
	size_t count = 0;
	DIR *dir;
	int rc;

	rc = source_open_listing(dir_fd, &dir);
	if (rc < 0)
		return rc;
	while (rc == 0 && (errno = 0, entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		rc = buf_append(&names, entry->d_name, strlen(entry->d_name) + 1);
		count++;
	}
	if (rc == 0)
		rc = -errno;
	(void)closedir(dir);
	if (rc < 0)
		return rc;
	index = calloc(count + 1, sizeof(*index));
	if (index == NULL)
		return -ENOMEM;
	for (size_t i = 0, at = 0; i < count; i++) {
		index[i] = names.data + at;
		at += strlen(index[i]) + 1;
	}
	qsort(index, count, sizeof(*index), compare_names);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = buf_append(&sorted, index[i], strlen(index[i]) + 1);
	if (rc < 0)
		return rc;
	buf_release(ret);
	*ret = sorted;
	sorted = BUF_INIT;
	*ret_count = count;
	return 0;
}
