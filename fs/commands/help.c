// SPDX-License-Identifier: Apache-2.0
//
// skillfs help [COMMAND] and skillfs --version.
#include "fs/commands/command.h"

#include "sanitize/error.h"
#include "sanitize/scan.h"

int command_help(int argc, char **argv)
{
	const struct command *command;

	if (argc > 2)
		return command_usage("help", "one command at a time");
	if (argc == 2) {
		command = command_find(argv[1]);
		if (command == NULL) {
			command_error(argv[1], "no such command; skillfs help lists them");
			return EXIT_USAGE;
		}
		(void)printf("%s\n\n%s", command->summary, command->usage);
		return EXIT_OK;
	}
	(void)puts("skillfs shows AI agents their skills scanned and sanitized\n"
		   "\n"
		   "usage: skillfs COMMAND [OPTIONS] ...\n");
	for (size_t i = 0; i < command_count; i++)
		(void)printf("  %-9s %s\n", commands[i].name, commands[i].summary);
	(void)puts("\n"
		   "skillfs help COMMAND says more; skillfs --version says which build this is.\n"
		   "Start with: skillfs doctor, then skillfs scan FOLDER");
	return EXIT_OK;
}

int command_version(void)
{
	struct scanner *scanner = NULL;
	struct error error = { "" };
	int rc = scanner_new(NULL, 0, &scanner, &error);

	(void)puts("skillfs " SKILLFS_VERSION);
	if (rc < 0) {
		command_error("rules", error_text(&error, rc));
		return EXIT_USAGE;
	}
	(void)printf("ruleset %s (%zu rules, %s)\n", scanner_ruleset(scanner), scanner_rule_count(scanner),
		     scanner_has_jit(scanner) ? "compiled" : "interpreted: no JIT here");
	scanner_free(scanner);
	return EXIT_OK;
}
