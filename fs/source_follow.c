// SPDX-License-Identifier: Apache-2.0
//
// Links that leave the folder they stand in, and lead into one that the owner allows: what
// they lead to is found component by component and shown as its own. No path is ever
// given to the kernel that could take another way meanwhile.
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fs/hash.h"
#include "fs/source_link.h"
#include "sanitize/cleanup.h"

// Followed links one below the other. What a stranger links among their own folders is shown, and walked, once for each way
// that leads to it: the ways grow with the power of this.
#define FOLLOW_DEPTH_MAX 3

struct follow *follow_ref(struct follow *follow)
{
	if (follow != NULL)
		atomic_fetch_add_explicit(&follow->refs, 1, memory_order_relaxed);
	return follow;
}

void follow_unref(struct follow *follow)
{
	while (follow != NULL && atomic_fetch_sub_explicit(&follow->refs, 1, memory_order_acq_rel) == 1) {
		struct follow *above = follow->above;

		free(follow->at);
		free(follow->inner);
		free(follow);
		follow = above;
	}
}

static inline void cleanup_follow(struct follow **follow)
{
	follow_unref(*follow);
}

void found_release(struct found *found)
{
	free(found->target);
	free(found->name);
	follow_unref(found->follow);
	if (found->fd >= 0)
		(void)close(found->fd);
	*found = (struct found)FOUND_INIT;
}

static int warn(struct strv *warnings, const char *path, const char *what)
{
	CLEANUP(free) char *text = NULL;

	if (asprintf(&text, "mount.followSymlinks: %s: %s", path, what) < 0)
		return -ENOMEM;
	return strv_add(warnings, text);
}

static int allow_one(struct source *source, const char *path, struct strv *warnings)
{
	CLEANUP(free) char *canonical = realpath(path, NULL);
	CLEANUP(free) char *named = strdup(path);
	CLEANUP(free) char *what = NULL;
	CLEANUP(fd) int fd = -1;
	struct follow_root *follows;

	if (named == NULL)
		return -ENOMEM;
	if (canonical != NULL)
		fd = open(canonical, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		if (asprintf(&what, "%s: links into it stay hidden; make it, and mount again",
			     strerror(errno)) < 0)
			return -ENOMEM;
		return warn(warnings, path, what);
	}
	if (source_path_below(source->path, canonical) != NULL)
		return warn(warnings, path, "lies in the skills folder, where links need no leave");
	for (size_t i = 0; i < source->follow_count; i++)
		if (strcmp(source->follows[i].path, canonical) == 0)
			return 0;
	for (size_t len = strlen(named); len > 1 && named[len - 1] == '/';)
		named[--len] = '\0';
	follows = reallocarray(source->follows, source->follow_count + 1, sizeof(*follows));
	if (follows == NULL)
		return -ENOMEM;
	source->follows = follows;
	follows[source->follow_count++] =
		(struct follow_root){ .fd = take_fd(fd), .path = take(canonical), .named = take(named) };
	return 0;
}

int source_allow(struct source *source, const struct strv *paths, struct strv *warnings)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < paths->count; i++)
		rc = allow_one(source, paths->items[i], warnings);
	return rc;
}

static int root_fd(const struct source *source, size_t root)
{
	return root == 0 ? source->root_fd : source->follows[root - 1].fd;
}

static const char *root_path(const struct source *source, size_t root)
{
	return root == 0 ? source->path : source->follows[root - 1].path;
}

static int open_inner(const struct source *source, size_t root, const char *inner)
{
	return source_open_directory(root_fd(source, root), inner == NULL || inner[0] == '\0' ? "." : inner);
}

// A walk over the file system that only looks at what lies in a root. Elsewhere it knows where it would be.
struct steps {
	bool inside;
	size_t root;   // when inside
	struct buf at; // inside: below the root, no links, no dots; outside: the absolute path
	char *pending; // what is left of the target
	unsigned links;
};

static void cleanup_steps(struct steps *steps)
{
	buf_release(&steps->at);
	free(steps->pending);
}

