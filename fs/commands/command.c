// SPDX-License-Identifier: Apache-2.0
//
// The table of commands and what they share: dispatch, messages, option errors. Arguments may come from a script that
// walks a stranger's files, so everything printed is escaped.
#include "fs/commands/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>

#include "fs/output/text.h"
#include "sanitize/cleanup.h"
#include "sanitize/error.h"

#define LONGEST_NAME 64

const struct command commands[] = {
	{
		.name = "mount",
		.summary = "show a skills folder, scanned and sanitized, as a read-only mount",
		.run = command_mount,
		.usage = "skillfs mount [-f] [-c FILE] [-o OPTIONS] SOURCE [MOUNTPOINT]\n"
			 "\n"
			 "Without MOUNTPOINT the view covers SOURCE itself. Returns when the mount answers.\n"
			 "\n"
			 "  -f          stay in the foreground\n"
			 "  -c FILE     configuration\n"
			 "  -o OPTIONS  comma list of the generic mount options, and of these:\n"
			 "\n"
			 "  agent=ID            whose settings to use (default: default)\n"
			 "  config=FILE         the same as -c\n"
			 "  allow_other         other users may read the view\n"
			 "  control=DIR         where the owner's files are; none: no such files, no exec\n"
			 "  state=DIR           where the audit log is kept\n"
			 "  audit_open          each opening of a file goes into the audit log\n"
			 "  entry_timeout_ms=N  how long a change of the source may stay unseen\n"
			 "\n"
			 "MOUNTPOINT has to exist. The view is always read-only, nosuid and nodev.\n"
			 "\n"
			 "Example:\n"
			 "  skillfs mount ~/.claude/skills\n",
	},
	{
		.name = "umount",
		.summary = "take a mount down",
		.run = command_umount,
		.usage = "skillfs umount [--now] MOUNTPOINT\n"
			 "\n"
			 "Both mounts go and the daemon ends. Refused while something on the mount is in "
			 "use.\n"
			 "\n"
			 "  --now  all the same\n"
			 "\n"
			 "Example:\n"
			 "  skillfs umount ~/.claude/skills\n",
	},
	{
		.name = "scan",
		.summary = "what a mount would hide or flag, without mounting",
		.run = command_scan,
		.usage = "skillfs scan [OPTIONS] PATH...\n"
			 "skillfs scan [OPTIONS] -\n"
			 "\n"
			 "Folders are walked; - is one body on standard input. Verdicts are those of the "
			 "mount.\n"
			 "\n"
			 "  --format FORMAT   text (default), json (default for -), or jsonl: one file a "
			 "line\n"
			 "  --fail-on LEVEL   critical (default), warn or never: when to exit with 1\n"
			 "  --class CLASS     what - is: prose (default), code or binary\n"
			 "  --agent ID        whose settings to use\n"
			 "  -c, --config FILE configuration\n"
			 "  -v, --verbose     text: routine notices too (comments removed, body cut)\n"
			 "\n"
			 "Exit code: 0 nothing at or above LEVEL, 1 findings, 2 usage or I/O error.\n"
			 "A file that cannot be scanned counts as critical, as the mount hides it.\n"
			 "\n"
			 "Example:\n"
			 "  skillfs scan --fail-on warn ~/.claude/skills\n",
	},
	{
		.name = "sanitize",
		.summary = "one file as a mount would serve it",
		.run = command_sanitize,
		.usage = "skillfs sanitize [OPTIONS] FILE\n"
			 "skillfs sanitize [OPTIONS] -\n"
			 "\n"
			 "Prints the sanitized bytes. It is a filter: a file that a mount would hide for its "
			 "findings\n"
			 "is printed too; without --report standard error says so. skillfs scan decides.\n"
			 "\n"
			 "  --report             what was removed, as JSON, on standard error\n"
			 "  --max-body-length N  characters of prose to keep (default: the configuration's)\n"
			 "  --class CLASS        what - is: prose (default), code or binary\n"
			 "  --agent ID           whose settings to use\n"
			 "  -c, --config FILE    configuration\n"
			 "\n"
			 "Exit code: 0 printed, 2 usage or I/O error, or a file that cannot be scanned: "
			 "nothing is printed.\n"
			 "\n"
			 "Example:\n"
			 "  skillfs sanitize --report pdf/SKILL.md > SKILL.clean.md\n",
	},
	{
		.name = "audit",
		.summary = "findings and hidden files of a mount",
		.run = command_audit,
		.usage = "skillfs audit [--json] PATH\n"
			 "\n"
			 "PATH is a mountpoint or something below it; the name of a hidden file works too.\n"
			 "Folders are listed first, so that everything below PATH has been scanned. For the "
			 "mount's owner only.\n"
			 "\n"
			 "  --json  {\"mountpoint\", \"path\", \"hidden\": [...], \"findings\": [...]}\n"
			 "\n"
			 "Exit code: 0 shown, 2 usage or I/O error.\n"
			 "\n"
			 "Example:\n"
			 "  skillfs audit ~/.claude/skills\n",
	},
	{
		.name = "exec",
		.summary = "run a command in a mount's jail",
		.run = command_exec,
		.failed = EXIT_EXEC_FAILED,
		.usage = "skillfs exec [OPTIONS] [--] COMMAND [ARGUMENT...]\n"
			 "\n"
			 "Through the mount's exec file: policy and limits first, then the jail. Ctrl-C ends "
			 "the job.\n"
			 "\n"
			 "  -m, --mountpoint PATH  which mount (default: the one around the current folder,\n"
			 "                         else your only one)\n"
			 "  --agent ID             as which agent (default: the mount's)\n"
			 "  --skill SKILL          narrowed by this skill's own tool list\n"
			 "  --timeout SECONDS      at most this long\n"
			 "  --json                 print the result, not the output\n"
			 "\n"
			 "Exit code: the command's; 128 + N after signal N, 124 timed out, 125 refused or "
			 "failed here,\n"
			 "126 not executable, 127 not found.\n"
			 "\n"
			 "Example:\n"
			 "  skillfs exec -m ~/.claude/skills -- python3 --version\n",
	},
	{
		.name = "policy",
		.summary = "which tools an agent has, and why not the others",
		.run = command_policy,
		.usage = "skillfs policy [OPTIONS]\n"
			 "\n"
			 "  --agent ID         the agent (default: default)\n"
			 "  --skill PATH       narrowed by this skill: its folder or its SKILL.md\n"
			 "  --json             {\"agent\", \"skill\", \"profile\", \"tools\", \"excluded\"}\n"
			 "  -v, --verbose      also why each other known tool is not there (default on a "
			 "terminal)\n"
			 "  -c, --config FILE  configuration\n"
			 "\n"
			 "Example:\n"
			 "  skillfs policy --agent reviewer --skill ~/.claude/skills/pdf\n",
	},
	{
		.name = "config",
		.summary = "check a configuration file, or print the one in force",
		.run = command_config,
		.usage = "skillfs config check FILE\n"
			 "skillfs config print [-c FILE]\n"
			 "\n"
			 "check says ok, or where the mistake is; print shows every key with its value, "
			 "defaults too.\n"
			 "\n"
			 "Exit code: 0 valid, 1 not valid, 2 usage or I/O error.\n"
			 "\n"
			 "Example:\n"
			 "  skillfs config check ~/.config/skillfs/config.yaml\n",
	},
	{
		.name = "doctor",
		.summary = "what this machine lacks, and how to mend it",
		.run = command_doctor,
		.usage = "skillfs doctor [-c FILE]\n"
			 "\n"
			 "One line a check: ok, warn or fail.\n"
			 "\n"
			 "Exit code: 0 when nothing fails, 1 otherwise.\n"
			 "\n"
			 "Example:\n"
			 "  skillfs doctor\n",
	},
	{
		.name = "help",
		.summary = "this list, or the help of one command",
		.run = command_help,
		.usage = "skillfs help [COMMAND]\n"
			 "\n"
			 "Example:\n"
			 "  skillfs help scan\n",
	},
};
const size_t command_count = ARRAY_SIZE(commands);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

