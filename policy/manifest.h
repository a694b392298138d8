// SPDX-License-Identifier: Apache-2.0
//
// A skill's front matter: its name, its description, and which tools it
// restricts itself to. Lenient about everything but the restriction: one that
// cannot be read means no tools at all.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/strv.h"

#define FRONT_MATTER_MAX_SIZE ((size_t)64 << 10) // larger front matter cannot be read
#define RESTRICTION_MAX_TOOLS 1024

enum restriction_kind {
	RESTRICTION_NONE,       // the skill says nothing
	RESTRICTION_LIST,       // only `tools`
	RESTRICTION_UNREADABLE, // no tools
};

struct skill_restriction {
	enum restriction_kind kind;
	struct strv
		tools; // our names: Bash, Bash(git:*) -> exec, Read -> read, ... ; unknown names literally
	// The command patterns when `exec` is named only with patterns ("git:*"); empty: any command. A command
	// has to match one of them.
	struct strv exec_patterns;
};

void skill_restriction_release(struct skill_restriction *restriction);

struct manifest {
	char *name;        // NULL when absent
	char *description; // NULL when absent
	struct skill_restriction restriction;
};

// What is read, of the keys `allowed-tools` (text: names parted by spaces or commas; or a list) and `allowedTools`
// (a list; an empty one is its documented default and says nothing): both present are intersected. Anything else in
// them, a key given twice, an alias or merge key that could stand for one of them: RESTRICTION_UNREADABLE.
//
// `text` is a whole SKILL.md as served. Never fails but for -ENOMEM: front matter that cannot be parsed at all
// gives RESTRICTION_UNREADABLE, no front matter gives RESTRICTION_NONE.
int manifest_parse(const char *text, size_t len, struct manifest *ret);
void manifest_release(struct manifest *manifest);
