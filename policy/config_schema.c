// SPDX-License-Identifier: Apache-2.0
//
// The keys of skillfs.yaml(5). To let a key of a later version in, give its row
// a type and a field; to add one, add a row.
#include "policy/config_schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/source_profile.h"
#include "sanitize/cleanup.h"
#include "sanitize/sanitize.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define TIB ((uint64_t)1 << 40)

#define FIELD(type, member)                                                                                  \
	.offset = offsetof(struct type, member), .width = sizeof(((struct type *)0)->member)
#define END                                                                                                  \
	{                                                                                                    \
		.name = NULL                                                                                 \
	}

_Static_assert(sizeof(enum severity) == 4 && sizeof(enum extraction) == 4, "choices are stored by width");

// Elements of the configuration's arrays.

// Room for one more element, zeroed; the caller counts it.
static void *grow(void *array, size_t count, size_t size)
{
	char *items = array;

	// A power of two is where the room ends.
	if ((count & (count - 1)) == 0) {
		items = reallocarray(array, count > 0 ? count * 2 : 1, size);
		if (items == NULL)
			return NULL;
	}
	memset(items + count * size, 0, size);
	return items;
}

static int agent_open(struct config *config, void *owner, const char *name, void **ret)
{
	struct agent_config *agents;
	int rc;

	(void)owner;
	for (size_t i = 0; i < config->agent_count; i++) {
		if (strcmp(config->agents[i].id, name) == 0) {
			*ret = &config->agents[i];
			return 0;
		}
	}
	agents = grow(config->agents, config->agent_count, sizeof(*agents));
	if (agents == NULL)
		return -ENOMEM;
	config->agents = agents;
	rc = agent_config_init(&agents[config->agent_count], name);
	if (rc < 0)
		return rc;
	*ret = &agents[config->agent_count++];
	return 0;
}

static void *agent_at(const struct config *config, void *owner, size_t index, const char **ret_name)
{
	(void)owner;
	if (index >= config->agent_count)
		return NULL;
	*ret_name = config->agents[index].id;
	return &config->agents[index];
}

static int source_profile_open(struct config *config, void *owner, const char *name, void **ret)
{
	struct agent_config *agent = owner;
	struct source_profile *profiles, *profile;
	char *tool;

	(void)config;
	for (size_t i = 0; i < agent->source_profile_count; i++) {
		if (strcmp(agent->source_profiles[i].tool, name) == 0) {
			*ret = &agent->source_profiles[i];
			return 0;
		}
	}
	profiles = grow(agent->source_profiles, agent->source_profile_count, sizeof(*profiles));
	if (profiles == NULL)
		return -ENOMEM;
	agent->source_profiles = profiles;
	tool = strdup(name);
	if (tool == NULL)
		return -ENOMEM;
	profile = &profiles[agent->source_profile_count++];
	source_profile_init(profile, tool);
	*ret = profile;
	return 0;
}

static void *source_profile_at(const struct config *config, void *owner, size_t index, const char **ret_name)
{
	struct agent_config *agent = owner;

	(void)config;
	if (index >= agent->source_profile_count)
		return NULL;
	*ret_name = agent->source_profiles[index].tool;
	return &agent->source_profiles[index];
}

static int class_open(struct config *config, void *owner, const char *name, void **ret)
{
	struct mount_config *mount = &config->mount;
	struct class_override *classes = grow(mount->classes, mount->class_count, sizeof(*classes));

	(void)owner;
	if (classes == NULL)
		return -ENOMEM;
	mount->classes = classes;
	classes[mount->class_count].glob = strdup(name);
	if (classes[mount->class_count].glob == NULL)
		return -ENOMEM;
	*ret = &classes[mount->class_count++];
	return 0;
}

static void *class_at(const struct config *config, void *owner, size_t index, const char **ret_name)
{
	(void)owner;
	if (index >= config->mount.class_count)
		return NULL;
	*ret_name = config->mount.classes[index].glob;
	return &config->mount.classes[index];
}

static int severity_open(struct config *config, void *owner, const char *name, void **ret)
{
	struct severity_override *overrides =
		grow(config->severities, config->severity_count, sizeof(*overrides));

	(void)owner;
	if (overrides == NULL)
		return -ENOMEM;
	config->severities = overrides;
	overrides[config->severity_count].rule_id = strdup(name);
	if (overrides[config->severity_count].rule_id == NULL)
		return -ENOMEM;
	*ret = &overrides[config->severity_count++];
	return 0;
}

