// SPDX-License-Identifier: Apache-2.0
#include "fs/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/cpu_budget.h"
#include "fs/spool.h"
#include "policy/manifest.h"
#include "policy/resolve.h"
#include "sanitize/classify.h"
#include "sanitize/cleanup.h"

#define READ_TRIES 4 // the first and three more
#define PIECE      ((size_t)256 << 10)

// Findings that a mount keeps: of one file, of all before it gets scarce, and of one file then.
#define FINDINGS_FILE   1000
#define FINDINGS_ALL    100000
#define FINDINGS_SCARCE 20

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

// One version of a file: its report and what is served. All is empty until it was read to the end.
struct version {
	struct stat st;
	bool inspected;
	struct report report;
	struct buf body;
	struct copy
		copy; // of the source, when it came in pieces and is wanted: the body when the report is verbatim
	int copy_error;       // why there is none
	struct hashes hashes; // of the source, when `hashed`
	bool hashed;
};

static inline void cleanup_version(struct version *version)
{
	if (version->inspected)
		report_release(&version->report);
	buf_release(&version->body);
	copy_discard(&version->copy);
}

struct build {
	const struct snapshot_context *context;
	const struct inspect_options *options;
	const char *file; // in its directory
	const char *name; // as shown: a followed link's own
	enum body_wanted wanted;
	bool is_manifest;
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
		if (ret->cap - ret->len < 2)
			rc = buf_reserve(ret, PIECE); // it grew
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

// Where a copy of the source is to go while it is read.
static void begin_copy(const struct build *build, struct version *version)
{
	if (build->wanted != BODY_NONE && build->context->spool != NULL)
		version->copy_error = copy_begin(build->context->spool, (uint64_t)version->st.st_size,
						 build->wanted == BODY_WANTED, &version->copy);
}

static void append_to_copy(struct version *version, const char *data, size_t len)
{
	if (version->copy.spool == NULL)
		return;
	version->copy_error = copy_append(&version->copy, data, len);
	if (version->copy_error < 0)
		copy_discard(&version->copy);
}

// Reads and inspects in pieces. -EFBIG when there is more than `max`, now.
static int inspect_pieces(const struct build *build, int fd, size_t max, struct version *version,
			  size_t *ret_len)
{
	CLEANUP(inspector) struct inspector *inspector = NULL;
	CLEANUP(hash) struct hash_state *hash = hash_begin();
	CLEANUP(free) char *piece = malloc(PIECE);
	bool keep = build->is_manifest || (build->wanted != BODY_NONE && build->context->spool == NULL);
	size_t len = 0;
	int rc;

	if (hash == NULL || piece == NULL)
		return -ENOMEM;
	begin_copy(build, version);
	rc = inspector_begin(build->context->scanner, build->options, build->name, keep, &inspector);
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
		append_to_copy(version, piece, (size_t)got);
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
	hash_end(hash, &version->hashes);
	return 0;
}

// Reads and inspects one version of the file: what stood in it between two equal looks at its identity. -ESTALE when it
// keeps changing.
static int read_version(const struct build *build, int dir_fd, struct version *ret)
{
	const size_t max = (size_t)build->context->config->mount.max_file_size;

	for (int i = 0; i < READ_TRIES; i++) {
		CLEANUP(fd) int fd = source_open_file(dir_fd, build->file);
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
			copy_discard(&version.copy);
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

static int too_large_notice(uint64_t size, const char *key, uint64_t limit, struct notices *notices)
{
	CLEANUP(free) char *detail = NULL;

	if (asprintf(&detail, "%ju bytes; %s is %ju", (uintmax_t)size, key, (uintmax_t)limit) < 0) {
		detail = NULL;
		return -ENOMEM;
	}
	return notices_add(notices, NOTICE_FS_TOO_LARGE, 1, 0, detail);
}

static int hide_notice(int code, const struct mount_config *mount, const struct stat *st,
		       struct notices *notices)
{
	switch (code) {
	case -EFBIG:
		return too_large_notice((uint64_t)st->st_size, "mount.maxFileSize", mount->max_file_size,
					notices);
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

// How many findings all snapshots together hold, of those that were made with `few_findings` and those that were not.
static atomic_size_t findings_held;

static void keep_few_findings(struct findings *findings)
{
	findings_keep(findings, atomic_load(&findings_held) < FINDINGS_ALL ? FINDINGS_FILE : FINDINGS_SCARCE);
}

static void snapshot_free(struct snapshot *snapshot)
{
	if (snapshot->report != NULL) {
		atomic_fetch_sub(&findings_held, snapshot->report->findings.count);
		report_release(snapshot->report);
	}
	free(snapshot->report);
	if (snapshot->skill != NULL) {
		free(snapshot->skill->tools);
		skill_restriction_release(&snapshot->skill->restriction);
	}
	free(snapshot->skill);
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

static struct snapshot *snapshot_new(void)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (snapshot == NULL)
		return NULL;
	atomic_init(&snapshot->refs, 1);
	snapshot->verdict = VERDICT_ERROR;
	return snapshot;
}

static void set_source(struct snapshot *snapshot, const struct stat *st)
{
	snapshot->identity = identity_of(st);
	snapshot->mode = st->st_mode;
	snapshot->uid = st->st_uid;
	snapshot->gid = st->st_gid;
	snapshot->nlink = st->st_nlink < UINT32_MAX ? (uint32_t)st->st_nlink : UINT32_MAX;
}

void snapshot_stat(const struct snapshot *snapshot, struct stat *ret)
{
	*ret = (struct stat){
		.st_mode = snapshot->mode & (S_IFMT | 0555),
		.st_nlink = snapshot->nlink,
		.st_uid = snapshot->uid,
		.st_gid = snapshot->gid,
		.st_size = (off_t)snapshot->size,
		.st_blksize = 4096,
		.st_blocks = (blkcnt_t)((snapshot->size + 511) / 512),
		.st_atim = snapshot->identity.mtime, // reading leaves no trace
		.st_mtim = snapshot->identity.mtime,
		.st_ctim = snapshot->identity.ctime,
	};
}

// Whether the report says no more than the snapshot does.
static bool is_plain(const struct report *report, size_t size)
{
	const struct sanitize_stats *stats = &report->stats;

	return report->verbatim && !report->scan_failed && report->findings.count == 0 &&
	       report->notices.count == 0 && stats->html_comments_stripped == 0 && !stats->truncated &&
	       !stats->tag_block_detected && stats->invisible_stripped == 0 && !stats->normalized &&
	       stats->source_size == size && stats->size == size;
}

struct report snapshot_report(const struct snapshot *snapshot)
{
	if (snapshot->report != NULL)
		return *snapshot->report;
	return (struct report){ .cls = (enum file_class)snapshot->cls,
				.verbatim = true,
				.stats = { .source_size = snapshot->size, .size = snapshot->size } };
}

const struct findings *snapshot_findings(const struct snapshot *snapshot)
{
	static const struct findings none = { NULL, 0, 0, 0 };

	return snapshot->report == NULL ? &none : &snapshot->report->findings;
}

const struct notices *snapshot_notices(const struct snapshot *snapshot)
{
	static const struct notices none = { NULL, 0, 0 };

	return snapshot->report == NULL ? &none : &snapshot->report->notices;
}

// Takes the report over, and keeps what of it is worth telling.
static int set_report(struct snapshot *snapshot, struct report *report)
{
	snapshot->cls = (uint8_t)report->cls;
	buf_release(&report->body);
	if (is_plain(report, snapshot->size)) {
		report_release(report);
		return 0;
	}
	snapshot->report = malloc(sizeof(*report));
	if (snapshot->report == NULL) {
		report_release(report);
		return -ENOMEM;
	}
	*snapshot->report = *report;
	atomic_fetch_add(&findings_held, report->findings.count);
	return 0;
}

int snapshot_of_report(enum verdict verdict, struct report *report, struct snapshot **ret)
{
	CLEANUP(snapshot) struct snapshot *snapshot = snapshot_new();
	int rc;

	if (snapshot == NULL) {
		report_release(report);
		return -ENOMEM;
	}
	snapshot->verdict = (uint8_t)verdict;
	snapshot->size = verdict_hides(verdict) ? 0 : report->stats.size;
	rc = set_report(snapshot, report);
	if (rc == 0)
		*ret = take(snapshot);
	return rc;
}

// The effective tools of the skill whose SKILL.md this is, as a comma list.
static int skill_tools(const struct snapshot_context *context, const char *text, size_t len,
		       struct snapshot *snapshot, struct notices *notices)
{
	struct effective_tools effective = { 0 };
	struct manifest manifest = { 0 };
	CLEANUP(strv) struct strv known = { 0 };
	CLEANUP(buf) struct buf list = BUF_INIT;
	int rc;

	snapshot->skill = calloc(1, sizeof(*snapshot->skill));
	if (snapshot->skill == NULL)
		return -ENOMEM;
	rc = manifest_parse(text, len, &manifest);
	if (rc == 0 && manifest.restriction.kind == RESTRICTION_UNREADABLE)
		rc = notices_add(notices, NOTICE_SKILL_RESTRICTION_UNREADABLE, 1, 1, NULL);
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
	snapshot->skill->restriction = manifest.restriction;
	manifest.restriction = (struct skill_restriction){ 0 };
	manifest_release(&manifest);
	if (rc < 0)
		return rc;
	snapshot->skill->tools = buf_detach(&list);
	return snapshot->skill->tools == NULL ? -ENOMEM : 0;
}

// The served bytes as a body. -EFBIG, -ENOSPC and what else the spool has against it.
static int make_body(const struct build *build, struct version *version, const struct digest *digest,
		     struct body **ret)
{
	struct spool *spool = build->context->spool;
	int rc;

	if (version->copy.spool != NULL)
		return copy_finish(&version->copy, digest, ret);
	if (version->hashed && version->body.data == NULL && version->report.stats.source_size > 0)
		return version->copy_error;
	if (spool == NULL || version->body.len <= BODY_IN_MEMORY) {
		*ret = body_new(&version->body, digest);
		return *ret == NULL ? -ENOMEM : 0;
	}
	rc = copy_begin(spool, version->body.len, build->wanted == BODY_WANTED, &version->copy);
	if (rc == 0)
		rc = copy_append(&version->copy, version->body.data, version->body.len);
	return rc < 0 ? rc : copy_finish(&version->copy, digest, ret);
}

// Fills in what is served. The verdict is known and does not hide.
static int serve(const struct build *build, struct version *version, struct snapshot *snapshot,
		 struct body_request *request)
{
	int rc = 0;

	// What came in pieces and is served as it came may not have been kept.
	snapshot->size = version->hashed ? version->report.stats.source_size : version->body.len;
	if (version->hashed)
		snapshot->hashes = version->hashes;
	else
		hash_bytes(version->body.data, version->body.len, &snapshot->hashes);
	if (build->is_manifest)
		rc = skill_tools(build->context, version->body.data, version->body.len, snapshot,
				 &version->report.notices);
	if (rc == 0 && request != NULL && request->wanted != BODY_NONE)
		request->error = make_body(build, version, &snapshot->hashes.digest, &request->body);
	return rc;
}

int snapshot_build(const struct snapshot_context *context, int dir_fd, const char *name, const char *path,
		   struct snapshot **ret, struct body_request *body)
{
	CLEANUP(snapshot) struct snapshot *snapshot = snapshot_new();
	CLEANUP(version) struct version version = { .inspected = false };
	const struct mount_config *mount = &context->config->mount;
	struct inspect_options options = {
		.max_body_length = context->agent->max_body_length,
		.scan = context->agent->scanning_enabled,
	};
	const char *slash = strrchr(path, '/');
	const char *shown = slash == NULL ? path : slash + 1;
	const struct build build = { context,
				     &options,
				     name,
				     shown,
				     body == NULL ? BODY_NONE : body->wanted,
				     classify_is_skill_md(shown) };
	struct cpu_budget budget;
	int rc;

	if (snapshot == NULL)
		return -ENOMEM;
	cpu_budget_begin(&budget, mount->scan_time_ms);
	options.budget = &budget.budget;
	options.budget_text = budget.limit;
	options.has_class = config_class(context->config, path, &options.cls);
	rc = read_version(&build, dir_fd, &version);
	if (rc == -ENOMEM)
		return rc;
	set_source(snapshot, &version.st);
	if (rc < 0) {
		version.report =
			(struct report){ .cls = options.has_class ? options.cls : classify(shown, "", 0) };
		version.inspected = true;
		snapshot->passing = rc != -EFBIG && rc != -ENXIO && rc != -EXDEV && rc != -EACCES &&
				    rc != -EPERM && rc != -ELOOP;
		rc = hide_notice(rc, mount, &version.st, &version.report.notices);
	} else {
		uint64_t size = version.hashed ? version.report.stats.source_size : version.body.len;

		snapshot->verdict = (uint8_t)verdict_decide(context->config, context->agent, &version.report);
		if (!verdict_hides(snapshot->verdict) && size > BODY_IN_MEMORY && size > mount->spool_size) {
			snapshot->verdict = VERDICT_ERROR;
			rc = too_large_notice(size, "mount.spoolSize", mount->spool_size,
					      &version.report.notices);
		} else if (!verdict_hides(snapshot->verdict)) {
			rc = serve(&build, &version, snapshot, body);
		}
	}
	if (context->few_findings)
		keep_few_findings(&version.report.findings);
	version.inspected = rc < 0; // else the report is the snapshot's
	if (rc == 0)
		rc = set_report(snapshot, &version.report);
	if (rc < 0) {
		if (body != NULL)
			body_unref(take(body->body));
		return rc;
	}
	*ret = take(snapshot);
	return 0;
}

int snapshot_build_hidden(enum entry_kind kind, const struct stat *st, const char *detail,
			  struct snapshot **ret)
{
	static const enum notice_code codes[] = {
		[ENTRY_MISSING] = NOTICE_FS_UNREADABLE,        [ENTRY_DIRECTORY] = NOTICE_FS_UNREADABLE,
		[ENTRY_FILE] = NOTICE_FS_UNREADABLE,           [ENTRY_LINK] = NOTICE_FS_UNREADABLE,
		[ENTRY_ESCAPE] = NOTICE_FS_SYMLINK_ESCAPE,     [ENTRY_SPECIAL] = NOTICE_FS_SPECIAL_FILE,
		[ENTRY_NESTED_MOUNT] = NOTICE_FS_NESTED_MOUNT, [ENTRY_RESERVED] = NOTICE_FS_RESERVED_NAME,
	};
	struct report report = { .cls = CLASS_BINARY };
	struct snapshot *snapshot;
	int rc = notices_add(&report.notices, codes[kind], 1, 0, detail);

	if (rc < 0)
		return rc;
	rc = snapshot_of_report(VERDICT_ERROR, &report, &snapshot);
	if (rc < 0)
		return rc;
	snapshot->special = true;
	set_source(snapshot, st);
	*ret = snapshot;
	return 0;
}
