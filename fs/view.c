// SPDX-License-Identifier: Apache-2.0
#include "fs/view_examine.h"

#include <errno.h>
#include <string.h>

#include "sanitize/classify.h"
#include "sanitize/cleanup.h"

#define EXAMINE_TRIES 4
#define HEAVY         ((off_t)1 << 20) // bytes of a file that takes long

// What else than the source's bytes decides on a file's content: the class that its name or the configuration gives it, and
// whether it is a skill's manifest. Hard links that differ in this are different files.
uint64_t view_variant(const struct view *view, const char *name, const char *path)
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
int view_record_hidden(struct view *view, enum entry_kind kind, const char *path, const struct stat *st,
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
static int build_file(struct view *view, int dir_fd, const char *name, const char *path,
		      const struct identity *identity, uint64_t variant, bool bulk, struct node **ret)
{
	struct body_request body = { .wanted = bulk ? BODY_IF_ROOM : BODY_WANTED };
	struct snapshot *snapshot;
	int rc;

	rc = snapshot_build(&view->context, dir_fd, name, path, &snapshot, &body);
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

struct place view_place(const struct node *dir, const char *dir_path)
{
	return (struct place){ .fd = dir->directory->fd, .path = dir_path, .follow = dir->directory->follow };
}

int view_examine(struct view *view, struct node *dir, const char *dir_path, const char *name,
		 struct examined *ret)
{
	const struct place place = view_place(dir, dir_path);
	int rc = source_join(dir_path, name, &ret->path);

	for (int i = 0; rc == 0 && i < EXAMINE_TRIES; i++) {
		rc = source_examine(view->context.source, &place, name, &ret->found);
		if (rc != -EAGAIN)
			return rc;
		rc = 0;
	}
	return rc < 0 ? rc : -EIO;
}

// A directory's node. NULL when it is gone meanwhile.
static int find_directory(struct view *view, struct node *dir, const char *name, struct examined *at,
			  struct node **ret)
{
	struct follow *follow = at->found.follow != NULL ? at->found.follow : dir->directory->follow;
	CLEANUP(fd)
	int fd = at->found.follow != NULL ? take_fd(at->found.fd)
					  : source_open_directory(dir->directory->fd, name);
	int rc;

	*ret = NULL;
	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0)
		return fd;
	// Its own attributes: another directory may have taken the name since.
	rc = source_stat(fd, &at->found.st);
	if (rc == 0)
		rc = store_directory(view->store, take_fd(fd), &at->found.st, at->path, follow, ret);
	if (rc == 0)
		(void)node_moved(view->store, *ret, at->path);
	return rc;
}

// `scan`: whether a file may be read and scanned now.
static int lookup(struct view *view, struct node *dir, const char *name, struct task *task, bool scan,
		  struct node **ret_node)
{
	CLEANUP(free) char *dir_path = node_path(view->store, dir);
	CLEANUP(examined) struct examined at = EXAMINED_INIT;
	struct identity identity;
	struct node *node = NULL;
	uint64_t variant;
	int rc;

	if (dir_path == NULL)
		return -ENOMEM;
	rc = view_examine(view, dir, dir_path, name, &at);
	if (rc < 0)
		return rc;
	switch (at.found.kind) {
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
		identity = identity_of(&at.found.st);
		if (!scan && !ledger_holds(view->ledger, at.path, &identity))
			return -EAGAIN;
		rc = view_record_hidden(view, at.found.kind, at.path, &at.found.st, at.found.target);
		if (rc == 0)
			*ret_node = NULL;
		return rc;
	case ENTRY_DIRECTORY:
		rc = find_directory(view, dir, name, &at, ret_node);
		// It may have been a link that was hidden.
		if (rc == 0 && at.found.follow != NULL && *ret_node != NULL &&
		    (*ret_node)->directory->listing == NULL)
			(void)ledger_set(view->ledger, at.path, NULL);
		return rc;
	case ENTRY_LINK:
		rc = store_link(view->store, &at.found.st, at.path, at.found.target, &node);
		if (rc < 0)
			return rc;
		(void)ledger_set(view->ledger, at.path, NULL);
		*ret_node = node;
		return 0;
	case ENTRY_FILE:
		break;
	}

	identity = identity_of(&at.found.st);
	variant = view_variant(view, name, at.path);
	rc = store_claim(view->store, &identity, variant, scan ? task : NULL, &node);
	if (rc == STORE_CLAIMED && scan && at.found.st.st_size > HEAVY && task_put_off(view->pool, task)) {
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
		rc = build_file(view, at.found.name != NULL ? at.found.fd : dir->directory->fd,
				at.found.name != NULL ? at.found.name : name, at.path, &identity, variant,
				task != NULL && task->bulk, &node);
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
		CLEANUP(free) char *path = node_path(view->store, node);
		const struct place place = view_place(node, path);

		rc = path == NULL ? -ENOMEM
				  : source_count_directories(view->context.source, &place, &directories);
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
	CLEANUP(free) char *dir_path = NULL;
	CLEANUP(found) struct found found = FOUND_INIT;
	CLEANUP(fd) int fd = -1;
	struct place place;
	const char *slash;
	int rc;

	if (path == NULL)
		return -ENOMEM;
	slash = strrchr(path, '/');
	dir_path = strndup(path, slash == NULL ? 0 : (size_t)(slash - path));
	if (dir_path == NULL)
		return -ENOMEM;
	fd = source_open_place(view->context.source, dir_path, &place.follow);
	if (fd < 0)
		return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? -EIO : -ESTALE;
	place.fd = fd;
	place.path = dir_path;
	rc = source_examine(view->context.source, &place, slash == NULL ? path : slash + 1, &found);
	follow_unref(place.follow);
	if (rc < 0)
		return rc == -ENOMEM ? rc : -EIO;
	if (found.kind != ENTRY_FILE)
		return -ESTALE;
	rc = snapshot_build(&view->context, found.name != NULL ? found.fd : fd,
			    found.name != NULL ? found.name
			    : slash == NULL    ? path
					       : slash + 1,
			    path, &again, &body);
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
