// SPDX-License-Identifier: Apache-2.0
#include "fs/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fs/output/json.h"
#include "sanitize/classify.h"
#include "sanitize/cleanup.h"

#define AUDIT_FILE       "audit.jsonl"
#define AUDIT_LINE_MAX   ((size_t)64 << 10)
#define AUDIT_KEPT_BYTES ((size_t)8 << 20)

struct audit_line {
	char *text; // with its newline
	size_t len;
};

struct audit {
	int fd;               // -1: memory only
	pthread_mutex_t lock; // all below
	struct audit_line lines[AUDIT_KEPT];
	size_t first, count;
	size_t bytes;  // of the kept lines
	uint64_t lost; // lines that the file or the memory did not get
	bool torn;     // the file ends within a line
};

static bool ends_within_line(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char last;

	return end > 0 && (pread(fd, &last, 1, end - 1) != 1 || last != '\n');
}

int audit_open(const char *directory, struct audit **ret, struct error *error)
{
	CLEANUP(fd) int dir_fd = -1;
	CLEANUP(fd) int fd = -1;
	struct audit *audit;
	struct stat st;

	if (directory != NULL) {
		dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir_fd < 0)
			return error_set(error, -errno, "%s: %s", directory, strerror(errno));
		fd = openat(dir_fd, AUDIT_FILE,
			    O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
			    0600);
		if (fd < 0 || fstat(fd, &st) < 0)
			return error_set(error, -errno, "%s/%s: %s", directory, AUDIT_FILE, strerror(errno));
		if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
			return error_set(error, -EPERM, "%s/%s: not a file of our own", directory,
					 AUDIT_FILE);
		if ((st.st_mode & 077) != 0 && fchmod(fd, 0600) < 0)
			return error_set(error, -errno, "%s/%s: %s", directory, AUDIT_FILE, strerror(errno));
	}
	audit = calloc(1, sizeof(*audit));
	if (audit == NULL)
		return -ENOMEM;
	(void)pthread_mutex_init(&audit->lock, NULL);
	audit->torn = fd >= 0 && ends_within_line(fd);
	audit->fd = take_fd(fd);
	*ret = audit;
	return 0;
}

void audit_close(struct audit *audit)
{
	if (audit == NULL)
		return;
	for (size_t i = 0; i < audit->count; i++)
		free(audit->lines[(audit->first + i) % AUDIT_KEPT].text);
	if (audit->fd >= 0)
		(void)close(audit->fd);
	(void)pthread_mutex_destroy(&audit->lock);
	free(audit);
}

static void append_to_file(struct audit *audit, const char *text, size_t len)
{
	ssize_t done;

	if (audit->fd < 0)
		return;
	// A line that was cut short (disk full, crash) is ended first, so that it spoils itself only.
	if (audit->torn && write(audit->fd, "\n", 1) == 1)
		audit->torn = false;
	done = audit->torn ? -1 : write(audit->fd, text, len);
	if (done == (ssize_t)len)
		return;
	audit->lost++;
	audit->torn = audit->torn || done > 0;
}

static void drop_oldest(struct audit *audit)
{
	struct audit_line *line = &audit->lines[audit->first];

	audit->bytes -= line->len;
	free(line->text);
	*line = (struct audit_line){ NULL, 0 };
	audit->first = (audit->first + 1) % AUDIT_KEPT;
	audit->count--;
}

static int format_line(const char *event, json_t *fields, struct buf *ret)
{
	struct timespec now;
	struct tm tm;
	char text[64], stamp[96];
	json_t *line;
	int rc = -ENOMEM;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(stamp, sizeof(stamp), "%s.%03dZ", text, (int)(now.tv_nsec / 1000000));
	line = json_pack("{s:s, s:s}", "time", stamp, "event", event);
	if (line != NULL && (fields == NULL || json_object_update(line, fields) == 0))
		rc = json_append(ret, line, true);
	json_decref(line);
	if (rc == 0 && ret->len > AUDIT_LINE_MAX) {
		buf_clear(ret);
		rc = buf_printf(ret, "{\"time\":\"%s\",\"event\":\"%s\",\"omitted\":true}\n", stamp, event);
	}
	return rc;
}

