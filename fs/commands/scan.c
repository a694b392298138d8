// SPDX-License-Identifier: Apache-2.0
//
// skillfs scan: the mount's verdicts without a mount.
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "fs/commands/command.h"
#include "fs/commands/target.h"
#include "fs/cpu_budget.h"
#include "fs/mountinfo.h"
#include "fs/output/scan.h"
#include "sanitize/cleanup.h"

#define PROGRESS_EVERY_NS 200000000

enum { OPTION_FORMAT = 256, OPTION_FAIL_ON, OPTION_CLASS, OPTION_AGENT };

struct scan_options {
	const char *config;
	const char *agent;
	const struct scan_format *format;
	enum severity fail_on; // SEVERITY_OFF: never
	bool has_class;
	enum file_class cls;
	bool verbose;
};

struct scan_run {
	struct snapshot_context context;
	struct scan_writer writer;
	enum severity worst; // of everything seen
	const char *base;    // the PATH as the user wrote it
	bool single;         // base is the file
	bool progress;       // on a terminal
	bool progress_shown;
	bool on_mount;
	bool incomplete; // a folder could not be listed
	struct timespec shown;
	struct buf path, source;
};

static enum severity worst_of(const struct snapshot *snapshot)
{
	enum severity worst = snapshot->verdict == VERDICT_ERROR ? SEVERITY_CRITICAL : SEVERITY_OFF;

	for (size_t i = 0; i < snapshot_findings(snapshot)->count; i++) {
		const struct finding *finding = &snapshot_findings(snapshot)->items[i];

		if (!finding->approved && finding->severity > worst)
			worst = finding->severity;
	}
	return worst;
}

static void progress_clear(struct scan_run *run)
{
	if (run->progress_shown)
		(void)fputs("\r\033[K", stderr);
	run->progress_shown = false;
}

