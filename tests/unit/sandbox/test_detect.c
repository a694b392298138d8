// SPDX-License-Identifier: Apache-2.0
//
// Detection with stand-ins for bwrap, what its status lines say, and the tier without a jail.
#include "jail.h"

#include "sandbox/bwrap.h"

static int setup(void **state)
{
	struct jail *jail = calloc(1, sizeof(*jail));

	assert_non_null(jail);
	jail_make(jail);
	*state = jail;
	return 0;
}

static int teardown(void **state)
{
	jail_remove(*state);
	free(*state);
	return 0;
}

// Detects with a shell script in the place of bwrap.
static struct sandbox_support detect_with(struct jail *jail, const char *script)
{
	struct sandbox_support support = { 0 };
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/bwrap", jail->root);
	jail_write(jail->root, "bwrap", script);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(setenv("SKILLFS_BWRAP", path, 1), 0);
	assert_int_equal(sandbox_detect(&support), 0);
	assert_int_equal(unsetenv("SKILLFS_BWRAP"), 0);
	return support;
}

static void detect_missing_gives_the_install_hint(void **state)
{
	struct sandbox_support support;

	(void)state;
	assert_int_equal(setenv("SKILLFS_BWRAP", "/nonexistent/bwrap", 1), 0);
	assert_int_equal(sandbox_detect(&support), 0);
	assert_int_equal(unsetenv("SKILLFS_BWRAP"), 0);
	assert_int_equal(support.tier, TIER_NONE);
	assert_null(support.program);
	assert_non_null(strstr(support.reason, "not installed"));
	assert_non_null(strstr(support.hint, "apt install bubblewrap"));
	sandbox_support_release(&support);
}

#define HELP                                                                                                 \
	"#!/bin/sh\nif [ \"$1\" = --help ]; then echo --args --json-status-fd --disable-userns --clearenv "  \
	"--size "                                                                                            \
	"--perms --remount-ro; exit 0; fi\n"

