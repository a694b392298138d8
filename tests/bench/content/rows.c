// SPDX-License-Identifier: Apache-2.0
//
// The rows of the table. A warm row makes one pass before the clock starts, then passes for a fifth of a second: all
// that is well inside the second for which the kernel believes an entry by default.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define TURN_NS    200000000
#define LARGE_STEP (128 << 10)

static int64_t nanoseconds(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		return -1;
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int usage_now(const pid_t *daemons, size_t count, struct usage *ret)
{
	// A process's own clock counts all its threads, those that have ended as well, in nanoseconds.
	ret->cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t i = 0; i < count; i++) {
		clockid_t clock;
		int64_t used = clock_getcpuclockid(daemons[i], &clock) == 0 ? nanoseconds(clock) : -1;

		if (used < 0 && i == 0)
			return -ESRCH;
		ret->cpu += used < 0 ? 0 : used; // a helper of the daemon may have done its part
	}
	ret->wall = nanoseconds(CLOCK_MONOTONIC);
	return 0;
}

struct turn {
	struct tree tree;
	int root; // fd
	const char *attribute;
	char *buffer; // LARGE_STEP bytes
	uint64_t seed;
};

// Each returns how many operations it made, or a negative errno.

static ssize_t read_all(int root, const char *name, char *buffer)
{
	int fd = openat(root, name, O_RDONLY | O_CLOEXEC);
	ssize_t got, total = 0;

	if (fd < 0)
		return -errno;
	while ((got = read(fd, buffer, LARGE_STEP)) > 0)
		total += got;
	if (got < 0)
		total = -errno;
	(void)close(fd);
	return total;
}

static long pass_open_read_close(struct turn *turn)
{
	for (size_t i = 0; i < turn->tree.files.count; i++) {
		ssize_t got = read_all(turn->root, turn->tree.files.items[i], turn->buffer);

		if (got < 0)
			return got;
	}
	return (long)turn->tree.files.count;
}

static long pass_random_read(struct turn *turn)
{
	for (size_t i = 0; i < turn->tree.files.count; i++) {
		int fd = openat(turn->root, turn->tree.files.items[i], O_RDONLY | O_CLOEXEC);
		ssize_t got;

		if (fd < 0)
			return -errno;
		turn->seed = turn->seed * UINT64_C(6364136223846793005) + 1;
		got = pread(fd, turn->buffer, 4096, (off_t)(4096 * ((turn->seed >> 40) % 3)));
		(void)close(fd);
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
	}
	return (long)turn->tree.files.count;
}

static long pass_stat(struct turn *turn)
{
	struct stat st;

	for (size_t i = 0; i < turn->tree.files.count; i++)
		if (fstatat(turn->root, turn->tree.files.items[i], &st, 0) < 0)
			return -errno;
	return (long)turn->tree.files.count;
}

static long pass_missing(struct turn *turn)
{
	struct stat st;

	for (size_t i = 0; i < turn->tree.files.count; i++) {
		char name[512];

		(void)snprintf(name, sizeof(name), "%s-", turn->tree.files.items[i]);
		if (fstatat(turn->root, name, &st, 0) == 0 || errno != ENOENT)
			return -EIO;
	}
	return (long)turn->tree.files.count;
}

// What coreutils asks for besides: whether there is a label and an access list.
static bool asks_attributes;

static long list(struct turn *turn, const char *name)
{
	int fd = openat(turn->root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	long count = 0;

	if (dir == NULL)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			break;
		if (asks_attributes) {
			char path[4096];

			(void)snprintf(path, sizeof(path), "%s/%s/%s", turn->tree.root, name, entry->d_name);
			(void)lgetxattr(path, "security.selinux", turn->buffer, 255);
			(void)getxattr(path, "system.posix_acl_access", NULL, 0);
		}
		count++;
	}
	(void)closedir(dir);
	return entry != NULL ? -EIO : count;
}

static long pass_list(struct turn *turn)
{
	long total = 0;

	for (size_t i = 0; i < turn->tree.directories.count; i++) {
		long count = list(turn, turn->tree.directories.items[i]);

		if (count < 0)
			return count;
		total += count;
	}
	return total;
}

static long pass_list_attributes(struct turn *turn)
{
	asks_attributes = true;
	return pass_list(turn);
}

