// SPDX-License-Identifier: Apache-2.0
#include "fs/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/cpu_budget.h"
#include "policy/manifest.h"
#include "policy/resolve.h"
#include "sanitize/classify.h"
#include "sanitize/cleanup.h"

#define READ_TRIES 4 // the first and three more
#define PIECE      ((size_t)256 << 10)

static inline void cleanup_hash(struct hash_state **state)
{
	hash_free(*state);
}

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

// One version of a file: its report and what is served. Both are empty until it was read to the end.
struct version {
	struct stat st;
	bool inspected;
	struct report report;
	struct buf body;
	char hash[HASH_TEXT_SIZE]; // of the body, when `hashed`
	bool hashed;
};

static inline void cleanup_version(struct version *version)
{
	if (version->inspected)
		report_release(&version->report);
	buf_release(&version->body);
}

struct build {
	const struct snapshot_context *context;
	const struct inspect_options *options;
	const char *name;
	bool keep; // the body is wanted
};

static ssize_t read_some(int fd, char *data, size_t len)
{
	ssize_t got;

	do
		got = read(fd, data, len);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
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
		got = read_some(fd, ret->data + ret->len, ret->cap - ret->len - 1);
		if (got < 0)
			return (int)got;
		if (got == 0)
			break;
		ret->len += (size_t)got;
	}
	if (rc == 0)
		ret->data[ret->len] = '\0';
	return rc;
}

// Reads and inspects in pieces. -EFBIG when there is more than `max`, now.
static int inspect_pieces(const struct build *build, int fd, size_t max, struct version *version,
			  size_t *ret_len)
{
	CLEANUP(inspector) struct inspector *inspector = NULL;
	CLEANUP(hash) struct hash_state *hash = hash_begin();
	CLEANUP(free) char *piece = malloc(PIECE);
	size_t len = 0;
	int rc;

	if (hash == NULL || piece == NULL)
		return -ENOMEM;
	rc = inspector_begin(build->context->scanner, build->options, build->name, build->keep, &inspector);
	while (rc == 0) {
		ssize_t got = read_some(fd, piece, PIECE);

		if (got < 0)
			return (int)got;
		if (got == 0)
			break;
		len += (size_t)got;
		if (len > max)
			return -EFBIG;
		hash_update(hash, piece, (size_t)got);
		rc = inspector_feed(inspector, piece, (size_t)got);
	}
	// After a limit the rest is of no interest.
	*ret_len = rc == -EOVERFLOW ? SIZE_MAX : len;
	if (rc == 0 || rc == -EOVERFLOW)
		rc = inspector_end(inspector, &version->report, &version->body);
	if (rc < 0)
		return rc;
	version->inspected = true;
	version->hashed = version->report.verbatim;
	hash_end(hash, version->hash);
	return 0;
}

// Reads and inspects one version of the file: what stood in it between two equal looks at its identity. -ESTALE when it
// keeps changing.
static int read_version(const struct build *build, int dir_fd, struct version *ret)
{
	const size_t max = (size_t)build->context->config->mount.max_file_size;

	for (int i = 0; i < READ_TRIES; i++) {
		CLEANUP(fd) int fd = source_open_file(dir_fd, build->name);
		CLEANUP(version) struct version version = { .inspected = false };
		struct identity before, after;
		bool large;
		size_t len = 0;
		struct stat st;
		int rc;

		if (fd < 0)
			return fd;
		rc = source_stat(fd, &version.st);
		if (rc < 0)
			return rc;
		ret->st = version.st;
		if (!S_ISREG(version.st.st_mode))
			return -ENXIO;
		if ((uint64_t)version.st.st_size > max)
			return -EFBIG;
		before = identity_of(&version.st);
		large = (uint64_t)version.st.st_size > INSPECT_WHOLE;
		if (large) {
			rc = inspect_pieces(build, fd, max, &version, &len);
		} else {
			rc = read_all(fd, max, (size_t)version.st.st_size, &version.body);
			len = version.body.len;
		}
		if (rc < 0 && rc != -EFBIG)
			return rc;
		if (source_stat(fd, &st) < 0)
			continue;
		after = identity_of(&st);
		if (rc < 0 || !identity_equal(&before, &after) ||
		    (len != (size_t)st.st_size && len != SIZE_MAX))
			continue;
		if (!large) {
			rc = inspect(build->context->scanner, build->options, build->name, version.body.data,
				     len, &version.report);
			if (rc < 0)
				return rc;
			version.inspected = true;
		}
		if (!version.report.verbatim) {
			buf_release(&version.body);
			version.body = version.report.body;
			version.report.body = BUF_INIT;
		}
		*ret = version;
		version = (struct version){ .inspected = false };
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
	CLEANUP(version) struct version version = { .inspected = false };
	struct inspect_options options = {
		.max_body_length = context->agent->max_body_length,
		.scan = context->agent->scanning_enabled,
	};
	const bool is_manifest = classify_is_skill_md(name);
	const struct build build = { context, &options, name, ret_body != NULL || is_manifest };
	struct cpu_budget budget;
	enum verdict verdict;
	int rc;

	if (snapshot == NULL)
		return -ENOMEM;
	cpu_budget_begin(&budget, context->config->mount.scan_time_ms);
	options.budget = &budget.budget;
	options.budget_text = budget.limit;
	options.has_class = config_class(context->config, path, &options.cls);
	rc = read_version(&build, dir_fd, &version);
	if (rc == -ENOMEM)
		return rc;
	snapshot->st = version.st;
	snapshot->identity = identity_of(&snapshot->st);
	if (rc < 0) {
		snapshot->report.cls = options.has_class ? options.cls : classify(name, "", 0);
		rc = hide_notice(rc, &snapshot->report.notices);
		if (rc < 0)
			return rc;
		*ret = take(snapshot);
		return 0;
	}

	snapshot->report = version.report;
	version.inspected = false; // the report is the snapshot's
	verdict = verdict_decide(context->config, context->agent, &snapshot->report);
	if (!verdict_hides(verdict)) {
		// What came in pieces and is served as it came may not have been kept.
		snapshot->size = version.hashed ? snapshot->report.stats.source_size : version.body.len;
		if (version.hashed)
			memcpy(snapshot->hash, version.hash, sizeof(snapshot->hash));
		else
			hash_text(version.body.data, version.body.len, snapshot->hash);
		if (is_manifest) {
			rc = skill_tools(context, version.body.data, version.body.len, snapshot);
			if (rc < 0)
				return rc;
		}
		if (ret_body != NULL) {
			buf_release(ret_body);
			*ret_body = version.body;
			version.body = BUF_INIT;
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