static void cut_last(struct buf *path)
{
	char *slash = path->len == 0 ? NULL : memrchr(path->data, '/', path->len);

	path->len = slash == NULL ? 0 : (size_t)(slash - path->data);
	if (path->data != NULL)
		path->data[path->len] = '\0';
}

static int set_path(struct buf *path, const char *a, const char *b)
{
	int rc;

	buf_clear(path);
	rc = buf_append_string(path, strcmp(a, "/") == 0 ? "" : a);
	if (rc == 0 && b[0] != '\0')
		rc = buf_printf(path, "/%s", b);
	return rc;
}

// Whether the absolute path is that of a root. The source first: it may lie in another.
static bool is_root_path(const struct source *source, const char *path, size_t *ret)
{
	if (strcmp(path, source->path) == 0) {
		*ret = 0;
		return true;
	}
	for (size_t i = 0; i < source->follow_count; i++) {
		if (strcmp(path, source->follows[i].path) == 0 ||
		    strcmp(path, source->follows[i].named) == 0) {
			*ret = i + 1;
			return true;
		}
	}
	return false;
}

static int step_up(const struct source *source, struct steps *steps)
{
	int rc = 0;

	if (steps->inside && steps->at.len > 0) {
		cut_last(&steps->at);
		return 0;
	}
	if (steps->inside) {
		steps->inside = false;
		rc = set_path(&steps->at, root_path(source, steps->root), "");
	}
	cut_last(&steps->at);
	if (rc == 0 && is_root_path(source, steps->at.len == 0 ? "/" : steps->at.data, &steps->root)) {
		steps->inside = true;
		buf_clear(&steps->at);
	}
	return rc;
}

// A name where nothing is looked at: only whether it leads into a root.
static int step_outside(const struct source *source, struct steps *steps, const char *name)
{
	int rc = buf_printf(&steps->at, "/%s", name);

	if (rc == 0 && is_root_path(source, steps->at.data, &steps->root)) {
		steps->inside = true;
		buf_clear(&steps->at);
	}
	return rc;
}

// A name in a root. Fills `ret` and returns 1 when it is a file, which ends the walk.
static int step_inside(const struct source *source, struct steps *steps, const char *name, struct found *ret)
{
	CLEANUP(fd) int fd = open_inner(source, steps->root, steps->at.data);
	CLEANUP(buf) struct buf whole = BUF_INIT;
	enum entry_kind kind;
	struct stat st;
	int rc;

	if (fd < 0)
		return fd;
	// The source, or another root, that lies in this one.
	rc = set_path(&whole, root_path(source, steps->root), steps->at.len == 0 ? "" : steps->at.data);
	if (rc == 0)
		rc = buf_printf(&whole, "/%s", name);
	if (rc < 0)
		return rc;
	if (is_root_path(source, whole.data, &steps->root)) {
		buf_clear(&steps->at);
		return 0;
	}
	rc = source_examine_name(source, fd, name, &kind, &st);
	if (rc < 0)
		return rc;
	if (kind == ENTRY_LINK)
		return ++steps->links > SOURCE_LINKS_MAX ? -ELOOP
							 : source_pending_link(&steps->pending, fd, name);
	if (kind == ENTRY_FILE && steps->pending[0] == '\0') {
		ret->kind = ENTRY_FILE;
		ret->st = st;
		ret->fd = take_fd(fd);
		ret->name = strdup(name);
		return ret->name == NULL ? -ENOMEM : 1;
	}
	if (kind != ENTRY_DIRECTORY)
		return -EXDEV;
	return steps->at.len == 0 ? buf_append_string(&steps->at, name) : buf_printf(&steps->at, "/%s", name);
}

// 0 when the steps ended at a directory in a root, 1 at a file; a negative errno when they lead nowhere that is allowed.
static int walk_steps(const struct source *source, struct steps *steps, struct found *ret)
{
	while (steps->pending[0] != '\0') {
		CLEANUP(free) char *name = NULL;
		int rc;

		if (steps->pending[0] == '/') {
			memmove(steps->pending, steps->pending + strspn(steps->pending, "/"),
				strlen(steps->pending + strspn(steps->pending, "/")) + 1);
			steps->inside = false;
			buf_clear(&steps->at);
			continue;
		}
		rc = source_pending_name(&steps->pending, &name);
		if (rc < 0)
			return rc;
		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, RESERVED_NAME) == 0)
			return -EXDEV;
		rc = strcmp(name, "..") == 0 ? step_up(source, steps)
		     : steps->inside         ? step_inside(source, steps, name, ret)
					     : step_outside(source, steps, name);
		if (rc != 0)
			return rc;
	}
	return steps->inside ? 0 : -EXDEV;
}

