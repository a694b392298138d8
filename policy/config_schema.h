// SPDX-License-Identifier: Apache-2.0
//
// Every key of the configuration as data: type, range, default and where the
// value lives. Reading, defaults and printing walk these tables. Private to policy/.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/config.h"

enum key_type {
	KEY_MAP,  // fixed `keys` below it, in the same struct
	KEY_EACH, // keys of its own; each element has `keys`, or is one value of type `value`
	KEY_LIST, // a list of mappings; each element has `keys`
	KEY_BOOL,
	KEY_NUMBER, // uint32_t or uint64_t or size_t, by width
	KEY_SIZE,   // the same, with units
	KEY_CHOICE, // an enum
	KEY_TEXT,   // char *
	KEY_PATH,   // char *, absolute; null is allowed
	KEY_NAMES,  // struct strv
	KEY_TOOLS,  // struct strv; names that are not known are warned of
	KEY_PATHS,  // struct strv, each absolute
	KEY_LATER,  // known, but this version does not act on it: an error
};

struct choice {
	const char *name;
	int value;
	bool later; // known, but this version does not act on it: an error
};

// What the text of a name may be.
enum name_rule {
	NAME_PRINTABLE,
	NAME_WORD,
	NAME_TOOL,
	NAME_AGENT,
	NAME_RULE_ID,
	NAME_CATEGORY,
	NAME_PATTERN,
	NAME_GLOB
};

// A table of elements inside the configuration.
struct collection {
	const char *what; // "agent"
	size_t max;
	enum name_rule name_rule;
	// Finds or makes the element named `name` of `owner`; -ENOENT for a name that cannot be. NULL in a list.
	int (*open)(struct config *config, void *owner, const char *name, void **ret);
	// The element at `index` and its name; NULL behind the last.
	void *(*at)(const struct config *config, void *owner, size_t index, const char **ret_name);
	// The names that can be, when they are known; NULL behind the last.
	const char *(*candidate)(size_t index);
};

struct key {
	const char *name;
	enum key_type type;
	size_t offset; // in the struct that the table is about
	size_t width;
	uint64_t min, max; // numbers, sizes
	uint64_t fallback; // default of a number, size, boolean or choice
	const char *text;  // default of a text
	enum name_rule name_rule;
	const struct choice *choices; // ends with a NULL name
	const struct key *keys;       // ends with a NULL name
	const struct key *value;      // of KEY_EACH, when an element is one value
	const struct collection *each;
	bool required;   // in an element of a list
	bool below_root; // a path that must not be / itself
};

extern const struct key config_keys[]; // about struct config

// Sets every default of a table.
int schema_set_defaults(const struct key *keys, void *base);
// NULL when `text` keeps the rule, else what it should be: "a tool name: ...".
const char *schema_name_problem(enum name_rule rule, const char *text, size_t len);

uint64_t schema_get_number(const struct key *key, const void *base);
void schema_set_number(const struct key *key, void *base, uint64_t value);
static inline void *schema_field(const struct key *key, void *base)
{
	return (char *)base + key->offset;
}

// Elements with all their defaults; the caller owns what is inside.
int agent_config_init(struct agent_config *agent, const char *id);
void agent_config_release(struct agent_config *agent);
void source_profile_init(struct source_profile *profile, const char *tool); // does not copy `tool`
