// SPDX-License-Identifier: Apache-2.0
//
// What stands in a folder. The files of it that are not known yet are scanned side by side.
#include <errno.h>
#include <string.h>
#include <time.h>

#include "fs/view_examine.h"
#include "sanitize/cleanup.h"

// One file's scan, handed out by a listing.
struct scan {
	struct task task;
	struct view *view;
	struct node *dir;
	struct view_listing *listing;
	char name[];
};

static void listing_part_done(struct view *view, struct view_listing *state)
{
	if (atomic_fetch_sub_explicit(&state->pending, 1, memory_order_acq_rel) == 1)
		pool_queue(view->pool, state->task);
}

static void scan_run(struct task *task)
{
	struct scan *scan = (struct scan *)task;
	struct view *view = scan->view;
	struct node *node = NULL;
	int rc = 0;

	// Whatever goes wrong is met again, and reported, when the listing itself asks.
	if (!atomic_load(&view->ending))
		rc = view_lookup(view, scan->dir, scan->name, task, &node);
	if (rc == VIEW_PARKED)
		return;
	if (rc == 0)
		node_put(view->store, node);
	node_put(view->store, scan->dir);
	listing_part_done(view, scan->listing);
	free(scan);
}

static int hand_out(struct view *view, struct node *dir, const char *name, struct view_listing *state)
{
	struct scan *scan = calloc(1, sizeof(*scan) + strlen(name) + 1);

	if (scan == NULL)
		return -ENOMEM;
	scan->task.run = scan_run;
	scan->task.bulk = true;
	scan->view = view;
	scan->listing = state;
	memcpy(scan->name, name, strlen(name) + 1);
	scan->dir = store_get(view->store, dir->id);
	atomic_fetch_add_explicit(&state->pending, 1, memory_order_relaxed);
	pool_queue(view->pool, &scan->task);
	return 0;
}

// Has the files that are not known yet scanned side by side. Returns VIEW_PARKED when there are any.
static int spread(struct view *view, struct node *dir, const char *dir_path, const struct buf *names,
		  size_t count, struct view_listing *state, struct task *task)
{
	const char *name = names->data;
	bool any = false;

	state->spread = true;
	state->task = task;
	atomic_store(&state->pending, 1);
	for (size_t i = 0; i < count; i++, name += strlen(name) + 1) {
		CLEANUP(examined) struct examined at = EXAMINED_INIT;
		struct identity identity;
		struct node *node;
		uint64_t variant;
		int rc;

		if (view_examine(view, dir, dir_path, name, &at) < 0 || at.found.kind != ENTRY_FILE)
			continue;
		identity = identity_of(&at.found.st);
		variant = view_variant(view, name, at.path);
		rc = store_claim(view->store, &identity, variant, NULL, &node);
		if (rc == STORE_HIT) {
			node_put(view->store, node);
			continue;
		}
		if (rc == STORE_CLAIMED)
			store_abandon(view->store, &identity, variant);
		if (rc >= 0 && hand_out(view, dir, name, state) == 0)
			any = true;
	}
	if (!any)
		return 0;
	listing_part_done(view, state);
	return VIEW_PARKED;
}

static void add_entry(struct listing *listing, const struct buf *names, const char *name, uint64_t ino,
		      uint32_t type)
{
	listing->entries[listing->count++] =
		(struct listing_entry){ .ino = ino, .name = (uint32_t)(name - names->data), .type = type };
}

static uint64_t examined_ino(struct view *view, const struct node *dir, const struct examined *at)
{
	struct identity identity = identity_of(&at->found.st);

	if (at->found.kind == ENTRY_LINK)
		return store_ino(view->store, &identity, 0);
	return store_directory_ino(view->store, &identity,
				   at->found.follow != NULL ? at->found.follow : dir->directory->follow);
}

