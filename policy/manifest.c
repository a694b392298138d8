// SPDX-License-Identifier: Apache-2.0
//
// Front matter of a SKILL.md. The skill's author is not trusted with more than
// taking tools away from the skill: whatever cannot be read takes them all.
#include "policy/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/name_set.h"
#include "policy/yaml_reader.h"
#include "sanitize/cleanup.h"
#include "sanitize/sanitize.h"

#define EXEC_TOOL          "exec"
#define MAX_TOP_LEVEL_KEYS 1024

// Names that other agents use for tools of ours. What is not here stands for itself.
static const struct {
	const char *theirs;
	const char *ours;
} tool_names[] = {
	{ "Read", "read" },
	{ "NotebookRead", "read" },
	{ "Write", "write" },
	{ "Edit", "edit" },
	{ "MultiEdit", "edit" },
	{ "NotebookEdit", "notebook_edit" },
	{ "Bash", EXEC_TOOL },
	{ "bash", EXEC_TOOL },
	{ "Shell", EXEC_TOOL },
	{ "shell", EXEC_TOOL },
	{ "run_shell_command", EXEC_TOOL },
	{ "BashOutput", "process" },
	{ "KillBash", "process" },
	{ "KillShell", "process" },
	{ "Grep", "grep" },
	{ "Glob", "find" },
	{ "glob", "find" },
	{ "LS", "ls" },
	{ "WebFetch", "web_fetch" },
	{ "webfetch", "web_fetch" },
	{ "WebSearch", "web_search" },
	{ "websearch", "web_search" },
	{ "Task", "subagents" },
	{ "Agent", "subagents" },
};

static const struct restriction_key {
	const char *name;
	bool takes_text;
	bool empty_says_nothing;
} restriction_keys[] = {
	{ "allowed-tools", .takes_text = true, .empty_says_nothing = false },
	{ "allowedTools", .takes_text = false, .empty_says_nothing = true },
};

// One key's worth of tools, before both keys are joined.
struct tool_reading {
	struct strv tools;
	struct strv exec_patterns;
	bool any_command; // exec is named without a pattern
};

static void cleanup_tool_reading(struct tool_reading *reading)
{
	strv_release(&reading->tools);
	strv_release(&reading->exec_patterns);
}

void skill_restriction_release(struct skill_restriction *restriction)
{
	strv_release(&restriction->tools);
	strv_release(&restriction->exec_patterns);
	*restriction = (struct skill_restriction){ 0 };
}

void manifest_release(struct manifest *manifest)
{
	free(manifest->name);
	free(manifest->description);
	skill_restriction_release(&manifest->restriction);
	*manifest = (struct manifest){ .name = NULL };
}

static void cleanup_manifest(struct manifest *manifest)
{
	manifest_release(manifest);
}

static const char *our_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tool_names); i++)
		if (strcmp(tool_names[i].theirs, name) == 0)
			return tool_names[i].ours;
	return name;
}

// One mention: NAME or NAME(PATTERN). -EINVAL when it is neither.
static int add_mention(struct tool_reading *reading, const char *text, size_t len)
{
	const char *open = memchr(text, '(', len);
	size_t name_len = open != NULL ? (size_t)(open - text) : len;
	const char *pattern = NULL;
	size_t pattern_len = 0;
	CLEANUP(free) char *name = NULL;
	const char *tool;

	if (name_len == 0 || reading->tools.count >= RESTRICTION_MAX_TOOLS)
		return -EINVAL;
	if (open != NULL) {
		if (text[len - 1] != ')')
			return -EINVAL;
		pattern = open + 1;
		pattern_len = len - name_len - 2;
	} else if (memchr(text, ')', len) != NULL) {
		return -EINVAL;
	}
	name = strndup(text, name_len);
	if (name == NULL)
		return -ENOMEM;
	tool = our_name(name);
	if (strcmp(tool, EXEC_TOOL) == 0) {
		if (pattern == NULL || (pattern_len == 1 && *pattern == '*'))
			reading->any_command = true;
		else if (pattern_len == 0)
			return -EINVAL;
		else if (strv_add_len(&reading->exec_patterns, pattern, pattern_len) < 0)
			return -ENOMEM;
	}
	return strv_add(&reading->tools, tool);
}

// Mentions parted by white space and commas that stand outside of parentheses.
static int read_text(struct tool_reading *reading, const char *text, size_t len)
{
	size_t start = 0, depth = 0;

	for (size_t i = 0; i <= len; i++) {
		bool apart = i == len || (depth == 0 && strchr(" \t\r\n,", text[i]) != NULL);

		if (apart) {
			int rc = i > start ? add_mention(reading, text + start, i - start) : 0;

			if (rc < 0)
				return rc;
			start = i + 1;
		} else if (text[i] == '(') {
			depth++;
		} else if (text[i] == ')') {
			if (depth == 0)
				return -EINVAL;
			depth--;
		}
	}
	return depth == 0 ? 0 : -EINVAL;
}

