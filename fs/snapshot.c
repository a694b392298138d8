// SPDX-License-Identifier: Apache-2.0
#include "fs/snapshot.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fs/cpu_budget.h"
#include "policy/manifest.h"
#include "policy/resolve.h"
#include "sanitize/classify.h"
#include "sanitize/cleanup.h"

#define READ_TRIES 4 // the first and three more

struct identity identity_of(const struct stat *st)
{
	return (struct identity){
		.dev = (uint64_t)st->st_dev,
		.ino = (uint64_t)st->st_ino,
		.size = (int64_t)st->st_size,
		.mtime = st->st_mtim,
		.ctime = st->st_ctim,
	};
}

bool identity_equal(const struct identity *a, const struct identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec &&
	       a->ctime.tv_sec == b->ctime.tv_sec && a->ctime.tv_nsec == b->ctime.tv_nsec;
}

static int read_all(int fd, size_t max, size_t expect, struct buf *ret)
{
	int rc = buf_reserve(ret, expect + 1);

	while (rc == 0) {
		ssize_t got;

		if (ret->len > max)
			return -EFBIG;
		rc = buf_reserve(ret, 4096);
		if (rc < 0)
			return rc;
		got = read(fd, ret->data + ret->len, ret->cap - ret->len - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		ret->len += (size_t)got;
	}
	if (rc == 0)
		ret->data[ret->len] = '\0';
	return rc;
}

// Reads one version of the file: what stood in it between two equal looks at its identity. -ESTALE when it keeps changing.
static int read_version(int dir_fd, const char *name, size_t max, struct stat *ret_stat, struct buf *ret)
{
	for (int i = 0; i < READ_TRIES; i++) {
		CLEANUP(fd) int fd = source_open_file(dir_fd, name);
		struct identity before, after;
		struct stat st;
		int rc;

		if (fd < 0)
			return fd;
		rc = source_stat(fd, &st);
		if (rc < 0)
			return rc;
		*ret_stat = st;
		if (!S_ISREG(st.st_mode))
			return -ENXIO;
		if ((uint64_t)st.st_size > max)
			return -EFBIG;
		before = identity_of(&st);
		buf_clear(ret);
		rc = read_all(fd, max, (size_t)st.st_size, ret);
		if (rc < 0 && rc != -EFBIG)
			return rc;
		if (source_stat(fd, &st) < 0)
			continue;
		after = identity_of(&st);
		if (rc == 0 && identity_equal(&before, &after) && ret->len == (size_t)st.st_size)
			return 0;
	}
	return -ESTALE;
}

static int hide_notice(int code, struct notices *notices)
{
	switch (code) {
	case -EFBIG:
		return notices_add(notices, NOTICE_FS_TOO_LARGE, 1, 0, NULL);
	case -ESTALE:
		return notices_add(notices, NOTICE_FS_CHANGED_WHILE_READING, 1, 0, NULL);
	case -ENXIO:
		return notices_add(notices, NOTICE_FS_SPECIAL_FILE, 1, 0, NULL);
	case -EXDEV:
		return notices_add(notices, NOTICE_FS_NESTED_MOUNT, 1, 0, NULL);
	default:
		return notices_add(notices, NOTICE_FS_UNREADABLE, 1, 0, strerror(-code));
	}
}

static void snapshot_free(struct snapshot *snapshot)
{
	report_release(&snapshot->report);
	free(snapshot->path);
	free(snapshot->tools);
	skill_restriction_release(&snapshot->restriction);
	free(snapshot);
}

struct snapshot *snapshot_ref(struct snapshot *snapshot)
{
	atomic_fetch_add_explicit(&snapshot->refs, 1, memory_order_relaxed);
	return snapshot;
}

void snapshot_unref(struct snapshot *snapshot)
{
	if (snapshot != NULL && atomic_fetch_sub_explicit(&snapshot->refs, 1, memory_order_acq_rel) == 1)
		snapshot_free(snapshot);
}

static struct snapshot *snapshot_new(const char *path)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (snapshot == NULL)
		return NULL;
	atomic_init(&snapshot->refs, 1);
	snapshot->verdict = VERDICT_ERROR;
	snapshot->path = strdup(path);
	if (snapshot->path == NULL) {
		free(snapshot);
		return NULL;
	}
	return snapshot;
}

// The effective tools of the skill whose SKILL.md this is, as a comma list.
static int skill_tools(const struct snapshot_context *context, const char *text, size_t len,
		       struct snapshot *snapshot)
{
	struct effective_tools effective = { 0 };
	struct manifest manifest = { 0 };
	CLEANUP(strv) struct strv known = { 0 };
	CLEANUP(buf) struct buf list = BUF_INIT;
	int rc;