static bool same_directory(int fd, const struct stat *st)
{
	struct stat it;

	return source_stat(fd, &it) < 0 || (it.st_dev == st->st_dev && it.st_ino == st->st_ino);
}

// Whether that directory is shown already on the way from the root to the directory `path`: it would hold itself. Any doubt
// counts as that.
static bool shown_above(const struct source *source, const struct follow *follow, const char *path,
			const struct stat *st)
{
	CLEANUP(fd)
	int fd = follow == NULL ? open_inner(source, 0, "") : open_inner(source, follow->root, follow->inner);
	const char *at = follow == NULL ? path : path + strlen(follow->at);
	CLEANUP(free) char *above = NULL;
	const char *slash;

	if (fd < 0 || same_directory(fd, st))
		return true;
	for (at += strspn(at, "/"); *at != '\0'; at += strspn(at, "/")) {
		CLEANUP(free) char *name = strndup(at, strcspn(at, "/"));
		int next = name == NULL ? -ENOMEM : source_open_directory(fd, name);

		if (next < 0)
			return true;
		(void)close(fd);
		fd = next;
		if (same_directory(fd, st))
			return true;
		at += strcspn(at, "/");
	}
	if (follow == NULL)
		return false;
	// The stretch above ends at the folder in which the link stands.
	slash = strrchr(follow->at, '/');
	above = strndup(follow->at, slash == NULL ? 0 : (size_t)(slash - follow->at));
	return above == NULL || shown_above(source, follow->above, above, st);
}

static int follow_new(struct follow *above, const char *at, size_t root, const char *inner,
		      struct follow **ret)
{
	CLEANUP(buf) struct buf key = BUF_INIT;
	struct follow *follow = calloc(1, sizeof(*follow));
	struct hashes hashes;

	if (follow == NULL)
		return -ENOMEM;
	atomic_init(&follow->refs, 1);
	follow->at = strdup(at);
	follow->inner = strdup(inner);
	if (follow->at == NULL || follow->inner == NULL || buf_append(&key, &root, sizeof(root)) < 0 ||
	    buf_append(&key, at, strlen(at) + 1) < 0 || buf_append_string(&key, inner) < 0) {
		follow_unref(follow);
		return -ENOMEM;
	}
	follow->root = root;
	follow->depth = above == NULL ? 1 : above->depth + 1;
	follow->above = follow_ref(above);
	hash_bytes(key.data, key.len, &hashes);
	follow->key = hashes.digest.low | 1;
	*ret = follow;
	return 0;
}

// The path below the base of a directory of the view.
static const char *path_in_base(const struct place *dir)
{
	const char *below;

	if (dir->follow == NULL)
		return dir->path;
	below = dir->path + strlen(dir->follow->at);
	return below + strspn(below, "/");
}

// What a link leads to, when that lies in a root. -EXDEV and others when it is to be hidden.
static int follow_link(const struct source *source, const struct place *dir, const char *name,
		       const char *target, struct found *ret)
{
	CLEANUP(steps) struct steps steps = { .inside = true };
	CLEANUP(free) char *at = NULL;
	const char *below = path_in_base(dir);
	unsigned depth = dir->follow == NULL ? 0 : dir->follow->depth;
	int rc;

	if (depth >= FOLLOW_DEPTH_MAX)
		return -ELOOP;
	steps.root = dir->follow == NULL ? 0 : dir->follow->root;
	rc = buf_append_string(&steps.at, dir->follow == NULL ? "" : dir->follow->inner);
	if (rc == 0 && below[0] != '\0')
		rc = buf_printf(&steps.at, "%s%s", steps.at.len == 0 ? "" : "/", below);
	steps.pending = strdup(target);
	if (rc < 0 || steps.pending == NULL)
		return -ENOMEM;
	rc = walk_steps(source, &steps, ret);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	ret->fd = open_inner(source, steps.root, steps.at.data);
	if (ret->fd < 0)
		return ret->fd;
	rc = source_stat(ret->fd, &ret->st);
	if (rc < 0)
		return rc;
	if (shown_above(source, dir->follow, dir->path, &ret->st))
		return -ELOOP;
	rc = source_join(dir->path, name, &at);
	if (rc == 0)
		rc = follow_new(dir->follow, at, steps.root, steps.at.len == 0 ? "" : steps.at.data,
				&ret->follow);
	ret->kind = ENTRY_DIRECTORY;
	return rc;
}

