// SPDX-License-Identifier: Apache-2.0
//
// skillfs config check FILE and skillfs config print [-c FILE].
#include <errno.h>

#include "fs/commands/command.h"
#include "policy/config.h"
#include "policy/rule_cost.h"
#include "sanitize/cleanup.h"
#include "sanitize/scan.h"

// Custom rules are part of the configuration: one that does not compile must not be found out at mount time.
static int compile_rules(struct config *config, struct error *error)
{
	struct scanner *scanner = NULL;
	int rc = scanner_new(config->custom_rules, config->custom_rule_count, &scanner, error);

	if (rc == 0)
		rc = rule_cost_warn(scanner, &config->warnings);
	scanner_free(scanner);
	return rc;
}

static int check(int argc, char **argv)
{
	CLEANUP(config) struct config *config = NULL;
	CLEANUP(buf) struct buf text = BUF_INIT;
	struct error error = { "" };
	const char *name;
	int rc;

	if (argc != 2)
		return command_usage("config", "check takes one file");
	name = strcmp(argv[1], "-") == 0 ? "(standard input)" : argv[1];
	rc = command_read(argv[1], CONFIG_MAX_SIZE, &text);
	if (rc < 0 && rc != -EFBIG) {
		command_error(name, strerror(-rc));
		return EXIT_USAGE;
	}
	if (rc == -EFBIG)
		rc = error_set(&error, rc, "%s: larger than %zu bytes: a configuration is not", name,
			       CONFIG_MAX_SIZE);
	if (rc == 0)
		rc = config_parse(name, text.data == NULL ? "" : text.data, text.len, &config, &error);
	if (rc == 0) {
		rc = compile_rules(config, &error);
		if (rc < 0)
			(void)error_prefix(&error, rc, "%s", name);
	}
	if (rc < 0) {
		command_error("config", error_text(&error, rc));
		return rc == -ENOMEM ? EXIT_USAGE : EXIT_FAILED;
	}
	for (size_t i = 0; i < config->warnings.count; i++)
		command_errorf("warning", "%s", config->warnings.items[i]);
	(void)puts("ok");
	return EXIT_OK;
}

static int print(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	CLEANUP(config) struct config *config = NULL;
	CLEANUP(buf) struct buf text = BUF_INIT;
	struct error error = { "" };
	const char *path = NULL;
	int answer, rc;

	while ((answer = getopt_long(argc, argv, ":c:h", long_options, NULL)) != -1) {
		if (answer != 'c')
			return command_bad_option("config", argv, answer);
		path = optarg;
	}
	if (optind < argc)
		return command_usage("config", "print takes no arguments; a file goes behind -c");
	rc = command_load_config(path, &config, &error);
	if (rc == 0)
		rc = compile_rules(config, &error);
	if (rc == 0)
		rc = config_print(config, &text);
	if (rc < 0) {
		command_error("config", error_text(&error, rc));
		return rc == -EINVAL || rc == -EFBIG ? EXIT_FAILED : EXIT_USAGE;
	}
	(void)fwrite(text.data, 1, text.len, stdout);
	return EXIT_OK;
}

int command_config(int argc, char **argv)
{
	if (argc < 2)
		return command_usage("config", "check or print?");
	if (strcmp(argv[1], "check") == 0)
		return check(argc - 1, argv + 1);
	if (strcmp(argv[1], "print") == 0)
		return print(argc - 1, argv + 1);
	return command_usage("config", "only check and print are known");
}
