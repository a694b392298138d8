// SPDX-License-Identifier: Apache-2.0
//
// One value of the configuration: its type, its range, and what to say when it
// has neither.
#include "policy/config_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/cleanup.h"

static const struct {
	const char *name;
	uint64_t factor;
} units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "K", (uint64_t)1 << 10 },
	{ "KiB", (uint64_t)1 << 10 },
	{ "KB", 1000 },
	{ "M", (uint64_t)1 << 20 },
	{ "MiB", (uint64_t)1 << 20 },
	{ "MB", 1000000 },
	{ "G", (uint64_t)1 << 30 },
	{ "GiB", (uint64_t)1 << 30 },
	{ "GB", 1000000000 },
	{ "T", (uint64_t)1 << 40 },
	{ "TiB", (uint64_t)1 << 40 },
	{ "TB", 1000000000000 },
};

// "a list", "a number '5'", "text 'five'": what stands where something else should.
static struct shown found(const struct yaml_node *node)
{
	struct shown text = loader_show(node->text, node->len), shown = { "" };
	static const char *const kinds[] = { [SCALAR_TEXT] = "text",
					     [SCALAR_NULL] = "nothing",
					     [SCALAR_BOOL] = "",
					     [SCALAR_NUMBER] = "number" };
	enum scalar_kind kind = yaml_scalar_kind(node);

	if (node->kind == NODE_MAP)
		(void)snprintf(shown.text, sizeof(shown.text), "keys and values");
	else if (node->kind == NODE_LIST)
		(void)snprintf(shown.text, sizeof(shown.text), "a list");
	else if (kind == SCALAR_NULL)
		(void)snprintf(shown.text, sizeof(shown.text), "nothing");
	else
		(void)snprintf(shown.text, sizeof(shown.text), "%s%s'%.60s'", kinds[kind],
			       *kinds[kind] != '\0' ? " " : "", text.text);
	return shown;
}

static int wrong(struct loader *loader, const struct yaml_node *node, const char *expects)
{
	return loader_fail(loader, node->line, node->column, "%s: expects %s, found %s", loader->path.data,
			   expects, found(node).text);
}

// Digits only, as YAML's 0x1f, 1_000 and 010 mean different things to different readers.
static bool parse_digits(const char *text, uint64_t *ret, const char **ret_rest)
{
	uint64_t value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (value > (UINT64_MAX - 9) / 10)
			return false;
		value = value * 10 + (uint64_t)(*at - '0');
	}
	if (at == text || (text[0] == '0' && at != text + 1))
		return false;
	*ret = value;
	*ret_rest = at;
	return true;
}

static bool parse_size(const char *text, uint64_t *ret)
{
	const char *rest;
	uint64_t value;

	if (!parse_digits(text, &value, &rest))
		return false;
	rest += *rest == ' ';
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(units[i].name, rest) != 0)
			continue;
		if (value > UINT64_MAX / units[i].factor)
			return false;
		*ret = value * units[i].factor;
		return true;
	}
	return false;
}

struct shown config_show_size(uint64_t size)
{
	static const struct {
		const char *name;
		unsigned shift;
	} binary[] = { { "TiB", 40 }, { "GiB", 30 }, { "MiB", 20 }, { "KiB", 10 } };
	struct shown shown;

	for (size_t i = 0; i < ARRAY_SIZE(binary); i++) {
		if (size > 0 && (size & (((uint64_t)1 << binary[i].shift) - 1)) == 0) {
			(void)snprintf(shown.text, sizeof(shown.text), "%" PRIu64 "%s",
				       size >> binary[i].shift, binary[i].name);
			return shown;
		}
	}
	(void)snprintf(shown.text, sizeof(shown.text), "%" PRIu64, size);
	return shown;
}

static int read_bool(struct loader *loader, const struct key *key, void *base, const struct yaml_node *node)
{
	if (node->kind != NODE_SCALAR || yaml_scalar_kind(node) != SCALAR_BOOL)
		return wrong(loader, node, "true or false");
	schema_set_number(key, base, node->text[0] == 't' || node->text[0] == 'T');
	return 0;
}

static int read_number(struct loader *loader, const struct key *key, void *base, const struct yaml_node *node)
{
	bool is_size = key->type == KEY_SIZE, good = false;
	uint64_t value = 0;
	const char *rest;
	char expects[256];

	if (node->kind == NODE_SCALAR && strlen(node->text) == node->len) {
		if (is_size)
			good = parse_size(node->text, &value);
		else
			good = !node->quoted && parse_digits(node->text, &value, &rest) && *rest == '\0';
	}
	if (good && value >= key->min && value <= key->max) {
		schema_set_number(key, base, value);
		return 0;
	}
	if (is_size)
		(void)snprintf(expects, sizeof(expects), "a size from %s to %s such as 64MiB or 67108864",
			       config_show_size(key->min).text, config_show_size(key->max).text);
	else
		(void)snprintf(expects, sizeof(expects), "a whole number from %" PRIu64 " to %" PRIu64,
			       key->min, key->max);
	return wrong(loader, node, expects);
}

static int read_choice(struct loader *loader, const struct key *key, void *base, const struct yaml_node *node)
{
	char expects[256] = "";
	struct nearest nearest;
	size_t used = 0;

	nearest_start(&nearest, node->text);
	for (const struct choice *choice = key->choices; choice->name != NULL; choice++) {
		if (node->kind == NODE_SCALAR && strlen(node->text) == node->len &&
		    strcmp(choice->name, node->text) == 0) {
			if (choice->later)
				return loader_fail(loader, node->line, node->column,
						   "%s: '%s' is not supported by this version yet",
						   loader->path.data, choice->name);
			schema_set_number(key, base, (uint64_t)choice->value);
			return 0;
		}
		nearest_offer(&nearest, choice->name);
		used += (size_t)snprintf(expects + used, sizeof(expects) - used, "%s%s",
					 used == 0 ? "" : (choice[1].name == NULL ? " or " : ", "),
					 choice->name);
	}
	return loader_fail(loader, node->line, node->column, "%s: expects %s, found %s%s", loader->path.data,
			   expects, found(node).text, loader_suggest(&nearest).text);
}

