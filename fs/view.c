// SPDX-License-Identifier: Apache-2.0
#include "fs/view.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "sanitize/classify.h"
#include "sanitize/cleanup.h"

#define EXAMINE_TRIES 4
#define HEAVY         ((off_t)1 << 20) // bytes of a file that takes long

// What else than the source's bytes decides on a file's content: the class that its name or the configuration gives it, and
// whether it is a skill's manifest. Hard links that differ in this are different files.
static uint64_t variant_of(const struct view *view, const char *name, const char *path)
{
	enum file_class cls;
	uint64_t variant = config_class(view->context.config, path, &cls) ? 8U + (unsigned)cls
									  : (unsigned)classify_name(name);

	return variant | (classify_is_skill_md(name) ? 4U : 0);
}

static void record(struct view *view, const char *path, struct snapshot *snapshot)
{
	if (ledger_set(view->ledger, path, snapshot))
		audit_snapshot(view->audit, path, snapshot);
}

// Something hidden that is no regular file.
static int record_hidden(struct view *view, enum entry_kind kind, const char *path, const struct stat *st,
			 const char *target)
{
	CLEANUP(snapshot) struct snapshot *snapshot = NULL;
	struct identity identity = identity_of(st);
	int rc;

	if (ledger_holds(view->ledger, path, &identity))
		return 0;
	rc = snapshot_build_hidden(kind, st, target, &snapshot);
	if (rc == 0)
		record(view, path, snapshot);
	return rc;
}

// Whether a name that is not there leaves something to forget.
static bool missing_is_news(struct view *view, struct node *dir, const char *name, const char *path)
{
	struct listing *listing = node_listing(view->store, dir);
	bool news = ledger_has(view->ledger, path) || (listing != NULL && listing_find(listing, name) != 0);

	listing_unref(listing);
	return news;
}

// A name that is not there (any more).
static void record_missing(struct view *view, struct node *dir, const char *name, const char *path)
{
	struct listing *listing = node_listing(view->store, dir);

	(void)ledger_set(view->ledger, path, NULL);
	if (listing != NULL && listing_find(listing, name) == S_IFDIR)
		ledger_forget_below(view->ledger, path);
	listing_unref(listing);
}

// `ret` stays NULL for a file that is hidden for a reason that may pass: such a snapshot is told and not kept.
static int build_file(struct view *view, struct node *dir, const char *name, const char *path,
		      const struct identity *identity, uint64_t variant, bool bulk, struct node **ret)
{
	struct body_request body = { .wanted = bulk ? BODY_IF_ROOM : BODY_WANTED };
	struct snapshot *snapshot;
	int rc;

	rc = snapshot_build(&view->context, dir->directory->fd, name, path, &snapshot, &body);
	if (rc < 0) {
		store_abandon(view->store, identity, variant);
		return rc;
	}
	ledger_count_scan(view->ledger);
	// Without room for it the body is built again when somebody reads.
	if (body.body != NULL)
		body_unref(cache_add(view->cache, body.body));
	if (snapshot->passing) {
		record(view, path, snapshot);
		snapshot_unref(snapshot);
		store_abandon(view->store, identity, variant);
		return 0;
	}
	// One that could not even be opened has no identity of its own.
	if (snapshot->identity.ino == 0)
		snapshot->identity = *identity;
	return store_publish(view->store, identity, variant, path, snapshot, ret);
}

struct examined {
	char *path;
	char *target;
	enum entry_kind kind;
	struct stat st;
};

static void cleanup_examined(struct examined *examined)
{
	free(examined->path);
	free(examined->target);
}

static int examine(struct view *view, struct node *dir, const char *dir_path, const char *name,
		   struct examined *ret)
{
	int rc = source_join(dir_path, name, &ret->path);

	for (int i = 0; rc == 0 && i < EXAMINE_TRIES; i++) {
		rc = source_examine(view->context.source, dir->directory->fd, dir_path, name, &ret->kind,
				    &ret->st, &ret->target);
		if (rc != -EAGAIN)
			return rc;
		rc = 0;
	}
	return rc < 0 ? rc : -EIO;
}

// `scan`: whether a file may be read and scanned now.
static int lookup(struct view *view, struct node *dir, const char *name, struct task *task, bool scan,
		  struct node **ret_node)
{
	CLEANUP(free) char *dir_path = node_path(view->store, dir);
	CLEANUP(examined) struct examined at = { 0 };
	struct identity identity;
	struct node *node = NULL;
	uint64_t variant;
	int rc, fd;

