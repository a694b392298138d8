// SPDX-License-Identifier: Apache-2.0
//
// YAML as a stream of nodes with their places, through libyaml's event
// interface: nothing is built in memory, aliases are never expanded, depth is
// limited. Private to policy/; the only user of libyaml.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define YAML_MAX_DEPTH 32

struct yaml_reader;

enum node_kind {
	NODE_SCALAR,
	NODE_LIST, // begins a list
	NODE_LIST_END,
	NODE_MAP, // begins a mapping: keys and values follow in turn
	NODE_MAP_END,
	NODE_ALIAS,    // text is the anchor's name
	NODE_DOCUMENT, // begins a document
	NODE_END,      // of the stream
};

// What a plain (unquoted) scalar means in YAML's core schema.
enum scalar_kind { SCALAR_TEXT, SCALAR_NULL, SCALAR_BOOL, SCALAR_NUMBER };

struct yaml_node {
	enum node_kind kind;
	const char
		*text; // of a scalar or alias; NUL-terminated, may hold NULs too; valid until the next call
	size_t len;
	bool quoted;   // quoted or a block scalar
	bool anchored; // carries an anchor
	bool tagged;   // carries a tag of its own
	size_t line;   // 1-based
	size_t column; // 1-based, in characters
};

struct yaml_problem {
	char what[256]; // no text of the document in it
	size_t line;
	size_t column;
};

// `text` must outlive the reader. It is read as UTF-8 whatever its first bytes say. 0 or -ENOMEM.
int yaml_reader_new(const char *text, size_t len, struct yaml_reader **ret);
void yaml_reader_free(struct yaml_reader *reader); // NULL is allowed
// 0; -EINVAL with a problem (then for good); -ENOMEM. After NODE_END it must not be called again.
int yaml_reader_next(struct yaml_reader *reader, struct yaml_node *ret, struct yaml_problem *ret_problem);
// Reads on until the list or mapping that `node` begins has ended; nothing to do for other nodes.
int yaml_reader_skip(struct yaml_reader *reader, const struct yaml_node *node,
		     struct yaml_problem *ret_problem);

enum scalar_kind yaml_scalar_kind(const struct yaml_node *node);

static inline void cleanup_yaml_reader(struct yaml_reader **reader)
{
	yaml_reader_free(*reader);
}
