// SPDX-License-Identifier: Apache-2.0
//
// skillfs policy: an agent's effective tools from the configuration, and why each other known tool is not there.
#include <dirent.h>
#include <errno.h>
#include <limits.h>

#include "fs/commands/command.h"
#include "fs/commands/target.h"
#include "fs/output/json.h"
#include "fs/output/text.h"
#include "sanitize/classify.h"
#include "sanitize/cleanup.h"

enum { OPTION_AGENT = 256, OPTION_SKILL, OPTION_JSON };

struct policy_options {
	const char *config;
	const char *agent;
	const char *skill;
	bool json;
	bool verbose;
};

struct skill {
	struct snapshot_context context;
	struct body *body;
	bool found; // a SKILL.md was read
	bool error; // it could not be scanned
	char *name; // of its folder
};

static int read_skill_entry(const struct source_entry *entry, void *opaque)
{
	struct skill *skill = opaque;
	CLEANUP(snapshot) struct snapshot *snapshot = NULL;
	int rc = target_snapshot(&skill->context, entry, &snapshot, &skill->body);

	if (rc == 0 && snapshot != NULL) {
		skill->found = true;
		skill->error = snapshot->verdict == VERDICT_ERROR;
	}
	return rc;
}

// A folder's SKILL.md in any letter case: the path of the first, or `path` itself for a file.
static int find_skill_md(const char *path, struct buf *ret, struct error *error)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	const char *found = NULL;
	int rc;

	if (directory == NULL && errno == ENOTDIR)
		return buf_append_string(ret, path);
	if (directory == NULL)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	while (found == NULL && (entry = readdir(directory)) != NULL)
		if (classify_is_skill_md(entry->d_name))
			found = entry->d_name;
	rc = found != NULL ? buf_printf(ret, "%s/%s", path, found)
			   : error_set(error, -ENOENT, "%s: no SKILL.md there", path);
	(void)closedir(directory);
	return rc;
}

static int folder_name(const char *file, char **ret)
{
	CLEANUP(free) char *real = realpath(file, NULL);
	char *slash, *name;

	if (real == NULL)
		return -errno;
	slash = strrchr(real, '/');
	*slash = '\0';
	slash = strrchr(real, '/');
	name = strdup(slash == NULL ? "/" : slash + 1);
	if (name == NULL)
		return -ENOMEM;
	*ret = name;
	return 0;
}

static int read_skill(const char *path, const struct config *config, const struct agent_config *agent,
		      struct manifest *ret, char **ret_name, struct error *error)
{
	CLEANUP(buf) struct buf file = BUF_INIT;
	CLEANUP(free) char *name = NULL;
	CLEANUP(target) struct target target = { NULL, NULL };
	struct scanner *scanner = NULL;
	struct agent_config filter = *agent;
	struct skill skill = { .context = { .config = config, .agent = &filter } };
	int rc = find_skill_md(path, &file, error);

	// A skill whose text is withheld still restricts itself.
	filter.block_on_critical = false;
	if (rc == 0)
		rc = folder_name(file.data, &name);
	if (rc == 0)
		rc = scanner_new(config->custom_rules, config->custom_rule_count, &scanner, error);
	if (rc == 0)
		rc = target_open(file.data, &target, error);
	if (rc == 0) {
		skill.context.scanner = scanner;
		skill.context.source = target.source;
		rc = target_walk(&target, read_skill_entry, &skill, error);
	}
	if (rc == 0 && (!skill.found || skill.error))
		rc = error_set(error, -EIO, "%s: could not be scanned; skillfs scan says why", file.data);
	if (rc == 0)
		rc = manifest_parse(skill.body == NULL || skill.body->size == 0 ? "" : skill.body->data.data,
				    skill.body == NULL ? 0 : skill.body->size, ret);
	body_unref(skill.body);
	scanner_free(scanner);
	if (rc == 0)
		*ret_name = take(name);
	return rc;
}

