// SPDX-License-Identifier: Apache-2.0
#include "fs/control_render.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "fs/audit.h"
#include "fs/content.h"
#include "fs/control_tree.h"
#include "fs/output/json_stream.h"
#include "fs/skill_tools.h"
#include "policy/profile.h"
#include "policy/source_profile.h"
#include "sanitize/cleanup.h"

#define RULES_IN_REASON 5

static const char readme[] =
	"This folder is yours alone: what skillfs found, what it allows, and the door for commands.\n"
	"Reading a file never runs anything and never changes anything.\n"
	"\n"
	"  status                    state, counters and warnings, JSON\n"
	"  findings, quarantine      one JSON object a line: files with something to tell; hidden files and "
	"why\n"
	"  audit                     what happened, newest last, JSON lines\n"
	"  policy/                   tool profiles and groups, the configuration and the rules in force\n"
	"  agents/ID/tools           tools of an agent, one a line; policy.json says why others are missing\n"
	"  agents/ID/skills/SKILL/   the same for one skill; a / in its path is written %2F, the root is "
	"%2E\n"
	"  agents/ID/exec            run a command:  exec 3<>exec; echo 'id' >&3; cat <&3; exec 3>&-\n"
	"  agents/ID/jobs/N/         status, wait, stdout, stderr, output of a job; `last` is the newest\n"
	"  exec, jobs                the same for the agent of this mount\n"
	"\n"
	"exec takes a shell line, or a JSON object {\"command\": LINE} or {\"argv\": [...]}, with cwd, env, "
	"stdin,\n"
	"timeoutMs, skill, tool, limits. One open is one job. The answer is the output, and then one line\n"
	"{\"skillfs\": {\"state\": ..., \"exitCode\": ..., \"tier\": ...}}. `echo 'id' > exec` runs as well: "
	"see jobs/last.\n"
	"To unmount: skillfs umount MOUNTPOINT.\n";

static const char help[] =
	"Nothing was written, so nothing runs. One open of this file is one job:\n"
	"\n"
	"  exec 3<>exec; echo 'id' >&3; cat <&3; exec 3>&-     a shell line, and its answer\n"
	"  echo 'id' > exec; cat jobs/last/output              without keeping it open\n"
	"  echo '{\"argv\": [\"id\", \"-u\"], \"timeoutMs\": 1000}' >&3  a JSON object, no shell\n"
	"\n"
	"More in README beside this file's folder `agents`.\n";

const char *exec_help(void)
{
	return help;
}

int render_readme(const struct render_context *context, struct buf *ret)
{
	(void)context;
	return buf_append_string(ret, readme);
}

// Takes `value` over.
static int give_pretty(json_t *value, struct buf *ret)
{
	CLEANUP(free) char *text = NULL;
	int rc = -ENOMEM;

	if (value != NULL)
		text = json_dumps(value, JSON_INDENT(2));
	if (text != NULL)
		rc = buf_append_string(ret, text);
	if (rc == 0)
		rc = buf_append_byte(ret, '\n');
	json_decref(value);
	return rc;
}

static json_t *text_or_null(const char *text)
{
	return text == NULL ? json_null() : json_text(text);
}

static void add_texts(json_t *list, const struct strv *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		(void)json_array_append_new(list, json_text(texts->items[i]));
}

static json_t *status_warnings(const struct render_context *context)
{
	const struct daemon *daemon = context->daemon;
	const struct sandbox_support *sandbox = &daemon->sandbox;
	json_t *list = json_array();

	if (list == NULL)
		return NULL;
	add_texts(list, &daemon->warnings);
	add_texts(list, &daemon->config->warnings);
	if (sandbox->tier == TIER_NONE)
		(void)json_array_append_new(
			list, json_sprintf("%s%s%s%s%s",
					   daemon_may_run_open(daemon)
						   ? "commands run without a sandbox"
						   : "exec refuses all commands, there is no sandbox",
					   sandbox->reason == NULL ? "" : ": ",
					   sandbox->reason == NULL ? "" : sandbox->reason,
					   sandbox->hint == NULL ? "" : "; ",
					   sandbox->hint == NULL ? "" : sandbox->hint));
	for (size_t i = 0; i < daemon->config->agent_count; i++) {
		const struct agent_config *agent = &daemon->config->agents[i];

		if (agent->sandbox.enabled == SANDBOX_NEVER)
			(void)json_array_append_new(
				list,
				json_sprintf("the sandbox is turned off for the agent '%s'", agent->id));
		if (!agent->scanning_enabled)
			(void)json_array_append_new(
				list, json_sprintf("scanning is turned off for the agent '%s'", agent->id));
	}
	if (!jobs_usable(context->jobs))
		(void)json_array_append_new(
			list, json_string("the launcher process has ended: no command can run; mount again"));
	if (audit_lost(daemon->audit) > 0)
		(void)json_array_append_new(list, json_string("audit lines were lost: is the disk full?"));
	return list;
}