static void detect_failures_are_explained(void **state)
{
	static const struct {
		const char *script;
		const char *reason;
		const char *hint;
	} table[] = {
		{ "#!/bin/sh\necho --args --bind\n", "too old", "0.8" },
		{ HELP "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1\n", "AppArmor",
		  "profile" },
		{ HELP "echo 'bwrap: Creating new namespace failed: No space left on device' >&2; exit 1\n",
		  "turned off", "max_user_namespaces" },
		{ HELP
		  "echo \"bwrap: Can't mount proc on /newroot/proc: Operation not permitted\" >&2; exit 1\n",
		  "/proc", "systempaths" },
		{ HELP "echo 'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted' >&2; exit 1\n",
		  "network", "userns" },
		{ HELP "exit 0\n", "can't build", "" }, // ended well, and never said that the command ran
		{ HELP "kill -9 $$\n", "can't build", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct sandbox_support support = detect_with(*state, table[i].script);

		assert_int_equal(support.tier, TIER_NONE);
		if (strstr(support.reason, table[i].reason) == NULL ||
		    (table[i].hint[0] != '\0' &&
		     (support.hint == NULL || strstr(support.hint, table[i].hint) == NULL)))
			fail_msg("%zu: %s; %s", i, support.reason, support.hint);
		sandbox_support_release(&support);
	}
}

static void detect_without_filter_is_the_lower_tier(void **state)
{
	struct jail *jail = *state;
	struct sandbox_support support;

	if (jail->support.tier != TIER_BWRAP_SECCOMP)
		skip();
	// The real one, but for the filter.
	support = detect_with(
		jail,
		"#!/bin/bash\n[ \"$1\" = --args ] && { IFS= mapfile -d '' a <&\"$2\"; for x in \"${a[@]}\"; "
		"do [ \"$x\" = --seccomp ] && { echo 'bwrap: prctl(PR_SET_SECCOMP): Invalid argument' >&2; "
		"exit 1; }; done; shift 2; exec /usr/bin/bwrap \"${a[@]}\" \"$@\"; }\nexec /usr/bin/bwrap "
		"\"$@\"\n");
	assert_int_equal(support.tier, TIER_BWRAP);
	assert_non_null(strstr(support.reason, "seccomp"));
	assert_int_equal(support.filter.len, 0);
	sandbox_support_release(&support);
}

static void detect_that_hangs_ends(void **state)
{
	struct sandbox_support support = detect_with(*state, HELP "sleep 100\n");

	assert_int_equal(support.tier, TIER_NONE);
	assert_non_null(strstr(support.reason, "5 s"));
	sandbox_support_release(&support);
}

static void tier_names_are_the_documented_ones(void **state)
{
	(void)state;
	assert_string_equal(sandbox_tier_name(TIER_NONE), "none");
	assert_string_equal(sandbox_tier_name(TIER_LANDLOCK_SECCOMP), "landlock+seccomp");
	assert_string_equal(sandbox_tier_name(TIER_BWRAP), "bwrap");
	assert_string_equal(sandbox_tier_name(TIER_BWRAP_SECCOMP), "bwrap+seccomp");
}

static void status_parse_only_what_was_said(void **state)
{
	static const struct {
		const char *text;
		bool has_exit_code;
		int exit_code;
		pid_t child;
		uint64_t pid_ns;
	} table[] = {
		{ "", false, 0, 0, 0 },
		{ "{ \"child-pid\": 77, \"pid-namespace\": 4026532181 }\n{ \"exit-code\": 42 }\n", true, 42,
		  77, 4026532181 },
		{ "{ \"child-pid\": 77 }\n", false, 0, 77, 0 },
		{ "{\"exit-code\":0}", true, 0, 0, 0 },
		{ "{ \"exit-code\": }", false, 0, 0, 0 },
		{ "{ \"exit-code\": -1 }", false, 0, 0, 0 },
		{ "{ \"exit-code\": 256 }", false, 0, 0, 0 },
		{ "{ \"exit-code\": 99999999999999999999 }", false, 0, 0, 0 },
		{ "{ \"child-pid\": 1 }", false, 0, 0, 0 },
		{ "{ \"child-pid\": 99999999999 }", false, 0, 0, 0 },
		{ "exit-code: 1", false, 0, 0, 0 },
	};
	struct bwrap_status status;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		bwrap_status_parse(table[i].text, strlen(table[i].text), &status);
		assert_int_equal(status.has_exit_code, table[i].has_exit_code);
		assert_int_equal(status.exit_code, table[i].exit_code);
		assert_int_equal(status.child, table[i].child);
		assert_int_equal(status.pid_ns, table[i].pid_ns);
	}
	bwrap_status_parse("\0{ \"exit-code\": 1 }", 19, &status);
	assert_false(status.has_exit_code);
}

static void none_runs_with_a_clean_process(void **state)
{
	struct jail *jail = *state;
	struct outcome outcome;
	int dirs[8];
	char expect[256];

	// Whatever numbers are free: the child must see none of them.
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		dirs[i] = open("/etc", O_RDONLY | O_DIRECTORY);
	assert_int_equal(setenv("SECRET_TOKEN", "topsecret", 1), 0);
	jail->sandbox.enabled = SANDBOX_NEVER;
	outcome = jail_run(jail, "env | grep -c topsecret; pwd; echo /proc/self/fd/*; grep NoNewPrivs "
				 "/proc/self/status; ulimit -c; exit 3");
	(void)unsetenv("SECRET_TOKEN");
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		(void)close(dirs[i]);
	(void)snprintf(
		expect, sizeof(expect),
		"0\n%s\n/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3\nNoNewPrivs:\t1\n0\n",
		jail->workspace);
	assert_string_equal(outcome.out, expect);
	assert_int_equal(outcome.result.end, JOB_EXITED);
	assert_int_equal(outcome.result.exit_code, 3);
	outcome = jail_run_argv(jail, (const char *const[]){ "nosuchcommand", NULL });
	assert_int_equal(outcome.result.exit_code, 127);
	outcome = jail_run_argv(jail, (const char *const[]){ "/etc/passwd", NULL });
	assert_int_equal(outcome.result.exit_code, 126);
	outcome = jail_run(jail, "kill -TERM $$");
	assert_int_equal(outcome.result.end, JOB_SIGNALED);
	assert_int_equal(outcome.result.signal, SIGTERM);
	jail->sandbox.enabled = SANDBOX_ALWAYS;
}

