// SPDX-License-Identifier: Apache-2.0
//
// One file through classification, the pipeline and the scanner. Every form of the bytes that somebody could
// read is scanned: as they are, sanitized, and as they are served; a match seen in more than one form is one
// finding.
#include "sanitize/inspect.h"

#include <errno.h>
#include <string.h>

#include "sanitize/classify.h"
#include "sanitize/cleanup.h"
#include "sanitize/edit.h"
#include "sanitize/hits.h"
#include "sanitize/place.h"

static inline void cleanup_matches(struct matches *matches)
{
	matches_release(matches);
}

static inline void cleanup_notices(struct notices *notices)
{
	notices_release(notices);
}

void report_release(struct report *report)
{
	buf_release(&report->body);
	findings_release(&report->findings);
	notices_release(&report->notices);
}

struct inspection {
	const struct scanner *scanner;
	const struct inspect_options *options;
	const char *data;
	size_t len;
	struct report report;
	struct hits hits;
	// What the hits point into, beside `data`.
	struct cleaned cleaned;
	struct cleaned copy;
};

static inline void cleanup_inspection(struct inspection *inspection)
{
	report_release(&inspection->report);
	hits_release(&inspection->hits);
	cleaned_release(&inspection->cleaned);
	cleaned_release(&inspection->copy);
}

int report_note_limit(struct report *report, const struct inspect_options *options, const char *what)
{
	if (budget_is_spent(options->budget))
		what = options->budget_text != NULL ? options->budget_text : "time";
	return notices_add(&report->notices, NOTICE_SCAN_LIMIT, 1, 0, what);
}

// A limit was hit: -EOVERFLOW, which ends the inspection, or -ENOMEM.
static int note_limit(struct inspection *in, const char *what)
{
	int rc = report_note_limit(&in->report, in->options, what);

	return rc < 0 ? rc : -EOVERFLOW;
}

static int ask_budget(struct inspection *in)
{
	return budget_is_spent(in->options->budget) ? note_limit(in, NULL) : 0;
}

// Scans one form of the text, unless scanning is off; `map` leads from it to the original text (NULL: it is the original).
// Only the first `own` bytes come from there, what follows is the marker.
static int scan_form(struct inspection *in, enum file_class cls, const char *text, size_t len, size_t own,
		     const struct offset_map *map)
{
	CLEANUP(matches) struct matches matches = { NULL, 0, 0 };
	int rc = ask_budget(in);
	bool limited;

	if (rc < 0 || !in->options->scan)
		return rc;
	rc = scanner_scan(in->scanner, cls, text, len, in->options->budget, &matches);
	// What was found up to there is told.
	limited = rc == -EOVERFLOW;
	if (limited || rc == 0)
		rc = hits_begin_form(&in->hits, matches.count, scanner_rule_count(in->scanner));
	if (rc == -EOVERFLOW)
		return note_limit(in, "matches");
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < matches.count; i++) {
		const struct match *match = &matches.items[i];
		struct hit hit = { .match = *match, .text = text, .start = match->start, .end = match->end };

		if (match->start >= own || match->end <= match->start)
			continue;
		if (hit.end > own)
			hit.end = own;
		if (map != NULL) {
			hit.stage = STAGE_SANITIZED;
			hit.start = offset_map_source(map, hit.start);
			hit.end = offset_map_source(map, hit.end - 1) + 1;
			if (hit.end <= hit.start)
				hit.end = hit.start + 1;
		}
		hits_add(&in->hits, &hit);
	}
	hits_end_form(&in->hits);
	return limited ? note_limit(in, "matches, or steps of one rule") : 0;
}

// The first `max` findings.
static int take_findings(struct inspection *in, size_t max)
{
	struct place place = { .line = 1 };
	struct hits_cursor cursor = { { 0 } };
	const struct hit *hit;
	int rc = 0;

	for (size_t i = 0; i < max && rc == 0 && (hit = hits_next(&in->hits, &cursor)) != NULL; i++) {
		struct finding finding = {
			.rule = scanner_rule(in->scanner, hit->match.rule),
			.severity = hit->match.severity,
			.byte_offset = hit->start,
			.stage = hit->stage,
			.context = hit->match.context,
		};

		place_move(&place, in->data, in->len, hit->start);
		finding.position = place.position;
		finding.line = place.line;
		rc = findings_add(&in->report.findings, &finding, hit->text + hit->match.start,
				  hit->match.end - hit->match.start);
		if (rc == 0 && i % BUDGET_CANDIDATES == 0 && !in->report.scan_failed)
			rc = ask_budget(in);
	}
	return rc;
}

// The end of an inspection that hit a limit: no body, and of what was found so far as much as a person reads.
static int give_up(struct inspection *in)
{
	struct report *report = &in->report;
	int rc;

	report->scan_failed = true;
	report->verbatim = false;
	findings_release(&report->findings);
	rc = take_findings(in, FINDINGS_GIVEN_UP);
	buf_release(&report->body);
	return rc;
}

static bool is_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && (a == b || memcmp(a, b, a_len) == 0);
}

// What sanitize_text() and sanitize_code() answer.
static int note_refusal(struct inspection *in, int rc)
{
	if (rc == -EFBIG)
		return note_limit(in, "size of the sanitized text");
	return rc == -EOVERFLOW ? note_limit(in, "rounds of sanitizing") : rc;
}