static int fill(struct view *view, struct node *dir, const char *dir_path, const struct buf *names,
		size_t count, struct task *task, struct listing *listing)
{
	const char *name = names->data;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++, name += strlen(name) + 1) {
		CLEANUP(examined) struct examined at = EXAMINED_INIT;
		struct node *node = NULL;

		rc = view_examine(view, dir, dir_path, name, &at);
		if (rc < 0)
			break;
		if (at.found.kind == ENTRY_MISSING)
			continue;
		if (at.found.kind == ENTRY_DIRECTORY || at.found.kind == ENTRY_LINK) {
			add_entry(listing, names, name, examined_ino(view, dir, &at),
				  at.found.st.st_mode & S_IFMT);
			continue;
		}
		rc = view_lookup(view, dir, name, task, &node);
		if (rc != 0)
			break;
		if (node == NULL)
			listing->hidden++;
		else
			add_entry(listing, names, name, node->ino,
				  node->kind == NODE_FILE        ? S_IFREG
				  : node->kind == NODE_DIRECTORY ? S_IFDIR
								 : S_IFLNK);
		node_put(view->store, node);
	}
	return rc;
}

// Names that stood in the source at the last listing and do not any more.
static void forget_vanished(struct view *view, const char *dir_path, const struct listing *old,
			    const struct listing *now)
{
	const char *a = old->names.data, *b = now->names.data;
	size_t left = old->source_count, right = now->source_count;

	while (left > 0) {
		int order = right == 0 ? -1 : strcmp(a, b);

		if (order < 0) {
			CLEANUP(free) char *path = NULL;

			if (source_join(dir_path, a, &path) == 0) {
				(void)ledger_set(view->ledger, path, NULL);
				if (listing_find(old, a) == S_IFDIR)
					ledger_forget_below(view->ledger, path);
			}
		}
		// What was a folder and is none any more: a link that leads elsewhere, or nowhere.
		if (order == 0 && listing_find(old, a) == S_IFDIR && listing_find(now, b) != S_IFDIR) {
			CLEANUP(free) char *path = NULL;

			if (source_join(dir_path, a, &path) == 0)
				ledger_forget_below(view->ledger, path);
		}
		if (order >= 0) {
			b += strlen(b) + 1;
			right--;
		}
		if (order <= 0) {
			a += strlen(a) + 1;
			left--;
		}
	}
}

int view_record_unlisted(struct view *view, const char *path, int code)
{
	struct stat none = { 0 };

	return view_record_hidden(view, ENTRY_DIRECTORY, path, &none, strerror(-code));
}

static int list(struct view *view, struct node *dir, const char *dir_path, struct view_listing *state,
		struct task *task, struct listing **ret)
{
	CLEANUP(buf) struct buf names = BUF_INIT;
	struct listing *listing = NULL, *old;
	struct identity version;
	struct timespec now;
	size_t count = 0, directories = 0;
	struct stat st;
	int rc;

	rc = source_stat(dir->directory->fd, &st);
	if (rc == 0)
		rc = source_list(dir->directory->fd, &names, &count);
	if (rc == 0 && !state->spread)
		rc = spread(view, dir, dir_path, &names, count, state, task);
	if (rc != 0)
		return rc;
	listing = calloc(1, sizeof(*listing));
	if (listing == NULL)
		return -ENOMEM;
	atomic_init(&listing->refs, 2); // the node's and the caller's
	listing->entries = calloc(count + 1, sizeof(*listing->entries));
	rc = listing->entries == NULL ? -ENOMEM : fill(view, dir, dir_path, &names, count, task, listing);
	if (rc != 0) {
		atomic_store(&listing->refs, 1);
		listing_unref(listing);
		return rc;
	}
	listing->names = names;
	listing->source_count = count;
	names = BUF_INIT;

	old = node_listing(view->store, dir);
	if (old != NULL)
		forget_vanished(view, dir_path, old, listing);
	listing_unref(old);
	// A followed link may come to lead elsewhere without a change of the folder.
	for (size_t i = 0; i < listing->count; i++)
		directories += listing->entries[i].type == S_IFDIR;
	version = identity_of(&st);
	node_set_directories(view->store, dir, &version, directories);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	node_set_listing(view->store, dir, listing, &now);
	*ret = listing;
	return 0;
}

int view_list(struct view *view, struct node *dir, struct view_listing *state, struct task *task,
	      struct listing **ret)
{
	CLEANUP(free) char *dir_path = node_path(view->store, dir);
	int rc;

	if (dir_path == NULL)
		return -ENOMEM;
	rc = list(view, dir, dir_path, state, task, ret);
	// What stands in a folder that can't be listed is not served; the owner is told.
	if (rc < 0)
		(void)view_record_unlisted(view, dir_path, rc);
	else if (rc == 0)
		(void)ledger_set(view->ledger, dir_path, NULL);
	return rc;
}
