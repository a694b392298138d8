// SPDX-License-Identifier: Apache-2.0
//
// skillfs sanitize: one file's served bytes. It is a filter, so findings do not keep it from printing;
// what could not be scanned to the end is never printed.
#include <errno.h>

#include "fs/commands/command.h"
#include "fs/commands/target.h"
#include "fs/cpu_budget.h"
#include "fs/output/json.h"
#include "fs/output/text.h"
#include "sanitize/cleanup.h"

enum { OPTION_REPORT = 256, OPTION_MAX_BODY_LENGTH, OPTION_CLASS, OPTION_AGENT };

struct sanitize_options {
	const char *config;
	const char *agent;
	const char *path;
	bool report;
	bool has_max;
	size_t max_body_length;
	enum file_class cls;
};

struct sanitized {
	const struct snapshot_context *context;
	struct snapshot *snapshot;
	struct body *body;
};

static int build_entry(const struct source_entry *entry, void *opaque)
{
	struct sanitized *sanitized = opaque;

	return target_snapshot(sanitized->context, entry, &sanitized->snapshot, &sanitized->body);
}

static int from_file(const char *path, struct snapshot_context *context, struct sanitized *ret,
		     struct error *error)
{
	CLEANUP(target) struct target target = { NULL, NULL };
	int rc = target_open(path, &target, error);

	if (rc < 0)
		return rc;
	if (target.name == NULL)
		return error_set(error, -EISDIR, "%s: a folder; give one file", path);
	context->source = target.source;
	ret->context = context;
	return target_walk(&target, build_entry, ret, error);
}

static int from_stdin(const struct sanitize_options *options, const struct snapshot_context *context,
		      struct sanitized *ret, struct error *error)
{
	CLEANUP(buf) struct buf data = BUF_INIT;
	const struct mount_config *mount = &context->config->mount;
	struct cpu_budget budget;
	struct inspect_options inspection = {
		.max_body_length = context->agent->max_body_length,
		.scan = context->agent->scanning_enabled,
		.has_class = true,
		.cls = options->cls,
	};
	const struct digest none = { 0, 0 };
	struct report report;
	enum verdict verdict;
	int rc = command_read(
		"-", mount->max_file_size < BUF_MAX ? (size_t)mount->max_file_size : BUF_MAX - 1, &data);

	if (rc < 0)
		return error_set(error, rc, "standard input: %s",
				 rc == -EFBIG ? "larger than mount.maxFileSize" : strerror(-rc));
	cpu_budget_begin(&budget, mount->scan_time_ms);
	inspection.budget = &budget.budget;
	inspection.budget_text = budget.limit;
	rc = inspect(context->scanner, &inspection, "-", data.data == NULL ? "" : data.data, data.len,
		     &report);
	if (rc < 0)
		return rc;
	verdict = verdict_decide(context->config, context->agent, &report);
	if (!report.verbatim) {
		buf_release(&data);
		data = report.body;
		report.body = BUF_INIT;
	}
	rc = snapshot_of_report(verdict, &report, &ret->snapshot);
	if (rc < 0)
		return rc;
	ret->body = body_new(&data, &none);
	return ret->body == NULL ? -ENOMEM : 0;
}

// On a mount this file would not be there; the reader of the filter's output should know.
static void say_hidden(const char *path, const struct agent_config *agent, const struct report *report)
{
	for (size_t i = 0; i < report->findings.count && agent->block_on_critical; i++) {
		const struct finding *finding = &report->findings.items[i];

		if (finding->severity == SEVERITY_CRITICAL && !finding->approved) {
			command_errorf(path, "a mount would hide it: %s at line %zu", finding->rule->id,
				       finding->line);
			return;
		}
	}
}

static int print_report(const struct sanitize_stats *stats)
{
	CLEANUP(buf) struct buf line = BUF_INIT;
	json_t *value = json_sanitize(stats);
	int rc = json_append(&line, value, true);

	json_decref(value);
	if (rc == 0)
		(void)fputs(line.data, stderr);
	return rc;
}

