// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "fs/source_link.h"
#include "sanitize/cleanup.h"

int source_count_directories(const struct source *source, const struct place *dir, size_t *ret)
{
	struct dirent *entry;
	size_t count = 0;
	DIR *stream;
	int rc;

	rc = source_open_listing(dir->fd, &stream);
	if (rc < 0)
		return rc;
	while ((errno = 0, entry = readdir(stream)) != NULL) {
		CLEANUP(found) struct found found = FOUND_INIT;

		if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN &&
		    (entry->d_type != DT_LNK || source->follow_count == 0))
			continue;
		if (source_examine(source, dir, entry->d_name, &found) == 0 && found.kind == ENTRY_DIRECTORY)
			count++;
	}
	rc = -errno;
	(void)closedir(stream);
	if (rc == 0)
		*ret = count;
	return rc;
}

static int walk(const struct source *source, const struct place *dir,
		int (*visit)(const struct source_entry *, void *), void *context)
{
	CLEANUP(buf) struct buf names = BUF_INIT;
	size_t count = 0;
	int rc;

	rc = source_list(dir->fd, &names, &count);
	if (rc < 0)
		return rc;
	for (const char *name = names.data; count > 0; count--, name += strlen(name) + 1) {
		CLEANUP(free) char *path = NULL;
		CLEANUP(found) struct found found = FOUND_INIT;
		CLEANUP(fd) int fd = -1;
		struct source_entry entry = { .name = name, .dir_fd = dir->fd };
		struct place below = { .follow = dir->follow };

		rc = source_join(dir->path, name, &path);
		if (rc == 0)
			rc = source_examine(source, dir, name, &found);
		if (rc == -EAGAIN)
			continue;
		if (rc < 0)
			return rc;
		if (found.kind == ENTRY_MISSING)
			continue;
		entry.kind = found.kind;
		entry.path = path;
		entry.st = &found.st;
		entry.target = found.target;
		if (found.name != NULL) {
			entry.name = found.name;
			entry.dir_fd = found.fd;
		} else if (found.follow != NULL) {
			entry.name = ".";
			entry.dir_fd = found.fd;
			below.follow = found.follow;
		}
		rc = visit(&entry, context);
		if (rc < 0)
			return rc;
		if (entry.kind != ENTRY_DIRECTORY)
			continue;
		fd = source_open_directory(entry.dir_fd, entry.name);
		if (fd == -ENOENT || fd == -ENOTDIR)
			continue;
		if (fd < 0)
			return fd;
		below.fd = fd;
		below.path = path;
		rc = walk(source, &below, visit, context);
		// A folder that may not be listed holds nothing that can be served: go on.
		if (rc < 0 && rc != -EACCES)
			return rc;
	}
	return 0;
}

int source_walk(const struct source *source, int (*visit)(const struct source_entry *, void *), void *context)
{
	const struct place root = { .fd = source->root_fd, .path = "" };

	return walk(source, &root, visit, context);
}
