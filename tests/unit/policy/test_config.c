// SPDX-License-Identifier: Apache-2.0
//
// What a good configuration gives: defaults, each key, look-ups, warnings, and
// the printed form, which reads back to the same.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/config.h"
#include "sanitize/cleanup.h"

static const char full[] = "# every key set to something else than its default\n"
			   "agents:\n"
			   "  default:\n"
			   "    toolPolicy:\n"
			   "      profile: minimal\n"
			   "      allow: ['group:web', my_tool]\n"
			   "      deny:\n"
			   "        - browser\n"
			   "    knownTools: [my_tool, \"other\\u00e9\"]\n"
			   "    sourceProfiles:\n"
			   "      bash: {maxResponseBytes: 64KiB, maxChars: 1000, extractionStrategy: raw}\n"
			   "      mcp__x: {maxChars: 200}\n"
			   "      fetch2: {extractionStrategy: tail}\n"
			   "    workspace: /srv/work space\n"
			   "    skills:\n"
			   "      execSandbox:\n"
			   "        enabled: required\n"
			   "        readOnlyAllowPaths: [/opt/tools, \"/opt/\\u2028x\"]\n"
			   "        network: {mode: broker-only, brokerSocketPath: /run/broker.sock}\n"
			   "        secureCredentialHome: true\n"
			   "        timeoutMs: 5000\n"
			   "        memoryMax: 512 MB\n"
			   "        pidsMax: 64\n"
			   "        fileSizeMax: 10M\n"
			   "        tmpSizeMax: 65537\n"
			   "      contentScanning: {enabled: false, blockOnCritical: false}\n"
			   "      promptSkills: {maxBodyLength: 30000}\n"
			   "  helper-2:\n"
			   "    toolPolicy: {profile: 'full'}\n"
			   "mount:\n"
			   "  maxFileSize: 1MB\n"
			   "  cacheSize: 1G\n"
			   "  spoolSize: \"2GiB\"\n"
			   "  entryTimeoutMs: 0\n"
			   "  scanTimeMs: 250\n"
			   "  classes: {'*.tpl': prose, 'docs/*.txt': code, 'a: \"#\\b': binary}\n"
			   "  quarantine: file\n"
			   "rules:\n"
			   "  severity: {EXEC_EVAL: off, ACME_TOKEN: warn, ENV_PRINTENV: critical}\n"
			   "  contexts: {table: warn, fenced_code: warn}\n"
			   "  custom:\n"
			   "    - {id: ACME_TOKEN, severity: critical, pattern: 'acme_[0-9]+\\s', "
			   "description: \"a: \\\"#\\\" x\"}\n"
			   "    - id: ACME_OTHER\n"
			   "      category: acme\n"
			   "      severity: warn\n"
			   "      pattern: \"a\\nb\\tc\\x01\\U0001F600\\uFFFE\"\n";

static struct config *parse(const char *text)
{
	struct config *config = NULL;
	struct error error = { "" };

	if (config_parse("skillfs.yaml", text, strlen(text), &config, &error) < 0)
		fail_msg("%s", error.message);
	return config;
}