static void progress_show(struct scan_run *run)
{
	struct timespec now;
	int64_t passed;

	if (!run->progress || clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		return;
	passed = (now.tv_sec - run->shown.tv_sec) * INT64_C(1000000000) + now.tv_nsec - run->shown.tv_nsec;
	if (passed < PROGRESS_EVERY_NS)
		return;
	(void)fprintf(stderr, "\r\033[K%ju files, %ju findings", (uintmax_t)run->writer.summary.files,
		      (uintmax_t)(run->writer.summary.critical + run->writer.summary.warn));
	(void)fflush(stderr);
	run->progress_shown = true;
	run->shown = now;
}

// "skills/" and "pdf/SKILL.md" give "skills/pdf/SKILL.md"; "." gives "pdf/SKILL.md".
static int show_path(struct scan_run *run, const char *below)
{
	size_t len = strlen(run->base);
	int rc;

	buf_clear(&run->path);
	while (len > 0 && run->base[len - 1] == '/')
		len--;
	if (run->single)
		return buf_append_string(&run->path, run->base);
	if (len == 1 && run->base[0] == '.')
		return buf_append_string(&run->path, below);
	rc = buf_append(&run->path, run->base, len);
	return rc < 0 ? rc : buf_printf(&run->path, "/%s", below);
}

// The scanned bytes again, to show lines of them; nothing when the file is no longer what was scanned, or when it is a
// large binary: it has no lines, and was not kept in memory for that reason.
static void read_source(struct scan_run *run, const struct source_entry *entry,
			const struct snapshot *snapshot)
{
	CLEANUP(fd) int fd = source_open_file(entry->dir_fd, entry->name);
	struct identity identity;
	struct stat st;

	buf_clear(&run->source);
	if (fd < 0 || source_stat(fd, &st) < 0)
		return;
	if (snapshot->cls == CLASS_BINARY && st.st_size > (off_t)INSPECT_WHOLE)
		return;
	identity = identity_of(&st);
	if (!identity_equal(&identity, &snapshot->identity) || st.st_size < 0 ||
	    (uint64_t)st.st_size > run->context.config->mount.max_file_size ||
	    buf_reserve(&run->source, (size_t)st.st_size) < 0)
		return;
	while (run->source.len < (size_t)st.st_size) {
		ssize_t got =
			read(fd, run->source.data + run->source.len, (size_t)st.st_size - run->source.len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		run->source.len += (size_t)got;
	}
	run->source.data[run->source.len] = '\0';
}

static int scan_entry(const struct source_entry *entry, void *opaque)
{
	struct scan_run *run = opaque;
	CLEANUP(snapshot) struct snapshot *snapshot = NULL;
	enum severity worst;
	int rc;

	if (run->on_mount && entry->kind == ENTRY_RESERVED)
		return 0; // the mount's own link
	rc = target_snapshot(&run->context, entry, &snapshot, NULL);
	if (rc == 0)
		rc = show_path(run, entry->path);
	if (rc == 0 && entry->kind == ENTRY_DIRECTORY &&
	    faccessat(entry->dir_fd, entry->name, R_OK | X_OK, AT_EACCESS) < 0) {
		const char *why = strerror(errno);

		progress_clear(run);
		command_errorf(run->path.data, "cannot be listed, so not scanned: %s", why);
		run->incomplete = true;
	}
	if (rc < 0 || snapshot == NULL)
		return rc;
	worst = worst_of(snapshot);
	if (worst > run->worst)
		run->worst = worst;
	buf_clear(&run->source);
	if (rc == 0 && run->writer.format->needs_source && snapshot_findings(snapshot)->count > 0)
		read_source(run, entry, snapshot);
	if (rc == 0 && isatty(STDOUT_FILENO))
		progress_clear(run);
	if (rc == 0)
		rc = scan_file(&run->writer, run->path.data, snapshot,
			       run->source.len > 0 ? run->source.data : NULL, run->source.len);
	progress_show(run);
	return rc;
}

// Through a mount only what it shows can be scanned; that must not pass for the whole.
static bool warn_of_mount(const char *path)
{
	CLEANUP(free) char *mountpoint = NULL;
	CLEANUP(free) char *control = NULL;

	if (mount_of(path, &mountpoint, &control, NULL) < 0)
		return false;
	command_error(
		path,
		"on a skillfs mount, which leaves out what it hides; scan the source, or see skillfs audit");
	return true;
}

static int scan_paths(struct scan_run *run, char **paths, int *ret_code)
{
	int rc = scan_begin(&run->writer);

	for (; rc == 0 && *paths != NULL; paths++) {
		CLEANUP(target) struct target target = { NULL, NULL };
		CLEANUP(strv) struct strv warnings = { 0 }; // the mount gives them
		struct error error = { "" };

		run->base = *paths;
		rc = target_open(*paths, &target, &error);
		if (rc == 0) {
			run->single = target.name != NULL;
			run->context.source = target.source;
			rc = source_allow(target.source, &run->context.config->mount.follow_symlinks,
					  &warnings);
		}
		if (rc == 0) {
			run->on_mount = warn_of_mount(*paths);
			rc = target_walk(&target, scan_entry, run, &error);
		}
		progress_clear(run);
		// One path that fails must not keep the others from being looked at.
		if (rc < 0 && rc != -ENOMEM && !ferror(run->writer.out.file)) {
			command_error("scan", error_text(&error, rc));
			*ret_code = EXIT_USAGE;
			rc = 0;
		}
	}
	return rc < 0 ? rc : scan_end(&run->writer);
}

static int scan_stdin(struct scan_run *run, const struct scan_options *options, int *ret_code)
{
	const struct mount_config *mount = &run->context.config->mount;
	struct cpu_budget budget;
	struct inspect_options inspection = {
		.max_body_length = run->context.agent->max_body_length,
		.scan = run->context.agent->scanning_enabled,
		.has_class = true,
		.cls = options->has_class ? options->cls : CLASS_PROSE,
	};
	CLEANUP(snapshot) struct snapshot *snapshot = NULL;
	struct report report;
	int rc =
		command_read("-", mount->max_file_size < BUF_MAX ? (size_t)mount->max_file_size : BUF_MAX - 1,
			     &run->source);
	const char *data = run->source.data == NULL ? "" : run->source.data;

	cpu_budget_begin(&budget, mount->scan_time_ms);
	inspection.budget = &budget.budget;
	inspection.budget_text = budget.limit;
	if (rc == 0)
		rc = inspect(run->context.scanner, &inspection, "-", data, run->source.len, &report);
	if (rc < 0) {
		command_errorf("standard input", "%s",
			       rc == -EFBIG ? "larger than mount.maxFileSize: not scanned" : strerror(-rc));
		*ret_code = EXIT_USAGE;
		return 0;
	}
	rc = snapshot_of_report(verdict_decide(run->context.config, run->context.agent, &report), &report,
				&snapshot);
	if (rc < 0)
		return rc;
	run->worst = worst_of(snapshot);
	return scan_body(&run->writer, snapshot, data, run->source.len);
}

static int run_scan(const struct scan_options *options, char **paths)
{
	CLEANUP(config) struct config *config = NULL;
	struct scanner *scanner = NULL;
	struct scan_run run = { .worst = SEVERITY_OFF };
	struct text_style style = { .verbose = options->verbose };
	struct error error = { "" };
	const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
	int code = EXIT_OK;
	int rc = command_load_config(options->config, &config, &error);

	style.colour = isatty(STDOUT_FILENO) && (plain == NULL || *plain == '\0') && term != NULL &&
		       strcmp(term, "dumb") != 0;
	run.progress = isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
	(void)clock_gettime(CLOCK_MONOTONIC, &run.shown);
	if (rc == 0)
		rc = command_find_agent(config, options->agent, &run.context.agent, &error);
	if (rc == 0)
		rc = scanner_new(config->custom_rules, config->custom_rule_count, &scanner, &error);
	if (rc < 0) {
		command_error("scan", error_text(&error, rc));
		return EXIT_USAGE;
	}
	run.context.config = config;
	run.context.scanner = scanner;
	rc = scan_init(&run.writer, stdout, options->format, scanner, &style);
	if (rc == 0)
		rc = strcmp(paths[0], "-") == 0 ? scan_stdin(&run, options, &code)
						: scan_paths(&run, paths, &code);
	if (rc < 0 && !ferror(stdout))
		command_error("scan", strerror(-rc));
	if (rc < 0 || run.incomplete)
		code = EXIT_USAGE;
	if (code == EXIT_OK && options->fail_on != SEVERITY_OFF && run.worst >= options->fail_on)
		code = EXIT_FINDINGS;
	scan_release(&run.writer);
	buf_release(&run.path);
	buf_release(&run.source);
	scanner_free(scanner);
	return code;
}

static int parse_format(const char *text, const struct scan_format **ret)
{
	const struct scan_format *format = scan_format_find(text);

	if (format == NULL)
		return command_usage("scan", "--format is text, json or jsonl");
	if (format->file == NULL) {
		command_errorf("scan", "--format %s: not supported yet; json has the same content", text);
		return EXIT_USAGE;
	}
	*ret = format;
	return EXIT_OK;
}

int command_scan(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "format", required_argument, NULL, OPTION_FORMAT },
		{ "fail-on", required_argument, NULL, OPTION_FAIL_ON },
		{ "class", required_argument, NULL, OPTION_CLASS },
		{ "agent", required_argument, NULL, OPTION_AGENT },
		{ "config", required_argument, NULL, 'c' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct scan_options options = { .fail_on = SEVERITY_CRITICAL };
	int answer, code;

	while ((answer = getopt_long(argc, argv, ":c:vh", long_options, NULL)) != -1)
		switch (answer) {
		case OPTION_FORMAT:
			code = parse_format(optarg, &options.format);
			if (code != EXIT_OK)
				return code;
			break;
		case OPTION_FAIL_ON:
			if (strcmp(optarg, "never") == 0)
				options.fail_on = SEVERITY_OFF;
			else if (strcmp(optarg, "warn") == 0)
				options.fail_on = SEVERITY_WARN;
			else if (strcmp(optarg, "critical") == 0)
				options.fail_on = SEVERITY_CRITICAL;
			else
				return command_usage("scan", "--fail-on is critical, warn or never");
			break;
		case OPTION_CLASS:
			if (file_class_parse(optarg, &options.cls) < 0)
				return command_usage("scan", "--class is prose, code or binary");
			options.has_class = true;
			break;
		case OPTION_AGENT:
			options.agent = optarg;
			break;
		case 'c':
			options.config = optarg;
			break;
		case 'v':
			options.verbose = true;
			break;
		default:
			return command_bad_option("scan", argv, answer);
		}
	if (optind == argc)
		return command_usage("scan",
				     "nothing to scan: give a folder, a file, or - for standard input");
	for (int i = optind; i < argc; i++)
		if (strcmp(argv[i], "-") == 0 && argc - optind > 1)
			return command_usage("scan", "- stands alone");
	if (options.has_class && strcmp(argv[optind], "-") != 0)
		return command_usage("scan",
				     "--class goes with -: a file's class comes from its name and the "
				     "configuration");
	// People scan folders, programs scan standard input.
	if (options.format == NULL)
		options.format = scan_format_find(strcmp(argv[optind], "-") == 0 ? "json" : "text");
	return run_scan(&options, argv + optind);
}
