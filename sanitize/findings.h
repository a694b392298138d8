// SPDX-License-Identifier: Apache-2.0
//
// What scanning and sanitizing found, as data. Field names follow the product
// (ruleId, category, severity, description, matchedText, position,
// lineNumber); see fs/output/json.h for the spelling in JSON.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct rule;

enum severity { SEVERITY_OFF, SEVERITY_WARN, SEVERITY_CRITICAL };
enum stage { STAGE_RAW, STAGE_SANITIZED };
enum file_class { CLASS_PROSE, CLASS_CODE, CLASS_BINARY };
enum context {
	CONTEXT_FRONT_MATTER,
	CONTEXT_PROSE,
	CONTEXT_INLINE_CODE,
	CONTEXT_FENCED_CODE,
	CONTEXT_TABLE,
	CONTEXT_HTML_COMMENT,
	CONTEXT_CODE,
	CONTEXT_BINARY,
};
enum notice_code {
	NOTICE_TEXT_INVALID_UTF8,
	NOTICE_TEXT_NUL,
	NOTICE_TEXT_TRUNCATED,
	NOTICE_HTML_COMMENT,
	NOTICE_TAG_BLOCK,
	NOTICE_INVISIBLE_CHARACTER,
	NOTICE_BIDI_CONTROL,
	NOTICE_FS_SYMLINK_ESCAPE,
	NOTICE_FS_SPECIAL_FILE,
	NOTICE_FS_NESTED_MOUNT,
	NOTICE_FS_TOO_LARGE,
	NOTICE_FS_CHANGED_WHILE_READING,
	NOTICE_FS_ARCHIVE_NOT_SCANNED,
	NOTICE_SCAN_LIMIT,
	NOTICE_FS_UNREADABLE,    // the source could not be read: hidden
	NOTICE_FS_RESERVED_NAME, // a source entry named .skillfs: hidden
	NOTICE_SKILL_RESTRICTION_UNREADABLE,
};

// The names as printed: "CRITICAL", "raw", "prose", "front_matter", "TEXT_NUL".
const char *severity_name(enum severity severity);
const char *stage_name(enum stage stage);
const char *file_class_name(enum file_class cls);
const char *context_name(enum context context);
const char *notice_name(enum notice_code code);
// 0 or -EINVAL; the names as printed, lower or upper case.
int severity_parse(const char *text, enum severity *ret);
int file_class_parse(const char *text, enum file_class *ret);
int context_parse(const char *text, enum context *ret);

#define MATCHED_TEXT_CHARACTERS 100

struct finding {
	const struct rule *rule; // borrowed from the scanner, which outlives the finding
	enum severity
		severity; // after the rule's own context (a table cell is WARN); policy may lower it further
	char *matched_text; // owned; at most MATCHED_TEXT_CHARACTERS code points, valid UTF-8
	size_t position;    // code points from the start of the original text, 0-based
	size_t byte_offset; // the same in bytes
	size_t line;        // 1-based, of the original text
	enum stage stage;
	enum context context;
	bool approved;
};

struct findings {
	struct finding *items; // sorted by position, then rule order
	size_t count;
	size_t cap;
	size_t omitted; // found besides, and not kept: see findings_keep()
};

struct notice {
	enum notice_code code;
	size_t count; // how many times it was seen
	size_t line;  // of the first, 1-based; 0 where a line says nothing
	char *detail; // owned; NULL or a clipped text for a person (decoded tag characters, a symlink's target)
};

struct notices {
	struct notice *items;
	size_t count;
	size_t cap;
};

// Copies `matched`, clipping it to MATCHED_TEXT_CHARACTERS and making it valid UTF-8. 0 or -ENOMEM.
int findings_add(struct findings *findings, const struct finding *like, const char *matched, size_t len);
void findings_sort(struct findings *findings);
// Lets go of all but `max`: the first of each rule and the critical ones come first, then the others in their order. The rest is
// counted in `omitted`.
void findings_keep(struct findings *findings, size_t max);
void findings_release(struct findings *findings);

// Adds `count` to the notice of that code when there is one, else appends. `detail` may be NULL; the first one stays.
int notices_add(struct notices *notices, enum notice_code code, size_t count, size_t line,
		const char *detail);
const struct notice *notices_find(const struct notices *notices, enum notice_code code);
void notices_release(struct notices *notices);
