// SPDX-License-Identifier: Apache-2.0
//
// The control session: FUSE on one side, control_tree.c and handle.c on the
// other. The loop thread never waits for a job or for the launcher: such
// requests are parked here and answered by the job thread. No lock is held while
// replying. Never calls into its own mount or into the content mount.
#include "fs/control_session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fs/launcher.h"
#include "fs/loop.h"
#include "sanitize/cleanup.h"

#define NAME_MAX_SHOWN 255
#define LISTING_MAX    ((size_t)64 << 20)

// What OPENDIR saw: directory entries as the kernel wants them.
struct open_directory {
	struct open_directory *next, **slot; // the loop thread's alone
	struct buf entries;
};

static void open_directory_free(struct open_directory *directory)
{
	*directory->slot = directory->next;
	if (directory->next != NULL)
		directory->next->slot = directory->slot;
	buf_release(&directory->entries);
	free(directory);
}

// ---- Names and attributes ----

static void fill_stat(struct control *control, const struct tree_node *node, off_t size, struct stat *ret)
{
	*ret = (struct stat){
		.st_ino = tree_ino(node),
		.st_mode = tree_mode(node),
		.st_nlink = S_ISDIR(tree_mode(node)) ? 2 : 1,
		.st_uid = control->daemon->owner,
		.st_gid = getegid(),
		.st_size = size,
		.st_blksize = 4096,
		.st_blocks = (size + 511) / 512,
		.st_atim = control->made,
		.st_mtim = control->made,
		.st_ctim = control->made,
	};
	if (tree_kind(node) == TREE_FILE) {
		(void)clock_gettime(CLOCK_REALTIME, &ret->st_mtim);
		ret->st_ctim = ret->st_mtim;
	}
}

static int stat_node(struct control *control, const struct tree_node *node, struct stat *ret)
{
	CLEANUP(buf) struct buf text = BUF_INIT;
	int rc = 0;

	if (tree_kind(node) == TREE_FILE || tree_kind(node) == TREE_LINK)
		rc = tree_render(control->tree, node, &text);
	if (rc == 0)
		fill_stat(control, node, (off_t)text.len, ret);
	return rc;
}

static void op_init(void *context, struct fuse_conn_info *conn)
{
	(void)context;
	conn->want &= ~(unsigned)FUSE_CAP_READDIRPLUS;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct control *control = control_of(req);
	struct fuse_entry_param entry = { 0 }; // no time-outs: all of this can change at any time
	struct tree_node node;
	int rc = -ENOENT;

	if (tree_find(control->tree, parent, &node))
		rc = tree_lookup(control->tree, &node, name, &node);
	if (rc == 0)
		rc = stat_node(control, &node, &entry.attr);
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	entry.ino = tree_ino(&node);
	fuse_reply_entry(req, &entry);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct control *control = control_of(req);
	struct tree_node node;
	struct stat st;
	int rc = -ENOENT;

	if (tree_find(control->tree, ino, &node))
		rc = stat_node(control, &node, &st);
	if (rc == 0 && fi != NULL && file_of(fi) != NULL && tree_kind(&node) == TREE_FILE)
		st.st_size = (off_t)file_of(fi)->handle.text.len; // what this handle reads
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_attr(req, &st, 0);
}

// `> exec` truncates; `touch` sets times. Neither means anything here, and both must work.
static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	const int harmless = FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME |
			     FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW | FUSE_SET_ATTR_CTIME;
	struct control *control = control_of(req);
	struct tree_node node;
	struct stat st;

	if (!tree_find(control->tree, ino, &node)) {
		fuse_reply_err(req, ENOENT);
	} else if (tree_kind(&node) != TREE_EXEC || (to_set & ~harmless) != 0) {
		fuse_reply_err(req, EACCES);
	} else if ((to_set & FUSE_SET_ATTR_SIZE) != 0 && attr->st_size != 0) {
		fuse_reply_err(req, EINVAL);
	} else {
		if ((to_set & FUSE_SET_ATTR_SIZE) != 0 && fi != NULL && file_of(fi) != NULL) {
			(void)pthread_mutex_lock(&control->lock);
			handle_truncate(&file_of(fi)->handle);
			(void)pthread_mutex_unlock(&control->lock);
		}
		fill_stat(control, &node, 0, &st);
		fuse_reply_attr(req, &st, 0);
	}
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct control *control = control_of(req);
	CLEANUP(buf) struct buf target = BUF_INIT;
	struct tree_node node;
	int rc = -ENOENT;

	if (tree_find(control->tree, ino, &node))
		rc = tree_kind(&node) == TREE_LINK ? tree_render(control->tree, &node, &target) : -EINVAL;
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_readlink(req, target.data);
}

