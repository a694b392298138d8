// SPDX-License-Identifier: Apache-2.0
//
// The configuration as a value: defaults, look-ups, the end.
#include "policy/config.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "policy/config_schema.h"
#include "sanitize/cleanup.h"

int config_default(struct config **ret)
{
	CLEANUP(config) struct config *config = calloc(1, sizeof(*config));
	void *agent;
	int rc;

	if (config == NULL)
		return -ENOMEM;
	config->generation = 1;
	rc = schema_set_defaults(config_keys, config);
	if (rc == 0)
		rc = config_keys[0].each->open(config, config, DEFAULT_AGENT, &agent);
	if (rc < 0)
		return rc;
	*ret = take(config);
	return 0;
}

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	free(config->path);
	for (size_t i = 0; i < config->agent_count; i++)
		agent_config_release(&config->agents[i]);
	free(config->agents);
	for (size_t i = 0; i < config->mount.class_count; i++)
		free(config->mount.classes[i].glob);
	free(config->mount.classes);
	strv_release(&config->mount.follow_symlinks);
	for (size_t i = 0; i < config->severity_count; i++)
		free(config->severities[i].rule_id);
	free(config->severities);
	for (size_t i = 0; i < config->custom_rule_count; i++) {
		free((char *)config->custom_rules[i].id);
		free((char *)config->custom_rules[i].category);
		free((char *)config->custom_rules[i].pattern);
		free((char *)config->custom_rules[i].description);
	}
	free(config->custom_rules);
	strv_release(&config->warnings);
	for (size_t i = 0; i < config->origin_count; i++)
		free(config->origins[i].key);
	free(config->origins);
	free(config);
}

const struct agent_config *config_agent(const struct config *config, const char *id)
{
	for (size_t i = 0; i < config->agent_count; i++)
		if (strcmp(config->agents[i].id, id) == 0)
			return &config->agents[i];
	return NULL;
}

const struct source_profile *config_source_profile(const struct agent_config *agent, const char *tool)
{
	const char *names[] = { tool, strncmp(tool, "mcp__", 5) == 0 ? "mcp_default" : "web_fetch" };

	for (size_t n = 0; n < ARRAY_SIZE(names); n++)
		for (size_t i = 0; i < agent->source_profile_count; i++)
			if (strcmp(agent->source_profiles[i].tool, names[n]) == 0)
				return &agent->source_profiles[i];
	return NULL; // cannot be: both are in every agent's table
}

bool config_class(const struct config *config, const char *path, enum file_class *ret)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash != NULL ? slash + 1 : path;

	for (size_t i = config->mount.class_count; i > 0; i--) {
		const struct class_override *override = &config->mount.classes[i - 1];
		const char *subject = strchr(override->glob, '/') != NULL ? path : last;

		if (fnmatch(override->glob, subject, FNM_PATHNAME) == 0) {
			*ret = override->cls;
			return true;
		}
	}
	return false;
}

static int compare_origin(const void *key, const void *item)
{
	return strcmp(key, ((const struct config_origin *)item)->key);
}

const struct config_origin *config_origin(const struct config *config, const char *key)
{
	if (config->origin_count == 0)
		return NULL;
	return bsearch(key, config->origins, config->origin_count, sizeof(*config->origins), compare_origin);
}
