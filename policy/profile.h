// SPDX-License-Identifier: Apache-2.0
//
// The built-in tool profiles and groups, as tables.
#pragma once

#include <stddef.h>

struct tool_list {
	const char *name;         // "coding", "group:web"
	const char *const *tools; // NULL-terminated
};

extern const struct tool_list tool_profiles[]; // "full" has an empty list: everything known
extern const size_t tool_profile_count;
extern const struct tool_list tool_groups[];
extern const size_t tool_group_count;

const struct tool_list *tool_profile_find(const char *name); // NULL when unknown
const struct tool_list *tool_group_find(const char *name);