struct listing_visit {
	fuse_req_t req;
	struct open_directory *directory;
};

static int add_entry(struct listing_visit *visit, const char *name, uint64_t ino, mode_t mode)
{
	struct buf *entries = &visit->directory->entries;
	struct stat st = { .st_ino = ino, .st_mode = mode };
	size_t size = fuse_add_direntry(visit->req, NULL, 0, name, NULL, 0);
	int rc = entries->len + size > LISTING_MAX ? -EFBIG : buf_reserve(entries, size);

	if (rc < 0)
		return rc;
	(void)fuse_add_direntry(visit->req, entries->data + entries->len, size, name, &st,
				(off_t)(entries->len + size));
	entries->len += size;
	return 0;
}

static int visit_entry(void *context, const char *name, const struct tree_node *node)
{
	return add_entry(context, name, tree_ino(node), tree_mode(node));
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct control *control = control_of(req);
	struct open_directory *directory = calloc(1, sizeof(*directory));
	struct listing_visit visit = { .req = req, .directory = directory };
	struct tree_node node;
	int rc = 0;

	if (directory == NULL) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	directory->slot = &control->directories;
	directory->next = control->directories;
	if (directory->next != NULL)
		directory->next->slot = &directory->next;
	control->directories = directory;
	if (!tree_find(control->tree, ino, &node))
		rc = -ENOENT;
	if (rc == 0)
		rc = add_entry(&visit, ".", ino, S_IFDIR);
	if (rc == 0)
		rc = add_entry(&visit, "..", tree_parent_ino(&node), S_IFDIR);
	if (rc == 0)
		rc = tree_list(control->tree, &node, visit_entry, &visit);
	fi->fh = (uintptr_t)directory;
	if (rc == 0 && fuse_reply_open(req, fi) != -ENOENT)
		return;
	if (rc < 0)
		fuse_reply_err(req, -rc);
	open_directory_free(directory);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	const struct open_directory *directory = (const struct open_directory *)(uintptr_t)fi->fh;
	size_t from = (size_t)offset;

	(void)ino;
	// Offsets are ours: the ends of entries. The kernel drops an entry that is cut off at the end.
	if (offset < 0 || from >= directory->entries.len)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, directory->entries.data + from,
			       directory->entries.len - from < size ? directory->entries.len - from : size);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	open_directory_free((struct open_directory *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

// ---- What is not to be had ----

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = NAME_MAX_SHOWN };

	(void)ino;
	fuse_reply_statfs(req, &st);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	(void)ino;
	(void)name;
	(void)size;
	fuse_reply_err(req, ENODATA);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	(void)ino;
	if (size == 0)
		fuse_reply_xattr(req, 0);
	else
		fuse_reply_buf(req, NULL, 0);
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
			int flags)
{
	(void)ino;
	(void)name;
	(void)value;
	(void)size;
	(void)flags;
	fuse_reply_err(req, EACCES);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)ino;
	(void)name;
	fuse_reply_err(req, EACCES);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)fi;
	fuse_reply_err(req, EACCES);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)device;
	fuse_reply_err(req, EACCES);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent;
	(void)name;
	(void)mode;
	fuse_reply_err(req, EACCES);
}

static void op_remove(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent;
	(void)name;
	fuse_reply_err(req, EACCES);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	(void)parent;
	(void)name;
	fuse_reply_err(req, EACCES);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino;
	(void)parent;
	(void)name;
	fuse_reply_err(req, EACCES);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
		      const char *new_name, unsigned flags)
{
	(void)parent;
	(void)name;
	(void)new_parent;
	(void)new_name;
	(void)flags;
	fuse_reply_err(req, EACCES);
}

static const struct fuse_lowlevel_ops operations = {
	.init = op_init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_releasedir,
	.open = control_op_open,
	.read = control_op_read,
	.write = control_op_write,
	.flush = control_op_flush,
	.release = control_op_release,
	.poll = control_op_poll,
	.statfs = op_statfs,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.setxattr = op_setxattr,
	.removexattr = op_removexattr,
	.create = op_create,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_remove,
	.rmdir = op_remove,
	.symlink = op_symlink,
	.link = op_link,
	.rename = op_rename,
};