	if (dir_path == NULL)
		return -ENOMEM;
	rc = examine(view, dir, dir_path, name, &at);
	if (rc < 0)
		return rc;
	switch (at.kind) {
	case ENTRY_MISSING:
		// What is missing must be answered as fast as what is hidden.
		if (!scan && missing_is_news(view, dir, name, at.path))
			return -EAGAIN;
		if (scan)
			record_missing(view, dir, name, at.path);
		*ret_node = NULL;
		return 0;
	case ENTRY_ESCAPE:
	case ENTRY_SPECIAL:
	case ENTRY_NESTED_MOUNT:
	case ENTRY_RESERVED:
		identity = identity_of(&at.st);
		if (!scan && !ledger_holds(view->ledger, at.path, &identity))
			return -EAGAIN;
		rc = record_hidden(view, at.kind, at.path, &at.st, at.target);
		if (rc == 0)
			*ret_node = NULL;
		return rc;
	case ENTRY_DIRECTORY:
		fd = source_open_directory(dir->directory->fd, name);
		if (fd == -ENOENT || fd == -ENOTDIR) {
			*ret_node = NULL;
			return 0;
		}
		if (fd < 0)
			return fd;
		// Its own attributes: another directory may have taken the name since.
		rc = source_stat(fd, &at.st);
		if (rc < 0) {
			(void)close(fd);
			return rc;
		}
		rc = store_directory(view->store, fd, &at.st, at.path, &node);
		if (rc < 0)
			return rc;
		(void)node_moved(view->store, node, at.path);
		*ret_node = node;
		return 0;
	case ENTRY_LINK:
		rc = store_link(view->store, &at.st, at.path, at.target, &node);
		if (rc < 0)
			return rc;
		(void)ledger_set(view->ledger, at.path, NULL);
		*ret_node = node;
		return 0;
	case ENTRY_FILE:
		break;
	}

	identity = identity_of(&at.st);
	variant = variant_of(view, name, at.path);
	rc = store_claim(view->store, &identity, variant, scan ? task : NULL, &node);
	if (rc == STORE_CLAIMED && scan && at.st.st_size > HEAVY && task_put_off(view->pool, task)) {
		store_abandon(view->store, &identity, variant);
		return VIEW_PARKED;
	}
	if (rc < 0)
		return rc;
	if (rc == STORE_CLAIMED && !scan)
		store_abandon(view->store, &identity, variant);
	if (rc == STORE_BUSY || (rc == STORE_CLAIMED && !scan))
		return -EAGAIN;
	if (rc == STORE_PARKED)
		return VIEW_PARKED;
	if (rc == STORE_CLAIMED) {
		rc = build_file(view, dir, name, at.path, &identity, variant, task != NULL && task->bulk,
				&node);
		if (rc < 0 || node == NULL) {
			*ret_node = NULL;
			return rc;
		}
		(void)node_moved(view->store, node, at.path);
		record(view, at.path, node->snapshot);
	} else if (node_moved(view->store, node, at.path) ||
		   !ledger_holds(view->ledger, at.path, &identity)) {
		// Found under another name, or again at one that was gone for a while.
		record(view, at.path, node->snapshot);
	}
	if (verdict_hides(node->snapshot->verdict)) {
		node_put(view->store, node);
		node = NULL;
	}
	*ret_node = node;
	return 0;
}

int view_lookup(struct view *view, struct node *dir, const char *name, struct task *task,
		struct node **ret_node)
{
	return lookup(view, dir, name, task, true, ret_node);
}

int view_find(struct view *view, struct node *dir, const char *name, struct node **ret_node)
{
	return lookup(view, dir, name, NULL, false, ret_node);
}

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
		CLEANUP(examined) struct examined at = { 0 };
		struct identity identity;
		struct node *node;
		uint64_t variant;
		int rc;

		if (examine(view, dir, dir_path, name, &at) < 0 || at.kind != ENTRY_FILE)
			continue;
		identity = identity_of(&at.st);
		variant = variant_of(view, name, at.path);
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