static long pass_getxattr(struct turn *turn)
{
	char path[4096];

	for (size_t i = 0; i < turn->tree.files.count; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", turn->tree.root, turn->tree.files.items[i]);
		if (getxattr(path, turn->attribute, turn->buffer, 64) < 0)
			return -errno;
	}
	return (long)turn->tree.files.count;
}

static long pass_large(struct turn *turn)
{
	ssize_t got =
		turn->tree.large == NULL ? -ENOENT : read_all(turn->root, turn->tree.large, turn->buffer);

	return got < 0 ? got : 1;
}

// Native is the file in the page cache; over a mount what the kernel holds of the mount's file goes away first, and the
// source's pages stay.
static int drop_large(struct turn *turn)
{
	int fd = turn->tree.large == NULL ? -1 : openat(turn->root, turn->tree.large, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -ENOENT : -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);

	if (fd >= 0)
		(void)close(fd);
	return rc;
}

// find, and read what it finds.
static long pass_cold(struct turn *turn)
{
	int rc = tree_walk(turn->tree.root, &turn->tree);
	long count = rc < 0 ? rc : pass_open_read_close(turn), large = 0;

	if (count >= 0 && turn->tree.large != NULL)
		large = pass_large(turn);
	return large < 0 ? large : count + large;
}

static const struct row {
	const char *name;
	long (*pass)(struct turn *turn);
	bool cold; // one pass over a mount that nobody has looked at, and all that its daemon has used since it began
	bool once;                        // one pass
	bool shuffle;                     // the files
	int (*before)(struct turn *turn); // over a mount
} rows[] = {
	{ .name = "open-read-close", .pass = pass_open_read_close },
	{ .name = "random-read", .pass = pass_random_read, .shuffle = true },
	{ .name = "stat", .pass = pass_stat },
	{ .name = "missing", .pass = pass_missing },
	{ .name = "list", .pass = pass_list },
	{ .name = "list-attributes", .pass = pass_list_attributes },
	{ .name = "getxattr", .pass = pass_getxattr },
	{ .name = "large-cached", .pass = pass_large },
	{ .name = "large-first", .pass = pass_large, .once = true, .before = drop_large },
	{ .name = "cold", .pass = pass_cold, .cold = true, .once = true },
};

static int prepare(const struct row *row, struct turn *turn, size_t daemons)
{
	char path[4096];
	int rc = row->cold ? 0 : tree_walk(turn->tree.root, &turn->tree);

	if (rc < 0 || row->cold)
		return rc;
	if (row->shuffle)
		names_shuffle(&turn->tree.files);
	turn->attribute = "user.skillfs.verdict";
	if (turn->tree.files.count > 0) {
		(void)snprintf(path, sizeof(path), "%s/%s", turn->tree.root, turn->tree.files.items[0]);
		if (getxattr(path, turn->attribute, turn->buffer, 64) < 0)
			turn->attribute = "user.bench";
	}
	if (row->before != NULL)
		return daemons > 0 ? row->before(turn) : 0;
	return row->pass(turn) < 0 ? -EIO : 0; // warm
}

static int measure(const struct row *row, struct turn *turn, const pid_t *daemons, size_t count,
		   double *ret_cpu, double *ret_wall)
{
	struct usage begin, end;
	long operations = 0;
	int rc = prepare(row, turn, count);

	if (rc == 0)
		rc = usage_now(daemons, row->cold ? 0 : count, &begin);
	if (rc < 0)
		return rc;
	do {
		long done = row->pass(turn);

		if (done <= 0)
			return done < 0 ? (int)done : -ENOENT;
		operations += done;
		rc = usage_now(daemons, count, &end);
	} while (rc == 0 && !row->once && end.wall - begin.wall < TURN_NS);
	*ret_cpu = (double)(end.cpu - begin.cpu) / (double)operations;
	*ret_wall = (double)(end.wall - begin.wall) / (double)operations;
	return rc;
}

int row_measure(const char *row, const char *root, const pid_t *daemons, size_t count, double *ret_cpu,
		double *ret_wall)
{
	struct turn turn = { .tree.root = root, .seed = 1, .buffer = malloc(LARGE_STEP) };
	int rc = -EINVAL;

	turn.root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (turn.root < 0 || turn.buffer == NULL) {
		free(turn.buffer);
		return turn.root < 0 ? -errno : -ENOMEM;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, row) == 0)
			rc = measure(&rows[i], &turn, daemons, count, ret_cpu, ret_wall);
	(void)close(turn.root);
	tree_release(&turn.tree);
	free(turn.buffer);
	return rc;
}
