// SPDX-License-Identifier: Apache-2.0
//
// Directories of the content session: opened for real, so that a listing is one
// consistent whole, and cached by the kernel while nothing visible changed.
#include <errno.h>
#include <string.h>

#include "fs/content_session.h"
#include "sanitize/cleanup.h"

// An offset is a listing's generation and the place of the next entry, so that offsets of different listings are never
// equal. The kernel finds its place in its own copy by offset, and lets every open handle add to it.
#define OFFSET_BITS 32

struct open_directory {
	uint64_t ino, parent_ino;
	struct listing *listing;             // after OPENDIR only the loop thread's
	struct open_directory *next, **slot; // under content->directories_lock
};

static void open_directory_add(struct content *content, struct open_directory *directory)
{
	pthread_mutex_lock(&content->directories_lock);
	directory->slot = &content->directories;
	directory->next = content->directories;
	if (directory->next != NULL)
		directory->next->slot = &directory->next;
	content->directories = directory;
	pthread_mutex_unlock(&content->directories_lock);
}

static void open_directory_free(struct content *content, struct open_directory *directory)
{
	pthread_mutex_lock(&content->directories_lock);
	*directory->slot = directory->next;
	if (directory->next != NULL)
		directory->next->slot = directory->slot;
	pthread_mutex_unlock(&content->directories_lock);
	listing_unref(directory->listing);
	free(directory);
}

void content_close_directories(struct content *content)
{
	while (content->directories != NULL)
		open_directory_free(content, content->directories);
}

static uint64_t parent_ino(struct content *content, const struct node *node)
{
	CLEANUP(free) char *path = node_path(content->store, node);
	struct follow *follow = follow_ref(node->directory->follow);
	struct identity identity;
	struct stat st;
	uint64_t ino = node->ino;
	int rc = path == NULL ? -ENOMEM : 0;

	if (rc == 0 && node->id == NODE_ROOT)
		rc = -ENOENT;
	// What a followed link leads to has another parent in the view than in the file system.
	if (rc == 0 && follow != NULL && strcmp(follow->at, path) == 0) {
		CLEANUP(fd) int fd = -1;
		char *slash = strrchr(path, '/');

		*(slash == NULL ? path : slash) = '\0';
		follow_unref(follow);
		fd = source_open_place(content->view.context.source, path, &follow);
		rc = fd < 0 ? fd : source_stat(fd, &st);
	} else if (rc == 0) {
		rc = source_stat_parent(node->directory->fd, &st);
	}
	if (rc == 0) {
		identity = identity_of(&st);
		ino = store_directory_ino(content->store, &identity, follow);
	}
	follow_unref(follow);
	return ino;
}

static int perform_opendir(struct request *request)
{
	struct content *content = request->content;
	struct open_directory *directory;
	struct listing *listing = NULL;
	uint32_t generation;
	int rc = view_list(&content->view, request->node, &request->listing, &request->task, &listing);

	if (rc == VIEW_PARKED)
		return rc;
	if (rc < 0) {
		(void)fuse_reply_err(request->req, -rc);
		return 0;
	}
	directory = calloc(1, sizeof(*directory));
	if (directory == NULL) {
		listing_unref(listing);
		(void)fuse_reply_err(request->req, ENOMEM);
		return 0;
	}
	generation = listing->generation;
	directory->ino = request->node->ino;
	directory->parent_ino = parent_ino(content, request->node);
	directory->listing = listing;
	open_directory_add(content, directory);
	request->info.fh = (uint64_t)(uintptr_t)directory;
	request->info.cache_readdir = 1;
	request->info.keep_cache = node_listing_is_told(content->store, request->node, generation);
	// -ENOENT: whoever asked is gone, and no RELEASEDIR will come.
	if (fuse_reply_open(request->req, &request->info) == -ENOENT)
		open_directory_free(content, directory);
	else // only now: an OPENDIR answered in between must not keep what this one drops
		node_listing_told(content->store, request->node, generation);
	return 0;
}

void content_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct content *content = content_of(req);
	struct node *node = content_node(req, ino);
	struct request *request;

	content_count(content, &content->listings);
	if (node == NULL)
		return;
	if (node->kind != NODE_DIRECTORY) {
		node_put(content->store, node);
		(void)fuse_reply_err(req, ENOTDIR);
		return;
	}
	request = request_new(req, node, NULL, perform_opendir);
	if (request != NULL)
		request->info = *info;
	request_queue(request);
}

// Makes the handle's listing the one that an offset belongs to; -ESTALE when it is gone. Who begins gets the newest: what the
// kernel keeps of it must never be older than what it was told.
static int choose_listing(struct content *content, fuse_ino_t ino, off_t offset,
			  struct open_directory *directory)
{
	uint64_t generation = (uint64_t)offset >> OFFSET_BITS;
	struct listing *newest;
	struct node *node;

	if (offset > 0 && directory->listing->generation == generation)
		return 0;
	node = store_get(content->store, ino);
	if (node == NULL)
		return -ESTALE;
	newest = node_listing(content->store, node);
	node_put(content->store, node);
	if (newest == NULL || offset < 0 || (offset > 0 && newest->generation != generation)) {
		listing_unref(newest);
		return -ESTALE;
	}
	listing_unref(directory->listing);
	directory->listing = newest;
	return 0;
}

// The entries: 0 and 1 are the dots, then the listing, then the control link in the root.
void content_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
			struct fuse_file_info *info)
{
	struct content *content = content_of(req);
	struct open_directory *directory = (struct open_directory *)(uintptr_t)info->fh;
	CLEANUP(free) char *buffer = malloc(size);
	const struct listing *listing;
	size_t total, used = 0;
	int rc;

	content_count(content, NULL);
	rc = buffer == NULL ? -ENOMEM : choose_listing(content, ino, offset, directory);
	if (rc < 0) {
		(void)fuse_reply_err(req, -rc);
		return;
	}
	listing = directory->listing;
	total = listing->count + (content_is_control_link(content, ino, RESERVED_NAME) ? 3 : 2);
	for (size_t i = (uint32_t)offset; i < total; i++) {
		struct stat st = { 0 };
		const char *name;
		size_t need;

		if (i < 2) {
			name = i == 0 ? "." : "..";
			st.st_mode = S_IFDIR;
			st.st_ino = i == 0 ? directory->ino : directory->parent_ino;
		} else if (i < listing->count + 2) {
			name = listing_name(listing, i - 2);
			st.st_mode = listing->entries[i - 2].type;
			st.st_ino = listing->entries[i - 2].ino;
		} else {
			name = RESERVED_NAME;
			content_control_link_stat(content, &st);
		}
		need = fuse_add_direntry(req, buffer + used, size - used, name, &st,
					 (off_t)((uint64_t)listing->generation << OFFSET_BITS | (i + 1)));
		if (need > size - used)
			break;
		used += need;
	}
	(void)fuse_reply_buf(req, buffer, used);
}

void content_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct content *content = content_of(req);

	(void)ino;
	content_count(content, NULL);
	open_directory_free(content, (struct open_directory *)(uintptr_t)info->fh);
	(void)fuse_reply_err(req, 0);
}
