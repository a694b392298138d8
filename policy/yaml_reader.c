// SPDX-License-Identifier: Apache-2.0
#include "policy/yaml_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "sanitize/cleanup.h"

struct yaml_reader {
	yaml_parser_t parser;
	yaml_event_t event;
	bool has_event;
	bool broken;
	const char *text;
	size_t len;
	unsigned depth;
};

int yaml_reader_new(const char *text, size_t len, struct yaml_reader **ret)
{
	struct yaml_reader *reader = calloc(1, sizeof(*reader));

	if (reader == NULL)
		return -ENOMEM;
	if (yaml_parser_initialize(&reader->parser) == 0) {
		free(reader);
		return -ENOMEM;
	}
	reader->text = len > 0 ? text : "";
	reader->len = len;
	// Without this, two bytes at the start could turn the text into UTF-16.
	yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader->parser, (const unsigned char *)reader->text, len);
	*ret = reader;
	return 0;
}

void yaml_reader_free(struct yaml_reader *reader)
{
	if (reader == NULL)
		return;
	if (reader->has_event)
		yaml_event_delete(&reader->event);
	yaml_parser_delete(&reader->parser);
	free(reader);
}

// Line and column of a byte, for problems that libyaml has no mark for.
static void locate_byte(const struct yaml_reader *reader, size_t offset, struct yaml_problem *problem)
{
	problem->line = 1;
	problem->column = 1;
	for (size_t i = 0; i < offset && i < reader->len; i++) {
		if (reader->text[i] == '\n') {
			problem->line++;
			problem->column = 1;
		} else if (((unsigned char)reader->text[i] & 0xc0) != 0x80) {
			problem->column++;
		}
	}
}

// Whether a line (1-based) is indented with a tab, which libyaml reports in words that do not say so.
static bool line_has_tab_indent(const struct yaml_reader *reader, size_t line)
{
	const char *at = reader->text, *end = reader->text + reader->len;

	for (; line > 1; line--) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (at == NULL)
			return false;
		at++;
	}
	while (at < end && *at == ' ')
		at++;
	return at < end && *at == '\t';
}

static int parser_problem(struct yaml_reader *reader, struct yaml_problem *ret)
{
	const yaml_parser_t *parser = &reader->parser;
	const char *what = parser->problem != NULL ? parser->problem : "not valid YAML";

	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (parser->error == YAML_READER_ERROR) {
		locate_byte(reader, parser->problem_offset, ret);
		(void)snprintf(ret->what, sizeof(ret->what), "not a text file in UTF-8: %s", what);
		return -EINVAL;
	}
	ret->line = parser->problem_mark.line + 1;
	ret->column = parser->problem_mark.column + 1;
	if (line_has_tab_indent(reader, ret->line))
		(void)snprintf(ret->what, sizeof(ret->what),
			       "a tab is used for indentation: YAML takes spaces only");
	else if (parser->context != NULL)
		(void)snprintf(ret->what, sizeof(ret->what), "%s %s", what, parser->context);
	else
		(void)snprintf(ret->what, sizeof(ret->what), "%s", what);
	return -EINVAL;
}

static int own_problem(const yaml_event_t *event, struct yaml_problem *ret, const char *what)
{
	ret->line = event->start_mark.line + 1;
	ret->column = event->start_mark.column + 1;
	(void)snprintf(ret->what, sizeof(ret->what), "%s", what);
	return -EINVAL;
}

