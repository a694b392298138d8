// SPDX-License-Identifier: Apache-2.0
//
// A test program that runs its group in a jail with itself as the probe, as root (where it can) and as an ordinary user.
#pragma once

#include "jail.h"

#include <grp.h>
#include <sys/prctl.h>

#include "probe.h"

#define NOBODY 65534

static inline int jail_setup(void **state)
{
	struct jail *jail = calloc(1, sizeof(*jail));
	char probe[128], block[65536];
	CLEANUP(fd) int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(fd) int to = -1;
	ssize_t len;

	assert_non_null(jail);
	jail_make(jail);
	(void)snprintf(probe, sizeof(probe), "%s/probe", jail->view);
	to = open(probe, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_true(from >= 0 && to >= 0);
	while ((len = read(from, block, sizeof(block))) > 0)
		assert_int_equal(write(to, block, (size_t)len), len);
	*state = jail;
	return 0;
}

static inline int jail_teardown(void **state)
{
	jail_remove(*state);
	free(*state);
	return 0;
}

static inline struct jail *need_jail(void **state)
{
	struct jail *jail = *state;

	if (jail->support.tier != TIER_BWRAP_SECCOMP) {
		print_message("no jail here: %s (%s)\n", jail->support.reason,
			      jail->support.hint == NULL ? "" : jail->support.hint);
		skip();
	}
	return jail;
}

static inline struct outcome probe(struct jail *jail, const char *what, const char *argument)
{
	char path[128];
	const uint64_t memory = jail->sandbox.memory_max;
	struct outcome outcome;

	(void)snprintf(path, sizeof(path), "%s/probe", jail->view);
#if defined(__SANITIZE_ADDRESS__)
	jail->sandbox.memory_max = 0; // the shadow memory counts
#endif
	outcome = jail_run_argv(jail, (const char *const[]){ path, what, argument, NULL });
	jail->sandbox.memory_max = memory;
	if (outcome.spawned < 0)
		fail_msg("%s", outcome.error.message);
	return outcome;
}

// Shell lines that must fail with this text on stderr. Each stands beside what does work in the jail.
static inline void expect_denied(struct jail *jail, const char *line, const char *error)
{
	struct outcome outcome = jail_run(jail, line);

	if (outcome.spawned < 0 || outcome.result.end != JOB_EXITED || outcome.result.exit_code == 0 ||
	    strstr(outcome.err, error) == NULL)
		fail_msg("'%s': end %d, code %d, wanted '%s'\n%s\n%s", line, outcome.result.end,
			 outcome.result.exit_code, error, outcome.out, outcome.err);
}

// `run` gives the number of tests that failed.
static inline int jail_main(int argc, char **argv, int (*run)(void))
{
	int failed, status;
	pid_t pid;

	if (argc > 1)
		return probe_main(argc, argv);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); // as the launcher
	failed = run();
	if (geteuid() != 0)
		return failed;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		    setresuid(NOBODY, NOBODY, NOBODY) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
			_exit(1);
		exit(run() == 0 ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		failed++;
	return failed == 0 ? 0 : 1;
}