static bool is_text(const struct yaml_node *node)
{
	return node->kind == NODE_SCALAR && !node->tagged && yaml_scalar_kind(node) == SCALAR_TEXT &&
	       memchr(node->text, '\0', node->len) == NULL;
}

// -EINVAL: it cannot be read, but the rest of the document still can, so that name and description are known.
static int read_list(struct yaml_reader *reader, struct tool_reading *reading, bool *ret_readable)
{
	bool readable = true;

	for (;;) {
		struct yaml_node node;
		struct yaml_problem problem;
		int rc = yaml_reader_next(reader, &node, &problem);

		if (rc < 0)
			return rc;
		if (node.kind == NODE_LIST_END)
			break;
		if (!is_text(&node)) {
			readable = false;
			rc = yaml_reader_skip(reader, &node, &problem);
		} else {
			rc = add_mention(reading, node.text, node.len);
			if (rc == -EINVAL) {
				readable = false;
				rc = 0;
			}
		}
		if (rc < 0)
			return rc;
	}
	*ret_readable = readable;
	return 0;
}

static int keep_common(struct strv *list, const struct strv *other)
{
	struct name_set set CLEANUP(name_set) = { NULL, 0, 0 };
	size_t kept = 0;

	for (size_t i = 0; i < other->count; i++)
		if (name_set_add(&set, other->items[i], i) < 0)
			return -ENOMEM;
	name_set_sort(&set);
	for (size_t i = 0; i < list->count; i++) {
		if (name_set_find(&set, list->items[i], NULL))
			list->items[kept++] = list->items[i];
		else
			free(list->items[i]);
	}
	list->count = kept;
	return 0;
}

static void drop_tool(struct strv *tools, const char *tool)
{
	size_t kept = 0;

	for (size_t i = 0; i < tools->count; i++) {
		if (strcmp(tools->items[i], tool) == 0)
			free(tools->items[i]);
		else
			tools->items[kept++] = tools->items[i];
	}
	tools->count = kept;
}

// Joins what one key says with what is known so far; only ever narrows. Takes from `reading`.
static int narrow(struct skill_restriction *restriction, struct tool_reading *reading)
{
	if (reading->any_command)
		strv_release(&reading->exec_patterns);
	if (restriction->kind == RESTRICTION_NONE) {
		restriction->kind = RESTRICTION_LIST;
		restriction->tools = reading->tools;
		restriction->exec_patterns = reading->exec_patterns;
		*reading = (struct tool_reading){ .any_command = false };
		return 0;
	}
	if (keep_common(&restriction->tools, &reading->tools) < 0)
		return -ENOMEM;
	if (reading->exec_patterns.count == 0)
		return 0;
	if (restriction->exec_patterns.count == 0) {
		strv_release(&restriction->exec_patterns);
		restriction->exec_patterns = reading->exec_patterns;
		reading->exec_patterns = (struct strv){ NULL, 0, 0 };
		return 0;
	}
	// Two different patterns may have commands in common, but to say which is not needed: nothing is allowed.
	if (keep_common(&restriction->exec_patterns, &reading->exec_patterns) < 0)
		return -ENOMEM;
	if (restriction->exec_patterns.count == 0)
		drop_tool(&restriction->tools, EXEC_TOOL);
	return 0;
}

static int read_restriction(struct yaml_reader *reader, const struct restriction_key *key,
			    const struct yaml_node *node, struct skill_restriction *restriction)
{
	struct tool_reading reading CLEANUP(tool_reading) = { .any_command = false };
	bool readable = false;
	struct yaml_problem problem;
	int rc = 0;

	if (key->takes_text && is_text(node)) {
		rc = read_text(&reading, node->text, node->len);
		readable = rc == 0;
		rc = rc == -EINVAL ? 0 : rc;
	} else if (node->kind == NODE_LIST && !node->tagged) {
		rc = read_list(reader, &reading, &readable);
	} else {
		rc = yaml_reader_skip(reader, node, &problem);
	}
	if (rc < 0)
		return rc;
	if (restriction->kind == RESTRICTION_UNREADABLE)
		return 0;
	if (!readable) {
		restriction->kind = RESTRICTION_UNREADABLE;
		return 0;
	}
	if (reading.tools.count == 0 && key->empty_says_nothing)
		return 0;
	return narrow(restriction, &reading);
}

static const struct restriction_key *restriction_key_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(restriction_keys); i++)
		if (strcmp(restriction_keys[i].name, name) == 0)
			return &restriction_keys[i];
	return NULL;
}

static int read_field(const struct yaml_node *node, char **field)
{
	if (*field != NULL || node->kind != NODE_SCALAR || yaml_scalar_kind(node) == SCALAR_NULL ||
	    memchr(node->text, '\0', node->len) != NULL)
		return 0;
	*field = strdup(node->text);
	return *field != NULL ? 0 : -ENOMEM;
}

