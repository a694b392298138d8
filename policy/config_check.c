// SPDX-License-Identifier: Apache-2.0
//
// What can be judged only when all of the file is read: keys that need each
// other, names that may be defined further down, and what the owner should know.
#include "policy/config_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/name_set.h"
#include "policy/profile.h"
#include "policy/resolve.h"
#include "policy/source_profile.h"
#include "sanitize/cleanup.h"

static int compare_origin(const void *left, const void *right)
{
	return strcmp(((const struct config_origin *)left)->key, ((const struct config_origin *)right)->key);
}

static int compare_severity(const void *left, const void *right)
{
	return strcmp(((const struct severity_override *)left)->rule_id,
		      ((const struct severity_override *)right)->rule_id);
}

// Where a key of an agent was set; line 0 when it was not.
static struct config_origin agent_origin(const struct loader *loader, const struct agent_config *agent,
					 const char *key)
{
	struct buf path CLEANUP(buf) = BUF_INIT;
	const struct config_origin *origin = NULL;

	if (buf_printf(&path, "agents.%s.%s", agent->id, key) == 0)
		origin = config_origin(loader->config, path.data);
	return origin != NULL ? *origin : (struct config_origin){ NULL, 0, 0 };
}

static int check_network(struct loader *loader, const struct agent_config *agent)
{
	struct config_origin mode = agent_origin(loader, agent, "skills.execSandbox.network.mode");
	struct config_origin path =
		agent_origin(loader, agent, "skills.execSandbox.network.brokerSocketPath");
	bool broker_only = agent->sandbox.network == NETWORK_BROKER_ONLY;

	if (broker_only && agent->sandbox.broker_socket_path == NULL)
		return loader_fail(loader, mode.line, mode.column,
				   "agents.%s.skills.execSandbox.network.mode: broker-only needs "
				   "brokerSocketPath, an absolute path",
				   agent->id);
	if (!broker_only && agent->sandbox.broker_socket_path != NULL)
		return loader_warn(loader, path.line, path.column,
				   "brokerSocketPath has no effect while network.mode is open");
	return 0;
}

static int check_profile(struct loader *loader, const struct agent_config *agent)
{
	struct config_origin at = agent_origin(loader, agent, "toolPolicy.profile");
	const char *profile = agent->tool_policy.profile;
	struct nearest nearest;

	if (tool_profile_find(profile) != NULL)
		return 0;
	nearest_start(&nearest, profile);
	for (size_t i = 0; i < tool_profile_count; i++)
		nearest_offer(&nearest, tool_profiles[i].name);
	return loader_warn(loader, at.line, at.column,
			   "unknown profile '%s', which has no tools: only the allow list counts%s",
			   loader_show(profile, strlen(profile)).text, loader_suggest(&nearest).text);
}

static int clamp_source_profile(struct loader *loader, const struct agent_config *agent,
				struct source_profile *profile)
{
	struct source_profile asked = *profile;
	struct buf key CLEANUP(buf) = BUF_INIT;

	source_profile_clamp(profile);
	for (int i = 0; i < 2; i++) {
		uint64_t before = i == 0 ? asked.max_response_bytes : asked.max_chars;
		uint64_t after = i == 0 ? profile->max_response_bytes : profile->max_chars;
		struct config_origin at;
		int rc;

		if (before == after)
			continue;
		buf_clear(&key);
		rc = buf_printf(&key, "sourceProfiles.%s.%s", profile->tool,
				i == 0 ? "maxResponseBytes" : "maxChars");
		if (rc < 0)
			return rc;
		at = agent_origin(loader, agent, key.data);
		rc = loader_warn(loader, at.line, at.column,
				 "agents.%s.%s: %" PRIu64 " is out of range: %" PRIu64 " is used", agent->id,
				 key.data, before, after);
		if (rc < 0)
			return rc;
	}
	return 0;
}

