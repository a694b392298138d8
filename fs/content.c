// SPDX-License-Identifier: Apache-2.0
//
// One loop thread. What is in memory is answered there; the rest becomes a
// request on the worker pool, which replies when it is done. Each operation
// replies exactly once on every path, and no lock is held while it does.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fs/content_session.h"
#include "fs/loop.h"
#include "sanitize/cleanup.h"

#define FOREVER     86400.0 // seconds: what a file's node answers never changes
#define WORKERS_MIN 3       // so that a large file's scan leaves room for others

struct content *content_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

void content_count(struct content *content, atomic_uint_least64_t *kind)
{
	atomic_fetch_add_explicit(&content->messages, 1, memory_order_relaxed);
	if (kind != NULL)
		atomic_fetch_add_explicit(kind, 1, memory_order_relaxed);
}

static void request_run(struct task *task)
{
	struct request *request = (struct request *)task;
	struct content *content = request->content;

	// A parked request may be running elsewhere, or be freed already: it is not ours to touch.
	if (request->perform(request) == VIEW_PARKED)
		return;
	node_put(content->store, request->node);
	free(request);
}

// A request on the pool; takes the node's reference over, and replies itself when that fails.
struct request *request_new(fuse_req_t req, struct node *node, const char *name,
			    int (*perform)(struct request *))
{
	struct content *content = content_of(req);
	size_t len = name == NULL ? 0 : strlen(name);
	struct request *request = calloc(1, sizeof(*request) + len + 1);

	if (request == NULL) {
		node_put(content->store, node);
		(void)fuse_reply_err(req, ENOMEM);
		return NULL;
	}
	request->task.run = request_run;
	request->content = content;
	request->req = req;
	request->perform = perform;
	request->node = node;
	if (len > 0)
		memcpy(request->name, name, len);
	return request;
}

void request_queue(struct request *request)
{
	if (request != NULL)
		pool_queue(request->content->pool, &request->task);
}

struct node *content_node(fuse_req_t req, fuse_ino_t ino)
{
	struct node *node = store_get(content_of(req)->store, ino);

	if (node == NULL)
		(void)fuse_reply_err(req, ESTALE);
	return node;
}

void content_control_link_stat(const struct content *content, struct stat *ret)
{
	*ret = (struct stat){
		.st_ino = ((uint64_t)1 << 53) - 1,
		.st_mode = S_IFLNK | 0777,
		.st_nlink = 1,
		.st_uid = content->daemon->owner,
		.st_size = (off_t)strlen(content->daemon->options.control_dir),
		.st_atim = content->since,
		.st_mtim = content->since,
		.st_ctim = content->since,
	};
}

bool content_is_control_link(const struct content *content, fuse_ino_t parent, const char *name)
{
	return parent == NODE_ROOT && content->daemon->options.control_dir != NULL &&
	       strcmp(name, RESERVED_NAME) == 0;
}

// The answer to a LOOKUP; the node's reference stays with the caller. NULL: a negative entry, which the kernel keeps as well.
static void reply_entry(struct content *content, fuse_req_t req, struct node *node)
{
	struct fuse_entry_param entry = { .entry_timeout = content->entry_timeout };
	int rc;

	if (node != NULL) {
		rc = view_attributes(&content->view, node, &entry.attr);
		if (rc < 0) {
			(void)fuse_reply_err(req, -rc);
			return;
		}
		entry.ino = node->id;
		entry.attr_timeout = node->kind == NODE_DIRECTORY ? content->entry_timeout : FOREVER;
		// Counted before the reply: the FORGET may arrive before fuse_reply_entry() returns.
		node_looked_up(content->store, node);
	}
	rc = fuse_reply_entry(req, &entry);
	if (rc < 0 && node != NULL)
		store_forget(content->store, node->id, 1);
}