static void none_kill_takes_the_group(void **state)
{
	struct jail *jail = *state;
	struct error error = { 0 };
	struct job_result result;
	struct job job;
	int ends[2];
	char byte;

	// The pipe closes when the last process of the job is gone.
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	jail->sandbox.enabled = SANDBOX_NEVER;
	jail->spec.stdin_fd = STDIN_FILENO;
	jail->spec.stdout_fd = ends[1];
	jail->spec.stderr_fd = STDERR_FILENO;
	jail_argv(jail,
		  (const char *const[]){ "/bin/sh", "-c",
					 "trap '' TERM; sleep 1000 & echo x; sleep 1000; sleep 1000", NULL });
	assert_int_equal(job_spawn(&jail->support, &jail->spec, &job, &error), 0);
	jail->sandbox.enabled = SANDBOX_ALWAYS;
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(job_collect(&job, &result), -EAGAIN);
	assert_int_equal(job_kill(&job, &result), 0);
	assert_int_equal(result.end, JOB_SIGNALED);
	assert_int_equal(result.signal, SIGKILL);
	assert_int_equal(read(ends[0], &byte, 1), 1); // the newline
	assert_int_equal(read(ends[0], &byte, 1), 0);
	(void)close(ends[0]);
}

static void none_what_needs_a_jail_is_refused(void **state)
{
	struct jail *jail = *state;
	struct sandbox_support real = jail->support;
	struct outcome outcome;

	jail->support = (struct sandbox_support){ .tier = TIER_NONE,
						  .reason = (char *)"bubblewrap is not installed" };
	outcome = jail_run(jail, "exit 5");
	assert_int_equal(outcome.result.exit_code, 5); // the fallback of `always`
	jail->sandbox.enabled = SANDBOX_REQUIRED;
	outcome = jail_run(jail, "exit 5");
	assert_int_equal(outcome.spawned, -EOPNOTSUPP);
	assert_non_null(strstr(outcome.error.message, "not installed"));
	jail->sandbox.enabled = SANDBOX_ALWAYS;
	jail->sandbox.network = NETWORK_BROKER_ONLY;
	outcome = jail_run(jail, "exit 5");
	assert_int_equal(outcome.spawned, -EOPNOTSUPP);
	jail->sandbox.network = NETWORK_OPEN;
	jail->sandbox.secure_credential_home = true;
	outcome = jail_run(jail, "exit 5");
	assert_int_equal(outcome.spawned, -EOPNOTSUPP);
	jail->sandbox.secure_credential_home = false;
	jail->support = real;
}

static void spec_refused_before_anything_runs(void **state)
{
	struct jail *jail = *state;
	static const struct {
		const char *argv0;
		const char *cwd;
		uid_t other;
		int rc;
	} table[] = {
		{ "", NULL, 0, -EINVAL },       { "-c", NULL, 0, -EINVAL },
		{ "true", "/etc", 0, -EINVAL }, { "true", "relative", 0, -EINVAL },
		{ "true", NULL, 1, -EPERM },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct outcome outcome;

		if (table[i].other != 0 && geteuid() == 0)
			continue;
		jail->spec.cwd = table[i].cwd == NULL ? jail->workspace : table[i].cwd;
		jail->spec.uid = geteuid() + table[i].other;
		outcome = jail_run_argv(jail, (const char *const[]){ table[i].argv0, NULL });
		jail->spec.cwd = jail->workspace;
		jail->spec.uid = geteuid();
		assert_int_equal(outcome.spawned, table[i].rc);
		assert_true(outcome.error.message[0] != '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(detect_missing_gives_the_install_hint),
		cmocka_unit_test(detect_failures_are_explained),
		cmocka_unit_test(detect_without_filter_is_the_lower_tier),
		cmocka_unit_test(detect_that_hangs_ends),
		cmocka_unit_test(tier_names_are_the_documented_ones),
		cmocka_unit_test(status_parse_only_what_was_said),
		cmocka_unit_test(none_runs_with_a_clean_process),
		cmocka_unit_test(none_kill_takes_the_group),
		cmocka_unit_test(none_what_needs_a_jail_is_refused),
		cmocka_unit_test(spec_refused_before_anything_runs),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
