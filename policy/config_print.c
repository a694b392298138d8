// SPDX-License-Identifier: Apache-2.0
//
// The configuration in force as YAML, from the same tables that read it. Each
// value has a comment: where it was set and what the default is, or `default`.
// What is printed reads back to the same configuration.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/config_load.h"
#include "sanitize/cleanup.h"

struct printer {
	const struct config *config;
	struct buf out;
	struct buf path;
	struct buf value;
	struct buf standard; // the default of `value`
	struct buf file;     // the configuration's name, fit for a comment
	unsigned depth;
	bool dash; // the next line begins an element of a list
};

static void cleanup_printer(struct printer *printer)
{
	buf_release(&printer->out);
	buf_release(&printer->path);
	buf_release(&printer->value);
	buf_release(&printer->standard);
	buf_release(&printer->file);
}

// Length and value of the UTF-8 character at `text`; 0 when there is none.
static size_t decode(const unsigned char *text, uint32_t *ret)
{
	static const struct {
		unsigned char mask, lead, data;
		uint32_t least;
	} forms[] = { { 0x80, 0x00, 0x7f, 0 },
		      { 0xe0, 0xc0, 0x1f, 0x80 },
		      { 0xf0, 0xe0, 0x0f, 0x800 },
		      { 0xf8, 0xf0, 0x07, 0x10000 } };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		uint32_t value = text[0] & forms[i].data;

		if ((text[0] & forms[i].mask) != forms[i].lead)
			continue;
		for (size_t j = 1; j <= i; j++) {
			if ((text[j] & 0xc0) != 0x80)
				return 0;
			value = value << 6 | (text[j] & 0x3f);
		}
		if (value < forms[i].least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
			return 0;
		*ret = value;
		return i + 1;
	}
	return 0;
}

// What YAML takes as it stands: printable, no line end of any kind, no byte order mark.
static bool is_printable(uint32_t value)
{
	return (value >= 0x20 && value < 0x7f) ||
	       (value >= 0xa0 && value <= 0xfffd && value != 0x2028 && value != 0x2029 && value != 0xfeff) ||
	       (value >= 0x10000 && value <= 0x10ffff);
}

static int print_quoted(struct buf *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	int rc = buf_append_byte(out, '"');

	while (rc == 0 && *at != '\0') {
		uint32_t value = 0;
		size_t len = decode(at, &value);

		if (len == 0)
			return -EINVAL; // cannot be: libyaml and the built-in tables give UTF-8 only
		if (value == '"' || value == '\\')
			rc = buf_printf(out, "\\%c", (char)value);
		else if (is_printable(value))
			rc = buf_append(out, at, len);
		else if (value < 0x100)
			rc = buf_printf(out, "\\x%02" PRIx32, value);
		else
			rc = buf_printf(out, value < 0x10000 ? "\\u%04" PRIx32 : "\\U%08" PRIx32, value);
		at += len;
	}
	return rc < 0 ? rc : buf_append_byte(out, '"');
}

// Without quotes only what cannot be taken for anything but text.
static int print_text(struct buf *out, const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
	static const char *const words[] = { "null", "true", "false", "yes", "no", "on", "off", "y", "n" };
	bool plain = (strchr(letters, text[0]) != NULL || text[0] == '/') && text[0] != '\0' &&
		     text[strspn(text, more)] == '\0';

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		plain = plain && strcasecmp(text, words[i]) != 0;
	return plain ? buf_append_string(out, text) : print_quoted(out, text);
}

static int print_strings(struct buf *out, const struct strv *list)
{
	int rc = buf_append_byte(out, '[');

	for (size_t i = 0; rc == 0 && i < list->count; i++) {
		if (i > 0)
			rc = buf_append_string(out, ", ");
		if (rc == 0)
			rc = print_text(out, list->items[i]);
	}
	return rc < 0 ? rc : buf_append_byte(out, ']');
}

