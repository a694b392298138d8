// SPDX-License-Identifier: Apache-2.0
#include "sanitize/findings.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sanitize/buf.h"
#include "sanitize/cleanup.h"
#include "sanitize/rules.h"
#include "sanitize/utf8.h"

// A notice's text for a person; longer ones are clipped.
#define DETAIL_MAX 4096

static const char *const severity_names[] = {
	[SEVERITY_OFF] = "OFF",
	[SEVERITY_WARN] = "WARN",
	[SEVERITY_CRITICAL] = "CRITICAL",
};

static const char *const stage_names[] = {
	[STAGE_RAW] = "raw",
	[STAGE_SANITIZED] = "sanitized",
};

static const char *const class_names[] = {
	[CLASS_PROSE] = "prose",
	[CLASS_CODE] = "code",
	[CLASS_BINARY] = "binary",
};

static const char *const context_names[] = {
	[CONTEXT_FRONT_MATTER] = "front_matter",
	[CONTEXT_PROSE] = "prose",
	[CONTEXT_INLINE_CODE] = "inline_code",
	[CONTEXT_FENCED_CODE] = "fenced_code",
	[CONTEXT_TABLE] = "table",
	[CONTEXT_HTML_COMMENT] = "html_comment",
	[CONTEXT_CODE] = "code",
	[CONTEXT_BINARY] = "binary",
};

static const char *const notice_names[] = {
	[NOTICE_TEXT_INVALID_UTF8] = "TEXT_INVALID_UTF8",
	[NOTICE_TEXT_NUL] = "TEXT_NUL",
	[NOTICE_TEXT_TRUNCATED] = "TEXT_TRUNCATED",
	[NOTICE_HTML_COMMENT] = "HTML_COMMENT",
	[NOTICE_TAG_BLOCK] = "TAG_BLOCK",
	[NOTICE_INVISIBLE_CHARACTER] = "INVISIBLE_CHARACTER",
	[NOTICE_BIDI_CONTROL] = "BIDI_CONTROL",
	[NOTICE_FS_SYMLINK_ESCAPE] = "FS_SYMLINK_ESCAPE",
	[NOTICE_FS_SPECIAL_FILE] = "FS_SPECIAL_FILE",
	[NOTICE_FS_NESTED_MOUNT] = "FS_NESTED_MOUNT",
	[NOTICE_FS_TOO_LARGE] = "FS_TOO_LARGE",
	[NOTICE_FS_CHANGED_WHILE_READING] = "FS_CHANGED_WHILE_READING",
	[NOTICE_FS_ARCHIVE_NOT_SCANNED] = "FS_ARCHIVE_NOT_SCANNED",
	[NOTICE_SCAN_LIMIT] = "SCAN_LIMIT",
	[NOTICE_FS_UNREADABLE] = "FS_UNREADABLE",
	[NOTICE_FS_RESERVED_NAME] = "FS_RESERVED_NAME",
	[NOTICE_SKILL_RESTRICTION_UNREADABLE] = "SKILL_RESTRICTION_UNREADABLE",
};

static const char *name_of(const char *const *names, size_t count, unsigned int value)
{
	return value < count && names[value] != NULL ? names[value] : "unknown";
}

// The index of `text` among `names`, in lower or upper case; -EINVAL when it is none of them.
static int parse_name(const char *const *names, size_t count, const char *text)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (strcasecmp(names[i], text) == 0)
			return (int)i;
	}
	return -EINVAL;
}

const char *severity_name(enum severity severity)
{
	return name_of(severity_names, ARRAY_SIZE(severity_names), severity);
}

const char *stage_name(enum stage stage)
{
	return name_of(stage_names, ARRAY_SIZE(stage_names), stage);
}

const char *file_class_name(enum file_class cls)
{
	return name_of(class_names, ARRAY_SIZE(class_names), cls);
}

const char *context_name(enum context context)
{
	return name_of(context_names, ARRAY_SIZE(context_names), context);
}

const char *notice_name(enum notice_code code)
{
	return name_of(notice_names, ARRAY_SIZE(notice_names), code);
}

int severity_parse(const char *text, enum severity *ret)
{
	int index = parse_name(severity_names, ARRAY_SIZE(severity_names), text);

	if (index < 0)
		return index;
	*ret = (enum severity)index;
	return 0;
}

int file_class_parse(const char *text, enum file_class *ret)
{
	int index = parse_name(class_names, ARRAY_SIZE(class_names), text);

	if (index < 0)
		return index;
	*ret = (enum file_class)index;
	return 0;
}

int context_parse(const char *text, enum context *ret)
{
	int index = parse_name(context_names, ARRAY_SIZE(context_names), text);

	if (index < 0)
		return index;
	*ret = (enum context)index;
	return 0;
}

// ------------------------------------------------------------------ findings

#define RULES_SEEN 64

// At most `max` characters of `text`; bytes that are no UTF-8, and NUL, become U+FFFD. NULL without memory.
static char *clip_text(const char *text, size_t len, size_t max)
{
	CLEANUP(buf) struct buf clipped = BUF_INIT;
	size_t at = 0, most = len < max ? len : max;

	// Mostly it is ASCII, and there may be a million of them.
	while (at < most && (unsigned char)text[at] - 1U < 0x7F)
		at++;
	if (at == most)
		return strndup(text, most);
	for (at = 0; at < len && max > 0; max--) {
		uint32_t character;
		size_t length = utf8_decode(text + at, len - at, &character);
		bool shown = character != UTF8_INVALID && character != 0;

		if (buf_append(&clipped, shown ? text + at : UTF8_REPLACEMENT,
			       shown ? length : strlen(UTF8_REPLACEMENT)) < 0)
			return NULL;
		at += length;
	}
	return buf_detach(&clipped);
}