void audit_event(struct audit *audit, const char *event, struct json_t *fields)
{
	CLEANUP(buf) struct buf line = BUF_INIT;
	int rc = format_line(event, fields, &line);
	struct audit_line *slot;

	json_decref(fields);
	(void)pthread_mutex_lock(&audit->lock);
	if (rc < 0) {
		audit->lost++;
	} else {
		append_to_file(audit, line.data, line.len);
		while (audit->count == AUDIT_KEPT ||
		       (audit->count > 0 && audit->bytes + line.len > AUDIT_KEPT_BYTES))
			drop_oldest(audit);
		slot = &audit->lines[(audit->first + audit->count) % AUDIT_KEPT];
		slot->len = line.len;
		slot->text = buf_detach(&line);
		audit->bytes += slot->len;
		audit->count++;
	}
	(void)pthread_mutex_unlock(&audit->lock);
}

static json_t *rule_ids(const struct findings *findings)
{
	json_t *ids = json_array();

	for (size_t i = 0; ids != NULL && i < findings->count && i < 1000; i++) {
		if (json_array_append_new(ids,
					  json_pack("{s:s, s:s, s:I}", "ruleId", findings->items[i].rule->id,
						    "severity", severity_name(findings->items[i].severity),
						    "lineNumber", (json_int_t)findings->items[i].line)) < 0) {
			json_decref(ids);
			ids = NULL;
		}
	}
	return ids;
}

void audit_snapshot(struct audit *audit, const char *path, const struct snapshot *snapshot)
{
	const char *slash = strrchr(path, '/');
	const struct report report = snapshot_report(snapshot);
	bool hidden = verdict_hides(snapshot->verdict);
	char hash[HASH_TEXT_SIZE];
	json_t *fields, *sanitize;

	hash_print(snapshot->hashes.plain, hash);
	// The matched text is a stranger's: it stands in `findings`, not in the log.
	fields = json_pack("{s:o, s:s, s:s, s:I, s:o}", "path", json_text(path), "class",
			   file_class_name((enum file_class)snapshot->cls), "verdict",
			   verdict_name((enum verdict)snapshot->verdict), "findingCount",
			   (json_int_t)(report.findings.count + report.findings.omitted), "findings",
			   rule_ids(snapshot_findings(snapshot)));
	if (fields != NULL && snapshot_notices(snapshot)->count > 0)
		(void)json_object_set_new(fields, "notices", json_notices(snapshot_notices(snapshot)));
	if (fields != NULL && !hidden)
		(void)json_object_set_new(fields, "hash", json_string(hash));
	audit_event(audit, hidden ? "skill.scan.reject" : "skill.scan", fields);
	if (hidden || !classify_is_skill_md(slash == NULL ? path : slash + 1))
		return;
	fields = json_pack("{s:o, s:I, s:s}", "path", json_text(path), "bodyLength",
			   (json_int_t)snapshot->size, "hash", hash);
	sanitize = json_sanitize(&report.stats);
	if (fields != NULL && sanitize != NULL)
		(void)json_object_update_missing(fields, sanitize);
	json_decref(sanitize);
	audit_event(audit, "skill.prompt.load", fields);
}

void audit_open_file(struct audit *audit, const char *path, const struct snapshot *snapshot, uid_t uid,
		     pid_t pid)
{
	char hash[HASH_TEXT_SIZE];

	hash_print(snapshot->hashes.plain, hash);
	audit_event(audit, "content.open",
		    json_pack("{s:o, s:s, s:s, s:I, s:I}", "path", json_text(path), "hash", hash, "verdict",
			      verdict_name((enum verdict)snapshot->verdict), "uid", (json_int_t)uid, "pid",
			      (json_int_t)pid));
}

uint64_t audit_lost(const struct audit *audit)
{
	struct audit *unlocked = (struct audit *)audit; // the lock is not part of what const promises
	uint64_t lost;

	(void)pthread_mutex_lock(&unlocked->lock);
	lost = audit->lost;
	(void)pthread_mutex_unlock(&unlocked->lock);
	return lost;
}

int audit_tail(struct audit *audit, struct buf *ret)
{
	int rc;

	(void)pthread_mutex_lock(&audit->lock);
	rc = buf_reserve(ret, audit->bytes);
	for (size_t i = 0; rc == 0 && i < audit->count; i++) {
		const struct audit_line *line = &audit->lines[(audit->first + i) % AUDIT_KEPT];

		rc = buf_append(ret, line->text, line->len);
	}
	(void)pthread_mutex_unlock(&audit->lock);
	return rc;
}
