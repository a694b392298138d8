// SPDX-License-Identifier: Apache-2.0
#include "fs/output/scan.h"

#include <errno.h>

#include "sanitize/classify.h"
#include "sanitize/cleanup.h"

static int put(struct scan_writer *writer)
{
	return writer_flush(&writer->out);
}

// Takes the reference.
static int put_json(struct scan_writer *writer, json_t *value, bool line)
{
	int rc = json_append(&writer->line, value, line);

	json_decref(value);
	return rc < 0 ? rc : put(writer);
}

// Takes the reference of `frame`, where the findings belong.
static int put_file(struct scan_writer *writer, json_t *frame, const struct snapshot *snapshot, bool line)
{
	int rc = json_stream_findings(&writer->json, &writer->out, frame, snapshot_findings(snapshot), line);

	return rc < 0 ? rc : put(writer);
}

static json_t *summary_value(const struct scan_writer *writer)
{
	const struct scan_summary *summary = &writer->summary;
	json_t *by_rule = json_object(), *value;

	for (size_t i = 0; by_rule != NULL && i < scanner_rule_count(writer->scanner); i++)
		if (summary->by_rule[i] > 0 &&
		    json_object_set_new(by_rule, scanner_rule(writer->scanner, i)->id,
					json_integer((json_int_t)summary->by_rule[i])) < 0) {
			json_decref(by_rule);
			by_rule = NULL;
		}
	value = json_pack("{s:I, s:I, s:I, s:{s:I, s:I}, s:o}", "files", (json_int_t)summary->files, "skills",
			  (json_int_t)summary->skills, "hidden", (json_int_t)summary->hidden, "bySeverity",
			  "CRITICAL", (json_int_t)summary->critical, "WARN", (json_int_t)summary->warn,
			  "byRule", by_rule);
	return value;
}

static int json_begin(struct scan_writer *writer)
{
	int rc = buf_append_string(&writer->line, "{\"version\":\"" SKILLFS_VERSION "\",\"ruleset\":");
	json_t *ruleset = json_text(scanner_ruleset(writer->scanner));

	if (rc == 0)
		rc = json_append(&writer->line, ruleset, false);
	json_decref(ruleset);
	if (rc == 0)
		rc = buf_append_string(&writer->line, ",\"files\":[");
	return rc < 0 ? rc : put(writer);
}

static int json_one(struct scan_writer *writer, const char *path, const struct snapshot *snapshot,
		    const char *source, size_t len)
{
	int rc = buf_append_string(&writer->line, writer->summary.files > 1 ? ",\n" : "\n");

	(void)source;
	(void)len;
	return rc < 0 ? rc : put_file(writer, json_file(path, snapshot), snapshot, false);
}

// The summary can only be known last, and a JSON object has no order.
static int json_end(struct scan_writer *writer)
{
	int rc = buf_append_string(&writer->line, "\n],\"summary\":");

	if (rc == 0)
		rc = put_json(writer, summary_value(writer), false);
	if (rc == 0)
		rc = buf_append_string(&writer->line, "}\n");
	return rc < 0 ? rc : put(writer);
}

static int json_body(struct scan_writer *writer, const struct snapshot *snapshot, const char *source,
		     size_t len)
{
	bool clean = snapshot_findings(snapshot)->count == 0 && snapshot->verdict != VERDICT_ERROR;

	(void)source;
	(void)len;
	return put_file(writer,
			json_pack("{s:b, s:s, s:[], s:o}", "clean", clean, "verdict",
				  verdict_name((enum verdict)snapshot->verdict), "findings", "notices",
				  json_notices(snapshot_notices(snapshot))),
			snapshot, true);
}

static int jsonl_file(struct scan_writer *writer, const char *path, const struct snapshot *snapshot,
		      const char *source, size_t len)
{
	(void)source;
	(void)len;
	return put_file(writer, json_file(path, snapshot), snapshot, true);
}