static json_t *status_counters(const struct render_context *context)
{
	const struct daemon *daemon = context->daemon;
	struct content_counters content = { 0 };
	struct ledger_counts counts = { 0 };

	ledger_counts(daemon->ledger, &counts);
	if (daemon->content != NULL)
		content_counters(daemon->content, &content);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "files", (json_int_t)counts.files, "hidden", (json_int_t)counts.hidden, "warned",
			 (json_int_t)counts.warned, "skills", (json_int_t)counts.skills, "scans",
			 (json_int_t)counts.scans, "findings", (json_int_t)counts.findings, "indexed",
			 (int)counts.indexed, "messages", (json_int_t)content.messages, "lookups",
			 (json_int_t)content.lookups, "reads", (json_int_t)content.reads, "listings",
			 (json_int_t)content.listings, "cachedBytes", (json_int_t)content.cached_bytes,
			 "spooledBytes", (json_int_t)content.spooled_bytes, "nodes",
			 (json_int_t)content.nodes, "jobsStarted", (json_int_t)jobs_started(context->jobs),
			 "jobsRunning", (json_int_t)jobs_running(context->jobs), "auditLost",
			 (json_int_t)audit_lost(daemon->audit));
}

int render_status(const struct render_context *context, struct buf *ret)
{
	const struct daemon *daemon = context->daemon;
	const struct sandbox_support *sandbox = &daemon->sandbox;
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return give_pretty(
		json_pack(
			"{s:s, s:o, s:o, s:o, s:I, s:s, s:b, s:{s:o, s:I}, s:{s:s, s:o, s:o, s:o}, s:o, s:o}",
			"version", SKILLFS_VERSION, "source", text_or_null(daemon->options.source), "mount",
			text_or_null(daemon->options.mountpoint), "agent",
			text_or_null(daemon->options.agent), "uptime",
			(json_int_t)(now.tv_sec - daemon->started.tv_sec), "ruleset",
			scanner_ruleset(daemon->scanner), "jit", (int)scanner_has_jit(daemon->scanner),
			"config", "path", text_or_null(daemon->config->path), "generation",
			(json_int_t)daemon->config->generation, "sandbox", "tier",
			sandbox_tier_name(sandbox->tier), "program", text_or_null(sandbox->program), "reason",
			text_or_null(sandbox->reason), "hint", text_or_null(sandbox->hint), "counters",
			status_counters(context), "warnings", status_warnings(context)),
		ret);
}

// Files as JSON lines.
struct file_lines {
	struct json_stream json;
	struct writer writer;
};

static int append_file(struct file_lines *lines, json_t *file, const struct snapshot *snapshot)
{
	return json_stream_findings(&lines->json, &lines->writer, file, snapshot_findings(snapshot), true);
}

static int each_file(const struct render_context *context,
		     int (*visit)(const char *path, const struct snapshot *snapshot, void *context),
		     struct buf *ret)
{
	struct file_lines lines = { .writer = { .text = ret } };
	int rc = ledger_each(context->daemon->ledger, visit, &lines);

	json_stream_release(&lines.json);
	return rc;
}

static int visit_finding(const char *path, const struct snapshot *snapshot, void *context)
{
	return append_file(context, json_file(path, snapshot), snapshot);
}

int render_findings(const struct render_context *context, struct buf *ret)
{
	return each_file(context, visit_finding, ret);
}

static int hiding_rules(const struct findings *findings, struct buf *ret)
{
	size_t named = 0, more = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];

		if (finding->severity != SEVERITY_CRITICAL || finding->approved)
			continue;
		if (named++ >= RULES_IN_REASON) {
			more++;
			continue;
		}
		rc = buf_printf(ret, "%s%s in line %zu", named > 1 ? ", " : "", finding->rule->id,
				finding->line);
	}
	if (rc == 0 && more > 0)
		rc = buf_printf(ret, " and %zu more", more);
	return rc;
}

static int hiding_notices(const struct snapshot *snapshot, struct buf *ret)
{
	const struct notices *notices = snapshot_notices(snapshot);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < notices->count; i++) {
		rc = buf_printf(ret, "%s%s", i == 0 ? "" : ", ", notice_name(notices->items[i].code));
		if (rc == 0 && notices->items[i].detail != NULL)
			rc = buf_printf(ret, " (%s)", notices->items[i].detail);
	}
	if (rc == 0 && ret->len == 0)
		rc = buf_append_string(ret, "the file could not be scanned");
	return rc;
}

static int visit_hidden(const char *path, const struct snapshot *snapshot, void *context)
{
	CLEANUP(buf) struct buf reason = BUF_INIT;
	json_t *file;
	int rc;

	if (!verdict_hides(snapshot->verdict))
		return 0;
	rc = snapshot->verdict == VERDICT_CRITICAL ? hiding_rules(snapshot_findings(snapshot), &reason)
						   : hiding_notices(snapshot, &reason);
	if (rc < 0)
		return rc;
	file = json_file(path, snapshot);
	if (file != NULL &&
	    json_object_set_new(file, "reason", json_text(reason.data == NULL ? "" : reason.data)) < 0) {
		json_decref(file);
		file = NULL;
	}
	return append_file(context, file, snapshot);
}

