// SPDX-License-Identifier: Apache-2.0
//
// Input: a line with the file's name, then its bytes. The whole way of a file:
// what is served of a clean file is clean when it is looked at again.
#include <errno.h>
#include <unistr.h>

#include "fuzz.h"
#include "sanitize/inspect.h"
#include "sanitize/utf8.h"

#define NAME_SIZE 255

static const size_t body_lengths[] = { 40, MAX_BODY_LENGTH_DEFAULT };

static size_t rule_index(const struct scanner *scanner, const struct rule *rule)
{
	for (size_t i = 0; i < scanner_rule_count(scanner); i++)
		if (scanner_rule(scanner, i) == rule)
			return i;
	fuzz_fail("a finding has a rule", "%p", (const void *)rule);
}

static enum severity worst(const struct findings *findings)
{
	enum severity severity = SEVERITY_OFF;

	for (size_t i = 0; i < findings->count; i++)
		if (findings->items[i].severity > severity)
			severity = findings->items[i].severity;
	return severity;
}

// The number of the code point that holds the byte at `offset`; what one U+FFFD stands for counts as one.
static size_t position_of(const char *data, size_t len, size_t offset)
{
	size_t at = 0, position = 0;
	uint32_t character;

	for (;;) {
		at += utf8_decode(data + at, len - at, &character);
		if (at > offset)
			return position;
		position++;
	}
}

static void check_findings(const struct scanner *scanner, const struct report *report, const char *data,
			   size_t len)
{
	for (size_t i = 0; i < report->findings.count; i++) {
		const struct finding *finding = &report->findings.items[i];
		const char *matched = finding->matched_text;

		FUZZ_CHECK(finding->byte_offset < len, "%s at %zu of %zu", finding->rule->id,
			   finding->byte_offset, len);
		FUZZ_CHECK(finding->line == fuzz_line_of(data, finding->byte_offset), "%s at %zu, line %zu",
			   finding->rule->id, finding->byte_offset, finding->line);
		FUZZ_CHECK(finding->position == position_of(data, len, finding->byte_offset),
			   "%s at byte %zu, position %zu", finding->rule->id, finding->byte_offset,
			   finding->position);
		FUZZ_CHECK(finding->severity != SEVERITY_OFF, "%s", finding->rule->id);
		FUZZ_CHECK(matched != NULL && matched[0] != '\0' &&
				   u8_check((const uint8_t *)matched, strlen(matched)) == NULL &&
				   u8_mbsnlen((const uint8_t *)matched, strlen(matched)) <=
					   MATCHED_TEXT_CHARACTERS,
			   "%s: '%s'", finding->rule->id, matched);
		if (i > 0 && finding[-1].byte_offset >= finding->byte_offset)
			FUZZ_CHECK(finding[-1].byte_offset == finding->byte_offset &&
					   rule_index(scanner, finding[-1].rule) <=
						   rule_index(scanner, finding->rule),
				   "%s at %zu is out of order", finding->rule->id, finding->byte_offset);
	}
}

static void check_notices(const struct report *report, const char *data, size_t len)
{
	const size_t lines = fuzz_line_of(data, len);

	for (size_t i = 0; i < report->notices.count; i++) {
		const struct notice *notice = &report->notices.items[i];

		FUZZ_CHECK(notice->count > 0 && notice->line <= lines, "%s %zu times, line %zu of %zu",
			   notice_name(notice->code), notice->count, notice->line, lines);
	}
}

// What is served, looked at as a file of its own.
static void check_served(const struct scanner *scanner, const struct inspect_options *options,
			 const char *name, const struct report *report, const char *served, size_t len)
{
	const bool clean = worst(&report->findings) < SEVERITY_CRITICAL;
	struct inspect_options same = *options;
	struct matches matches = { NULL, 0, 0 };
	struct report again = { .verbatim = false };
	int rc;

	same.has_class = true;
	same.cls = report->cls;
	rc = inspect(scanner, &same, name, served, len, &again);
	FUZZ_CHECK(rc == 0 && !again.scan_failed, "the second time: %d", rc);
	FUZZ_CHECK(again.verbatim, "served %zu bytes, the second time %zu", len, again.body.len);
	FUZZ_CHECK(!clean || worst(&again.findings) < SEVERITY_CRITICAL, "clean, the second time %s at %zu",
		   again.findings.items[0].rule->id, again.findings.items[0].byte_offset);
	rc = scanner_scan(scanner, report->cls, served, len, NULL, &matches);
	FUZZ_CHECK(rc == 0, "%d", rc);
	for (size_t i = 0; clean && i < matches.count; i++)
		FUZZ_CHECK(matches.items[i].severity < SEVERITY_CRITICAL, "clean, but served %s at %zu",
			   scanner_rule(scanner, matches.items[i].rule)->id, matches.items[i].start);
	matches_release(&matches);
	report_release(&again);
}

static void fuzz_file(const struct scanner *scanner, const struct inspect_options *options, const char *name,
		      const char *data, size_t len)
{
	struct report report = { .verbatim = false };
	int rc = inspect(scanner, options, name, data, len, &report);
	char *served;
	size_t served_len;

	FUZZ_CHECK(rc == 0, "%d", rc);
	FUZZ_CHECK(report.stats.source_size == len, "%zu of %zu", report.stats.source_size, len);
	check_findings(scanner, &report, data, len);
	check_notices(&report, data, len);
	// Only bytes that join to invisible characters again and again are refused.
	if (report.scan_failed) {
		FUZZ_CHECK(report.cls == CLASS_CODE && u8_check((const uint8_t *)data, len) != NULL,
			   "a limit in %zu bytes", len);
		FUZZ_CHECK(notices_find(&report.notices, NOTICE_SCAN_LIMIT) != NULL, "no notice");
		report_release(&report);
		return;
	}
	served_len = report.verbatim ? len : report.body.len;
	served = fuzz_copy(report.verbatim ? data : report.body.data, served_len);
	FUZZ_CHECK(report.stats.size == served_len, "%zu of %zu", report.stats.size, served_len);
	FUZZ_CHECK(report.cls != CLASS_BINARY || report.verbatim, "a changed binary");
	if (options->scan)
		check_served(scanner, options, name, &report, served, served_len);
	else
		FUZZ_CHECK(report.findings.count == 0, "findings without a scan");
	free(served);
	report_release(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct scanner *scanner;
	struct piece input = fuzz_input(bytes, size);
	char *name = fuzz_take_line(&input, NAME_SIZE);
	char *data = fuzz_copy(input.data, input.len);
	struct inspect_options options = { .scan = true };

	if (scanner == NULL)
		FUZZ_CHECK(scanner_new(NULL, 0, &scanner, NULL) == 0, "the rules");
	for (size_t i = 0; i < sizeof(body_lengths) / sizeof(body_lengths[0]); i++) {
		options.max_body_length = body_lengths[i];
		fuzz_file(scanner, &options, name, data, input.len);
	}
	options.scan = false;
	fuzz_file(scanner, &options, name, data, input.len);
	free(data);
	free(name);
	return 0;
}
