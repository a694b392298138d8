// SPDX-License-Identifier: Apache-2.0
//
// Reads a configuration by the tables of config_schema.c, one node at a time.
// The first thing that is not as it should be ends it with its place.
#include "policy/config_load.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/cleanup.h"

#define MAX_ORIGINS ((size_t)1 << 17)

struct shown loader_show(const char *text, size_t len)
{
	struct shown shown;
	size_t used = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)text[i];

		// Clipped before a character, never inside one.
		if (used > 56 && (byte & 0xc0) != 0x80) {
			memcpy(shown.text + used, "...", 3);
			used += 3;
			break;
		}
		shown.text[used++] = (byte < 0x20 || byte == 0x7f) ? '?' : (char)byte;
		if (used == sizeof(shown.text) - 4)
			break;
	}
	shown.text[used] = '\0';
	return shown;
}

struct shown loader_suggest(const struct nearest *nearest)
{
	struct shown shown = { "" };

	if (nearest->best != NULL)
		(void)snprintf(shown.text, sizeof(shown.text), ": did you mean '%.48s'?", nearest->best);
	return shown;
}

// "NAME:LINE:COLUMN: WHAT". The end of a long file name says more than its start.
__attribute__((format(printf, 6, 0))) static void describe(const struct loader *loader, char *ret,
							   size_t size, size_t line, size_t column,
							   const char *format, va_list args)
{
	size_t len = strlen(loader->name);
	bool clip = len > 300;
	int used = snprintf(ret, size, "%s%s:%zu:%zu: ", clip ? "..." : "",
			    loader->name + (clip ? len - 300 : 0), line, column);

	if (used >= 0 && (size_t)used < size)
		(void)vsnprintf(ret + used, size - (size_t)used, format, args);
}

int loader_fail(struct loader *loader, size_t line, size_t column, const char *format, ...)
{
	char message[sizeof(loader->error->message)];
	va_list args;

	va_start(args, format);
	describe(loader, message, sizeof(message), line, column, format, args);
	va_end(args);
	return error_set(loader->error, -EINVAL, "%s", message);
}

int loader_warn(struct loader *loader, size_t line, size_t column, const char *format, ...)
{
	struct strv *warnings = &loader->config->warnings;
	char message[sizeof(loader->error->message)];
	va_list args;

	if (warnings->count > CONFIG_MAX_WARNINGS)
		return 0;
	if (warnings->count == CONFIG_MAX_WARNINGS)
		return strv_add(warnings, "there are more warnings than are listed here");
	va_start(args, format);
	describe(loader, message, sizeof(message), line, column, format, args);
	va_end(args);
	return strv_add(warnings, message);
}

int loader_next(struct loader *loader, struct yaml_node *ret)
{
	struct yaml_problem problem;
	struct yaml_node node;
	int rc = yaml_reader_next(loader->reader, &node, &problem);

	if (rc == -EINVAL)
		return loader_fail(loader, problem.line, problem.column, "%s", problem.what);
	if (rc < 0)
		return rc;
	if (node.kind == NODE_ALIAS || node.anchored)
		return loader_fail(loader, node.line, node.column, "anchors and aliases are not allowed");
	if (node.tagged)
		return loader_fail(loader, node.line, node.column, "tags are not allowed");
	*ret = node;
	return 0;
}

static int remember_origin(struct loader *loader, size_t line, size_t column)
{
	struct config *config = loader->config;
	struct config_origin *origins = config->origins;
	size_t count = config->origin_count;

	if (count == MAX_ORIGINS)
		return loader_fail(loader, line, column, "too many keys");
	if ((count & (count - 1)) == 0) {
		origins = reallocarray(origins, count > 0 ? count * 2 : 1, sizeof(*origins));
		if (origins == NULL)
			return -ENOMEM;
		config->origins = origins;
	}
	origins[count] = (struct config_origin){ strdup(loader->path.data), line, column };
	if (origins[count].key == NULL)
		return -ENOMEM;
	config->origin_count++;
	return 0;
}

static int read_keys(struct loader *loader, const struct key *keys, void *base);

static int expect_map(struct loader *loader, const struct yaml_node *node)
{
	struct shown shown = loader_show(node->text, node->len);

	if (node->kind == NODE_MAP)
		return 0;
	if (node->kind == NODE_SCALAR)
		return loader_fail(loader, node->line, node->column,
				   "%s: expects keys and values, found '%s'", loader->path.data, shown.text);
	return loader_fail(loader, node->line, node->column, "%s: expects keys and values, found a list",
			   loader->path.data);
}

// A mapping whose lines are all commented out reads as null: the same as an empty one.
static bool is_nothing(const struct yaml_node *node)
{
	return node->kind == NODE_SCALAR && yaml_scalar_kind(node) == SCALAR_NULL;
}