	rc = manifest_parse(text, len, &manifest);
	if (rc == 0 && manifest.restriction.kind == RESTRICTION_UNREADABLE)
		rc = notices_add(&snapshot->report.notices, NOTICE_SKILL_RESTRICTION_UNREADABLE, 1, 1, NULL);
	if (rc == 0)
		rc = known_tools(context->agent, &known);
	if (rc == 0)
		rc = resolve_tools(&context->agent->tool_policy, &known, &manifest.restriction, &effective);
	for (size_t i = 0; rc == 0 && i < effective.tools.count; i++) {
		if (i > 0)
			rc = buf_append_byte(&list, ',');
		if (rc == 0)
			rc = buf_append_string(&list, effective.tools.items[i]);
	}
	effective_tools_release(&effective);
	snapshot->restriction = manifest.restriction;
	manifest.restriction = (struct skill_restriction){ 0 };
	manifest_release(&manifest);
	if (rc < 0)
		return rc;
	snapshot->tools = buf_detach(&list);
	return snapshot->tools == NULL ? -ENOMEM : 0;
}

int snapshot_build(const struct snapshot_context *context, int dir_fd, const char *name, const char *path,
		   struct snapshot **ret, struct buf *ret_body)
{
	CLEANUP(snapshot) struct snapshot *snapshot = snapshot_new(path);
	CLEANUP(buf) struct buf source = BUF_INIT;
	CLEANUP(buf) struct buf body = BUF_INIT;
	struct inspect_options options = {
		.max_body_length = context->agent->max_body_length,
		.scan = context->agent->scanning_enabled,
	};
	struct cpu_budget budget;
	enum verdict verdict;
	int rc;

	if (snapshot == NULL)
		return -ENOMEM;
	cpu_budget_begin(&budget, context->config->mount.scan_time_ms);
	options.budget = &budget.budget;
	options.budget_text = budget.limit;
	options.has_class = config_class(context->config, path, &options.cls);
	rc = read_version(dir_fd, name, (size_t)context->config->mount.max_file_size, &snapshot->st, &source);
	if (rc == -ENOMEM)
		return rc;
	snapshot->identity = identity_of(&snapshot->st);
	if (rc < 0) {
		snapshot->report.cls = options.has_class ? options.cls : classify(name, "", 0);
		rc = hide_notice(rc, &snapshot->report.notices);
		if (rc < 0)
			return rc;
		*ret = take(snapshot);
		return 0;
	}

	rc = inspect(context->scanner, &options, name, source.data, source.len, &snapshot->report);
	if (rc == -EFBIG) {
		rc = notices_add(&snapshot->report.notices, NOTICE_SCAN_LIMIT, 1, 0, "size of the body");
		if (rc < 0)
			return rc;
		*ret = take(snapshot);
		return 0;
	}
	if (rc < 0)
		return rc;
	body = snapshot->report.verbatim ? source : snapshot->report.body;
	*(snapshot->report.verbatim ? &source : &snapshot->report.body) = BUF_INIT;
	verdict = verdict_decide(context->config, context->agent, &snapshot->report);
	if (!verdict_hides(verdict)) {
		snapshot->size = body.len;
		hash_text(body.data, body.len, snapshot->hash);
		if (classify_is_skill_md(name)) {
			rc = skill_tools(context, body.data, body.len, snapshot);
			if (rc < 0)
				return rc;
		}
		if (ret_body != NULL) {
			buf_release(ret_body);
			*ret_body = body;
			body = BUF_INIT;
		}
	}
	snapshot->verdict = verdict;
	*ret = take(snapshot);
	return 0;
}

int snapshot_build_hidden(enum entry_kind kind, const char *path, const struct stat *st, const char *detail,
			  struct snapshot **ret)
{
	static const enum notice_code codes[] = {
		[ENTRY_MISSING] = NOTICE_FS_UNREADABLE,        [ENTRY_DIRECTORY] = NOTICE_FS_UNREADABLE,
		[ENTRY_FILE] = NOTICE_FS_UNREADABLE,           [ENTRY_LINK] = NOTICE_FS_UNREADABLE,
		[ENTRY_ESCAPE] = NOTICE_FS_SYMLINK_ESCAPE,     [ENTRY_SPECIAL] = NOTICE_FS_SPECIAL_FILE,
		[ENTRY_NESTED_MOUNT] = NOTICE_FS_NESTED_MOUNT, [ENTRY_RESERVED] = NOTICE_FS_RESERVED_NAME,
	};
	CLEANUP(snapshot) struct snapshot *snapshot = snapshot_new(path);
	int rc;

	if (snapshot == NULL)
		return -ENOMEM;
	snapshot->special = true;
	snapshot->st = *st;
	snapshot->identity = identity_of(st);
	snapshot->report.cls = CLASS_BINARY;
	rc = notices_add(&snapshot->report.notices, codes[kind], 1, 0, detail);
	if (rc < 0)
		return rc;
	*ret = take(snapshot);
	return 0;
}