static int put_excluded(struct buf *buf, const struct excluded_tool *excluded)
{
	static const char *const words[] = {
		[EXCLUDED_NOT_IN_PROFILE] = "not in the profile",
		[EXCLUDED_EXPLICIT_DENY] = "denied by",
		[EXCLUDED_NOT_IN_SKILL] = "not in the skill's own list",
	};
	int rc = buf_append_string(buf, "  ");

	if (rc == 0)
		rc = text_escape(buf, excluded->tool, strlen(excluded->tool), TEXT_NO_LIMIT);
	if (rc == 0)
		rc = buf_printf(buf, ": %s", words[excluded->reason]);
	if (rc == 0 && excluded->entry != NULL) {
		rc = buf_append_byte(buf, ' ');
		if (rc == 0)
			rc = text_escape(buf, excluded->entry, strlen(excluded->entry), TEXT_NO_LIMIT);
	}
	return rc < 0 ? rc : buf_append_byte(buf, '\n');
}

static int put_policy(struct buf *buf, const struct effective_tools *effective, bool verbose)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < effective->tools.count; i++) {
		const char *tool = effective->tools.items[i];

		rc = text_escape(buf, tool, strlen(tool), TEXT_NO_LIMIT);
		if (rc == 0)
			rc = buf_append_byte(buf, '\n');
	}
	if (rc == 0 && verbose)
		rc = buf_printf(buf, "%snot there:%s\n", effective->tools.count == 0 ? "no tools\n\n" : "\n",
				effective->excluded_count == 0 ? " nothing" : "");
	for (size_t i = 0; rc == 0 && verbose && i < effective->excluded_count; i++)
		rc = put_excluded(buf, &effective->excluded[i]);
	return rc;
}

static int print_policy(const struct policy_options *options, const struct agent_config *agent,
			const char *skill, const struct effective_tools *effective)
{
	CLEANUP(buf) struct buf out = BUF_INIT;
	json_t *value;
	int rc;

	if (options->json) {
		value = json_policy(agent->id, skill, agent->tool_policy.profile, effective);
		rc = json_append(&out, value, true);
		json_decref(value);
	} else {
		rc = put_policy(&out, effective, options->verbose || isatty(STDOUT_FILENO));
	}
	if (rc == 0 && out.len > 0)
		(void)fwrite(out.data, 1, out.len, stdout);
	return rc;
}

static int run_policy(const struct policy_options *options)
{
	CLEANUP(config) struct config *config = NULL;
	CLEANUP(strv) struct strv known = { NULL, 0, 0 };
	CLEANUP(free) char *name = NULL;
	const struct agent_config *agent = NULL;
	struct effective_tools effective = { .excluded = NULL };
	struct manifest manifest = { .name = NULL };
	struct error error = { "" };
	bool restricted = false, resolved = false;
	int rc = command_load_config(options->config, &config, &error);

	if (rc == 0)
		rc = command_find_agent(config, options->agent, &agent, &error);
	if (rc == 0 && options->skill != NULL) {
		rc = read_skill(options->skill, config, agent, &manifest, &name, &error);
		restricted = rc == 0;
	}
	if (restricted && manifest.restriction.kind == RESTRICTION_UNREADABLE)
		command_error(options->skill, "its tool list cannot be read, so it gets no tools");
	if (rc == 0)
		rc = known_tools(agent, &known);
	if (rc == 0) {
		rc = resolve_tools(&agent->tool_policy, &known, restricted ? &manifest.restriction : NULL,
				   &effective);
		resolved = rc == 0;
	}
	if (rc == 0)
		rc = print_policy(options, agent, name, &effective);
	if (rc < 0)
		command_error("policy", error_text(&error, rc));
	if (resolved)
		effective_tools_release(&effective);
	if (restricted)
		manifest_release(&manifest);
	return rc < 0 ? EXIT_USAGE : EXIT_OK;
}

int command_policy(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "agent", required_argument, NULL, OPTION_AGENT },
		{ "skill", required_argument, NULL, OPTION_SKILL },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "verbose", no_argument, NULL, 'v' },
		{ "config", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct policy_options options = { .config = NULL };
	int answer;

	while ((answer = getopt_long(argc, argv, ":c:vh", long_options, NULL)) != -1)
		switch (answer) {
		case OPTION_AGENT:
			options.agent = optarg;
			break;
		case OPTION_SKILL:
			options.skill = optarg;
			break;
		case OPTION_JSON:
			options.json = true;
			break;
		case 'v':
			options.verbose = true;
			break;
		case 'c':
			options.config = optarg;
			break;
		default:
			return command_bad_option("policy", argv, answer);
		}
	if (optind < argc)
		return command_usage("policy", "takes no arguments; a skill goes behind --skill");
	return run_policy(&options);
}