static void *severity_at(const struct config *config, void *owner, size_t index, const char **ret_name)
{
	(void)owner;
	if (index >= config->severity_count)
		return NULL;
	*ret_name = config->severities[index].rule_id;
	return &config->severities[index];
}

static const char *context_candidate(size_t index)
{
	return index < ARRAY_SIZE(((struct config *)0)->has_context_cap) ? context_name((enum context)index)
									 : NULL;
}

static int context_open(struct config *config, void *owner, const char *name, void **ret)
{
	const char *candidate;

	(void)owner;
	for (size_t i = 0; (candidate = context_candidate(i)) != NULL; i++) {
		if (strcmp(candidate, name) == 0) {
			*ret = &config->has_context_cap[i];
			return 0;
		}
	}
	return -ENOENT;
}

static void *context_at(const struct config *config, void *owner, size_t index, const char **ret_name)
{
	(void)owner;
	for (size_t i = 0; i < ARRAY_SIZE(config->has_context_cap); i++) {
		if (config->has_context_cap[i] && index-- == 0) {
			*ret_name = context_name((enum context)i);
			return (void *)&config->has_context_cap[i];
		}
	}
	return NULL;
}

static int custom_rule_open(struct config *config, void *owner, const char *name, void **ret)
{
	struct custom_rule *items = grow(config->custom_rules, config->custom_rule_count, sizeof(*items));

	(void)owner;
	(void)name;
	if (items == NULL)
		return -ENOMEM;
	config->custom_rules = items;
	*ret = &items[config->custom_rule_count++];
	return 0;
}

static void *custom_rule_at(const struct config *config, void *owner, size_t index, const char **ret_name)
{
	(void)owner;
	if (index >= config->custom_rule_count)
		return NULL;
	*ret_name = NULL;
	return &config->custom_rules[index];
}

static const struct collection agents = {
	"agent", CONFIG_MAX_AGENTS, NAME_AGENT, agent_open, agent_at, NULL,
};
static const struct collection source_profiles = {
	"source profile", 256, NAME_TOOL, source_profile_open, source_profile_at, NULL,
};
static const struct collection classes = {
	"pattern", CONFIG_MAX_ENTRIES, NAME_GLOB, class_open, class_at, NULL,
};
static const struct collection severities = {
	"rule", CONFIG_MAX_ENTRIES, NAME_RULE_ID, severity_open, severity_at, NULL,
};
static const struct collection contexts = {
	"context", CONFIG_MAX_ENTRIES, NAME_WORD, context_open, context_at, context_candidate,
};
static const struct collection custom_rules = {
	"custom rule", 256, NAME_WORD, custom_rule_open, custom_rule_at, NULL,
};

// What a choice may be.

static const struct choice sandbox_modes[] = {
	{ "always", SANDBOX_ALWAYS, false },
	{ "never", SANDBOX_NEVER, false },
	{ "required", SANDBOX_REQUIRED, false },
	{ NULL, 0, false },
};
static const struct choice network_modes[] = {
	{ "open", NETWORK_OPEN, false },
	{ "broker-only", NETWORK_BROKER_ONLY, false },
	{ NULL, 0, false },
};
static const struct choice extractions[] = {
	{ "raw", EXTRACTION_RAW, false },
	{ "tail", EXTRACTION_TAIL, false },
	{ "structured", EXTRACTION_STRUCTURED, false },
	{ "readability", EXTRACTION_READABILITY, false },
	{ NULL, 0, false },
};
static const struct choice quarantines[] = {
	{ "file", QUARANTINE_FILE, false },
	{ "skill", QUARANTINE_SKILL, true },
	{ NULL, 0, false },
};
static const struct choice file_classes[] = {
	{ "prose", CLASS_PROSE, false },
	{ "code", CLASS_CODE, false },
	{ "binary", CLASS_BINARY, false },
	{ NULL, 0, false },
};
static const struct choice override_severities[] = {
	{ "critical", SEVERITY_CRITICAL, false },
	{ "warn", SEVERITY_WARN, false },
	{ "off", SEVERITY_OFF, false },
	{ NULL, 0, false },
};
static const struct choice rule_severities[] = {
	{ "critical", SEVERITY_CRITICAL, false },
	{ "warn", SEVERITY_WARN, false },
	{ NULL, 0, false },
};
static const struct choice context_caps[] = {
	{ "warn", true, false },
	{ NULL, 0, false },
};

// The keys, from the leaves up.

