// SPDX-License-Identifier: Apache-2.0
//
// A skill's front matter: its name, its description, and which tools it
// restricts itself to. Lenient about everything but the restriction: one that
// cannot be read means no tools at all.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/strv.h"

enum restriction_kind {
	RESTRICTION_NONE,       // the skill says nothing
	RESTRICTION_LIST,       // only `tools`
	RESTRICTION_UNREADABLE, // no tools
};

struct skill_restriction {
	enum restriction_kind kind;
	struct strv tools; // our names: Bash, Bash(git:*) -> exec, Read -> read, ... ; unknown names literally
};

struct manifest {
	char *name;        // NULL when absent
	char *description; // NULL when absent
	struct skill_restriction restriction;
};

// `text` is a whole SKILL.md as served. Never fails but for -ENOMEM: front matter that cannot be parsed at all
// gives RESTRICTION_UNREADABLE, no front matter gives RESTRICTION_NONE.
int manifest_parse(const char *text, size_t len, struct manifest *ret);
void manifest_release(struct manifest *manifest);