static int print_value(struct buf *out, const struct key *key, const void *base)
{
	const void *field = (const char *)base + key->offset;
	uint64_t number;

	switch (key->type) {
	case KEY_BOOL:
		return buf_append_string(out, schema_get_number(key, base) != 0 ? "true" : "false");
	case KEY_NUMBER:
		return buf_printf(out, "%" PRIu64, schema_get_number(key, base));
	case KEY_SIZE:
		return buf_append_string(out, config_show_size(schema_get_number(key, base)).text);
	case KEY_CHOICE:
		number = schema_get_number(key, base);
		for (const struct choice *choice = key->choices; choice->name != NULL; choice++)
			if ((uint64_t)choice->value == number)
				return buf_append_string(out, choice->name);
		return -EINVAL;
	case KEY_TEXT:
	case KEY_PATH:
		if (*(char *const *)field == NULL)
			return buf_append_string(out, "null");
		return print_text(out, *(char *const *)field);
	case KEY_NAMES:
	case KEY_TOOLS:
	case KEY_PATHS:
		return print_strings(out, field);
	case KEY_MAP:
	case KEY_EACH:
	case KEY_LIST:
	case KEY_LATER:
		break;
	}
	return -EINVAL;
}

// Indentation, or the dash of a list element in it.
static int begin_line(struct printer *printer, unsigned depth)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < depth; i++)
		rc = buf_append_string(&printer->out, printer->dash && i + 1 == depth ? "- " : "  ");
	printer->dash = false;
	return rc;
}

// The comment behind a value. `standard` is NULL where there is no default.
static int print_origin(struct printer *printer, const char *standard)
{
	const struct config_origin *origin = config_origin(printer->config, printer->path.data);

	if (origin == NULL)
		return buf_append_string(&printer->out, " # default\n");
	if (standard == NULL)
		return buf_printf(&printer->out, " # %s:%zu\n", printer->file.data, origin->line);
	return buf_printf(&printer->out, " # %s:%zu (default %s)\n", printer->file.data, origin->line,
			  standard);
}

// `name: value # where from`; the printer's path is that of the key.
static int print_leaf(struct printer *printer, const char *name, const struct key *key, const void *base,
		      const void *standard_base)
{
	const char *standard = NULL;
	int rc;

	buf_clear(&printer->value);
	rc = print_value(&printer->value, key, base);
	if (rc == 0 && standard_base != NULL && !key->required) {
		buf_clear(&printer->standard);
		rc = print_value(&printer->standard, key, standard_base);
		standard = printer->standard.data;
	}
	if (rc == 0)
		rc = begin_line(printer, printer->depth);
	if (rc == 0)
		rc = print_text(&printer->out, name);
	if (rc == 0)
		rc = buf_printf(&printer->out, ": %s", printer->value.data);
	return rc < 0 ? rc : print_origin(printer, standard);
}

static int print_keys(struct printer *printer, const struct key *keys, void *base, void *standard_base);

// The defaults of a new element, to be shown beside what was set. NULL where none apply.
static int standard_element(const struct key *key, const char *name, struct agent_config *agent,
			    struct source_profile *profile, struct custom_rule *rule, void **ret)
{
	if (key->type == KEY_LIST) {
		*ret = rule;
		return schema_set_defaults(key->keys, rule);
	}
	if (key->keys == config_keys[0].keys) {
		*ret = agent;
		return agent_config_init(agent, name);
	}
	source_profile_init(profile, name);
	*ret = profile;
	return 0;
}

static int print_element(struct printer *printer, const struct key *key, const char *name, void *element)
{
	struct agent_config agent = { .id = NULL };
	struct custom_rule rule = { .id = NULL };
	struct source_profile profile;
	void *standard;
	int rc = standard_element(key, name, &agent, &profile, &rule, &standard);

	if (rc == 0 && key->type == KEY_LIST) {
		printer->dash = true;
	} else if (rc == 0) {
		rc = begin_line(printer, printer->depth);
		if (rc == 0)
			rc = print_text(&printer->out, name);
		if (rc == 0)
			rc = buf_append_string(&printer->out, ":\n");
	}
	printer->depth++;
	if (rc == 0)
		rc = print_keys(printer, key->keys, element, standard);
	printer->depth--;
	agent_config_release(&agent);
	free((char *)rule.category);
	free((char *)rule.description);
	return rc;
}

