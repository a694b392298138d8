// SPDX-License-Identifier: Apache-2.0
//
// Extended attributes of the content session.
#include <errno.h>

#include "fs/content_session.h"
#include "fs/xattr.h"
#include "sanitize/cleanup.h"

static void reply_value(fuse_req_t req, int rc, const struct buf *value, size_t size)
{
	if (rc < 0)
		(void)fuse_reply_err(req, -rc);
	else if (size == 0)
		(void)fuse_reply_xattr(req, value->len);
	else if (value->len > size)
		(void)fuse_reply_err(req, ERANGE);
	else
		(void)fuse_reply_buf(req, value->data, value->len);
}

static int perform_getxattr(struct request *request)
{
	struct content *content = request->content;
	CLEANUP(buf) struct buf value = BUF_INIT;
	struct listing *listing = NULL;
	int rc = view_list(&content->view, request->node, &request->listing, &request->task, &listing);

	if (rc == VIEW_PARKED)
		return rc;
	if (rc == 0)
		rc = xattr_get(&content->view, request->node, request->name, listing, &value);
	reply_value(request->req, rc, &value, request->size);
	listing_unref(listing);
	return 0;
}

void content_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct content *content = content_of(req);
	CLEANUP(buf) struct buf value = BUF_INIT;
	struct request *request;
	struct node *node;
	int rc;

	content_count(content, NULL);
	if (ino == CONTROL_LINK_ID) {
		(void)fuse_reply_err(req, ENODATA);
		return;
	}
	node = content_node(req, ino);
	if (node == NULL)
		return;
	if (xattr_wants_listing(node, name)) {
		request = request_new(req, node, name, perform_getxattr);
		if (request != NULL)
			request->size = size;
		request_queue(request);
		return;
	}
	rc = xattr_get(&content->view, node, name, NULL, &value);
	node_put(content->store, node);
	reply_value(req, rc, &value, size);
}

void content_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct content *content = content_of(req);
	CLEANUP(buf) struct buf names = BUF_INIT;
	struct node *node;
	int rc = 0;

	content_count(content, NULL);
	if (ino != CONTROL_LINK_ID) {
		node = content_node(req, ino);
		if (node == NULL)
			return;
		rc = xattr_list(node, &names);
		node_put(content->store, node);
	}
	reply_value(req, rc, &names, size);
}