static void defaults_are_the_documents(void **state)
{
	CLEANUP(config) struct config *config = NULL;
	const struct agent_config *agent;

	(void)state;
	assert_int_equal(config_default(&config), 0);
	assert_null(config->path);
	assert_int_equal(config->generation, 1);
	assert_int_equal(config->agent_count, 1);
	agent = config_agent(config, DEFAULT_AGENT);
	assert_ptr_equal(agent, &config->agents[0]);
	assert_string_equal(agent->tool_policy.profile, "coding");
	assert_int_equal(agent->tool_policy.allow.count + agent->tool_policy.deny.count, 0);
	assert_null(agent->workspace);
	assert_int_equal(agent->source_profile_count, 5);
	assert_int_equal(agent->sandbox.enabled, SANDBOX_ALWAYS);
	assert_int_equal(agent->sandbox.network, NETWORK_OPEN);
	assert_false(agent->sandbox.secure_credential_home);
	assert_int_equal(agent->sandbox.timeout_ms, 120000);
	assert_int_equal(agent->sandbox.memory_max, 2147483648u);
	assert_int_equal(agent->sandbox.pids_max, 256);
	assert_int_equal(agent->sandbox.file_size_max, 1073741824);
	assert_int_equal(agent->sandbox.tmp_size_max, 268435456);
	assert_true(agent->scanning_enabled && agent->block_on_critical);
	assert_int_equal(agent->max_body_length, 20000);
	assert_int_equal(config->mount.max_file_size, 67108864);
	assert_int_equal(config->mount.cache_size, 67108864);
	assert_int_equal(config->mount.spool_size, 268435456);
	assert_int_equal(config->mount.entry_timeout_ms, 1000);
	assert_int_equal(config->mount.scan_time_ms, 2000);
	assert_int_equal(config->warnings.count, 0);
	assert_null(config_agent(config, "other"));
}

static void every_key_is_taken(void **state)
{
	CLEANUP(config) struct config *config = parse(full);
	const struct agent_config *agent = &config->agents[0];
	const struct source_profile *profile;

	(void)state;
	assert_string_equal(config->path, "skillfs.yaml");
	assert_string_equal(agent->tool_policy.profile, "minimal");
	assert_int_equal(agent->tool_policy.allow.count, 2);
	assert_string_equal(agent->tool_policy.deny.items[0], "browser");
	assert_string_equal(agent->known_tools.items[1], "other\xc3\xa9");
	assert_string_equal(agent->workspace, "/srv/work space");
	assert_int_equal(agent->source_profile_count, 7);
	profile = config_source_profile(agent, "bash");
	assert_int_equal(profile->max_response_bytes, 65536);
	assert_int_equal(profile->max_chars, 1000);
	assert_int_equal(profile->strategy, EXTRACTION_RAW);
	assert_int_equal(agent->sandbox.enabled, SANDBOX_REQUIRED);
	assert_string_equal(agent->sandbox.read_only_allow_paths.items[0], "/opt/tools");
	assert_int_equal(agent->sandbox.network, NETWORK_BROKER_ONLY);
	assert_string_equal(agent->sandbox.broker_socket_path, "/run/broker.sock");
	assert_true(agent->sandbox.secure_credential_home);
	assert_int_equal(agent->sandbox.timeout_ms, 5000);
	assert_int_equal(agent->sandbox.memory_max, 512000000);
	assert_int_equal(agent->sandbox.pids_max, 64);
	assert_int_equal(agent->sandbox.file_size_max, 10485760);
	assert_int_equal(agent->sandbox.tmp_size_max, 65537);
	assert_false(agent->scanning_enabled || agent->block_on_critical);
	assert_int_equal(agent->max_body_length, 30000);
	assert_int_equal(config->mount.max_file_size, 1000000);
	assert_int_equal(config->mount.cache_size, 1073741824);
	assert_int_equal(config->mount.spool_size, 2147483648u);
	assert_int_equal(config->mount.entry_timeout_ms, 0);
	assert_int_equal(config->mount.scan_time_ms, 250);
	assert_int_equal(config->mount.class_count, 3);
	assert_int_equal(config->severity_count, 3);
	assert_string_equal(config->severities[0].rule_id, "ACME_TOKEN");
	assert_int_equal(config->severities[2].severity, SEVERITY_OFF);
	assert_true(config->has_context_cap[CONTEXT_TABLE] && config->has_context_cap[CONTEXT_FENCED_CODE]);
	assert_false(config->has_context_cap[CONTEXT_PROSE]);
	assert_int_equal(config->custom_rule_count, 2);
	assert_string_equal(config->custom_rules[0].category, "custom");
	assert_string_equal(config->custom_rules[1].category, "acme");
	assert_int_equal(config->custom_rules[1].severity, SEVERITY_WARN);
	// Agents have defaults of their own, not those of the default agent.
	assert_string_equal(config->agents[1].id, "helper-2");
	assert_string_equal(config->agents[1].tool_policy.profile, "full");
	assert_int_equal(config->agents[1].sandbox.timeout_ms, 120000);
	assert_int_equal(config->agents[1].known_tools.count, 0);
}