static const struct key *find_key(const struct key *keys, const char *name)
{
	for (const struct key *key = keys; key->name != NULL; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

static int unknown_key(struct loader *loader, const struct key *keys, const struct yaml_node *node)
{
	struct shown shown = loader_show(node->text, node->len);
	char known[512] = "";
	struct nearest nearest;
	size_t used = 0;

	nearest_start(&nearest, node->text);
	for (const struct key *key = keys; key->name != NULL; key++) {
		nearest_offer(&nearest, key->name);
		if (used < sizeof(known))
			used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
						 used > 0 ? ", " : "", key->name);
	}
	if (nearest.best != NULL)
		return loader_fail(loader, node->line, node->column, "unknown key '%s'%s", shown.text,
				   loader_suggest(&nearest).text);
	return loader_fail(loader, node->line, node->column, "unknown key '%s': known here are %s",
			   shown.text, known);
}

// A key of a mapping: text that was not there before. Extends the path.
static int read_key(struct loader *loader, const struct yaml_node *node, struct strv *seen)
{
	struct shown shown = loader_show(node->text, node->len);

	if (node->kind != NODE_SCALAR)
		return loader_fail(loader, node->line, node->column, "a key has to be a word");
	if (memchr(node->text, '\0', node->len) != NULL)
		return loader_fail(loader, node->line, node->column, "NUL character");
	if (strv_contains(seen, node->text))
		return loader_fail(loader, node->line, node->column, "duplicate key '%s'", shown.text);
	if (strv_add(seen, node->text) < 0)
		return -ENOMEM;
	if (loader->path.len > 0) {
		int rc = buf_append_byte(&loader->path, '.');

		if (rc < 0)
			return rc;
	}
	return buf_append_string(&loader->path, node->text);
}

static void path_cut(struct loader *loader, size_t len)
{
	if (loader->path.data != NULL) {
		loader->path.len = len;
		loader->path.data[len] = '\0';
	}
}

static int open_element(struct loader *loader, const struct collection *each, void *owner,
			const struct yaml_node *name, void **ret)
{
	struct shown shown = loader_show(name->text, name->len);
	const char *problem = schema_name_problem(each->name_rule, name->text, name->len), *candidate;
	struct nearest nearest;
	int rc;

	if (problem != NULL)
		return loader_fail(loader, name->line, name->column, "'%s' is not %s", shown.text, problem);
	rc = each->open(loader->config, owner, name->text, ret);
	if (rc != -ENOENT)
		return rc;
	nearest_start(&nearest, name->text);
	for (size_t i = 0; each->candidate != NULL && (candidate = each->candidate(i)) != NULL; i++)
		nearest_offer(&nearest, candidate);
	return loader_fail(loader, name->line, name->column, "unknown %s '%s'%s", each->what, shown.text,
			   loader_suggest(&nearest).text);
}

// A mapping with keys of its own, behind its first node.
static int read_each(struct loader *loader, const struct key *key, void *base)
{
	const struct collection *each = key->each;
	struct strv seen CLEANUP(strv) = { NULL, 0, 0 };
	size_t outer = loader->path.len;

	for (;;) {
		struct yaml_node node;
		void *element;
		size_t line, column;
		int rc = loader_next(loader, &node);

		if (rc < 0)
			return rc;
		if (node.kind == NODE_MAP_END)
			return 0;
		line = node.line;
		column = node.column;
		if (seen.count == each->max)
			return loader_fail(loader, line, column, "%s: more than %zu entries",
					   loader->path.data, each->max);
		rc = read_key(loader, &node, &seen);
		if (rc == 0)
			rc = open_element(loader, each, base, &node, &element);
		if (rc == 0)
			rc = loader_next(loader, &node);
		if (rc < 0)
			return rc;
		if (key->value != NULL) {
			rc = remember_origin(loader, line, column);
			if (rc == 0)
				rc = loader_read_value(loader, key->value, element, &node);
		} else if (!is_nothing(&node)) {
			rc = expect_map(loader, &node);
			if (rc == 0)
				rc = read_keys(loader, key->keys, element);
		}
		if (rc < 0)
			return rc;
		path_cut(loader, outer);
	}
}

// A list of mappings, behind its first node.
static int read_list(struct loader *loader, const struct key *key, void *base)
{
	size_t outer = loader->path.len;

	for (size_t count = 0;; count++) {
		struct yaml_node node;
		void *element;
		size_t origins;
		int rc = loader_next(loader, &node);

		if (rc < 0)
			return rc;
		if (node.kind == NODE_LIST_END)
			return 0;
		if (count == key->each->max)
			return loader_fail(loader, node.line, node.column, "%s: more than %zu entries",
					   loader->path.data, key->each->max);
		rc = buf_printf(&loader->path, "[%zu]", count);
		if (rc == 0)
			rc = expect_map(loader, &node);
		if (rc == 0)
			rc = key->each->open(loader->config, base, NULL, &element);
		if (rc == 0)
			rc = schema_set_defaults(key->keys, element);
		if (rc == 0)
			rc = remember_origin(loader, node.line, node.column);
		origins = loader->config->origin_count;
		if (rc == 0)
			rc = read_keys(loader, key->keys, element);
		if (rc < 0)
			return rc;
		for (const struct key *part = key->keys; part->name != NULL; part++) {
			bool given = false;

			for (size_t i = origins; i < loader->config->origin_count; i++) {
				const char *dot = strrchr(loader->config->origins[i].key, '.');

				given = given || strcmp(dot + 1, part->name) == 0;
			}
			if (part->required && !given)
				return loader_fail(loader, node.line, node.column, "%s: key '%s' is missing",
						   loader->path.data, part->name);
		}
		path_cut(loader, outer);
	}
}

static int read_one(struct loader *loader, const struct key *key, void *base, const struct yaml_node *node,
		    size_t line, size_t column)
{
	int rc;

	switch (key->type) {
	case KEY_MAP:
		if (is_nothing(node))
			return 0;
		rc = expect_map(loader, node);
		return rc < 0 ? rc : read_keys(loader, key->keys, base);
	case KEY_EACH:
		if (is_nothing(node))
			return 0;
		rc = expect_map(loader, node);
		return rc < 0 ? rc : read_each(loader, key, base);
	case KEY_LIST:
		if (node->kind != NODE_LIST)
			return loader_fail(loader, node->line, node->column, "%s: expects a list of %ss",
					   loader->path.data, key->each->what);
		return read_list(loader, key, base);
	case KEY_LATER:
		return loader_fail(loader, line, column, "%s is not supported by this version yet",
				   loader->path.data);
	case KEY_BOOL:
	case KEY_NUMBER:
	case KEY_SIZE:
	case KEY_CHOICE:
	case KEY_TEXT:
	case KEY_PATH:
	case KEY_NAMES:
	case KEY_TOOLS:
	case KEY_PATHS:
		rc = remember_origin(loader, line, column);
		return rc < 0 ? rc : loader_read_value(loader, key, base, node);
	}
	return -EINVAL;
}

// A mapping with fixed keys, behind its first node.
static int read_keys(struct loader *loader, const struct key *keys, void *base)
{
	struct strv seen CLEANUP(strv) = { NULL, 0, 0 };
	size_t outer = loader->path.len;

	for (;;) {
		const struct key *key;
		struct yaml_node node;
		size_t line, column;
		int rc = loader_next(loader, &node);

		if (rc < 0)
			return rc;
		if (node.kind == NODE_MAP_END)
			return 0;
		line = node.line;
		column = node.column;
		rc = read_key(loader, &node, &seen);
		if (rc < 0)
			return rc;
		key = find_key(keys, node.text);
		if (key == NULL)
			return unknown_key(loader, keys, &node);
		rc = loader_next(loader, &node);
		if (rc == 0)
			rc = read_one(loader, key, base, &node, line, column);
		if (rc < 0)
			return rc;
		path_cut(loader, outer);
	}
}

static int read_file(struct loader *loader)
{
	struct yaml_node node;
	int rc = loader_next(loader, &node);

	if (rc < 0 || node.kind == NODE_END)
		return rc;
	rc = loader_next(loader, &node); // what follows NODE_DOCUMENT
	if (rc < 0)
		return rc;
	if (node.kind == NODE_MAP)
		rc = read_keys(loader, config_keys, loader->config);
	else if (!is_nothing(&node))
		return loader_fail(loader, node.line, node.column,
				   "a configuration is made of keys and values");
	if (rc == 0)
		rc = loader_next(loader, &node);
	if (rc < 0)
		return rc;
	if (node.kind != NODE_END)
		return loader_fail(loader, node.line, node.column, "more than one document");
	return 0;
}

static int find_nul(struct loader *loader, const char *text, size_t len)
{
	const char *nul = len > 0 ? memchr(text, '\0', len) : NULL;
	size_t line = 1, column = 1;

	if (nul == NULL)
		return 0;
	for (const char *at = text; at < nul; at++) {
		column = *at == '\n' ? 1 : column + 1;
		line += *at == '\n';
	}
	return loader_fail(loader, line, column, "NUL character: not a text file");
}

int config_parse(const char *name, const char *text, size_t len, struct config **ret, struct error *error)
{
	CLEANUP(config) struct config *config = NULL;
	CLEANUP(yaml_reader) struct yaml_reader *reader = NULL;
	struct loader loader = { .name = name, .error = error, .path = BUF_INIT };
	int rc;

	if (len > CONFIG_MAX_SIZE)
		return error_set(error, -EFBIG, "%.300s: a configuration of %zu bytes: at most %zu are read",
				 name, len, CONFIG_MAX_SIZE);
	rc = config_default(&config);
	if (rc == 0)
		config->path = strdup(name);
	if (rc < 0 || config->path == NULL)
		return -ENOMEM;
	rc = yaml_reader_new(text, len, &reader);
	if (rc < 0)
		return rc;
	loader.config = config;
	loader.reader = reader;
	rc = buf_reserve(&loader.path, 128);
	if (rc == 0)
		rc = find_nul(&loader, text, len);
	if (rc == 0)
		rc = read_file(&loader);
	if (rc == 0)
		rc = loader_check(&loader);
	free(loader.places);
	buf_release(&loader.path);
	if (rc < 0)
		return rc;
	*ret = take(config);
	return 0;
}
