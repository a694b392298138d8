// SPDX-License-Identifier: Apache-2.0
//
// The commands as one table. A command gets its own name as argv[0] and returns
// the process's exit code; messages go to standard error as "skillfs: what: why".
#pragma once

#include <stddef.h>

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
};

extern const struct command commands[];
extern const size_t command_count;
const struct command *command_find(const char *name);

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

void command_error(const char *what, const char *why); // "skillfs: what: why"
int command_usage(const char *name, const char *why);  // prints why and the usage line; EXIT_USAGE

struct config;
struct error;
// -c FILE, else $SKILLFS_CONFIG, the user's, /etc/skillfs/config.yaml, else the defaults.
int command_load_config(const char *path, struct config **ret, struct error *error);
// The whole of a file or standard input ("-"), at most `max` bytes (-EFBIG).
struct buf;
int command_read(const char *path, size_t max, struct buf *ret);