static bool is_text(const struct yaml_node *node)
{
	return node->kind == NODE_SCALAR && yaml_scalar_kind(node) == SCALAR_TEXT;
}

static int check_name(struct loader *loader, enum name_rule rule, const struct yaml_node *node)
{
	const char *problem;

	if (!is_text(node)) {
		bool number = node->kind == NODE_SCALAR && yaml_scalar_kind(node) != SCALAR_NULL;

		return wrong(loader, node, number ? "text (in quotes, if it is meant so)" : "text");
	}
	problem = schema_name_problem(rule, node->text, node->len);
	return problem == NULL ? 0 : wrong(loader, node, problem);
}

// Whether a path comes to / itself. One with `..` does not get here.
static bool is_root(const char *path)
{
	for (const char *at = path; *at != '\0';) {
		size_t len;

		at += strspn(at, "/");
		len = strcspn(at, "/");
		if (len > 1 || (len == 1 && *at != '.'))
			return false;
		at += len;
	}
	return true;
}

static bool has_parent_component(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")) != NULL; at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
			return true;
	return false;
}

static int check_path(struct loader *loader, const struct key *key, const struct yaml_node *node)
{
	if (!is_text(node))
		return wrong(loader, node, "an absolute path");
	for (size_t i = 0; i < node->len; i++)
		if ((unsigned char)node->text[i] < 0x20 || node->text[i] == 0x7f)
			return wrong(loader, node, "a path without control characters");
	if (node->text[0] == '~')
		return wrong(loader, node, "an absolute path ('~' is not expanded)");
	if (node->text[0] != '/')
		return wrong(loader, node, "an absolute path");
	if (has_parent_component(node->text))
		return wrong(loader, node, "a path without '..'");
	if (key->below_root && is_root(node->text))
		return wrong(loader, node, "a path below '/'");
	if (node->len > key->max)
		return loader_fail(loader, node->line, node->column,
				   "%s: a path of %zu bytes: at most %" PRIu64, loader->path.data, node->len,
				   key->max);
	return 0;
}

static int set_text(const struct key *key, void *base, const char *text)
{
	char **field = schema_field(key, base);
	char *copy = NULL;

	if (text != NULL) {
		copy = strdup(text);
		if (copy == NULL)
			return -ENOMEM;
	}
	free(*field);
	*field = copy;
	return 0;
}

static int remember_place(struct loader *loader, const struct agent_config *agent, const char *name,
			  const struct yaml_node *node)
{
	if (loader->place_count == loader->place_cap) {
		size_t cap = loader->place_cap < 64 ? 64 : loader->place_cap * 2;
		struct named_place *places = reallocarray(loader->places, cap, sizeof(*places));

		if (places == NULL)
			return -ENOMEM;
		loader->places = places;
		loader->place_cap = cap;
	}
	loader->places[loader->place_count++] =
		(struct named_place){ (size_t)(agent - loader->config->agents), name, node->line,
				      node->column };
	return 0;
}

static int read_strings(struct loader *loader, const struct key *key, void *base,
			const struct yaml_node *first)
{
	struct strv *list = schema_field(key, base);

	if (first->kind != NODE_LIST)
		return wrong(loader, first,
			     key->type == KEY_PATHS ? "a list of absolute paths" : "a list of names");
	for (;;) {
		struct yaml_node node;
		int rc = loader_next(loader, &node);

		if (rc < 0)
			return rc;
		if (node.kind == NODE_LIST_END)
			return 0;
		if (list->count == CONFIG_MAX_ITEMS)
			return loader_fail(loader, node.line, node.column, "%s: more than %d entries",
					   loader->path.data, CONFIG_MAX_ITEMS);
		rc = key->type == KEY_PATHS ? check_path(loader, key, &node)
					    : check_name(loader, key->name_rule, &node);
		if (rc == 0)
			rc = strv_add_len(list, node.text, node.len);
		if (rc == 0 && key->type == KEY_TOOLS)
			rc = remember_place(loader, base, list->items[list->count - 1], &node);
		if (rc < 0)
			return rc;
	}
}

int loader_read_value(struct loader *loader, const struct key *key, void *base, const struct yaml_node *node)
{
	int rc;

	switch (key->type) {
	case KEY_BOOL:
		return read_bool(loader, key, base, node);
	case KEY_NUMBER:
	case KEY_SIZE:
		return read_number(loader, key, base, node);
	case KEY_CHOICE:
		return read_choice(loader, key, base, node);
	case KEY_TEXT:
		rc = check_name(loader, key->name_rule, node);
		return rc < 0 ? rc : set_text(key, base, node->text);
	case KEY_PATH:
		if (node->kind == NODE_SCALAR && yaml_scalar_kind(node) == SCALAR_NULL)
			return set_text(key, base, NULL);
		rc = check_path(loader, key, node);
		return rc < 0 ? rc : set_text(key, base, node->text);
	case KEY_NAMES:
	case KEY_TOOLS:
	case KEY_PATHS:
		return read_strings(loader, key, base, node);
	case KEY_MAP:
	case KEY_EACH:
	case KEY_LIST:
	case KEY_LATER:
		break;
	}
	return -EINVAL;
}