static int perform_lookup(struct request *request)
{
	struct content *content = request->content;
	struct node *node = NULL;
	int rc = view_lookup(&content->view, request->node, request->name, &request->task, &node);

	if (rc == VIEW_PARKED)
		return rc;
	if (rc < 0)
		(void)fuse_reply_err(request->req, -rc);
	else
		reply_entry(content, request->req, node);
	if (rc == 0)
		node_put(content->store, node);
	return 0;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct content *content = content_of(req);
	struct node *dir, *node = NULL;

	content_count(content, &content->lookups);
	if (content_is_control_link(content, parent, name)) {
		struct fuse_entry_param entry = { .ino = CONTROL_LINK_ID,
						  .attr_timeout = FOREVER,
						  .entry_timeout = FOREVER };

		content_control_link_stat(content, &entry.attr);
		(void)fuse_reply_entry(req, &entry);
		return;
	}
	dir = content_node(req, parent);
	if (dir == NULL)
		return;
	if (dir->kind != NODE_DIRECTORY) {
		node_put(content->store, dir);
		(void)fuse_reply_err(req, ENOTDIR);
		return;
	}
	// A file that is known already costs one look at its identity.
	if (view_find(&content->view, dir, name, &node) == 0) {
		reply_entry(content, req, node);
		node_put(content->store, node);
		node_put(content->store, dir);
		return;
	}
	request_queue(request_new(req, dir, name, perform_lookup));
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
	content_count(content_of(req), NULL);
	if (ino != NODE_ROOT && ino != CONTROL_LINK_ID)
		store_forget(content_of(req)->store, ino, lookups);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	content_count(content_of(req), NULL);
	for (size_t i = 0; i < count; i++)
		if (forgets[i].ino != NODE_ROOT && forgets[i].ino != CONTROL_LINK_ID)
			store_forget(content_of(req)->store, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct content *content = content_of(req);
	struct node *node;
	struct stat st;
	int rc;

	(void)info;
	content_count(content, NULL);
	if (ino == CONTROL_LINK_ID) {
		content_control_link_stat(content, &st);
		(void)fuse_reply_attr(req, &st, FOREVER);
		return;
	}
	node = content_node(req, ino);
	if (node == NULL)
		return;
	rc = view_attributes(&content->view, node, &st);
	if (rc < 0)
		(void)fuse_reply_err(req, -rc);
	else
		(void)fuse_reply_attr(req, &st,
				      node->kind == NODE_DIRECTORY ? content->entry_timeout : FOREVER);
	node_put(content->store, node);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct content *content = content_of(req);
	struct node *node;

	content_count(content, NULL);
	if (ino == CONTROL_LINK_ID) {
		(void)fuse_reply_readlink(req, content->daemon->options.control_dir);
		return;
	}
	node = content_node(req, ino);
	if (node == NULL)
		return;
	if (node->kind == NODE_LINK)
		(void)fuse_reply_readlink(req, node->link->target);
	else
		(void)fuse_reply_err(req, EINVAL);
	node_put(content->store, node);
}

// ENOSYS once: from then on the kernel opens and closes without a message.
static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct content *content = content_of(req);
	struct node *node;

	content_count(content, NULL);
	if (!content->real_opens) {
		(void)fuse_reply_err(req, ENOSYS);
		return;
	}
	node = content_node(req, ino);
	if (node == NULL)
		return;
	if (content->daemon->options.audit_open) {
		CLEANUP(free) char *path = node_path(content->store, node);

		audit_open_file(content->daemon->audit, path == NULL ? "" : path, node->snapshot,
				fuse_req_ctx(req)->uid, fuse_req_ctx(req)->pid);
	}
	node_put(content->store, node);
	info->keep_cache = 1;
	(void)fuse_reply_open(req, info);
}

// False when a disk would have to be waited for, and `wait` is not allowed: then there was no reply.
static bool reply_body(fuse_req_t req, const struct body *body, size_t size, off_t offset, bool wait)
{
	CLEANUP(free) char *data = NULL;
	size_t start = (size_t)offset < body->size ? (size_t)offset : body->size;
	size_t len = body->size - start < size ? body->size - start : size;
	ssize_t got;

	if (body->fd < 0) {
		(void)fuse_reply_buf(req, body->data.data + start, len);
		return true;
	}
	data = malloc(len + 1);
	got = data == NULL ? -ENOMEM : body_read(body, data, len, start, wait);
	if (got == -EAGAIN)
		return false;
	if (got < 0)
		(void)fuse_reply_err(req, (int)-got);
	else
		(void)fuse_reply_buf(req, data, (size_t)got);
	return true;
}

static int perform_read(struct request *request)
{
	CLEANUP(body) struct body *body = NULL;
	int rc = view_body(&request->content->view, request->node, &request->task, &body);

	if (rc == VIEW_PARKED)
		return rc;
	if (rc < 0)
		(void)fuse_reply_err(request->req, -rc);
	else
		(void)reply_body(request->req, body, request->size, request->offset, true);
	return 0;
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info)
{
	struct content *content = content_of(req);
	struct node *node = content_node(req, ino);
	CLEANUP(body) struct body *body = NULL;
	struct request *request;

	(void)info;
	content_count(content, &content->reads);
	if (node == NULL)
		return;
	if (node->kind != NODE_FILE || offset < 0) {
		node_put(content->store, node);
		(void)fuse_reply_err(req, EINVAL);
		return;
	}
	body = view_find_body(&content->view, node);
	if (body != NULL && reply_body(req, body, size, offset, false)) {
		node_put(content->store, node);
		return;
	}
	request = request_new(req, node, NULL, perform_read);
	if (request != NULL) {
		request->size = size;
		request->offset = offset;
	}
	request_queue(request);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;

	(void)ino;
	content_count(content_of(req), NULL);
	if (fstatvfs(content_of(req)->daemon->source->root_fd, &st) < 0) {
		(void)fuse_reply_err(req, errno);
		return;
	}
	st.f_flag |= ST_RDONLY;
	st.f_bavail = 0;
	st.f_favail = 0;
	(void)fuse_reply_statfs(req, &st);
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct content *content = userdata;

	if (!(conn->capable & FUSE_CAP_NO_OPEN_SUPPORT))
		content->real_opens = true;
	if (conn->capable & FUSE_CAP_CACHE_SYMLINKS)
		conn->want |= FUSE_CAP_CACHE_SYMLINKS;
	content->ready(content->context);
}

