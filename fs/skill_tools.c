// SPDX-License-Identifier: Apache-2.0
#include "fs/skill_tools.h"

#include <errno.h>
#include <string.h>

#include "sanitize/cleanup.h"

char *skill_path(const char *skill)
{
	size_t len;

	skill += strspn(skill, "/");
	len = strlen(skill);
	while (len > 0 && skill[len - 1] == '/')
		len--;
	if (len == 1 && skill[0] == '.')
		len = 0;
	return strndup(skill, len);
}

// The skill's SKILL.md, with a reference; its restriction lives as long.
static int find_skill(const struct daemon *daemon, const char *skill, struct snapshot **ret)
{
	CLEANUP(free) char *path = skill_path(skill);

	if (path == NULL)
		return -ENOMEM;
	*ret = ledger_skill(daemon->ledger, path);
	return *ret == NULL ? -ENOENT : 0;
}

int skill_narrowing(const struct daemon *daemon, const struct agent_config *agent, const char *skill,
		    struct strv *ret)
{
	CLEANUP(snapshot) struct snapshot *snapshot = NULL;
	int rc = find_skill(daemon, skill, &snapshot);

	if (rc < 0)
		return rc;
	switch (snapshot->skill->restriction.kind) {
	case RESTRICTION_NONE:
		return known_tools(agent, ret);
	case RESTRICTION_LIST:
		return strv_copy(ret, &snapshot->skill->restriction.tools);
	case RESTRICTION_UNREADABLE:
		return 0;
	}
	return 0;
}

int skill_effective_tools(const struct daemon *daemon, const struct agent_config *agent, const char *skill,
			  struct strv *ret_known, struct effective_tools *ret)
{
	CLEANUP(snapshot) struct snapshot *snapshot = NULL;
	int rc = skill == NULL ? 0 : find_skill(daemon, skill, &snapshot);

	if (rc == 0)
		rc = known_tools(agent, ret_known);
	if (rc == 0)
		rc = resolve_tools(&agent->tool_policy, ret_known,
				   skill == NULL ? NULL : &snapshot->skill->restriction, ret);
	return rc;
}
