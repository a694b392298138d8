// SPDX-License-Identifier: Apache-2.0
//
// Directories of the content session: opened for real, so that a listing is one
// consistent whole, and cached by the kernel while nothing visible changed.
#include <errno.h>
#include <string.h>

#include "fs/content_session.h"
#include "sanitize/cleanup.h"

struct open_directory {
	uint64_t ino;
	struct listing *listing;
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

static int perform_opendir(struct request *request)
{
	struct content *content = request->content;
	struct open_directory *directory;
	struct listing *listing = NULL;
	bool changed = true;
	int rc = view_list(&content->view, request->node, &request->listing, &request->task, &listing,
			   &changed);

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
	directory->ino = request->node->ino;
	directory->listing = listing;
	open_directory_add(content, directory);
	request->info.fh = (uint64_t)(uintptr_t)directory;
	request->info.cache_readdir = 1;
	request->info.keep_cache = !changed;
	// -ENOENT: whoever asked is gone, and no RELEASEDIR will come.
	if (fuse_reply_open(request->req, &request->info) == -ENOENT)
		open_directory_free(content, directory);
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

// Offset N means: the next entry is N. 0 and 1 are the dots, then the listing, then the control link in the root.
void content_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
			struct fuse_file_info *info)
{
	struct content *content = content_of(req);
	const struct open_directory *directory = (const struct open_directory *)(uintptr_t)info->fh;
	const struct listing *listing = directory->listing;
	size_t total = listing->count + 2, used = 0;
	CLEANUP(free) char *buffer = malloc(size);

	content_count(content, NULL);
	if (buffer == NULL) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	if (content_is_control_link(content, ino, RESERVED_NAME))
		total++;
	for (size_t i = offset < 0 ? total : (size_t)offset; i < total; i++) {
		struct stat st = { 0 };
		const char *name;
		size_t need;

		if (i < 2) {
			name = i == 0 ? "." : "..";
			st.st_mode = S_IFDIR;
			st.st_ino = directory->ino;
		} else if (i < listing->count + 2) {
			name = listing_name(listing, i - 2);
			st.st_mode = listing->entries[i - 2].type;
			st.st_ino = listing->entries[i - 2].ino;
		} else {
			name = RESERVED_NAME;
			content_control_link_stat(content, &st);
		}
		need = fuse_add_direntry(req, buffer + used, size - used, name, &st, (off_t)(i + 1));
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