static void empty_files_are_the_defaults(void **state)
{
	static const char *const texts[] = { "",
					     "# nothing\n",
					     "---\n",
					     "{}",
					     "agents:\nmount:\nrules:\n",
					     "agents: {default: }\n",
					     "\xef\xbb\xbf",
					     "%YAML 1.1\n---\n{}\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(config) struct config *config = parse(texts[i]);

		assert_int_equal(config->agent_count, 1);
		assert_int_equal(config->warnings.count, 0);
		assert_int_equal(config->origin_count, 0);
	}
}

static void default_agent_stays_first(void **state)
{
	CLEANUP(config) struct config *config = parse("agents: {b: {}, a: {}, default: {workspace: /w}}");

	(void)state;
	assert_int_equal(config->agent_count, 3);
	assert_string_equal(config->agents[0].id, "default");
	assert_string_equal(config->agents[0].workspace, "/w");
	assert_string_equal(config->agents[1].id, "b");
}

static void source_profile_falls_back_by_name(void **state)
{
	CLEANUP(config) struct config *config = parse(full);
	const struct agent_config *agent = &config->agents[0];

	(void)state;
	assert_string_equal(config_source_profile(agent, "file_read")->tool, "file_read");
	assert_string_equal(config_source_profile(agent, "mcp__other")->tool, "mcp_default");
	assert_string_equal(config_source_profile(agent, "nosuch")->tool, "web_fetch");
	// What an own profile does not set comes from the profile it would fall back to.
	assert_int_equal(config_source_profile(agent, "mcp__x")->max_chars, 200);
	assert_int_equal(config_source_profile(agent, "mcp__x")->strategy, EXTRACTION_RAW);
	assert_int_equal(config_source_profile(agent, "fetch2")->max_chars, 50000);
}

