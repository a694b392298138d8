// SPDX-License-Identifier: Apache-2.0
//
// From findings to a decision. Everything that is not known to be good is an
// error, and an error hides.
#include "policy/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "sanitize/cleanup.h"
#include "sanitize/rules.h"

const char *verdict_name(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_CLEAN:
		return "clean";
	case VERDICT_WARN:
		return "warn";
	case VERDICT_APPROVED:
		return "approved";
	case VERDICT_CRITICAL:
		return "critical";
	case VERDICT_ERROR:
		return "error";
	}
	return "error";
}

bool verdict_hides(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_CLEAN:
	case VERDICT_WARN:
	case VERDICT_APPROVED:
		return false;
	case VERDICT_CRITICAL:
	case VERDICT_ERROR:
		return true;
	}
	return true;
}

static bool notice_hides(enum notice_code code)
{
	switch (code) {
	case NOTICE_FS_SYMLINK_ESCAPE:
	case NOTICE_FS_SPECIAL_FILE:
	case NOTICE_FS_NESTED_MOUNT:
	case NOTICE_FS_TOO_LARGE:
	case NOTICE_FS_CHANGED_WHILE_READING:
	case NOTICE_FS_UNREADABLE:
	case NOTICE_FS_RESERVED_NAME:
	case NOTICE_SCAN_LIMIT:
		return true;
	case NOTICE_TEXT_INVALID_UTF8:
	case NOTICE_TEXT_NUL:
	case NOTICE_TEXT_TRUNCATED:
	case NOTICE_HTML_COMMENT:
	case NOTICE_TAG_BLOCK:
	case NOTICE_INVISIBLE_CHARACTER:
	case NOTICE_BIDI_CONTROL:
	case NOTICE_FS_ARCHIVE_NOT_SCANNED:
	case NOTICE_SKILL_RESTRICTION_UNREADABLE:
		return false;
	}
	return true;
}

static int compare_override(const void *key, const void *item)
{
	return strcmp(key, ((const struct severity_override *)item)->rule_id);
}

static enum severity severity_in_force(const struct config *config, const struct finding *finding)
{
	enum severity severity = finding->severity;
	const struct severity_override *override = NULL;

	if (config->severity_count > 0)
		override = bsearch(finding->rule->id, config->severities, config->severity_count,
				   sizeof(*config->severities), compare_override);
	if (override != NULL)
		severity = override->severity;
	if (severity == SEVERITY_CRITICAL && (size_t)finding->context < ARRAY_SIZE(config->has_context_cap) &&
	    config->has_context_cap[finding->context])
		severity = SEVERITY_WARN;
	return severity;
}

static void apply_overrides(const struct config *config, struct findings *findings)
{
	size_t kept = 0;

	for (size_t i = 0; i < findings->count; i++) {
		struct finding finding = findings->items[i];

		finding.severity = severity_in_force(config, &finding);
		if (finding.severity == SEVERITY_OFF)
			free(finding.matched_text);
		else
			findings->items[kept++] = finding;
	}
	findings->count = kept;
}

enum verdict verdict_decide(const struct config *config, const struct agent_config *agent,
			    struct report *report)
{
	enum verdict verdict = VERDICT_ERROR;
	enum verdict found = VERDICT_CLEAN;

	apply_overrides(config, &report->findings);
	if (report->scan_failed)
		return verdict;
	for (size_t i = 0; i < report->notices.count; i++)
		if (notice_hides(report->notices.items[i].code))
			return verdict;
	for (size_t i = 0; i < report->findings.count; i++) {
		bool blocks = report->findings.items[i].severity != SEVERITY_WARN && agent->block_on_critical;
		enum verdict one = blocks ? VERDICT_CRITICAL : VERDICT_WARN;

		if (one > found)
			found = one;
	}
	verdict = found;
	return verdict;
}