static const struct key tool_policy_keys[] = {
	{ "profile", KEY_TEXT, FIELD(agent_config, tool_policy.profile), .text = DEFAULT_PROFILE,
	  .name_rule = NAME_PRINTABLE },
	{ "allow", KEY_TOOLS, FIELD(agent_config, tool_policy.allow), .name_rule = NAME_PRINTABLE },
	{ "deny", KEY_TOOLS, FIELD(agent_config, tool_policy.deny), .name_rule = NAME_PRINTABLE },
	END,
};
static const struct key source_profile_keys[] = {
	// Out of the floors and ceilings is clamped with a warning, not refused.
	{ "maxResponseBytes", KEY_SIZE, FIELD(source_profile, max_response_bytes), .max = TIB },
	{ "maxChars", KEY_NUMBER, FIELD(source_profile, max_chars), .max = TIB },
	{ "extractionStrategy", KEY_CHOICE, FIELD(source_profile, strategy), .choices = extractions },
	END,
};
static const struct key network_keys[] = {
	{ "mode", KEY_CHOICE, FIELD(agent_config, sandbox.network), .choices = network_modes,
	  .fallback = NETWORK_OPEN },
	{ "brokerSocketPath", KEY_PATH, FIELD(agent_config, sandbox.broker_socket_path), .max = 107,
	  .below_root = true },
	END,
};
static const struct key exec_sandbox_keys[] = {
	{ "enabled", KEY_CHOICE, FIELD(agent_config, sandbox.enabled), .choices = sandbox_modes,
	  .fallback = SANDBOX_ALWAYS },
	{ "readOnlyAllowPaths", KEY_PATHS, FIELD(agent_config, sandbox.read_only_allow_paths), .max = 4095,
	  .below_root = true },
	{ "network", KEY_MAP, .keys = network_keys },
	{ "secureCredentialHome", KEY_BOOL, FIELD(agent_config, sandbox.secure_credential_home),
	  .fallback = false },
	{ "timeoutMs", KEY_NUMBER, FIELD(agent_config, sandbox.timeout_ms), .min = 100, .max = 86400000,
	  .fallback = 120000 },
	{ "memoryMax", KEY_SIZE, FIELD(agent_config, sandbox.memory_max), .min = 16 * MIB, .max = 16 * TIB,
	  .fallback = 2 * GIB },
	{ "pidsMax", KEY_NUMBER, FIELD(agent_config, sandbox.pids_max), .min = 4, .max = 65536,
	  .fallback = 256 },
	{ "fileSizeMax", KEY_SIZE, FIELD(agent_config, sandbox.file_size_max), .min = 4 * KIB,
	  .max = 16 * TIB, .fallback = 1 * GIB },
	{ "tmpSizeMax", KEY_SIZE, FIELD(agent_config, sandbox.tmp_size_max), .min = 64 * KIB, .max = 16 * TIB,
	  .fallback = 256 * MIB },
	END,
};
static const struct key content_scanning_keys[] = {
	{ "enabled", KEY_BOOL, FIELD(agent_config, scanning_enabled), .fallback = true },
	{ "blockOnCritical", KEY_BOOL, FIELD(agent_config, block_on_critical), .fallback = true },
	END,
};
static const struct key prompt_skills_keys[] = {
	{ "maxBodyLength", KEY_NUMBER, FIELD(agent_config, max_body_length), .min = 1, .max = 100000000,
	  .fallback = MAX_BODY_LENGTH_DEFAULT },
	END,
};
static const struct key skills_keys[] = {
	{ "execSandbox", KEY_MAP, .keys = exec_sandbox_keys },
	{ "contentScanning", KEY_MAP, .keys = content_scanning_keys },
	{ "promptSkills", KEY_MAP, .keys = prompt_skills_keys },
	END,
};
static const struct key agent_keys[] = {
	{ "toolPolicy", KEY_MAP, .keys = tool_policy_keys },
	{ "knownTools", KEY_NAMES, FIELD(agent_config, known_tools), .name_rule = NAME_TOOL },
	{ "budget", .type = KEY_LATER },
	{ "circuitBreaker", .type = KEY_LATER },
	{ "maxSteps", .type = KEY_LATER },
	{ "sourceProfiles", KEY_EACH, .each = &source_profiles, .keys = source_profile_keys },
	{ "workspace", KEY_PATH, FIELD(agent_config, workspace), .max = 4095, .below_root = true },
	{ "skills", KEY_MAP, .keys = skills_keys },
	END,
};
static const struct key security_keys[] = {
	{ "permission", .type = KEY_LATER },
	{ "boundBinary", .type = KEY_LATER },
	END,
};
static const struct key class_value = { "", KEY_CHOICE, FIELD(class_override, cls), .choices = file_classes };
static const struct key mount_keys[] = {
	{ "maxFileSize", KEY_SIZE, FIELD(config, mount.max_file_size), .min = 1, .max = 2 * GIB,
	  .fallback = 64 * MIB },
	{ "cacheSize", KEY_SIZE, FIELD(config, mount.cache_size), .min = 1 * MIB, .max = 16 * TIB,
	  .fallback = 64 * MIB },
	{ "spoolSize", KEY_SIZE, FIELD(config, mount.spool_size), .min = 1 * MIB, .max = 16 * TIB,
	  .fallback = 256 * MIB },
	{ "entryTimeoutMs", KEY_NUMBER, FIELD(config, mount.entry_timeout_ms), .max = 3600000,
	  .fallback = 1000 },
	{ "scanTimeMs", KEY_NUMBER, FIELD(config, mount.scan_time_ms), .min = 1, .max = 3600000,
	  .fallback = 2000 },
	{ "followSymlinks", KEY_PATHS, FIELD(config, mount.follow_symlinks), .max = 4095,
	  .below_root = true },
	{ "classes", KEY_EACH, .each = &classes, .value = &class_value },
	{ "quarantine", KEY_CHOICE, FIELD(config, mount.quarantine), .choices = quarantines,
	  .fallback = QUARANTINE_FILE },
	END,
};
static const struct key severity_value = { "", KEY_CHOICE, FIELD(severity_override, severity),
					   .choices = override_severities };