void command_errorf(const char *what, const char *format, ...)
{
	CLEANUP(buf) struct buf line = BUF_INIT;
	char why[2048];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (text_escape(&line, what, strlen(what), TEXT_NO_LIMIT) == 0 &&
	    buf_append_string(&line, ": ") == 0 && text_escape(&line, why, strlen(why), TEXT_NO_LIMIT) == 0)
		(void)fprintf(stderr, "skillfs: %s\n", line.data);
	else
		(void)fputs("skillfs: out of memory\n", stderr);
}

void command_error(const char *what, const char *why)
{
	command_errorf(what, "%s", why);
}

int command_usage(const char *name, const char *why)
{
	const struct command *command = command_find(name);

	command_error(name, why);
	if (command == NULL)
		return EXIT_USAGE;
	(void)fprintf(stderr, "usage: %.*s\nTry: skillfs help %s\n", (int)strcspn(command->usage, "\n"),
		      command->usage, name);
	return command->failed != 0 ? command->failed : EXIT_USAGE;
}

int command_bad_option(const char *name, char **argv, int answer)
{
	char why[160];
	const char *word = argv[optind - 1];
	char letter[3] = { '-', (char)optopt, '\0' };

	if (answer == 'h') {
		char *help[] = { (char *)"help", (char *)name, NULL };

		return command_help(2, help);
	}
	// getopt names a short option in optopt; a long one is the word just passed.
	if (strncmp(word, "--", 2) != 0 && optopt > ' ' && optopt < 0x7F)
		word = letter;
	(void)snprintf(why, sizeof(why),
		       answer == ':' ? "option %.100s needs a value" : "unknown option %.100s", word);
	return command_usage(name, why);
}

