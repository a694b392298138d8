// SPDX-License-Identifier: Apache-2.0
//
// Runs commands through job_spawn() for the tests: folders made for the purpose, output collected.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/job.h"
#include "sanitize/buf.h"
#include "sanitize/cleanup.h"

#define JAIL_TIMEOUT_MS 60000

struct jail {
	struct sandbox_support support;
	struct exec_sandbox sandbox;
	char root[64]; // /tmp/...
	char home[96];
	char workspace[96];
	char view[96];
	char hide[96];
	struct job_spec spec;
};

struct outcome {
	int spawned; // what job_spawn() said
	struct error error;
	struct job_result result;
	char out[65536];
	char err[8192];
};

static inline void jail_write(const char *dir, const char *name, const char *text)
{
	char path[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(close(fd), 0);
}

static inline void jail_mkdir(const char *dir, const char *name, char *ret, size_t size)
{
	assert_true(snprintf(ret, size, "%s/%s", dir, name) < (int)size);
	assert_int_equal(mkdir(ret, 0755), 0);
}

// root/{home/.ssh/id_rsa, ws, view/SKILL.md, ctl/exec}
static inline void jail_make(struct jail *jail)
{
	char path[128];

	memset(jail, 0, sizeof(*jail));
	(void)snprintf(jail->root, sizeof(jail->root), "/tmp/skillfs-jail-XXXXXX");
	assert_non_null(mkdtemp(jail->root));
	assert_int_equal(chmod(jail->root, 0755), 0);
	jail_mkdir(jail->root, "home", jail->home, sizeof(jail->home));
	jail_mkdir(jail->root, "ws", jail->workspace, sizeof(jail->workspace));
	jail_mkdir(jail->root, "view", jail->view, sizeof(jail->view));
	jail_mkdir(jail->root, "ctl", jail->hide, sizeof(jail->hide));
	jail_mkdir(jail->home, ".ssh", path, sizeof(path));
	jail_write(path, "id_rsa", "PRIVATE\n");
	jail_write(jail->home, ".gitconfig", "[user]\n\tname = Somebody\n");
	jail_write(jail->view, "SKILL.md", "a skill\n");
	jail_write(jail->hide, "exec", "no\n");
	jail->sandbox = (struct exec_sandbox){ .enabled = SANDBOX_ALWAYS,
					       .network = NETWORK_OPEN,
					       .timeout_ms = JAIL_TIMEOUT_MS,
					       .memory_max = (uint64_t)2 << 30,
					       .pids_max = 256,
					       .file_size_max = (uint64_t)1 << 30,
					       .tmp_size_max = (uint64_t)16 << 20 };
	jail->spec = (struct job_spec){ .sandbox = &jail->sandbox,
					.workspace = jail->workspace,
					.view = jail->view,
					.hide = jail->hide,
					.cwd = jail->workspace,
					.home = jail->home,
					.uid = geteuid(),
					.gid = getegid(),
					.stdin_fd = STDIN_FILENO,
					.stdout_fd = STDOUT_FILENO,
					.stderr_fd = STDERR_FILENO };
	assert_int_equal(sandbox_detect(&jail->support), 0);
}

static inline int jail_remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void jail_remove(struct jail *jail)
{
	(void)nftw(jail->root, jail_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	strv_release(&jail->spec.argv);
	strv_release(&jail->spec.env);
	strv_release(&jail->sandbox.read_only_allow_paths);
	sandbox_support_release(&jail->support);
}

static inline void jail_argv(struct jail *jail, const char *const *argv)
{
	strv_release(&jail->spec.argv);
	for (; *argv != NULL; argv++)
		assert_int_equal(strv_add(&jail->spec.argv, *argv), 0);
}

static inline void jail_read_back(int fd, char *ret, size_t size)
{
	ssize_t len = pread(fd, ret, size - 1, 0);

	assert_true(len >= 0);
	ret[len] = '\0';
}

// Starts with output into files, so that nothing blocks.
static inline struct outcome jail_run_argv(struct jail *jail, const char *const *argv)
{
	struct outcome outcome = { 0 };
	struct job job;
	struct pollfd wait;
	CLEANUP(fd) int out = memfd_create("out", MFD_CLOEXEC);
	CLEANUP(fd) int err = memfd_create("err", MFD_CLOEXEC);
	CLEANUP(fd) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(out >= 0 && err >= 0 && null >= 0);
	jail->spec.stdin_fd = null;
	jail->spec.stdout_fd = out;
	jail->spec.stderr_fd = err;
	jail_argv(jail, argv);
	outcome.spawned = job_spawn(&jail->support, &jail->spec, &job, &outcome.error);
	if (outcome.spawned < 0)
		return outcome;
	wait = (struct pollfd){ .fd = job.pidfd, .events = POLLIN };
	if (poll(&wait, 1, JAIL_TIMEOUT_MS) != 1) {
		(void)job_kill(&job, &outcome.result);
		while (argv[1] != NULL)
			argv++;
		fail_msg("the job did not end: %s", argv[0]);
	}
	assert_int_equal(job_collect(&job, &outcome.result), 0);
	jail_read_back(out, outcome.out, sizeof(outcome.out));
	jail_read_back(err, outcome.err, sizeof(outcome.err));
	return outcome;
}

static inline struct outcome jail_run(struct jail *jail, const char *line)
{
	return jail_run_argv(jail, (const char *const[]){ "/bin/sh", "-c", line, NULL });
}

// Runs a line that must end with exit code 0, and gives its output.
static inline struct outcome jail_output(struct jail *jail, const char *line)
{
	struct outcome outcome = jail_run(jail, line);

	if (outcome.spawned < 0 || outcome.result.end != JOB_EXITED || outcome.result.exit_code != 0)
		fail_msg("'%s': spawn %d (%s), end %d, code %d\n%s\n%s", line, outcome.spawned,
			 outcome.error.message, outcome.result.end, outcome.result.exit_code, outcome.out,
			 outcome.err);
	return outcome;
}