static int examine_link(const struct source *source, const struct place *dir, const char *name,
			struct found *ret)
{
	CLEANUP(free) char *target = NULL;
	CLEANUP(buf) struct buf path = BUF_INIT;
	CLEANUP(fd) int fd = -1;
	struct source_base base = { .fd = source->root_fd, .path = source->path };
	struct stat link = ret->st;
	int rc = source_read_link(dir->fd, name, &target);

	if (rc == -ENOENT || rc == -EINVAL)
		return -EAGAIN; // it changed under us
	if (rc == 0 && dir->follow != NULL) {
		fd = open_inner(source, dir->follow->root, dir->follow->inner);
		if (fd < 0)
			return fd == -ENOENT || fd == -ENOTDIR ? -EAGAIN : fd;
		rc = set_path(&path, root_path(source, dir->follow->root), dir->follow->inner);
		base = (struct source_base){ .fd = fd, .path = path.data };
	}
	if (rc < 0)
		return rc;
	rc = source_link_stays(source, &base, path_in_base(dir), target);
	if (rc < 0)
		return rc;
	if (rc > 0)
		return source_link_shown(&base, path_in_base(dir), target, &ret->target);
	if (source->follow_count > 0) {
		rc = follow_link(source, dir, name, target, ret);
		if (rc == 0)
			return 0;
		found_release(ret);
		if (rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE)
			return rc;
	}
	ret->kind = ENTRY_ESCAPE;
	ret->st = link;
	ret->target = take(target);
	return 0;
}

int source_examine(const struct source *source, const struct place *dir, const char *name, struct found *ret)
{
	int rc;

	found_release(ret);
	rc = source_examine_name(source, dir->fd, name, &ret->kind, &ret->st);
	return rc < 0 || ret->kind != ENTRY_LINK ? rc : examine_link(source, dir, name, ret);
}

int source_open_place(const struct source *source, const char *path, struct follow **ret_follow)
{
	CLEANUP(follow) struct follow *follow = NULL;
	CLEANUP(fd) int fd = source_open_directory(source->root_fd, path[0] == '\0' ? "." : path);

	*ret_follow = NULL;
	if (fd >= 0 || source->follow_count == 0)
		return take_fd(fd);
	// A link is on the way.
	fd = open_inner(source, 0, "");
	for (const char *at = path; fd >= 0 && *at != '\0'; at += strspn(at, "/")) {
		CLEANUP(free) char *name = strndup(at, strcspn(at, "/"));
		CLEANUP(free) char *parent = strndup(path, at == path ? 0 : (size_t)(at - path - 1));
		const struct place dir = { .fd = fd, .path = parent, .follow = follow };
		CLEANUP(found) struct found found = FOUND_INIT;
		int rc, next;

		if (name == NULL || parent == NULL)
			return -ENOMEM;
		rc = source_examine(source, &dir, name, &found);
		if (rc < 0)
			return rc;
		if (found.kind != ENTRY_DIRECTORY)
			return found.kind == ENTRY_MISSING ? -ENOENT : -ENOTDIR;
		next = found.follow != NULL ? take_fd(found.fd) : source_open_directory(fd, name);
		if (next < 0)
			return next;
		(void)close(fd);
		fd = next;
		if (found.follow != NULL) {
			follow_unref(follow);
			follow = take(found.follow);
		}
		at += strlen(name);
	}
	if (fd >= 0)
		*ret_follow = take(follow);
	return take_fd(fd);
}
