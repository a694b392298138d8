// SPDX-License-Identifier: Apache-2.0
//
// The commands as one table. A command gets its own name as argv[0] and returns
// the process's exit code; messages go to standard error as "skillfs: what: why".
#pragma once

#include <getopt.h>
#include <stddef.h>
#include <stdint.h>

enum {
	EXIT_OK = 0,
	EXIT_FINDINGS = 1,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2, // usage or I/O
	EXIT_EXEC_FAILED = 125,
};

struct command {
	const char *name;
	const char *summary;
	const char *usage; // the text of `skillfs help NAME`
	int (*run)(int argc, char **argv);
	int failed; // the exit code when the command itself cannot work; 0: EXIT_USAGE
};

extern const struct command commands[];
extern const size_t command_count;
const struct command *command_find(const char *name);
// The whole program: argv as main() got it.
int command_run(int argc, char **argv);

int command_mount(int argc, char **argv);
int command_umount(int argc, char **argv);
int command_scan(int argc, char **argv);
int command_sanitize(int argc, char **argv);
int command_audit(int argc, char **argv);
int command_exec(int argc, char **argv);
int command_policy(int argc, char **argv);
int command_config(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_help(int argc, char **argv);
int command_version(void);

void command_error(const char *what, const char *why); // "skillfs: what: why"
// The same with a formatted why.
void command_errorf(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
int command_usage(const char *name,
		  const char *why); // prints why and the usage line; EXIT_USAGE (125 for exec)
// What getopt_long() answered with '?' or ':' (the option string begins with ':' or "+:"), said as command_usage() does.
// 'h' prints the help text and is EXIT_OK.
int command_bad_option(const char *name, char **argv, int answer);
// A whole number within [least, most]. 0 or -EINVAL.
int command_number(const char *text, uint64_t least, uint64_t most, uint64_t *ret);
// `name` among the `count` strings that lie `stride` bytes apart, nearest by edit distance; NULL when none is near.
const char *command_nearest(const char *name, const char *const *names, size_t stride, size_t count);

struct config;
struct agent_config;
struct error;
// -c FILE, else $SKILLFS_CONFIG, the user's, /etc/skillfs/config.yaml, else the defaults.
int command_load_config(const char *path, struct config **ret, struct error *error);
// The agent that --agent names (NULL: the default one). -ENOENT with a message.
int command_find_agent(const struct config *config, const char *id, const struct agent_config **ret,
		       struct error *error);
// The whole of a file or standard input ("-"), at most `max` bytes (-EFBIG).
struct buf;
int command_read(const char *path, size_t max, struct buf *ret);