static const struct fuse_lowlevel_ops operations = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.read = op_read,
	.opendir = content_op_opendir,
	.readdir = content_op_readdir,
	.releasedir = content_op_releasedir,
	.statfs = op_statfs,
	.getxattr = content_op_getxattr,
	.listxattr = content_op_listxattr,
};

// Where the state lies only its owner can look; without it copies are held in memory.
static int spool_directory(const struct daemon *daemon)
{
	const char *path = daemon->options.state_dir;

	return path == NULL ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int content_new(struct daemon *daemon, struct content **ret, struct error *error)
{
	CLEANUP(free) char *options = NULL;
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct content *content = calloc(1, sizeof(*content));
	struct stat st;
	int rc;

	if (content == NULL)
		return -ENOMEM;
	content->daemon = daemon;
	pthread_mutex_init(&content->directories_lock, NULL);
	(void)clock_gettime(CLOCK_REALTIME, &content->since);
	content->entry_timeout = daemon->config->mount.entry_timeout_ms / 1000.0;
	content->real_opens = daemon->options.audit_open;
	rc = pool_new(&content->pool);
	if (rc == 0)
		rc = store_new(content->pool, &content->store);
	if (rc == 0)
		rc = spool_new(daemon->config->mount.spool_size, spool_directory(daemon), &content->spool);
	if (rc == 0)
		rc = cache_new(daemon->config->mount.cache_size, content->spool, &content->cache);
	if (rc == 0)
		rc = source_stat(daemon->source->root_fd, &st);
	if (rc == 0)
		rc = store_root(content->store, daemon->source->root_fd, &st);
	if (rc < 0) {
		content_free(content);
		return error_set(error, rc, "content: %s", strerror(-rc));
	}
	content->view = (struct view){
		.context = { .source = daemon->source,
			     .scanner = daemon->scanner,
			     .config = daemon->config,
			     .agent = daemon->agent,
			     .spool = content->spool,
			     .few_findings = true },
		.store = content->store,
		.cache = content->cache,
		.pool = content->pool,
		.ledger = daemon->ledger,
		.audit = daemon->audit,
	};
	if (asprintf(&options, "fsname=skillfs,subtype=skillfs,ro,nosuid,nodev,default_permissions%s%s",
		     daemon->options.allow_other ? ",allow_other" : "",
		     daemon->options.noexec ? ",noexec" : "") < 0 ||
	    fuse_opt_add_arg(&args, "skillfs") < 0 || fuse_opt_add_arg(&args, "-o") < 0 ||
	    fuse_opt_add_arg(&args, options) < 0) {
		fuse_opt_free_args(&args);
		content_free(content);
		return -ENOMEM;
	}
	content->session = fuse_session_new(&args, &operations, sizeof(operations), content);
	fuse_opt_free_args(&args);
	if (content->session == NULL) {
		content_free(content);
		return error_set(error, -EINVAL, "content: libfuse refused the session");
	}
	*ret = content;
	return 0;
}

int content_mount(struct content *content, struct error *error)
{
	const char *mountpoint = content->daemon->options.mountpoint;

	if (fuse_session_mount(content->session, mountpoint) < 0)
		return error_set(error, -EIO,
				 "%s: cannot mount (see the message above; `skillfs doctor` explains)",
				 mountpoint);
	content->mounted = true;
	return 0;
}

static void *loop(void *context)
{
	struct content *content = context;

	(void)fuse_session_loop(content->session);
	content->ended(content->context);
	return NULL;
}

int content_start(struct content *content, void (*ready)(void *), void (*ended)(void *), void *context,
		  struct error *error)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int rc;

	content->ready = ready;
	content->ended = ended;
	content->context = context;
	rc = pool_start(content->pool, cpus + 1 > WORKERS_MIN ? (size_t)cpus + 1 : WORKERS_MIN);
	if (rc == 0)
		rc = -pthread_create(&content->thread, NULL, loop, content);
	if (rc < 0)
		return error_set(error, rc, "content: cannot start threads: %s", strerror(-rc));
	content->thread_started = true;
	return view_index(&content->view);
}

void content_free(struct content *content)
{
	if (content == NULL)
		return;
	atomic_store(&content->view.ending, true);
	spool_end(content->spool);
	if (content->session != NULL)
		fuse_session_exit(content->session);
	if (content->thread_started)
		loop_thread_join(content->thread);
	pool_free(content->pool);
	content_close_directories(content);
	if (content->session != NULL)
		loop_session_destroy(content->session, content->mounted);
	store_free(content->store);
	cache_free(content->cache);
	spool_free(content->spool);
	pthread_mutex_destroy(&content->directories_lock);
	free(content);
}

void content_counters(struct content *content, struct content_counters *ret)
{
	*ret = (struct content_counters){
		.messages = atomic_load(&content->messages),
		.lookups = atomic_load(&content->lookups),
		.reads = atomic_load(&content->reads),
		.listings = atomic_load(&content->listings),
	};
	ret->nodes = store_nodes(content->store);
	ret->cached_bytes = cache_bytes(content->cache);
	ret->spooled_bytes = spool_used(content->spool);
}