static void class_override_matches_path_or_last_part(void **state)
{
	CLEANUP(config)
	struct config *config = parse("mount: {classes: {'*.tpl': prose, 'docs/*.txt': code, 'x/a.tpl': "
				      "binary, 'docs/last*': prose}}");
	static const struct {
		const char *path;
		int cls;
	} samples[] = {
		{ "a.tpl", CLASS_PROSE },
		{ "x/y/b.tpl", CLASS_PROSE },
		{ "docs/a.txt", CLASS_CODE },
		{ "docs/x/a.txt", -1 },
		{ "a.txt", -1 },
		{ "x/a.tpl", CLASS_BINARY },
		{ "docs/last.txt", CLASS_PROSE },
		{ "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		enum file_class cls = CLASS_BINARY;
		bool found = config_class(config, samples[i].path, &cls);

		if (found != (samples[i].cls >= 0) || (found && (int)cls != samples[i].cls))
			fail_msg("%s: %d", samples[i].path, found ? (int)cls : -1);
	}
}

static void origins_tell_the_place(void **state)
{
	CLEANUP(config) struct config *config = parse(full);
	const struct config_origin *origin =
		config_origin(config, "agents.default.skills.execSandbox.timeoutMs");

	(void)state;
	assert_non_null(origin);
	assert_int_equal(origin->line, 21);
	assert_int_equal(origin->column, 9);
	assert_null(config_origin(config, "agents.helper-2.skills.execSandbox.timeoutMs"));
	assert_int_equal(config_origin(config, "rules.severity.EXEC_EVAL")->line, 39);
}

struct warning {
	const char *text;
	const char *expected; // NULL: none
};

static const struct warning warnings[] = {
	{ "agents: {default: {toolPolicy: {profile: codng}}}", "skillfs.yaml:1:33: unknown profile 'codng'" },
	{ "agents: {default: {toolPolicy: {profile: codng}}}", "did you mean 'coding'?" },
	{ "agents:\n  default:\n    toolPolicy:\n      deny:\n        - exce\n",
	  "skillfs.yaml:5:11: unknown tool 'exce', taken as it stands: did you mean 'exec'?" },
	{ "agents: {a: {toolPolicy: {allow: ['group:wbe']}}}", "unknown group 'group:wbe'" },
	{ "agents: {a: {toolPolicy: {allow: [mine]}, knownTools: [mine]}}", NULL },
	{ "agents: {a: {toolPolicy: {allow: [mine]}}, b: {knownTools: [mine]}}", "unknown tool 'mine'" },
	{ "agents: {a: {toolPolicy: {allow: ['*']}}}", "unknown tool '*'" },
	{ "agents: {a: {skills: {contentScanning: {enabled: false}}}}", "agents.a: content scanning is off" },
	{ "agents: {a: {skills: {contentScanning: {blockOnCritical: false}}}}",
	  "critical findings are served" },
	{ "agents: {a: {skills: {execSandbox: {enabled: never}}}}", "without a sandbox" },
	{ "agents: {a: {skills: {execSandbox: {network: {brokerSocketPath: /run/b}}}}}", "has no effect" },
	{ "agents: {a: {sourceProfiles: {bash: {maxChars: 600000}}}}",
	  "600000 is out of range: 500000 is used" },
	{ "agents: {a: {sourceProfiles: {bash: {maxResponseBytes: 1}}}}",
	  "1 is out of range: 32000 is used" },
	{ "agents: {a: {sourceProfiles: {bash: {maxResponseBytes: 5MB}}}}", NULL },
	{ "rules: {severity: {EXEC_EVAL: warn}}", NULL },
};

static void warnings_say_what_and_where(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(warnings); i++) {
		CLEANUP(config) struct config *config = parse(warnings[i].text);
		size_t expected = warnings[i].expected != NULL ? 1 : 0;

		if (config->warnings.count != expected)
			fail_msg("sample %zu: %zu warnings", i, config->warnings.count);
		if (expected > 0 && strstr(config->warnings.items[0], warnings[i].expected) == NULL)
			fail_msg("sample %zu: %s", i, config->warnings.items[0]);
	}
}

static void warnings_are_bounded(void **state)
{
	struct buf text CLEANUP(buf) = BUF_INIT;
	CLEANUP(config) struct config *config = NULL;

	(void)state;
	assert_int_equal(buf_append_string(&text, "agents: {default: {toolPolicy: {allow: ["), 0);
	for (int i = 0; i < 4000; i++)
		assert_int_equal(buf_printf(&text, "x%d,", i), 0);
	assert_int_equal(buf_append_string(&text, "]}}}"), 0);
	config = parse(text.data);
	assert_int_equal(config->agents[0].tool_policy.allow.count, 4000);
	assert_int_equal(config->warnings.count, CONFIG_MAX_WARNINGS + 1);
}

static void assert_same_strings(const struct strv *a, const struct strv *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++)
		assert_string_equal(a->items[i], b->items[i]);
}

static void assert_same_text(const char *a, const char *b)
{
	assert_true((a == NULL) == (b == NULL));
	if (a != NULL)
		assert_string_equal(a, b);
}