static const struct key context_value = { "", KEY_CHOICE, .offset = 0, .width = 1, .choices = context_caps };
static const struct key custom_rule_keys[] = {
	{ "id", KEY_TEXT, FIELD(custom_rule, id), .name_rule = NAME_RULE_ID, .required = true },
	{ "category", KEY_TEXT, FIELD(custom_rule, category), .text = "custom", .name_rule = NAME_CATEGORY },
	{ "severity", KEY_CHOICE, FIELD(custom_rule, severity), .choices = rule_severities,
	  .required = true },
	{ "pattern", KEY_TEXT, FIELD(custom_rule, pattern), .name_rule = NAME_PATTERN, .required = true },
	{ "description", KEY_TEXT, FIELD(custom_rule, description), .text = "Custom rule",
	  .name_rule = NAME_PRINTABLE },
	END,
};
static const struct key rules_keys[] = {
	{ "severity", KEY_EACH, .each = &severities, .value = &severity_value },
	{ "contexts", KEY_EACH, .each = &contexts, .value = &context_value },
	{ "custom", KEY_LIST, .each = &custom_rules, .keys = custom_rule_keys },
	END,
};
const struct key config_keys[] = {
	{ "agents", KEY_EACH, .each = &agents, .keys = agent_keys },
	{ "security", KEY_MAP, .keys = security_keys },
	{ "mount", KEY_MAP, .keys = mount_keys },
	{ "rules", KEY_MAP, .keys = rules_keys },
	END,
};

// Values by width.

