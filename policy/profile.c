// SPDX-License-Identifier: Apache-2.0
//
// The product's seven profiles and eleven groups. Names are exact: no folding,
// no trimming, no wildcard, and nothing but this table is a profile.
#include "policy/profile.h"

#include <string.h>

#include "sanitize/cleanup.h"

#define TOOLS(...) ((const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

#define CODING_TOOLS "read", "edit", "write", "grep", "find", "ls", "apply_patch", "exec", "process"
#define SUPERVISOR_TOOLS                                                                                     \
	"agents_manage", "obs_query", "sessions_manage", "memory_manage", "channels_manage",                 \
		"tokens_manage", "models_manage", "skills_manage", "mcp_manage", "heartbeat_manage"

const struct tool_list tool_profiles[] = {
	{ "minimal", TOOLS("read", "write") },
	{ "coding", TOOLS(CODING_TOOLS) },
	{ "messaging", TOOLS("message", "session_status") },
	{ "supervisor", TOOLS(SUPERVISOR_TOOLS) },
	{ "full", TOOLS() },
	{ "cron-minimal", TOOLS("web_search", "message", "read_file", "write_file", "list_dir",
				"memory_store", "memory_search", "cron", "discover") },
	{ "heartbeat-minimal", TOOLS("message", "memory_store", "memory_search", "discover") },
};
const size_t tool_profile_count = ARRAY_SIZE(tool_profiles);

const struct tool_list tool_groups[] = {
	{ "group:coding", TOOLS(CODING_TOOLS) },
	{ "group:web", TOOLS("web_fetch", "web_search", "browser") },
	{ "group:browser", TOOLS("browser") },
	{ "group:memory", TOOLS("memory_search", "memory_get", "memory_store") },
	{ "group:scheduling", TOOLS("cron") },
	{ "group:messaging", TOOLS("message") },
	{ "group:sessions", TOOLS("sessions_list", "sessions_history", "sessions_send", "sessions_spawn",
				  "session_status", "session_search", "subagents", "pipeline") },
	{ "group:platform_actions",
	  TOOLS("discord_action", "telegram_action", "slack_action", "whatsapp_action") },
	{ "group:supervisor", TOOLS(SUPERVISOR_TOOLS) },
	{ "group:context", TOOLS("ctx_search", "ctx_inspect", "ctx_recall") },
	{ "group:context_expand", TOOLS("ctx_expand", "ctx_inspect") },
};
const size_t tool_group_count = ARRAY_SIZE(tool_groups);

static const struct tool_list *find(const struct tool_list *lists, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(lists[i].name, name) == 0)
			return &lists[i];
	return NULL;
}

const struct tool_list *tool_profile_find(const char *name)
{
	return find(tool_profiles, tool_profile_count, name);
}

const struct tool_list *tool_group_find(const char *name)
{
	return find(tool_groups, tool_group_count, name);
}