static void assert_same_agent(const struct agent_config *a, const struct agent_config *b)
{
	assert_string_equal(a->id, b->id);
	assert_string_equal(a->tool_policy.profile, b->tool_policy.profile);
	assert_same_strings(&a->tool_policy.allow, &b->tool_policy.allow);
	assert_same_strings(&a->tool_policy.deny, &b->tool_policy.deny);
	assert_same_strings(&a->known_tools, &b->known_tools);
	assert_int_equal(a->source_profile_count, b->source_profile_count);
	for (size_t i = 0; i < a->source_profile_count; i++) {
		assert_string_equal(a->source_profiles[i].tool, b->source_profiles[i].tool);
		assert_int_equal(a->source_profiles[i].max_response_bytes,
				 b->source_profiles[i].max_response_bytes);
		assert_int_equal(a->source_profiles[i].max_chars, b->source_profiles[i].max_chars);
		assert_int_equal(a->source_profiles[i].strategy, b->source_profiles[i].strategy);
	}
	assert_same_text(a->workspace, b->workspace);
	assert_int_equal(a->sandbox.enabled, b->sandbox.enabled);
	assert_same_strings(&a->sandbox.read_only_allow_paths, &b->sandbox.read_only_allow_paths);
	assert_int_equal(a->sandbox.network, b->sandbox.network);
	assert_same_text(a->sandbox.broker_socket_path, b->sandbox.broker_socket_path);
	assert_int_equal(a->sandbox.secure_credential_home, b->sandbox.secure_credential_home);
	assert_int_equal(a->sandbox.timeout_ms, b->sandbox.timeout_ms);
	assert_int_equal(a->sandbox.memory_max, b->sandbox.memory_max);
	assert_int_equal(a->sandbox.pids_max, b->sandbox.pids_max);
	assert_int_equal(a->sandbox.file_size_max, b->sandbox.file_size_max);
	assert_int_equal(a->sandbox.tmp_size_max, b->sandbox.tmp_size_max);
	assert_int_equal(a->scanning_enabled, b->scanning_enabled);
	assert_int_equal(a->block_on_critical, b->block_on_critical);
	assert_int_equal(a->max_body_length, b->max_body_length);
}

static void assert_same_config(const struct config *a, const struct config *b)
{
	assert_int_equal(a->agent_count, b->agent_count);
	for (size_t i = 0; i < a->agent_count; i++)
		assert_same_agent(&a->agents[i], &b->agents[i]);
	assert_int_equal(a->mount.max_file_size, b->mount.max_file_size);
	assert_int_equal(a->mount.cache_size, b->mount.cache_size);
	assert_int_equal(a->mount.spool_size, b->mount.spool_size);
	assert_int_equal(a->mount.entry_timeout_ms, b->mount.entry_timeout_ms);
	assert_int_equal(a->mount.scan_time_ms, b->mount.scan_time_ms);
	assert_int_equal(a->mount.quarantine, b->mount.quarantine);
	assert_int_equal(a->mount.class_count, b->mount.class_count);
	for (size_t i = 0; i < a->mount.class_count; i++) {
		assert_string_equal(a->mount.classes[i].glob, b->mount.classes[i].glob);
		assert_int_equal(a->mount.classes[i].cls, b->mount.classes[i].cls);
	}
	assert_int_equal(a->severity_count, b->severity_count);
	for (size_t i = 0; i < a->severity_count; i++) {
		assert_string_equal(a->severities[i].rule_id, b->severities[i].rule_id);
		assert_int_equal(a->severities[i].severity, b->severities[i].severity);
	}
	assert_memory_equal(a->has_context_cap, b->has_context_cap, sizeof(a->has_context_cap));
	assert_int_equal(a->custom_rule_count, b->custom_rule_count);
	for (size_t i = 0; i < a->custom_rule_count; i++) {
		assert_string_equal(a->custom_rules[i].id, b->custom_rules[i].id);
		assert_string_equal(a->custom_rules[i].category, b->custom_rules[i].category);
		assert_int_equal(a->custom_rules[i].severity, b->custom_rules[i].severity);
		assert_string_equal(a->custom_rules[i].pattern, b->custom_rules[i].pattern);
		assert_string_equal(a->custom_rules[i].description, b->custom_rules[i].description);
	}
}

static void assert_reads_back(const struct config *config)
{
	struct buf text CLEANUP(buf) = BUF_INIT;
	CLEANUP(config) struct config *again = NULL;
	struct error error = { "" };

	assert_int_equal(config_print(config, &text), 0);
	if (config_parse("printed.yaml", text.data, text.len, &again, &error) < 0)
		fail_msg("%s\n%s", error.message, text.data);
	assert_same_config(config, again);
}