int render_quarantine(const struct render_context *context, struct buf *ret)
{
	return each_file(context, visit_hidden, ret);
}

int render_audit(const struct render_context *context, struct buf *ret)
{
	return audit_tail(context->daemon->audit, ret);
}

static int one_a_line(const char *const *tools, struct buf *ret)
{
	int rc = 0;

	for (; rc == 0 && *tools != NULL; tools++)
		rc = buf_printf(ret, "%s\n", *tools);
	return rc;
}

static int lines_of(const struct strv *tools, struct buf *ret)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < tools->count; i++)
		rc = buf_printf(ret, "%s\n", tools->items[i]);
	return rc;
}

int render_profile(const struct render_context *context, struct buf *ret)
{
	const struct tool_list *profile = &tool_profiles[context->item];
	CLEANUP(strv) struct strv known = { 0 };
	int rc;

	if (profile->tools[0] != NULL || strcmp(profile->name, "full") != 0)
		return one_a_line(profile->tools, ret);
	// An empty list means everything known.
	rc = known_tools(context->daemon->agent, &known);
	return rc < 0 ? rc : lines_of(&known, ret);
}

int render_group(const struct render_context *context, struct buf *ret)
{
	return one_a_line(tool_groups[context->item].tools, ret);
}

int render_config(const struct render_context *context, struct buf *ret)
{
	return config_print(context->daemon->config, ret);
}

int render_rules(const struct render_context *context, struct buf *ret)
{
	const struct scanner *scanner = context->daemon->scanner;
	const struct config *config = context->daemon->config;
	json_t *rules_list = json_array();

	for (size_t i = 0; rules_list != NULL && i < scanner_rule_count(scanner); i++) {
		const struct rule *rule = scanner_rule(scanner, i);
		enum severity severity = rule->severity;

		for (size_t at = 0; at < config->severity_count; at++) {
			if (strcmp(config->severities[at].rule_id, rule->id) == 0)
				severity = config->severities[at].severity;
		}
		(void)json_array_append_new(
			rules_list,
			json_pack("{s:o, s:o, s:s, s:s, s:o, s:o}", "id", json_text(rule->id), "category",
				  json_text(rule->category), "severity", severity_name(severity),
				  "defaultSeverity", severity_name(rule->severity), "description",
				  json_text(rule->description), "pattern", json_text(rule->pattern)));
	}
	return give_pretty(json_pack("{s:s, s:o}", "ruleset", scanner_ruleset(scanner), "rules", rules_list),
			   ret);
}

int render_tools(const struct render_context *context, struct buf *ret)
{
	CLEANUP(strv) struct strv known = { 0 };
	CLEANUP(effective_tools) struct effective_tools effective = { 0 };
	int rc = skill_effective_tools(context->daemon, context->agent, context->skill, &known, &effective);

	return rc < 0 ? rc : lines_of(&effective.tools, ret);
}

int render_policy(const struct render_context *context, struct buf *ret)
{
	CLEANUP(strv) struct strv known = { 0 };
	CLEANUP(effective_tools) struct effective_tools effective = { 0 };
	int rc = skill_effective_tools(context->daemon, context->agent, context->skill, &known, &effective);

	if (rc < 0)
		return rc;
	return give_pretty(json_policy(context->agent->id, context->skill,
				       context->agent->tool_policy.profile, &effective),
			   ret);
}

int render_source_profiles(const struct render_context *context, struct buf *ret)
{
	const struct agent_config *agent = context->agent;
	json_t *profiles = json_object();

	for (size_t i = 0; profiles != NULL && i < agent->source_profile_count; i++) {
		const struct source_profile *profile = &agent->source_profiles[i];

		(void)json_object_set_new(profiles, profile->tool,
					  json_pack("{s:I, s:I, s:s}", "maxResponseBytes",
						    (json_int_t)profile->max_response_bytes, "maxChars",
						    (json_int_t)profile->max_chars, "extractionStrategy",
						    extraction_name(profile->strategy)));
	}
	return give_pretty(json_pack("{s:o, s:o}", "agent", json_text(agent->id), "sourceProfiles", profiles),
			   ret);
}

int render_job_status(const struct render_context *context, struct buf *ret)
{
	struct job_record *record = jobs_find(context->jobs, context->agent->id, context->item);
	int rc = record == NULL ? -ENOENT : job_record_status(context->jobs, record, ret);

	job_record_unref(context->jobs, record);
	return rc;
}

static int render_link(const struct render_context *context, const char *name, struct buf *ret)
{
	CLEANUP(free) char *agent = tree_name_encode(context->daemon->agent->id);

	return agent == NULL ? -ENOMEM : buf_printf(ret, "agents/%s/%s", agent, name);
}

int render_link_exec(const struct render_context *context, struct buf *ret)
{
	return render_link(context, "exec", ret);
}

int render_link_jobs(const struct render_context *context, struct buf *ret)
{
	return render_link(context, "jobs", ret);
}

int render_link_last(const struct render_context *context, struct buf *ret)
{
	uint32_t number = jobs_last(context->jobs, context->agent->id);

	return number == 0 ? -ENOENT : buf_printf(ret, "%u", number);
}
