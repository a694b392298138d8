// SPDX-License-Identifier: Apache-2.0
//
// The first walk over the whole source, behind all other work, so that the owner
// sees everything that is hidden without anybody having looked at it.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fs/view.h"
#include "sanitize/cleanup.h"

// One task that lists a folder and is queued again for the next.
struct index_walk {
	struct task task;
	struct view *view;
	struct strv pending; // paths, the next one last
	struct node *dir;    // being listed, with a reference
	struct view_listing listing;
};

static int index_open(struct index_walk *walk, const char *path)
{
	struct view *view = walk->view;
	struct follow *follow;
	struct stat st;
	int fd, rc;

	if (path[0] == '\0') {
		walk->dir = store_get(view->store, NODE_ROOT);
		return 0;
	}
	fd = source_open_place(view->context.source, path, &follow);
	if (fd < 0)
		return fd;
	rc = source_stat(fd, &st);
	if (rc == 0)
		rc = store_directory(view->store, take_fd(fd), &st, path, follow, &walk->dir);
	if (fd >= 0)
		(void)close(fd);
	follow_unref(follow);
	return rc;
}

static int index_push(struct index_walk *walk, const char *dir_path, const struct listing *listing)
{
	int rc = 0;

	for (size_t i = listing->count; rc == 0 && i > 0; i--) {
		CLEANUP(free) char *path = NULL;

		if (listing->entries[i - 1].type != S_IFDIR)
			continue;
		rc = source_join(dir_path, listing_name(listing, i - 1), &path);
		if (rc == 0)
			rc = strv_add(&walk->pending, path);
	}
	return rc;
}

static void index_run(struct task *task)
{
	struct index_walk *walk = (struct index_walk *)task;
	struct view *view = walk->view;
	struct strv *pending = &walk->pending;

	while (pending->count > 0 && !atomic_load(&view->ending)) {
		char *path = pending->items[pending->count - 1];
		struct listing *listing = NULL;
		int rc = 0;

		if (walk->dir == NULL)
			rc = index_open(walk, path);
		// Gone meanwhile is fine; all else is told.
		if (rc < 0 && rc != -ENOENT && rc != -ENOTDIR)
			(void)view_record_unlisted(view, path, rc);
		if (rc == 0)
			rc = view_list(view, walk->dir, &walk->listing, task, &listing);
		if (rc == VIEW_PARKED)
			return;
		pending->count--; // `path` is ours now
		if (rc == 0)
			(void)index_push(walk, path, listing);
		listing_unref(listing);
		node_put(view->store, walk->dir);
		walk->dir = NULL;
		walk->listing = (struct view_listing){ 0 };
		free(path);
	}
	if (pending->count == 0)
		ledger_set_indexed(view->ledger);
	node_put(view->store, walk->dir);
	strv_release(pending);
	free(walk);
}

int view_index(struct view *view)
{
	struct index_walk *walk = calloc(1, sizeof(*walk));

	if (walk == NULL || strv_add(&walk->pending, "") < 0) {
		free(walk);
		return -ENOMEM;
	}
	walk->view = view;
	walk->task.run = index_run;
	walk->task.bulk = true;
	pool_queue(view->pool, &walk->task);
	return 0;
}