int findings_add(struct findings *findings, const struct finding *like, const char *matched, size_t len)
{
	CLEANUP(free) char *text = clip_text(matched, len, MATCHED_TEXT_CHARACTERS);

	if (text == NULL)
		return -ENOMEM;
	if (findings->count == findings->cap) {
		size_t cap = findings->cap < 8 ? 8 : findings->cap * 2;
		struct finding *items = reallocarray(findings->items, cap, sizeof(*items));

		if (items == NULL)
			return -ENOMEM;
		findings->items = items;
		findings->cap = cap;
	}
	findings->items[findings->count] = *like;
	findings->items[findings->count++].matched_text = take(text);
	return 0;
}

// The rules of the table come in its order, the configuration's own behind them.
static size_t rule_order(const struct rule *rule)
{
	uintptr_t address = (uintptr_t)rule, first = (uintptr_t)rules;

	if (address >= first && address < (uintptr_t)(rules + rule_count))
		return (address - first) / sizeof(*rule);
	return rule_count;
}

static int compare_findings(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;
	size_t order_a, order_b;

	if (a->byte_offset != b->byte_offset)
		return a->byte_offset < b->byte_offset ? -1 : 1;
	order_a = rule_order(a->rule);
	order_b = rule_order(b->rule);
	if (order_a != order_b)
		return order_a < order_b ? -1 : 1;
	// Custom rules of one scanner stand in one array.
	if (a->rule != b->rule)
		return (uintptr_t)a->rule < (uintptr_t)b->rule ? -1 : 1;
	return (a->stage > b->stage) - (a->stage < b->stage);
}

void findings_sort(struct findings *findings)
{
	if (findings->count > 0)
		qsort(findings->items, findings->count, sizeof(*findings->items), compare_findings);
}

static void findings_fit(struct findings *findings)
{
	struct finding *items = reallocarray(findings->items, findings->count + 1, sizeof(*items));

	if (items == NULL)
		return;
	findings->items = items;
	findings->cap = findings->count + 1;
}

// Whether no finding of that rule was seen before; says no when there are too many rules to tell.
static bool first_of_its_rule(const struct rule *rule, const struct rule *seen[static RULES_SEEN],
			      size_t *count)
{
	for (size_t i = *count; i > 0; i--)
		if (seen[i - 1] == rule)
			return false;
	if (*count == RULES_SEEN)
		return false;
	seen[(*count)++] = rule;
	return true;
}

void findings_keep(struct findings *findings, size_t max)
{
	enum rank { FIRST, CRITICAL, OTHER, KEPT };
	const struct rule *seen[RULES_SEEN];
	CLEANUP(free) unsigned char *ranks = NULL;
	size_t seen_count = 0, room = max, kept = 0;

	if (findings->count <= max)
		return;
	ranks = malloc(findings->count);
	for (size_t i = 0; ranks != NULL && i < findings->count; i++)
		ranks[i] = first_of_its_rule(findings->items[i].rule, seen, &seen_count) ? FIRST
			   : findings->items[i].severity == SEVERITY_CRITICAL            ? CRITICAL
											 : OTHER;
	for (enum rank rank = FIRST; ranks != NULL && rank < KEPT; rank++)
		for (size_t i = 0; room > 0 && i < findings->count; i++)
			if (ranks[i] == rank) {
				ranks[i] = KEPT;
				room--;
			}
	for (size_t i = 0; i < findings->count; i++) {
		if (ranks == NULL ? i < max : ranks[i] == KEPT)
			findings->items[kept++] = findings->items[i];
		else
			free(findings->items[i].matched_text);
	}
	findings->omitted += findings->count - kept;
	findings->count = kept;
	findings_fit(findings);
}

void findings_release(struct findings *findings)
{
	size_t i;

	for (i = 0; i < findings->count; i++)
		free(findings->items[i].matched_text);
	free(findings->items);
	*findings = (struct findings){ NULL, 0, 0, 0 };
}

// ------------------------------------------------------------------- notices

int notices_add(struct notices *notices, enum notice_code code, size_t count, size_t line, const char *detail)
{
	CLEANUP(free) char *copy = NULL;
	struct notice *notice = (struct notice *)notices_find(notices, code);

	if (detail != NULL && (notice == NULL || notice->detail == NULL)) {
		copy = clip_text(detail, strlen(detail), DETAIL_MAX);
		if (copy == NULL)
			return -ENOMEM;
	}
	if (notice == NULL) {
		if (notices->count == notices->cap) {
			size_t cap = notices->cap < 4 ? 4 : notices->cap * 2;
			struct notice *items = reallocarray(notices->items, cap, sizeof(*items));

			if (items == NULL)
				return -ENOMEM;
			notices->items = items;
			notices->cap = cap;
		}
		notice = &notices->items[notices->count++];
		*notice = (struct notice){ .code = code, .line = line };
	}
	notice->count += count;
	if (copy != NULL)
		notice->detail = take(copy);
	return 0;
}

const struct notice *notices_find(const struct notices *notices, enum notice_code code)
{
	size_t i;

	for (i = 0; i < notices->count; i++) {
		if (notices->items[i].code == code)
			return &notices->items[i];
	}
	return NULL;
}

void notices_release(struct notices *notices)
{
	size_t i;

	for (i = 0; i < notices->count; i++)
		free(notices->items[i].detail);
	free(notices->items);
	*notices = (struct notices){ NULL, 0, 0 };
}
