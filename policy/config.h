// SPDX-License-Identifier: Apache-2.0
//
// The configuration in force: every key of skillfs.yaml(5) with its default.
// Pure: the caller reads the file and passes bytes. Keys that this version reads
// but does not act on yet are refused as errors, never ignored.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/strv.h"
#include "sanitize/buf.h"
#include "sanitize/error.h"
#include "sanitize/findings.h"
#include "sanitize/scan.h"

#define CONFIG_MAX_SIZE ((size_t)1 << 20)
#define DEFAULT_AGENT   "default"
#define DEFAULT_PROFILE "coding"
// How many of a thing one configuration may have; more is an error.
#define CONFIG_MAX_AGENTS   256
#define CONFIG_MAX_ITEMS    4096 // of one list
#define CONFIG_MAX_ENTRIES  1024 // of one mapping with keys of its own; custom rules
#define CONFIG_MAX_WARNINGS 100

struct tool_policy {
	char *profile;
	struct strv allow;
	struct strv deny;
};

enum sandbox_mode { SANDBOX_ALWAYS, SANDBOX_NEVER, SANDBOX_REQUIRED };
enum network_mode { NETWORK_OPEN, NETWORK_BROKER_ONLY };
enum extraction { EXTRACTION_RAW, EXTRACTION_TAIL, EXTRACTION_STRUCTURED, EXTRACTION_READABILITY };

struct exec_sandbox {
	enum sandbox_mode enabled;
	struct strv read_only_allow_paths; // absolute
	enum network_mode network;
	char *broker_socket_path; // NULL: none
	bool secure_credential_home;
	uint32_t timeout_ms;
	uint64_t memory_max; // bytes
	uint32_t pids_max;
	uint64_t file_size_max; // bytes
	uint64_t tmp_size_max;  // bytes
};

struct source_profile {
	char *tool;
	uint64_t max_response_bytes; // 32,000 to 5,000,000
	uint64_t max_chars;          // 100 to 500,000, code points
	enum extraction strategy;
};

struct agent_config {
	char *id;
	struct tool_policy tool_policy;
	struct strv known_tools;                // beside those of the profiles and groups
	struct source_profile *source_profiles; // the built-in table with the overrides, clamped
	size_t source_profile_count;
	char *workspace; // absolute, or NULL: a private empty directory a job
	struct exec_sandbox sandbox;
	bool scanning_enabled;
	bool block_on_critical;
	size_t max_body_length;
};

enum quarantine { QUARANTINE_FILE, QUARANTINE_SKILL };

struct class_override {
	// fnmatch(3) with FNM_PATHNAME on the path below the root, or on its last component when it has no slash.
	char *glob;
	enum file_class cls;
};

struct mount_config {
	uint64_t max_file_size;
	uint64_t cache_size;
	uint64_t spool_size;
	uint32_t entry_timeout_ms;
	uint32_t scan_time_ms;          // CPU time that one file may cost
	struct strv follow_symlinks;    // folders outside into which links may lead
	enum quarantine quarantine;     // SKILL is refused by this version
	struct class_override *classes; // in the order of the file
	size_t class_count;
};

struct severity_override {
	char *rule_id;
	enum severity severity;
};

// Where a key was set: "agents.default.toolPolicy.profile".
struct config_origin {
	char *key;
	size_t line;   // 1-based
	size_t column; // 1-based
};

struct config {
	char *path;                  // where it was read from, NULL for the defaults
	unsigned generation;         // 1 at start; the caller counts reloads
	struct agent_config *agents; // the first is DEFAULT_AGENT, which always exists
	size_t agent_count;
	struct mount_config mount;
	struct severity_override *severities; // sorted by rule_id in strcmp order
	size_t severity_count;
	bool has_context_cap[8];          // by enum context: rules.contexts.CONTEXT: warn
	struct custom_rule *custom_rules; // strings owned by the configuration
	size_t custom_rule_count;
	struct strv warnings;          // for `config check`, status: unknown tool names, ...
	struct config_origin *origins; // sorted by key; what is not here has its default
	size_t origin_count;
};

int config_default(struct config **ret); // 0 or -ENOMEM
// `name` is for messages ("skillfs.yaml:3:7: unknown key 'mout': did you mean 'mount'?"). -EINVAL, -EFBIG, -ENOMEM.
int config_parse(const char *name, const char *text, size_t len, struct config **ret, struct error *error);
void config_free(struct config *config); // NULL is allowed

// NULL when there is no such agent.
const struct agent_config *config_agent(const struct config *config, const char *id);
// The source profile for a tool: its own, "mcp_default" for mcp__*, else "web_fetch".
const struct source_profile *config_source_profile(const struct agent_config *agent, const char *tool);
// Where a key was set, NULL when it has its default.
const struct config_origin *config_origin(const struct config *config, const char *key);
// The whole configuration in force as YAML, defaults included, with a comment on where each value is from.
// config_parse() reads it back to the same configuration. 0, -ENOMEM, -EFBIG.
int config_print(const struct config *config, struct buf *ret);

// A class override for a path below the root, if any; the last one that matches wins.
bool config_class(const struct config *config, const char *path, enum file_class *ret);

static inline void cleanup_config(struct config **config)
{
	config_free(*config);
}