int command_number(const char *text, uint64_t least, uint64_t most, uint64_t *ret)
{
	uint64_t value = 0;

	if (*text == '\0')
		return -EINVAL;
	for (; *text != '\0'; text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		if (*text < '0' || *text > '9' || value > (UINT64_MAX - digit) / 10)
			return -EINVAL;
		value = value * 10 + digit;
	}
	if (value < least || value > most)
		return -EINVAL;
	*ret = value;
	return 0;
}

static size_t edit_distance(const char *a, const char *b)
{
	size_t row[LONGEST_NAME + 1];
	size_t len = strlen(b);

	if (strlen(a) > LONGEST_NAME || len > LONGEST_NAME)
		return LONGEST_NAME;
	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1] != '\0'; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[len];
}

const char *command_nearest(const char *name, const char *const *names, size_t stride, size_t count)
{
	const char *best = NULL;
	size_t least = 3; // farther than two edits is no typing error

	for (size_t i = 0; i < count; i++) {
		const char *candidate = *(const char *const *)((const char *)names + i * stride);
		size_t distance = edit_distance(name, candidate);

		if (distance < least && distance < strlen(candidate)) {
			best = candidate;
			least = distance;
		}
	}
	return best;
}

static int unknown_command(const char *name)
{
	const char *nearest = command_nearest(name, &commands[0].name, sizeof(commands[0]), command_count);

	if (nearest != NULL)
		command_errorf(name, "no such command; did you mean %s?", nearest);
	else
		command_error(name, "no such command; skillfs help lists them");
	return EXIT_USAGE;
}

// A full disk or a closed pipe must not look like a clean result.
static int finish(const struct command *command, int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	command_errorf("standard output", "cannot write: %s", strerror(errno));
	return command != NULL && command->failed != 0 ? command->failed : EXIT_USAGE;
}

int command_run(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		command_error("no command", "skillfs help lists them");
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return finish(NULL, command_version());
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return finish(NULL, command_help(1, argv + 1));
	command = command_find(argv[1]);
	if (command == NULL)
		return unknown_command(argv[1]);
	// Here for all of them, mount and umount too, whose options are parsed elsewhere.
	if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0))
		return finish(command, command_bad_option(command->name, argv, 'h'));
	return finish(command, command->run(argc - 1, argv + 1));
}