// A mapping with keys of its own, or a list of mappings.
static int print_each(struct printer *printer, const struct key *key, void *owner)
{
	size_t outer = printer->path.len;
	const char *name = NULL;
	void *element = key->each->at(printer->config, owner, 0, &name);
	int rc = begin_line(printer, printer->depth);

	if (rc == 0)
		rc = buf_printf(&printer->out, "%s:", key->name);
	if (rc == 0 && element == NULL)
		rc = buf_append_string(&printer->out,
				       key->type == KEY_LIST ? " [] # default" : " {} # default");
	if (rc == 0)
		rc = buf_append_byte(&printer->out, '\n');
	printer->depth++;
	for (size_t i = 0; rc == 0 && element != NULL;
	     element = key->each->at(printer->config, owner, ++i, &name)) {
		printer->path.len = outer;
		rc = name != NULL ? buf_printf(&printer->path, ".%s", name)
				  : buf_printf(&printer->path, "[%zu]", i);
		if (rc < 0)
			break;
		rc = key->value != NULL ? print_leaf(printer, name, key->value, element, NULL)
					: print_element(printer, key, name, element);
	}
	printer->depth--;
	return rc;
}

static bool has_printable_key(const struct key *keys)
{
	for (const struct key *key = keys; key->name != NULL; key++)
		if (key->type != KEY_LATER && (key->type != KEY_MAP || has_printable_key(key->keys)))
			return true;
	return false;
}

static int print_keys(struct printer *printer, const struct key *keys, void *base, void *standard_base)
{
	size_t outer = printer->path.len;
	int rc = 0;

	for (const struct key *key = keys; rc == 0 && key->name != NULL; key++) {
		printer->path.len = outer;
		if (key->type == KEY_LATER || (key->type == KEY_MAP && !has_printable_key(key->keys)))
			continue;
		rc = buf_printf(&printer->path, "%s%s", outer > 0 ? "." : "", key->name);
		if (rc < 0)
			break;
		if (key->type == KEY_MAP) {
			rc = begin_line(printer, printer->depth);
			if (rc == 0)
				rc = buf_printf(&printer->out, "%s:\n", key->name);
			printer->depth++;
			if (rc == 0)
				rc = print_keys(printer, key->keys, base, standard_base);
			printer->depth--;
		} else if (key->type == KEY_EACH || key->type == KEY_LIST) {
			rc = print_each(printer, key, base);
		} else {
			rc = print_leaf(printer, key->name, key, base, standard_base);
		}
	}
	printer->path.len = outer;
	return rc;
}

// A file name may be any bytes; a comment may not.
static int clean_file_name(struct buf *out, const char *name)
{
	const unsigned char *at = (const unsigned char *)name;
	int rc = 0;

	while (rc == 0 && *at != '\0') {
		uint32_t value = 0;
		size_t len = decode(at, &value);

		rc = len > 0 && is_printable(value) ? buf_append(out, at, len) : buf_append_byte(out, '?');
		at += len > 0 ? len : 1;
	}
	return rc < 0 ? rc : buf_reserve(out, 0);
}

int config_print(const struct config *config, struct buf *ret)
{
	CLEANUP(config) struct config *defaults = NULL;
	CLEANUP(printer) struct printer printer = { .config = config };
	int rc = config_default(&defaults);

	if (rc == 0)
		rc = clean_file_name(&printer.file, config->path != NULL ? config->path : "no file");
	if (rc == 0)
		rc = buf_printf(&printer.out, "# The configuration in force (%s, generation %u).\n",
				printer.file.data, config->generation);
	// Nothing below `config` is changed: the tables' accessors are shared with the reader.
	if (rc == 0)
		rc = print_keys(&printer, config_keys, (void *)config, defaults);
	return rc < 0 ? rc : buf_append(ret, printer.out.data, printer.out.len);
}
