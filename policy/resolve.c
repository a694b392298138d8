// SPDX-License-Identifier: Apache-2.0
//
// Effective tools. What is not named is not allowed: an unknown profile stands
// for no tools, an unknown group for a tool of that very name.
#include "policy/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/name_set.h"
#include "policy/profile.h"
#include "sanitize/cleanup.h"

const char *exclusion_name(enum exclusion exclusion)
{
	switch (exclusion) {
	case EXCLUDED_NOT_IN_PROFILE:
		return "not_in_profile";
	case EXCLUDED_EXPLICIT_DENY:
		return "explicit_deny";
	case EXCLUDED_NOT_IN_SKILL:
		return "not_in_skill";
	}
	return "unknown";
}

void effective_tools_release(struct effective_tools *effective)
{
	strv_release(&effective->tools);
	free(effective->excluded);
	*effective = (struct effective_tools){ .excluded = NULL };
}

static int add_list(struct name_set *set, const struct tool_list *list, size_t index)
{
	for (size_t i = 0; list->tools[i] != NULL; i++)
		if (name_set_add(set, list->tools[i], index) < 0)
			return -ENOMEM;
	return 0;
}

// Every entry, groups expanded, with the entry's place in the list.
static int add_entries(struct name_set *set, const struct strv *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		const struct tool_list *group = tool_group_find(entries->items[i]);
		int rc = group != NULL ? add_list(set, group, i) : name_set_add(set, entries->items[i], i);

		if (rc < 0)
			return rc;
	}
	return 0;
}

int known_tools(const struct agent_config *agent, struct strv *ret)
{
	struct name_set builtin CLEANUP(name_set) = { NULL, 0, 0 };
	struct name_set own CLEANUP(name_set) = { NULL, 0, 0 };
	struct strv known CLEANUP(strv) = { NULL, 0, 0 };

	for (size_t i = 0; i < tool_profile_count + tool_group_count; i++) {
		const struct tool_list *list =
			i < tool_profile_count ? &tool_profiles[i] : &tool_groups[i - tool_profile_count];

		for (size_t j = 0; list->tools[j] != NULL; j++)
			if (!strv_contains(&known, list->tools[j]) && strv_add(&known, list->tools[j]) < 0)
				return -ENOMEM;
	}
	for (size_t i = 0; i < known.count; i++)
		if (name_set_add(&builtin, known.items[i], i) < 0)
			return -ENOMEM;
	name_set_sort(&builtin);
	// With falling indexes the largest is the first of equal names: the one that stays.
	for (size_t i = 0; i < agent->known_tools.count; i++)
		if (name_set_add(&own, agent->known_tools.items[i], agent->known_tools.count - i) < 0)
			return -ENOMEM;
	name_set_sort(&own);
	for (size_t i = 0; i < agent->known_tools.count; i++) {
		const char *tool = agent->known_tools.items[i];
		size_t first;

		if (name_set_find(&builtin, tool, NULL) || !name_set_find(&own, tool, &first) ||
		    first != agent->known_tools.count - i)
			continue;
		if (strv_add(&known, tool) < 0)
			return -ENOMEM;
	}
	*ret = known;
	known = (struct strv){ NULL, 0, 0 };
	return 0;
}

static void exclude(struct effective_tools *effective, const char *tool, enum exclusion reason,
		    const char *entry)
{
	effective->excluded[effective->excluded_count++] = (struct excluded_tool){ tool, reason, entry };
}

int resolve_tools(const struct tool_policy *policy, const struct strv *known,
		  const struct skill_restriction *skill, struct effective_tools *ret)
{
	const struct tool_list *profile = tool_profile_find(policy->profile);
	bool everything = profile != NULL && profile->tools[0] == NULL;
	struct name_set allowed CLEANUP(name_set) = { NULL, 0, 0 };
	struct name_set denied CLEANUP(name_set) = { NULL, 0, 0 };
	struct name_set skills CLEANUP(name_set) = { NULL, 0, 0 };
	struct effective_tools effective = { .excluded = NULL };

	if ((profile != NULL && add_list(&allowed, profile, 0) < 0) ||
	    add_entries(&allowed, &policy->allow) < 0 || add_entries(&denied, &policy->deny) < 0)
		return -ENOMEM;
	if (skill != NULL)
		for (size_t i = 0; i < skill->tools.count; i++)
			if (name_set_add(&skills, skill->tools.items[i], i) < 0)
				return -ENOMEM;
	name_set_sort(&allowed);
	name_set_sort(&denied);
	name_set_sort(&skills);

	effective.excluded = calloc(known->count > 0 ? known->count : 1, sizeof(*effective.excluded));
	if (effective.excluded == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < known->count; i++) {
		const char *tool = known->items[i];
		size_t entry;

		if (name_set_find(&denied, tool, &entry)) {
			exclude(&effective, tool, EXCLUDED_EXPLICIT_DENY, policy->deny.items[entry]);
		} else if (!everything && !name_set_find(&allowed, tool, NULL)) {
			exclude(&effective, tool, EXCLUDED_NOT_IN_PROFILE, policy->profile);
		} else if (skill != NULL && skill->kind != RESTRICTION_NONE &&
			   (skill->kind != RESTRICTION_LIST || !name_set_find(&skills, tool, NULL))) {
			exclude(&effective, tool, EXCLUDED_NOT_IN_SKILL, NULL);
		} else if (strv_add(&effective.tools, tool) < 0) {
			effective_tools_release(&effective);
			return -ENOMEM;
		}
	}
	*ret = effective;
	return 0;
}

bool effective_tools_allow(const struct effective_tools *effective, const char *tool)
{
	return strv_contains(&effective->tools, tool);
}