static int fill(struct view *view, struct node *dir, const char *dir_path, const struct buf *names,
		size_t count, struct task *task, struct listing *listing)
{
	const char *name = names->data;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++, name += strlen(name) + 1) {
		CLEANUP(examined) struct examined at = { 0 };
		struct node *node = NULL;

		rc = examine(view, dir, dir_path, name, &at);
		if (rc < 0)
			break;
		if (at.kind == ENTRY_MISSING)
			continue;
		if (at.kind == ENTRY_DIRECTORY || at.kind == ENTRY_LINK) {
			struct identity identity = identity_of(&at.st);

			add_entry(listing, names, name, store_ino(view->store, &identity, 0),
				  at.st.st_mode & S_IFMT);
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

	return record_hidden(view, ENTRY_DIRECTORY, path, &none, strerror(-code));
}

static int list(struct view *view, struct node *dir, const char *dir_path, struct view_listing *state,
		struct task *task, struct listing **ret)
{
	CLEANUP(buf) struct buf names = BUF_INIT;
	struct listing *listing = NULL, *old;
	struct timespec now;
	size_t count = 0;
	int rc;

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

static bool later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static int directory_attributes(struct view *view, struct node *node, struct stat *ret)
{
	struct timespec changed = node_visible_changed(view->store, node);
	struct identity identity;
	size_t directories;
	struct stat st;
	int rc;

	rc = source_stat(node->directory->fd, &st);
	if (rc < 0)
		return rc;
	identity = identity_of(&st);
	if (!node_directories(view->store, node, &identity, &directories)) {
		rc = source_count_directories(view->context.source, node->directory->fd, &directories);
		if (rc == -EACCES)
			directories = 0;
		else if (rc < 0)
			return rc;
		node_set_directories(view->store, node, &identity, directories);
	}
	st.st_nlink = 2 + directories;
	if (later(&changed, &st.st_mtim)) {
		st.st_mtim = changed;
		if (later(&changed, &st.st_ctim))
			st.st_ctim = changed;
	}
	*ret = st;
	return 0;
}

int view_attributes(struct view *view, struct node *node, struct stat *ret)
{
	struct stat st;
	int rc;

	switch (node->kind) {
	case NODE_DIRECTORY:
		rc = directory_attributes(view, node, &st);
		if (rc < 0)
			return rc;
		break;
	case NODE_FILE:
		snapshot_stat(node->snapshot, &st);
		break;
	case NODE_LINK:
		st = node->link->st;
		st.st_size = (off_t)strlen(node->link->target);
		break;
	}
	st.st_ino = node->ino;
	if (node->kind != NODE_LINK)
		st.st_mode &= S_IFMT | 0555;
	st.st_blksize = 4096;
	*ret = st;
	return 0;
}

// Builds the snapshot of a known file again, for its body. -ESTALE when it is not the same any more.
static int rebuild(struct view *view, const struct node *node, struct body **ret)
{
	CLEANUP(snapshot) struct snapshot *again = NULL;
	struct body_request body = { .wanted = BODY_WANTED };
	CLEANUP(free) char *path = node_path(view->store, node);
	CLEANUP(fd) int fd = -1;
	char *slash;
	int rc;

	if (path == NULL)
		return -ENOMEM;
	slash = strrchr(path, '/');
	if (slash != NULL) {
		*slash = '\0';
		fd = source_open_directory(view->context.source->root_fd, path);
		*slash = '/';
		if (fd < 0)
			return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? -EIO : -ESTALE;
	}
	rc = snapshot_build(&view->context, slash == NULL ? view->context.source->root_fd : fd,
			    slash == NULL ? path : slash + 1, path, &again, &body);
	if (rc < 0)
		return rc;
	ledger_count_scan(view->ledger);
	if (body.body == NULL)
		return body.error < 0 || again->passing ? -EIO : -ESTALE;
	if (!identity_equal(&again->identity, &node->snapshot->identity) ||
	    again->size != node->snapshot->size ||
	    !digest_equal(&again->hashes.digest, &node->snapshot->hashes.digest)) {
		body_unref(body.body);
		return -ESTALE;
	}
	*ret = cache_add(view->cache, body.body);
	return 0;
}

struct body *view_find_body(struct view *view, const struct node *node)
{
	return cache_find(view->cache, &node->snapshot->hashes.digest, node->snapshot->size);
}

int view_body(struct view *view, struct node *node, struct task *task, struct body **ret)
{
	struct body *body = view_find_body(view, node);
	int rc;

	if (body != NULL) {
		*ret = body;
		return 0;
	}
	if (node->snapshot->identity.size > HEAVY && task_put_off(view->pool, task))
		return VIEW_PARKED;
	rc = store_claim_again(view->store, node, task);
	if (rc == STORE_PARKED)
		return VIEW_PARKED;
	if (rc < 0)
		return rc;
	// Somebody may have been faster between the look and the claim.
	body = view_find_body(view, node);
	rc = body == NULL ? rebuild(view, node, &body) : 0;
	store_abandon(view->store, &node->snapshot->identity, node->variant);
	if (rc == 0)
		*ret = body;
	return rc;
}