static int text_one(struct scan_writer *writer, const char *path, const struct snapshot *snapshot,
		    const char *source, size_t len)
{
	const struct report report = snapshot_report(snapshot);
	int rc = text_file(&writer->out, &writer->style, path, &report, (enum verdict)snapshot->verdict,
			   source, len);

	return rc < 0 ? rc : put(writer);
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static int text_end(struct scan_writer *writer)
{
	const struct scan_summary *summary = &writer->summary;
	int rc = buf_printf(&writer->line, "%ju file%s in %ju skill%s: %ju hidden; %ju CRITICAL, %ju WARN",
			    (uintmax_t)summary->files, plural(summary->files), (uintmax_t)summary->skills,
			    plural(summary->skills), (uintmax_t)summary->hidden, (uintmax_t)summary->critical,
			    (uintmax_t)summary->warn);

	if (rc == 0 && summary->noted > 0 && !writer->style.verbose)
		rc = buf_printf(&writer->line, "; %ju clean with routine notices (-v shows them)",
				(uintmax_t)summary->noted);
	if (rc == 0)
		rc = buf_append_byte(&writer->line, '\n');
	return rc < 0 ? rc : put(writer);
}

#define STANDARD_INPUT "(standard input)"

static int text_body(struct scan_writer *writer, const struct snapshot *snapshot, const char *source,
		     size_t len)
{
	int rc = text_one(writer, STANDARD_INPUT, snapshot, source, len);

	if (rc == 0)
		rc = buf_printf(&writer->line, "%s: %s\n", STANDARD_INPUT,
				verdict_name((enum verdict)snapshot->verdict));
	return rc < 0 ? rc : put(writer);
}

static int jsonl_body(struct scan_writer *writer, const struct snapshot *snapshot, const char *source,
		      size_t len)
{
	return jsonl_file(writer, "-", snapshot, source, len);
}

const struct scan_format scan_formats[] = {
	{ .name = "text", .needs_source = true, .file = text_one, .end = text_end, .body = text_body },
	{ .name = "json", .begin = json_begin, .file = json_one, .end = json_end, .body = json_body },
	{ .name = "jsonl", .file = jsonl_file, .body = jsonl_body },
	{ .name = "sarif" },
	{ .name = "html" },
};
const size_t scan_format_count = ARRAY_SIZE(scan_formats);

const struct scan_format *scan_format_find(const char *name)
{
	for (size_t i = 0; i < scan_format_count; i++)
		if (strcmp(scan_formats[i].name, name) == 0)
			return &scan_formats[i];
	return NULL;
}

int scan_init(struct scan_writer *writer, FILE *out, const struct scan_format *format,
	      const struct scanner *scanner, const struct text_style *style)
{
	*writer = (struct scan_writer){
		.out = { &writer->line, out }, .format = format, .scanner = scanner, .style = *style
	};
	writer->summary.by_rule = calloc(scanner_rule_count(scanner) + 1, sizeof(uint64_t));
	return writer->summary.by_rule == NULL ? -ENOMEM : 0;
}

int scan_begin(struct scan_writer *writer)
{
	return writer->format->begin == NULL ? 0 : writer->format->begin(writer);
}

static void count_finding(struct scan_writer *writer, const struct finding *finding)
{
	struct scan_summary *summary = &writer->summary;

	if (finding->severity == SEVERITY_CRITICAL)
		summary->critical++;
	else
		summary->warn++;
	for (size_t i = 0; i < scanner_rule_count(writer->scanner); i++)
		if (scanner_rule(writer->scanner, i) == finding->rule) {
			summary->by_rule[i]++;
			break;
		}
}

static bool has_routine_notice(const struct notices *notices)
{
	for (size_t i = 0; i < notices->count; i++)
		if (text_notice_routine(notices->items[i].code))
			return true;
	return false;
}

int scan_file(struct scan_writer *writer, const char *path, const struct snapshot *snapshot,
	      const char *source, size_t len)
{
	struct scan_summary *summary = &writer->summary;
	const char *slash = strrchr(path, '/');

	summary->files++;
	if (classify_is_skill_md(slash == NULL ? path : slash + 1))
		summary->skills++;
	if (verdict_hides(snapshot->verdict))
		summary->hidden++;
	if (snapshot->verdict == VERDICT_CLEAN && has_routine_notice(snapshot_notices(snapshot)))
		summary->noted++;
	for (size_t i = 0; i < snapshot_findings(snapshot)->count; i++)
		count_finding(writer, &snapshot_findings(snapshot)->items[i]);
	return writer->format->file(writer, path, snapshot, source, len);
}

int scan_end(struct scan_writer *writer)
{
	return writer->format->end == NULL ? 0 : writer->format->end(writer);
}

int scan_body(struct scan_writer *writer, const struct snapshot *snapshot, const char *source, size_t len)
{
	return writer->format->body(writer, snapshot, source, len);
}

void scan_release(struct scan_writer *writer)
{
	free(writer->summary.by_rule);
	json_stream_release(&writer->json);
	buf_release(&writer->line);
}
