// SPDX-License-Identifier: Apache-2.0
#include "fs/source.h"

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

#define LINKS_MAX   40 // as the kernel's MAXSYMLINKS
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

int source_open_directory(int dir_fd, const char *name)
{
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

// What one name is, without following a link.
static int examine_name(const struct source *source, int dir_fd, const char *name, enum entry_kind *ret_kind,
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
	if (mount_id != source->mount_id) {
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
	if (mount_id == 0 && ret_stat->st_dev != source->dev)
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

static int read_link(int dir_fd, const char *name, char **ret)
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

// The part of an absolute target below the root ("" for the root itself), or NULL when it lies elsewhere.
static const char *below_root(const struct source *source, const char *target)
{
	size_t len = strlen(source->path);

	if (strcmp(source->path, "/") == 0)
		len = 0;
	if (strncmp(target, source->path, len) != 0 || (target[len] != '/' && target[len] != '\0'))
		return NULL;
	target += len;
	while (*target == '/')
		target++;
	return target;
}

// Follows `target` from the directory `dir_path` as the kernel will follow it through the view: component by component,
// links included. Returns 1 when it stays beneath the root (it may dangle or loop), 0 when it leaves it.
static int stays_beneath(const struct source *source, const char *dir_path, const char *target)
{
	CLEANUP(buf) struct buf current = BUF_INIT; // where we are: no links, no dots
	CLEANUP(free) char *pending = strdup(target);
	int links = 0;
	bool dangling = false;
	int rc = pending == NULL ? -ENOMEM : buf_append_string(&current, dir_path);

	while (rc == 0 && pending[0] != '\0') {
		CLEANUP(free) char *name = NULL;
		CLEANUP(free) char *next = NULL;
		CLEANUP(fd) int fd = -1;
		size_t skip, len;
		enum entry_kind kind;
		struct stat st;

		if (pending[0] == '/') {
			const char *rest = below_root(source, pending);

			if (rest == NULL)
				return 0;
			next = strdup(rest);
			if (next == NULL)
				return -ENOMEM;
			free(pending);
			pending = take(next);
			buf_clear(&current);
			dangling = false;
			continue;
		}
		len = strcspn(pending, "/");
		name = strndup(pending, len);
		skip = len + strspn(pending + len, "/");
		next = strdup(pending + skip);
		if (name == NULL || next == NULL)
			return -ENOMEM;
		free(pending);
		pending = take(next);
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
			fd = current.len == 0 ? fcntl(source->root_fd, F_DUPFD_CLOEXEC, 0)
					      : source_open_directory(source->root_fd, current.data);
			if (fd == -ENOENT || fd == -ENOTDIR)
				dangling = true;
			else if (fd < 0)
				return 0;
		}
		if (!dangling) {
			rc = examine_name(source, fd, name, &kind, &st);
			if (rc < 0)
				return 0;
			if (kind == ENTRY_NESTED_MOUNT)
				return 0;
			if (kind == ENTRY_LINK) {
				CLEANUP(free) char *inner = NULL;
				char *joined = NULL;

				if (++links > LINKS_MAX)
					return 1; // the kernel gives up here too: ELOOP
				rc = read_link(fd, name, &inner);
				if (rc < 0)
					return 0;
				if (asprintf(&joined, "%s/%s", inner, pending) < 0)
					return -ENOMEM;
				free(pending);
				pending = joined;
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
static int shown_target(const struct source *source, const char *dir_path, const char *target, char **ret)
{
	CLEANUP(buf) struct buf shown = BUF_INIT;
	const char *rest;
	int rc = 0;

	if (target[0] != '/') {
		*ret = strdup(target);
		return *ret == NULL ? -ENOMEM : 0;
	}
	rest = below_root(source, target);
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

int source_examine(const struct source *source, int dir_fd, const char *dir_path, const char *name,
		   enum entry_kind *ret_kind, struct stat *ret_stat, char **ret_target)
{
	CLEANUP(free) char *target = NULL;
	enum entry_kind kind;
	struct stat st;
	int rc;

	rc = examine_name(source, dir_fd, name, &kind, &st);
	if (rc < 0)
		return rc;
	if (kind == ENTRY_LINK) {
		rc = read_link(dir_fd, name, &target);
		if (rc == -ENOENT || rc == -EINVAL)
			return -EAGAIN; // it changed under us
		if (rc < 0)
			return rc;
		rc = stays_beneath(source, dir_path, target);
		if (rc < 0)
			return rc;
		if (rc == 0)
			kind = ENTRY_ESCAPE;
	}
	if (ret_target != NULL && kind == ENTRY_LINK) {
		rc = shown_target(source, dir_path, target, ret_target);
		if (rc < 0)
			return rc;
	} else if (ret_target != NULL && kind == ENTRY_ESCAPE) {
		*ret_target = take(target);
	}
	*ret_kind = kind;
	*ret_stat = st;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int open_listing(int dir_fd, DIR **ret)
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

	rc = open_listing(dir_fd, &dir);
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

int source_count_directories(const struct source *source, int dir_fd, size_t *ret)
{
	struct dirent *entry;
	size_t count = 0;
	DIR *dir;
	int rc;

	rc = open_listing(dir_fd, &dir);
	if (rc < 0)
		return rc;
	while ((errno = 0, entry = readdir(dir)) != NULL) {
		enum entry_kind kind;
		struct stat st;

		if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
			continue;
		if (examine_name(source, dir_fd, entry->d_name, &kind, &st) == 0 && kind == ENTRY_DIRECTORY)
			count++;
	}
	rc = -errno;
	(void)closedir(dir);
	if (rc == 0)
		*ret = count;
	return rc;
}

static int walk(const struct source *source, int dir_fd, const char *dir_path,
		int (*visit)(const struct source_entry *, void *), void *context)
{
	CLEANUP(buf) struct buf names = BUF_INIT;
	size_t count = 0;
	int rc;

	rc = source_list(dir_fd, &names, &count);
	if (rc < 0)
		return rc;
	for (const char *name = names.data; count > 0; count--, name += strlen(name) + 1) {
		CLEANUP(free) char *path = NULL;
		CLEANUP(free) char *target = NULL;
		CLEANUP(fd) int fd = -1;
		struct source_entry entry = { .name = name, .dir_fd = dir_fd };
		struct stat st;

		rc = source_join(dir_path, name, &path);
		if (rc < 0)
			return rc;
		rc = source_examine(source, dir_fd, dir_path, name, &entry.kind, &st, &target);
		if (rc == -EAGAIN)
			continue;
		if (rc < 0)
			return rc;
		if (entry.kind == ENTRY_MISSING)
			continue;
		entry.path = path;
		entry.st = &st;
		entry.target = target;
		rc = visit(&entry, context);
		if (rc < 0)
			return rc;
		if (entry.kind != ENTRY_DIRECTORY)
			continue;
		fd = source_open_directory(dir_fd, name);
		if (fd == -ENOENT || fd == -ENOTDIR)
			continue;
		if (fd < 0)
			return fd;
		rc = walk(source, fd, path, visit, context);
		// A folder that may not be listed holds nothing that can be served: go on.
		if (rc < 0 && rc != -EACCES)
			return rc;
	}
	return 0;
}

int source_walk(const struct source *source, int (*visit)(const struct source_entry *, void *), void *context)
{
	return walk(source, source->root_fd, "", visit, context);
}