static void print_reads_back_to_the_same(void **state)
{
	CLEANUP(config) struct config *set = parse(full);
	CLEANUP(config) struct config *defaults = NULL;

	(void)state;
	assert_int_equal(config_default(&defaults), 0);
	assert_reads_back(defaults);
	assert_reads_back(set);
}

static void print_tells_where_each_value_is_from(void **state)
{
	CLEANUP(config) struct config *config = parse(full);
	struct buf text CLEANUP(buf) = BUF_INIT;

	(void)state;
	assert_int_equal(config_print(config, &text), 0);
	assert_non_null(strstr(text.data, "\n        timeoutMs: 5000 # skillfs.yaml:21 (default 120000)\n"));
	assert_non_null(strstr(text.data, "\n        timeoutMs: 120000 # default\n"));
	assert_non_null(strstr(text.data, "\n  cacheSize: 1GiB # skillfs.yaml:32 (default 64MiB)\n"));
	assert_non_null(strstr(text.data, "\n    EXEC_EVAL: off # skillfs.yaml:39\n"));
	// What this version does not act on is not printed as if it did.
	assert_null(strstr(text.data, "budget"));
	assert_null(strstr(text.data, "security"));
	assert_non_null(strstr(text.data, "\n  followSymlinks: [] # default\n"));
}

static void print_survives_odd_file_names(void **state)
{
	static const char *const names[] = { "a\nmount: {x: y}", "\xff\xfe", "a # b", "caf\xc3\xa9", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP(config) struct config *config = NULL;

		assert_int_equal(config_parse(names[i], full, sizeof(full) - 1, &config, NULL), 0);
		assert_reads_back(config);
	}
}

static void random_changes_never_break_it(void **state)
{
	static const char bytes[] = "\0\t\n\r []{}()'\"&*!|>%@`:-#,?\\~0/9axE\x80\xff\xc3\xef";
	uint64_t seed = 3;
	size_t good = 0;

	(void)state;
	for (int round = 0; round < 6000; round++) {
		char text[sizeof(full)];
		CLEANUP(config) struct config *config = NULL;
		struct error error = { "" };
		int rc;

		memcpy(text, full, sizeof(full));
		for (int i = 0; i < 1 + round % 9 / 7; i++) {
			size_t at;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			at = (seed >> 33) % (sizeof(full) - 1);
			if (round % 5 == 0) // drop a piece instead
				memmove(text + at, text + at + (sizeof(full) - at) / 20,
					sizeof(full) - at - (sizeof(full) - at) / 20);
			else
				text[at] = round % 2 == 0 ? bytes[(seed >> 20) % (sizeof(bytes) - 1)]
							  : full[(seed >> 15) % (sizeof(full) - 1)];
		}
		rc = config_parse("skillfs.yaml", text, sizeof(full) - 1, &config, &error);
		if (rc == 0) {
			good++;
			assert_reads_back(config);
		} else {
			assert_int_equal(strncmp(error.message, "skillfs.yaml:", 13), 0);
			assert_null(config);
		}
	}
	assert_true(good > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_the_documents),
		cmocka_unit_test(every_key_is_taken),
		cmocka_unit_test(empty_files_are_the_defaults),
		cmocka_unit_test(default_agent_stays_first),
		cmocka_unit_test(source_profile_falls_back_by_name),
		cmocka_unit_test(class_override_matches_path_or_last_part),
		cmocka_unit_test(origins_tell_the_place),
		cmocka_unit_test(warnings_say_what_and_where),
		cmocka_unit_test(warnings_are_bounded),
		cmocka_unit_test(print_reads_back_to_the_same),
		cmocka_unit_test(print_tells_where_each_value_is_from),
		cmocka_unit_test(print_survives_odd_file_names),
		cmocka_unit_test(random_changes_never_break_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