// ---- The session ----

int control_new(struct daemon *daemon, struct control **ret, struct error *error)
{
	char *argv[] = { (char *)"skillfs", (char *)"-o",
			 (char *)"fsname=skillfs-control,subtype=skillfs-control,nosuid,nodev,noexec,default_"
				 "permissions",
			 NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct control *control = calloc(1, sizeof(*control));
	struct jobs_observer observer = { .context = control,
					  .changed = control_on_changed,
					  .checked = control_on_checked };
	int rc;

	if (control == NULL)
		return -ENOMEM;
	control->daemon = daemon;
	(void)clock_gettime(CLOCK_REALTIME, &control->made);
	(void)pthread_mutex_init(&control->lock, NULL);
	control->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = control->wake_fd < 0 ? error_set(error, -errno, "control: %s", strerror(errno)) : 0;
	if (rc == 0)
		rc = jobs_new(daemon, &observer, &control->jobs, error);
	if (rc == 0)
		rc = tree_new(daemon, control->jobs, &control->tree);
	if (rc == 0) {
		control->session = fuse_session_new(&args, &operations, sizeof(operations), control);
		if (control->session == NULL)
			rc = error_set(error, -ENODEV, "control: the FUSE session could not be made");
	}
	fuse_opt_free_args(&args);
	if (rc < 0) {
		control_free(control);
		return rc;
	}
	*ret = control;
	return 0;
}

int control_mount(struct control *control, struct error *error)
{
	const char *directory = control->daemon->options.control_dir;
	int fd;

	if (fuse_session_mount(control->session, directory) != 0)
		return error_set(error, -EIO,
				 "%s: cannot mount (see the message above; `skillfs doctor` explains)",
				 directory);
	control->mounted = true;
	fd = fuse_session_fd(control->session);
	// The loop polls, so that it can be woken without a signal.
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return error_set(error, -errno, "control: %s", strerror(errno));
	return 0;
}

static void *loop_thread(void *context)
{
	struct control *control = context;
	struct fuse_buf request = { 0 };
	struct pollfd fds[] = {
		{ .fd = fuse_session_fd(control->session), .events = POLLIN },
		{ .fd = control->wake_fd, .events = POLLIN },
	};
	bool ready = false;

	while (!fuse_session_exited(control->session)) {
		int rc;

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
			continue;
		if (fds[1].revents != 0)
			break;
		rc = fuse_session_receive_buf(control->session, &request);
		if (rc == -EINTR || rc == -EAGAIN)
			continue;
		if (rc <= 0)
			break;
		fuse_session_process_buf(control->session, &request);
		if (!ready && control->ready != NULL)
			control->ready(control->context);
		ready = true;
	}
	free(request.mem);
	if (control->ended != NULL)
		control->ended(control->context);
	return NULL;
}

int control_start(struct control *control, void (*ready)(void *), void (*ended)(void *), void *context,
		  struct error *error)
{
	sigset_t all, before;
	int rc;

	control->ready = ready;
	control->ended = ended;
	control->context = context;
	rc = jobs_start(control->jobs, error);
	if (rc < 0)
		return rc;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&control->thread, NULL, loop_thread, control);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0)
		return error_set(error, -rc, "control thread: %s", strerror(rc));
	control->started = true;
	return 0;
}

void control_stop_jobs(struct control *control)
{
	jobs_stop(control->jobs);
}

void control_free(struct control *control)
{
	if (control == NULL)
		return;
	// The jobs first: their ends answer most of what is parked.
	if (control->jobs != NULL)
		jobs_stop(control->jobs);
	if (control->session != NULL)
		fuse_session_exit(control->session);
	if (control->started) {
		(void)eventfd_write(control->wake_fd, 1);
		(void)pthread_join(control->thread, NULL);
	}
	control_close_files(control);
	// The kernel does not close everything before it lets go of a session.
	while (control->directories != NULL)
		open_directory_free(control->directories);
	if (control->session != NULL)
		loop_session_destroy(control->session, control->mounted);
	tree_free(control->tree);
	jobs_free(control->jobs);
	if (control->wake_fd >= 0)
		(void)close(control->wake_fd);
	(void)pthread_mutex_destroy(&control->lock);
	free(control);
}