// Fills `ret` from the event; false for events that say nothing to the caller.
static bool node_from_event(const yaml_event_t *event, struct yaml_node *ret)
{
	struct yaml_node node = {
		.text = "",
		.line = event->start_mark.line + 1,
		.column = event->start_mark.column + 1,
	};

	switch (event->type) {
	case YAML_SCALAR_EVENT:
		node.kind = NODE_SCALAR;
		node.text = (const char *)event->data.scalar.value;
		node.len = event->data.scalar.length;
		node.quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
		node.anchored = event->data.scalar.anchor != NULL;
		node.tagged = event->data.scalar.tag != NULL;
		break;
	case YAML_ALIAS_EVENT:
		node.kind = NODE_ALIAS;
		node.text = (const char *)event->data.alias.anchor;
		node.len = strlen(node.text);
		break;
	case YAML_SEQUENCE_START_EVENT:
		node.kind = NODE_LIST;
		node.anchored = event->data.sequence_start.anchor != NULL;
		node.tagged = event->data.sequence_start.tag != NULL;
		break;
	case YAML_MAPPING_START_EVENT:
		node.kind = NODE_MAP;
		node.anchored = event->data.mapping_start.anchor != NULL;
		node.tagged = event->data.mapping_start.tag != NULL;
		break;
	case YAML_SEQUENCE_END_EVENT:
		node.kind = NODE_LIST_END;
		break;
	case YAML_MAPPING_END_EVENT:
		node.kind = NODE_MAP_END;
		break;
	case YAML_DOCUMENT_START_EVENT:
		node.kind = NODE_DOCUMENT;
		break;
	case YAML_STREAM_END_EVENT:
		node.kind = NODE_END;
		break;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return false;
	}
	*ret = node;
	return true;
}

int yaml_reader_next(struct yaml_reader *reader, struct yaml_node *ret, struct yaml_problem *ret_problem)
{
	struct yaml_node node = { .text = "" };

	if (reader->broken) {
		*ret_problem = (struct yaml_problem){ .what = "not valid YAML", .line = 1, .column = 1 };
		return -EINVAL;
	}
	do {
		if (reader->has_event)
			yaml_event_delete(&reader->event);
		reader->has_event = false;
		if (yaml_parser_parse(&reader->parser, &reader->event) == 0) {
			reader->broken = true;
			return parser_problem(reader, ret_problem);
		}
		reader->has_event = true;
	} while (!node_from_event(&reader->event, &node));

	if (node.kind == NODE_LIST || node.kind == NODE_MAP) {
		if (++reader->depth > YAML_MAX_DEPTH) {
			reader->broken = true;
			return own_problem(&reader->event, ret_problem, "nested too deeply");
		}
	} else if (node.kind == NODE_LIST_END || node.kind == NODE_MAP_END) {
		reader->depth--;
	}
	*ret = node;
	return 0;
}

int yaml_reader_skip(struct yaml_reader *reader, const struct yaml_node *node,
		     struct yaml_problem *ret_problem)
{
	struct yaml_node next = *node;
	unsigned outside;

	if (node->kind != NODE_LIST && node->kind != NODE_MAP)
		return 0;
	outside = reader->depth - 1;
	while (reader->depth > outside) {
		int rc = yaml_reader_next(reader, &next, ret_problem);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static bool is_one_of(const char *text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

// An optional sign and then digits, with at most one point and one exponent; also 0x1f, 0o17, .inf, .nan.
static bool looks_like_number(const char *text)
{
	static const char *const words[] = { ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN" };
	const char *at = text;
	size_t digits;

	if (*at == '+' || *at == '-')
		at++;
	if (is_one_of(at, words, ARRAY_SIZE(words)))
		return true;
	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'o') && at[2] != '\0')
		return at[2 + strspn(at + 2, "0123456789abcdefABCDEF_")] == '\0';
	digits = strspn(at, "0123456789_");
	at += digits;
	if (*at == '.') {
		size_t fraction = strspn(at + 1, "0123456789_");

		digits += fraction;
		at += 1 + fraction;
	}
	if (digits == 0)
		return false;
	if (*at == 'e' || *at == 'E') {
		at++;
		if (*at == '+' || *at == '-')
			at++;
		if (*at == '\0')
			return false;
		at += strspn(at, "0123456789");
	}
	return *at == '\0';
}

enum scalar_kind yaml_scalar_kind(const struct yaml_node *node)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
	static const char *const bools[] = { "true", "True", "TRUE", "false", "False", "FALSE" };

	if (node->quoted || strlen(node->text) != node->len)
		return SCALAR_TEXT;
	if (is_one_of(node->text, nulls, ARRAY_SIZE(nulls)))
		return SCALAR_NULL;
	if (is_one_of(node->text, bools, ARRAY_SIZE(bools)))
		return SCALAR_BOOL;
	return looks_like_number(node->text) ? SCALAR_NUMBER : SCALAR_TEXT;
}
