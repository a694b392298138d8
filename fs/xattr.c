// SPDX-License-Identifier: Apache-2.0
#include "fs/xattr.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fs/output/json_stream.h"
#include "sanitize/classify.h"
#include "sanitize/cleanup.h"

#define PREFIX    "user.skillfs."
#define VALUE_MAX (60 * 1024) // the kernel's limit is 64 KiB

// At most VALUE_MAX bytes of a JSON array: whole elements, then {"omitted": N}. No element behind that is made.
struct array {
	struct buf *buf;
	size_t taken;
};

// False when the element does not fit any more.
static bool array_add(struct array *array, const struct buf *element, int *rc)
{
	if (array->buf->len + element->len + 64 > VALUE_MAX)
		return false;
	if (array->taken++ > 0)
		*rc = buf_append_byte(array->buf, ',');
	if (*rc == 0)
		*rc = buf_append(array->buf, element->data, element->len);
	return *rc == 0;
}

static int array_end(struct array *array, size_t count)
{
	int rc = 0;

	if (array->taken < count)
		rc = buf_printf(array->buf, "%s{\"omitted\":%zu}", array->taken > 0 ? "," : "",
				count - array->taken);
	return rc < 0 ? rc : buf_append_byte(array->buf, ']');
}

static int get_verdict(struct view *view, const struct node *node, const struct listing *listing,
		       struct buf *ret)
{
	(void)view;
	(void)listing;
	return buf_append_string(ret, verdict_name((enum verdict)node->snapshot->verdict));
}

static int get_class(struct view *view, const struct node *node, const struct listing *listing,
		     struct buf *ret)
{
	(void)view;
	(void)listing;
	return buf_append_string(ret, file_class_name((enum file_class)node->snapshot->cls));
}

static int get_rules(struct view *view, const struct node *node, const struct listing *listing,
		     struct buf *ret)
{
	const struct findings *findings = snapshot_findings(node->snapshot);
	const struct scanner *scanner = view->context.scanner;
	const size_t count = scanner_rule_count(scanner);
	CLEANUP(free) char *seen = calloc(count + 1, 1);
	int rc = seen == NULL ? -ENOMEM : 0;

	(void)listing;
	// One pass over the findings: there may be a million.
	for (size_t i = 0; rc == 0 && i < findings->count; i++)
		for (size_t k = 0;
		     k < count && (i == 0 || findings->items[i].rule != findings->items[i - 1].rule); k++)
			if (scanner_rule(scanner, k) == findings->items[i].rule) {
				seen[k] = 1;
				break;
			}
	for (size_t k = 0; rc == 0 && k < count; k++)
		if (seen[k])
			rc = buf_printf(ret, "%s%s", ret->len > 0 ? "," : "", scanner_rule(scanner, k)->id);
	return rc;
}

static int get_findings(struct view *view, const struct node *node, const struct listing *listing,
			struct buf *ret)
{
	const struct findings *findings = snapshot_findings(node->snapshot);
	CLEANUP(buf) struct buf element = BUF_INIT;
	struct json_stream json = { .matched = NULL };
	struct array array = { .buf = ret };
	int rc = buf_append_byte(ret, '[');

	(void)view;
	(void)listing;
	for (size_t i = 0; rc == 0 && i < findings->count; i++) {
		buf_clear(&element);
		rc = json_stream_finding(&json, &element, &findings->items[i]);
		if (rc == 0 && !array_add(&array, &element, &rc))
			break;
	}
	json_stream_release(&json);
	return rc < 0 ? rc : array_end(&array, findings->count + findings->omitted);
}

static int get_notices(struct view *view, const struct node *node, const struct listing *listing,
		       struct buf *ret)
{
	json_t *notices = json_notices(snapshot_notices(node->snapshot)); // few: one a code
	CLEANUP(buf) struct buf element = BUF_INIT;
	struct array array = { .buf = ret };
	int rc = notices == NULL ? -ENOMEM : buf_append_byte(ret, '[');

	(void)view;
	(void)listing;
	for (size_t i = 0; rc == 0 && i < json_array_size(notices); i++) {
		buf_clear(&element);
		rc = json_append(&element, json_array_get(notices, i), false);
		if (rc == 0 && !array_add(&array, &element, &rc))
			break;
	}
	if (rc == 0)
		rc = array_end(&array, json_array_size(notices));
	json_decref(notices);
	return rc;
}