uint64_t schema_get_number(const struct key *key, const void *base)
{
	const char *at = (const char *)base + key->offset;
	uint64_t wide;
	uint32_t narrow;

	switch (key->width) {
	case 1:
		return *(const bool *)at ? 1 : 0;
	case sizeof(narrow):
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	default:
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
}

void schema_set_number(const struct key *key, void *base, uint64_t value)
{
	char *at = (char *)base + key->offset;
	uint32_t narrow = (uint32_t)value;

	switch (key->width) {
	case 1:
		*(bool *)at = value != 0;
		break;
	case sizeof(narrow):
		memcpy(at, &narrow, sizeof(narrow));
		break;
	default:
		memcpy(at, &value, sizeof(value));
	}
}

int schema_set_defaults(const struct key *keys, void *base)
{
	for (const struct key *key = keys; key->name != NULL; key++) {
		char **text;
		int rc;

		switch (key->type) {
		case KEY_MAP:
			rc = schema_set_defaults(key->keys, base);
			if (rc < 0)
				return rc;
			break;
		case KEY_BOOL:
		case KEY_NUMBER:
		case KEY_SIZE:
		case KEY_CHOICE:
			schema_set_number(key, base, key->fallback);
			break;
		case KEY_TEXT:
			text = schema_field(key, base);
			*text = key->text != NULL ? strdup(key->text) : NULL;
			if (key->text != NULL && *text == NULL)
				return -ENOMEM;
			break;
		case KEY_EACH:
		case KEY_LIST:
		case KEY_PATH:
		case KEY_NAMES:
		case KEY_TOOLS:
		case KEY_PATHS:
		case KEY_LATER:
			break; // nothing, as zeroed memory says it
		}
	}
	return 0;
}

void source_profile_init(struct source_profile *profile, const char *tool)
{
	const char *like = strncmp(tool, "mcp__", 5) == 0 ? "mcp_default" : "web_fetch";
	const struct builtin_source_profile *builtin = &builtin_source_profiles[0];

	for (size_t i = 0; i < builtin_source_profile_count; i++) {
		if (strcmp(builtin_source_profiles[i].tool, tool) == 0) {
			builtin = &builtin_source_profiles[i];
			break;
		}
		if (strcmp(builtin_source_profiles[i].tool, like) == 0)
			builtin = &builtin_source_profiles[i];
	}
	*profile = (struct source_profile){
		.tool = (char *)tool,
		.max_response_bytes = builtin->max_response_bytes,
		.max_chars = builtin->max_chars,
		.strategy = builtin->strategy,
	};
}

int agent_config_init(struct agent_config *agent, const char *id)
{
	int rc = 0;

	*agent = (struct agent_config){ .id = strdup(id) };
	if (agent->id == NULL)
		return -ENOMEM;
	rc = schema_set_defaults(agent_keys, agent);
	for (size_t i = 0; rc == 0 && i < builtin_source_profile_count; i++) {
		void *profile;

		rc = source_profile_open(NULL, agent, builtin_source_profiles[i].tool, &profile);
	}
	if (rc < 0)
		agent_config_release(agent);
	return rc;
}

void agent_config_release(struct agent_config *agent)
{
	free(agent->id);
	free(agent->tool_policy.profile);
	strv_release(&agent->tool_policy.allow);
	strv_release(&agent->tool_policy.deny);
	strv_release(&agent->known_tools);
	for (size_t i = 0; i < agent->source_profile_count; i++)
		free(agent->source_profiles[i].tool);
	free(agent->source_profiles);
	free(agent->workspace);
	strv_release(&agent->sandbox.read_only_allow_paths);
	free(agent->sandbox.broker_socket_path);
	*agent = (struct agent_config){ .id = NULL };
}

// Names. All of them end up on lines of their own, in comma lists or in file names.

struct name_shape {
	size_t min, max;
	const char *first; // NULL: any printable character
	const char *rest;
	const char *what;
};

#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

static const struct name_shape name_shapes[] = {
	[NAME_PRINTABLE] = { 1, 512, NULL, NULL, "1 to 512 bytes without control characters" },
	[NAME_WORD] = { 1, 64, NULL, NULL, "1 to 64 bytes without control characters" },
	[NAME_TOOL] = { 1, 128, NULL, NULL,
			"a tool name: 1 to 128 bytes without control characters, spaces, commas or slashes" },
	[NAME_AGENT] = { 1, 64, UPPER LOWER DIGITS "_", UPPER LOWER DIGITS "_.-",
			 "an agent's name: 1 to 64 letters, digits, '_', '.', '-', the first none of '.' and "
			 "'-'" },
	[NAME_RULE_ID] = { 3, 64, UPPER, UPPER DIGITS "_",
			   "a rule id: 3 to 64 of A-Z, 0-9 and '_', the first a letter" },
	[NAME_CATEGORY] = { 2, 64, LOWER, LOWER DIGITS "_",
			    "a category: 2 to 64 of a-z, 0-9 and '_', the first a letter" },
	[NAME_PATTERN] = { 1, 4096, NULL, NULL, "a pattern of 1 to 4096 bytes" },
	[NAME_GLOB] = { 1, 256, NULL, NULL,
			"a pattern of 1 to 256 bytes without control characters, not beginning with '/'" },
};

const char *schema_name_problem(enum name_rule rule, const char *text, size_t len)
{
	const struct name_shape *shape = &name_shapes[rule];

	if (len < shape->min || len > shape->max || memchr(text, '\0', len) != NULL)
		return shape->what;
	for (size_t i = 0; i < len; i++) {
		const char *set = i == 0 ? shape->first : shape->rest;
		unsigned char byte = (unsigned char)text[i];

		if (rule == NAME_PATTERN)
			continue;
		if (byte < 0x20 || byte == 0x7f || (set != NULL && strchr(set, byte) == NULL))
			return shape->what;
		if (rule == NAME_TOOL && strchr(" ,/", byte) != NULL)
			return shape->what;
	}
	if (rule == NAME_GLOB && text[0] == '/')
		return shape->what;
	return NULL;
}
