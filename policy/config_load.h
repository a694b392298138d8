// SPDX-License-Identifier: Apache-2.0
//
// What the two halves of config_parse() share: reading the file by the tables
// (config_load.c, config_value.c) and judging the whole (config_check.c). Private to policy/.
#pragma once

#include "policy/config_schema.h"
#include "policy/nearest.h"
#include "policy/yaml_reader.h"

// A name in an allow or deny list that is to be looked up once all known tools are known.
struct named_place {
	size_t agent;     // index
	const char *name; // borrowed from the configuration
	size_t line;
	size_t column;
};

struct loader {
	struct yaml_reader *reader;
	const char *name; // of the file, for messages
	struct config *config;
	struct error *error;
	struct buf path; // of the key being read: "agents.default.workspace"
	struct named_place *places;
	size_t place_count;
	size_t place_cap;
};

// The next node; anchors, aliases and tags are refused. -EINVAL with the message set.
int loader_next(struct loader *loader, struct yaml_node *ret);
// "NAME:LINE:COLUMN: WHAT"; returns -EINVAL.
int loader_fail(struct loader *loader, size_t line, size_t column, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int loader_warn(struct loader *loader, size_t line, size_t column, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
// Reads the value of a key that is no mapping and no list of mappings. `node` is its first node.
int loader_read_value(struct loader *loader, const struct key *key, void *base, const struct yaml_node *node);
// Everything that needs the whole file. Sorts what is to be sorted.
int loader_check(struct loader *loader);

// A text for a message: one line, clipped, printable.
struct shown {
	char text[80];
};
struct shown loader_show(const char *text, size_t len);
// ": did you mean 'x'?" or nothing.
struct shown loader_suggest(const struct nearest *nearest);
// "64MiB", "1000": what reads back as that size.
struct shown config_show_size(uint64_t size);