// Each key and its value. -EINVAL when the document cannot be read to its end.
static int read_mapping(struct yaml_reader *reader, struct manifest *manifest)
{
	struct strv seen CLEANUP(strv) = { NULL, 0, 0 };
	struct name_set sorted CLEANUP(name_set) = { NULL, 0, 0 };
	struct skill_restriction *restriction = &manifest->restriction;
	struct yaml_problem problem;

	for (;;) {
		const struct restriction_key *key;
		struct yaml_node node;
		int rc = yaml_reader_next(reader, &node, &problem);

		if (rc < 0)
			return rc;
		if (node.kind == NODE_MAP_END)
			break;
		// A key that is not a plain word, and a merge key, could stand for one of ours.
		if (node.kind != NODE_SCALAR || node.tagged || strcmp(node.text, "<<") == 0 ||
		    memchr(node.text, '\0', node.len) != NULL || seen.count >= MAX_TOP_LEVEL_KEYS)
			return -EINVAL;
		if (strv_add(&seen, node.text) < 0)
			return -ENOMEM;
		rc = yaml_reader_next(reader, &node, &problem);
		if (rc < 0)
			return rc;
		key = restriction_key_find(seen.items[seen.count - 1]);
		if (key != NULL)
			rc = read_restriction(reader, key, &node, restriction);
		else if (strcmp(seen.items[seen.count - 1], "name") == 0)
			rc = read_field(&node, &manifest->name);
		else if (strcmp(seen.items[seen.count - 1], "description") == 0)
			rc = read_field(&node, &manifest->description);
		if (rc == 0 && key == NULL)
			rc = yaml_reader_skip(reader, &node, &problem);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < seen.count; i++)
		if (name_set_add(&sorted, seen.items[i], i) < 0)
			return -ENOMEM;
	name_set_sort(&sorted);
	for (size_t i = 1; i < sorted.count; i++)
		if (strcmp(sorted.items[i - 1].name, sorted.items[i].name) == 0)
			return -EINVAL;
	return 0;
}

static int read_document(struct yaml_reader *reader, struct manifest *manifest)
{
	struct yaml_node node;
	struct yaml_problem problem;
	int rc = yaml_reader_next(reader, &node, &problem);

	if (rc < 0 || node.kind == NODE_END)
		return rc;
	rc = yaml_reader_next(reader, &node, &problem); // what follows NODE_DOCUMENT
	if (rc < 0)
		return rc;
	if (node.kind == NODE_MAP)
		rc = node.tagged ? -EINVAL : read_mapping(reader, manifest);
	else if (node.kind != NODE_SCALAR || yaml_scalar_kind(&node) != SCALAR_NULL)
		rc = -EINVAL;
	if (rc < 0)
		return rc;
	rc = yaml_reader_next(reader, &node, &problem);
	if (rc < 0)
		return rc;
	return node.kind == NODE_END ? 0 : -EINVAL;
}

// The YAML between the first and the closing line. False when there is no front matter.
static bool find_front_matter(const char *text, size_t len, const char **ret, size_t *ret_len)
{
	size_t end = front_matter_length(text, len), start = 0;
	const char *newline;

	if (end == 0)
		return false;
	newline = memchr(text, '\n', end);
	if (newline == NULL)
		return false;
	start = (size_t)(newline - text) + 1;
	// Back over the closing line, which may have a line end of its own.
	if (end > start && text[end - 1] == '\n')
		end--;
	while (end > start && text[end - 1] != '\n')
		end--;
	*ret = text + start;
	*ret_len = end - start;
	return true;
}

// A first line that begins front matter, though no line ends it.
static bool begins_front_matter(const char *text, size_t len)
{
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	if (len < 3 || memcmp(text, "---", 3) != 0)
		return false;
	text += 3;
	len -= 3;
	while (len > 0 && (*text == ' ' || *text == '\t' || *text == '\r')) {
		text++;
		len--;
	}
	return len == 0 || *text == '\n';
}

int manifest_parse(const char *text, size_t len, struct manifest *ret)
{
	struct manifest manifest CLEANUP(manifest) = { .restriction.kind = RESTRICTION_NONE };
	CLEANUP(yaml_reader) struct yaml_reader *reader = NULL;
	const char *yaml;
	size_t yaml_len;
	int rc = 0;

	if (!find_front_matter(text, len, &yaml, &yaml_len)) {
		if (begins_front_matter(text, len))
			manifest.restriction.kind = RESTRICTION_UNREADABLE;
	} else if (yaml_len > FRONT_MATTER_MAX_SIZE) {
		manifest.restriction.kind = RESTRICTION_UNREADABLE;
	} else {
		rc = yaml_reader_new(yaml, yaml_len, &reader);
		if (rc == 0)
			rc = read_document(reader, &manifest);
		if (rc == -EINVAL)
			manifest.restriction.kind = RESTRICTION_UNREADABLE;
		else if (rc < 0)
			return rc;
	}
	if (manifest.restriction.kind == RESTRICTION_UNREADABLE) {
		strv_release(&manifest.restriction.tools);
		strv_release(&manifest.restriction.exec_patterns);
	} else if (!strv_contains(&manifest.restriction.tools, EXEC_TOOL)) {
		strv_release(&manifest.restriction.exec_patterns);
	}
	*ret = manifest;
	manifest = (struct manifest){ .name = NULL };
	return 0;
}