static int get_sanitize(struct view *view, const struct node *node, const struct listing *listing,
			struct buf *ret)
{
	const struct report report = snapshot_report(node->snapshot);
	json_t *value = json_sanitize(&report.stats);
	int rc = value == NULL ? -ENOMEM : json_append(ret, value, false);

	(void)view;
	(void)listing;
	json_decref(value);
	return rc;
}

static int get_hash(struct view *view, const struct node *node, const struct listing *listing,
		    struct buf *ret)
{
	char text[HASH_TEXT_SIZE];

	(void)view;
	(void)listing;
	hash_print(node->snapshot->hashes.plain, text);
	return buf_append_string(ret, text);
}

static int get_ruleset(struct view *view, const struct node *node, const struct listing *listing,
		       struct buf *ret)
{
	(void)node;
	(void)listing;
	return buf_append_string(ret, scanner_ruleset(view->context.scanner));
}

static int get_tools(struct view *view, const struct node *node, const struct listing *listing,
		     struct buf *ret)
{
	(void)view;
	(void)listing;
	return buf_append_string(ret, node->snapshot->skill->tools);
}

static int get_hidden(struct view *view, const struct node *node, const struct listing *listing,
		      struct buf *ret)
{
	(void)view;
	(void)node;
	return buf_printf(ret, "%zu", listing->hidden);
}

static int get_summary(struct view *view, const struct node *node, const struct listing *listing,
		       struct buf *ret)
{
	CLEANUP(free) char *path = node_path(view->store, node);
	struct ledger_counts counts;

	(void)listing;
	if (path == NULL)
		return -ENOMEM;
	ledger_summary(view->ledger, path, &counts);
	return buf_printf(ret,
			  "{\"files\":%" PRIu64 ",\"skills\":%" PRIu64 ",\"hidden\":%" PRIu64
			  ",\"warned\":%" PRIu64 ",\"findings\":%" PRIu64 ",\"complete\":%s}",
			  counts.files, counts.skills, counts.hidden, counts.warned, counts.findings,
			  counts.indexed ? "true" : "false");
}

static const struct attribute {
	const char *name;
	enum node_kind kind;
	bool manifest_only; // on SKILL.md
	bool listing;       // needs the directory's listing
	int (*get)(struct view *view, const struct node *node, const struct listing *listing,
		   struct buf *ret);
} attributes[] = {
	{ PREFIX "class", NODE_FILE, false, false, get_class },
	{ PREFIX "findings", NODE_FILE, false, false, get_findings },
	{ PREFIX "hash", NODE_FILE, false, false, get_hash },
	{ PREFIX "notices", NODE_FILE, false, false, get_notices },
	{ PREFIX "rules", NODE_FILE, false, false, get_rules },
	{ PREFIX "ruleset", NODE_FILE, false, false, get_ruleset },
	{ PREFIX "sanitize", NODE_FILE, false, false, get_sanitize },
	{ PREFIX "tools", NODE_FILE, true, false, get_tools },
	{ PREFIX "verdict", NODE_FILE, false, false, get_verdict },
	{ PREFIX "hidden", NODE_DIRECTORY, false, true, get_hidden },
	{ PREFIX "summary", NODE_DIRECTORY, false, true, get_summary },
};

static bool has(const struct node *node, const struct attribute *attribute)
{
	return attribute->kind == node->kind && (!attribute->manifest_only || node->snapshot->skill != NULL);
}

static const struct attribute *find(const struct node *node, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		if (has(node, &attributes[i]) && strcmp(attributes[i].name, name) == 0)
			return &attributes[i];
	return NULL;
}

bool xattr_wants_listing(const struct node *node, const char *name)
{
	const struct attribute *attribute = find(node, name);

	return attribute != NULL && attribute->listing;
}

int xattr_get(struct view *view, struct node *node, const char *name, const struct listing *listing,
	      struct buf *ret)
{
	const struct attribute *attribute = find(node, name);

	if (attribute == NULL || (attribute->listing && listing == NULL))
		return -ENODATA;
	return attribute->get(view, node, listing, ret);
}

int xattr_list(const struct node *node, struct buf *ret)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(attributes); i++)
		if (has(node, &attributes[i]))
			rc = buf_append(ret, attributes[i].name, strlen(attributes[i].name) + 1);
	return rc;
}