static int inspect_prose(struct inspection *in)
{
	const struct inspect_options *options = in->options;
	struct cleaned *cleaned = &in->cleaned;
	struct report *report = &in->report;
	struct place place = { .line = 1 };
	const char *text = in->data;
	size_t len = in->len, keep;
	int rc = scan_form(in, CLASS_PROSE, in->data, in->len, in->len, NULL);

	if (rc == 0)
		rc = note_refusal(in, sanitize_text(in->data, in->len, options->budget, cleaned,
						    &report->stats, &report->notices));
	if (rc < 0)
		return rc;
	if (!cleaned->unchanged) {
		text = cleaned->text.data;
		len = cleaned->text.len;
		rc = scan_form(in, CLASS_PROSE, text, len, len, &cleaned->map);
		if (rc < 0)
			return rc;
	}
	keep = sanitize_cut(text, len, options->max_body_length);
	report->verbatim = cleaned->unchanged && keep == len;
	if (keep < len) {
		report->stats.truncated = true;
		rc = buf_append(&report->body, text, keep);
		if (rc == 0)
			rc = buf_append_string(&report->body, TRUNCATED_MARKER);
		place_move(&place, in->data, in->len, offset_map_source(&cleaned->map, keep));
		if (rc == 0)
			rc = notices_add(&report->notices, NOTICE_TEXT_TRUNCATED, 1, place.line, NULL);
		// A match can end where the text ends, so the cut may have made one.
		if (rc == 0)
			rc = scan_form(in, CLASS_PROSE, report->body.data, report->body.len, keep,
				       &cleaned->map);
	} else if (!cleaned->unchanged) {
		report->body = cleaned->text;
		cleaned->text = BUF_INIT;
	}
	report->stats.size = keep < len ? report->body.len : len;
	return rc;
}

// Scans the sanitized copy of what is served otherwise. `served` leads to the source where the two differ: bytes that
// are apart in the source can have joined in what is served. NULL: they are the same.
static int scan_copy(struct inspection *in, const struct cleaned *served)
{
	CLEANUP(notices) struct notices notices = { NULL, 0, 0 };
	struct sanitize_stats stats = { .size = 0 };
	struct cleaned *copy = &in->copy;
	const bool same = served == NULL || served->unchanged;
	struct offset_map map;
	int rc = note_refusal(in, sanitize_text(same ? in->data : served->text.data,
						same ? in->len : served->text.len, in->options->budget, copy,
						&stats, &notices));

	if (rc < 0 || copy->unchanged)
		return rc;
	if (!same) {
		rc = offset_map_compose(&copy->map, &served->map, &map);
		if (rc < 0)
			return rc;
		offset_map_release(&copy->map);
		copy->map = map;
	}
	return scan_form(in, in->report.cls, copy->text.data, copy->text.len, copy->text.len, &copy->map);
}

static int inspect_code(struct inspection *in)
{
	struct cleaned *served = &in->cleaned, *copy = &in->copy;
	struct report *report = &in->report;
	int rc = scan_form(in, CLASS_CODE, in->data, in->len, in->len, NULL);

	if (rc == 0)
		rc = note_refusal(in, sanitize_code(in->data, in->len, in->options->budget, served,
						    &report->stats, &report->notices));
	if (rc == 0 && in->options->scan)
		rc = scan_copy(in, served);
	if (rc == 0 && !served->unchanged &&
	    (copy->unchanged ||
	     !is_same(served->text.data, served->text.len, copy->text.data, copy->text.len)))
		rc = scan_form(in, CLASS_CODE, served->text.data, served->text.len, served->text.len,
			       &served->map);
	if (rc < 0)
		return rc;
	report->verbatim = served->unchanged;
	report->body = served->text;
	served->text = BUF_INIT;
	return 0;
}

static int inspect_binary(struct inspection *in)
{
	struct report *report = &in->report;
	int rc = scan_form(in, CLASS_BINARY, in->data, in->len, in->len, NULL);

	report->stats.size = in->len;
	report->verbatim = true;
	if (rc == 0 && in->options->scan && classify_hides_text(in->data, in->len)) {
		rc = notices_add(&report->notices, NOTICE_TEXT_NUL, 1, 0, "text in a binary file");
		if (rc == 0)
			rc = scan_copy(in, NULL);
	}
	return rc;
}

static int inspect_class(struct inspection *in)
{
	switch (in->report.cls) {
	case CLASS_PROSE:
		return inspect_prose(in);
	case CLASS_CODE:
		return inspect_code(in);
	case CLASS_BINARY:
		return inspect_binary(in);
	}
	return -EINVAL;
}

int inspect(const struct scanner *scanner, const struct inspect_options *options, const char *name,
	    const char *data, size_t len, struct report *ret)
{
	CLEANUP(inspection)
	struct inspection in = { .scanner = scanner,
				 .options = options,
				 .data = data,
				 .len = len,
				 .cleaned = { .unchanged = true },
				 .copy = { .unchanged = true } };
	int rc = 0;

	if (data == NULL)
		in.data = ""; // an empty file
	in.report.cls = options->has_class ? options->cls : classify(name, in.data, len);
	if (classify_is_archive(name, in.data, len))
		rc = notices_add(&in.report.notices, NOTICE_FS_ARCHIVE_NOT_SCANNED, 1, 0, NULL);
	if (rc == 0)
		rc = inspect_class(&in);
	if (rc == 0)
		rc = take_findings(&in, SIZE_MAX);
	if (rc == -EOVERFLOW)
		rc = give_up(&in);
	if (rc < 0)
		return rc;
	in.report.stats.source_size = len;
	*ret = in.report;
	in.report = (struct report){ .verbatim = false };
	return 0;
}