// What is legal and yet takes a protection away.
static int warn_of_weakness(struct loader *loader, const struct agent_config *agent)
{
	const struct {
		bool weak;
		const char *key;
		const char *what;
	} weaknesses[] = {
		{ !agent->scanning_enabled, "skills.contentScanning.enabled",
		  "content scanning is off: dangerous files are served" },
		{ !agent->block_on_critical, "skills.contentScanning.blockOnCritical",
		  "files with critical findings are served" },
		{ agent->sandbox.enabled == SANDBOX_NEVER, "skills.execSandbox.enabled",
		  "commands run without a sandbox" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(weaknesses); i++) {
		struct config_origin at = agent_origin(loader, agent, weaknesses[i].key);
		int rc = 0;

		if (weaknesses[i].weak)
			rc = loader_warn(loader, at.line, at.column, "agents.%s: %s", agent->id,
					 weaknesses[i].what);
		if (rc < 0)
			return rc;
	}
	return 0;
}

// The names of the agent's allow and deny lists, which are places [first, last).
static int check_tools(struct loader *loader, const struct agent_config *agent, size_t first, size_t last)
{
	struct strv known CLEANUP(strv) = { NULL, 0, 0 };
	struct name_set set CLEANUP(name_set) = { NULL, 0, 0 };
	int rc = first < last ? known_tools(agent, &known) : 0;

	for (size_t i = 0; rc == 0 && i < known.count; i++)
		rc = name_set_add(&set, known.items[i], i);
	name_set_sort(&set);
	for (size_t i = first; rc == 0 && i < last; i++) {
		const struct named_place *place = &loader->places[i];
		bool group = strncmp(place->name, "group:", 6) == 0;
		struct nearest nearest;

		if (tool_group_find(place->name) != NULL || name_set_find(&set, place->name, NULL))
			continue;
		if (loader->config->warnings.count > CONFIG_MAX_WARNINGS)
			break;
		nearest_start(&nearest, place->name);
		for (size_t j = 0; j < tool_group_count; j++)
			nearest_offer(&nearest, tool_groups[j].name);
		for (size_t j = 0; j < known.count; j++)
			nearest_offer(&nearest, known.items[j]);
		rc = loader_warn(loader, place->line, place->column, "unknown %s '%s', taken as it stands%s",
				 group ? "group" : "tool", loader_show(place->name, strlen(place->name)).text,
				 loader_suggest(&nearest).text);
	}
	return rc;
}

static int check_rules(struct loader *loader)
{
	struct config *config = loader->config;
	struct name_set ids CLEANUP(name_set) = { NULL, 0, 0 };
	char path[96];

	for (size_t i = 0; i < config->custom_rule_count; i++) {
		const char *id = config->custom_rules[i].id;
		const struct config_origin *at;

		(void)snprintf(path, sizeof(path), "rules.custom[%zu].id", i);
		at = config_origin(config, path);
		if (rule_find(id) != NULL)
			return loader_fail(loader, at->line, at->column, "%s: '%s' is a built-in rule", path,
					   id);
		for (size_t j = 0; j < i; j++)
			if (strcmp(config->custom_rules[j].id, id) == 0)
				return loader_fail(loader, at->line, at->column, "%s: '%s' is there twice",
						   path, id);
		if (name_set_add(&ids, id, i) < 0)
			return -ENOMEM;
	}
	name_set_sort(&ids);
	for (size_t i = 0; i < config->severity_count; i++) {
		const char *id = config->severities[i].rule_id;
		const struct config_origin *at;
		struct nearest nearest;

		if (rule_find(id) != NULL || name_set_find(&ids, id, NULL))
			continue;
		nearest_start(&nearest, id);
		for (size_t j = 0; j < rule_count; j++)
			nearest_offer(&nearest, rules[j].id);
		for (size_t j = 0; j < config->custom_rule_count; j++)
			nearest_offer(&nearest, config->custom_rules[j].id);
		(void)snprintf(path, sizeof(path), "rules.severity.%s", id);
		at = config_origin(config, path);
		return loader_fail(loader, at->line, at->column, "unknown rule '%s'%s", id,
				   loader_suggest(&nearest).text);
	}
	return 0;
}

int loader_check(struct loader *loader)
{
	struct config *config = loader->config;
	size_t place = 0;
	int rc;

	if (config->origin_count > 1)
		qsort(config->origins, config->origin_count, sizeof(*config->origins), compare_origin);
	if (config->severity_count > 1)
		qsort(config->severities, config->severity_count, sizeof(*config->severities),
		      compare_severity);
	rc = check_rules(loader);
	for (size_t i = 0; rc == 0 && i < config->agent_count; i++) {
		struct agent_config *agent = &config->agents[i];

		rc = check_network(loader, agent);
		for (size_t j = 0; rc == 0 && j < agent->source_profile_count; j++)
			rc = clamp_source_profile(loader, agent, &agent->source_profiles[j]);
		if (rc == 0)
			rc = warn_of_weakness(loader, agent);
		if (rc == 0)
			rc = check_profile(loader, agent);
	}
	// An agent's lists stand together in the file.
	while (rc == 0 && place < loader->place_count) {
		size_t end = place + 1;

		while (end < loader->place_count && loader->places[end].agent == loader->places[place].agent)
			end++;
		rc = check_tools(loader, &config->agents[loader->places[place].agent], place, end);
		place = end;
	}
	return rc;
}
