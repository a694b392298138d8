// SPDX-License-Identifier: Apache-2.0
#include "jail.h"

#include "sandbox/environment.h"

static const struct exec_sandbox sandbox = { .enabled = SANDBOX_ALWAYS };

static struct job_spec spec(void)
{
	return (struct job_spec){
		.sandbox = &sandbox, .workspace = "/srv/ws", .home = "/home/u", .uid = geteuid()
	};
}

static void env_allowed_only_harmless_names(void **state)
{
	static const char *const good[] = { "LANG", "LC_ALL",   "LC_CTYPE",         "TERM",
					    "CI",   "NO_COLOR", "PYTHONUNBUFFERED", "NODE_ENV" };
	static const char *const bad[] = {
		"",
		"PATH",
		"HOME",
		"USER",
		"SHELL",
		"TMPDIR",
		"XDG_CACHE_HOME",
		"LD_PRELOAD",
		"LC_",
		"LC_a",
		"LC_ALL=x",
		"lang",
		"BASH_ENV",
		"ENV",
		"NODE_OPTIONS",
		"PYTHONPATH",
		"IFS",
		"LD_LIBRARY_PATH",
		"GIT_SSH_COMMAND",
		"LANG ",
		"PS4",
		"PERL5OPT",
		"RUBYOPT",
		"GCONV_PATH",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(job_env_allowed(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (job_env_allowed(bad[i]))
			fail_msg("%s", bad[i]);
}

static void build_takes_nothing_else_of_ours(void **state)
{
	CLEANUP(strv) struct strv env = { 0 };
	struct job_spec job = spec();

	(void)state;
	assert_int_equal(setenv("SECRET_TOKEN", "x", 1), 0);
	assert_int_equal(setenv("LD_PRELOAD_", "x", 1), 0);
	assert_int_equal(setenv("LC_TIME", "C", 1), 0);
	assert_int_equal(setenv("TERM", "dumb", 1), 0);
	assert_int_equal(environment_build(&job, "/home/u", true, &env, NULL), 0);
	assert_null(environment_get(&env, "SECRET_TOKEN"));
	assert_null(environment_get(&env, "LD_PRELOAD_"));
	assert_string_equal(environment_get(&env, "LC_TIME"), "C");
	assert_string_equal(environment_get(&env, "TERM"), "dumb");
	assert_string_equal(environment_get(&env, "HOME"), "/home/u");
	assert_string_equal(environment_get(&env, "TMPDIR"), "/tmp");
	assert_string_equal(environment_get(&env, "PYTHONDONTWRITEBYTECODE"), "1");
	assert_string_equal(environment_get(&env, "NPM_CONFIG_CACHE"), "/srv/ws/.cache/npm");
	assert_string_equal(environment_get(&env, "CARGO_HOME"), "/srv/ws/.cache/cargo");
	(void)unsetenv("SECRET_TOKEN");
	(void)unsetenv("LD_PRELOAD_");
	(void)unsetenv("LC_TIME");
}

static void build_path_without_what_is_not_there(void **state)
{
	CLEANUP(strv) struct strv jailed = { 0 };
	CLEANUP(strv) struct strv open_env = { 0 };
	struct job_spec job = spec();
	CLEANUP(free) char *old = strdup(getenv("PATH"));

	(void)state;
	assert_int_equal(setenv("PATH",
				"bin::.:/opt/x:/usr/../etc:/home/u/.local/bin:/home/u/bin:/usr/bin:/usr/bin",
				1),
			 0);
	assert_int_equal(environment_build(&job, "/home/u", true, &jailed, NULL), 0);
	assert_int_equal(environment_build(&job, "/home/u", false, &open_env, NULL), 0);
	assert_int_equal(setenv("PATH", old, 1), 0);
	assert_string_equal(environment_get(&jailed, "PATH"),
			    "/home/u/.local/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/"
			    "bin:/srv/ws/.local/bin");
	assert_string_equal(environment_get(&open_env, "PATH"),
			    "/opt/x:/home/u/.local/bin:/home/u/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/"
			    "usr/sbin:/sbin:/bin:"
			    "/srv/ws/.local/bin");
}

static void build_request_wins_once(void **state)
{
	CLEANUP(strv) struct strv env = { 0 };
	struct job_spec job = spec();
	size_t seen = 0;

	(void)state;
	assert_int_equal(setenv("TERM", "dumb", 1), 0);
	assert_int_equal(strv_add(&job.env, "TERM=xterm=1"), 0);
	assert_int_equal(environment_build(&job, "/home/u", true, &env, NULL), 0);
	assert_string_equal(environment_get(&env, "TERM"), "xterm=1");
	for (size_t i = 0; i < env.count; i++)
		seen += strncmp(env.items[i], "TERM=", 5) == 0;
	assert_int_equal(seen, 1);
	strv_release(&job.env);
}

static void build_malformed_entry_is_refused(void **state)
{
	static const char *const bad[] = { "", "=x", "NAME", "1A=x", "A B=x", "A\n=x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP(strv) struct strv env = { 0 };
		struct job_spec job = spec();
		struct error error = { 0 };

		assert_int_equal(strv_add(&job.env, bad[i]), 0);
		assert_int_equal(environment_build(&job, "/home/u", true, &env, &error), -EINVAL);
		assert_true(error.message[0] != '\0');
		strv_release(&job.env);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(env_allowed_only_harmless_names),
		cmocka_unit_test(build_takes_nothing_else_of_ours),
		cmocka_unit_test(build_path_without_what_is_not_there),
		cmocka_unit_test(build_request_wins_once),
		cmocka_unit_test(build_malformed_entry_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