static int print_sanitized(const struct sanitize_options *options, const struct agent_config *agent,
			   const struct sanitized *sanitized)
{
	const struct report shown = snapshot_report(sanitized->snapshot), *report = &shown;
	const struct body *body = sanitized->body;
	const char *name = strcmp(options->path, "-") == 0 ? "standard input" : options->path;
	const char *why = "could not be scanned to the end", *detail = NULL;

	if (sanitized->snapshot->verdict == VERDICT_ERROR) {
		for (size_t i = 0; i < report->notices.count; i++)
			if (report->notices.items[i].code >= NOTICE_FS_SYMLINK_ESCAPE) {
				why = text_notice(report->notices.items[i].code);
				detail = report->notices.items[i].code == NOTICE_SCAN_LIMIT
						 ? report->notices.items[i].detail
						 : NULL;
			}
		command_errorf(name, "not printed: %s%s%s", why, detail == NULL ? "" : ": ",
			       detail == NULL ? "" : detail);
		return EXIT_USAGE;
	}
	if (options->report && print_report(&report->stats) < 0) {
		command_error(name, strerror(ENOMEM));
		return EXIT_USAGE;
	}
	if (!options->report)
		say_hidden(name, agent, report);
	if (body != NULL && body->size > 0 && fwrite(body->data.data, 1, body->size, stdout) != body->size)
		return EXIT_USAGE;
	return EXIT_OK;
}

static int run_sanitize(const struct sanitize_options *options)
{
	CLEANUP(config) struct config *config = NULL;
	struct scanner *scanner = NULL;
	struct snapshot_context context = { .source = NULL };
	struct sanitized sanitized = { .snapshot = NULL };
	struct agent_config filter;
	const struct agent_config *agent = NULL;
	struct error error = { "" };
	int code = EXIT_USAGE;
	int rc = command_load_config(options->config, &config, &error);

	if (rc == 0)
		rc = command_find_agent(config, options->agent, &agent, &error);
	if (rc == 0)
		rc = scanner_new(config->custom_rules, config->custom_rule_count, &scanner, &error);
	if (rc == 0) {
		// The same agent, but one for whom a critical file is not withheld; shares all pointers.
		filter = *agent;
		filter.block_on_critical = false;
		if (options->has_max)
			filter.max_body_length = options->max_body_length;
		context.config = config;
		context.agent = &filter;
		context.scanner = scanner;
		rc = strcmp(options->path, "-") == 0 ? from_stdin(options, &context, &sanitized, &error)
						     : from_file(options->path, &context, &sanitized, &error);
	}
	if (rc == 0 && sanitized.snapshot == NULL)
		rc = error_set(&error, -EINVAL, "%s: not a file", options->path);
	if (rc < 0)
		command_error("sanitize", error_text(&error, rc));
	else
		code = print_sanitized(options, agent, &sanitized);
	snapshot_unref(sanitized.snapshot);
	body_unref(sanitized.body);
	scanner_free(scanner);
	return code;
}

int command_sanitize(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "report", no_argument, NULL, OPTION_REPORT },
		{ "max-body-length", required_argument, NULL, OPTION_MAX_BODY_LENGTH },
		{ "class", required_argument, NULL, OPTION_CLASS },
		{ "agent", required_argument, NULL, OPTION_AGENT },
		{ "config", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct sanitize_options options = { .cls = CLASS_PROSE };
	bool has_class = false;
	uint64_t number;
	int answer;

	while ((answer = getopt_long(argc, argv, ":c:h", long_options, NULL)) != -1)
		switch (answer) {
		case OPTION_REPORT:
			options.report = true;
			break;
		case OPTION_MAX_BODY_LENGTH:
			if (command_number(optarg, 1, BUF_MAX, &number) < 0)
				return command_usage("sanitize",
						     "--max-body-length is a number of characters, "
						     "1 or more");
			options.has_max = true;
			options.max_body_length = (size_t)number;
			break;
		case OPTION_CLASS:
			if (file_class_parse(optarg, &options.cls) < 0)
				return command_usage("sanitize", "--class is prose, code or binary");
			has_class = true;
			break;
		case OPTION_AGENT:
			options.agent = optarg;
			break;
		case 'c':
			options.config = optarg;
			break;
		default:
			return command_bad_option("sanitize", argv, answer);
		}
	if (argc - optind != 1)
		return command_usage("sanitize", "give one file, or - for standard input");
	options.path = argv[optind];
	if (has_class && strcmp(options.path, "-") != 0)
		return command_usage("sanitize",
				     "--class goes with -: a file's class comes from its name and the "
				     "configuration");
	return run_sanitize(&options);
}
