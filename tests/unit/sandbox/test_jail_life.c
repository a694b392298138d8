// SPDX-License-Identifier: Apache-2.0
//
// How jobs in the jail begin and end, and what bounds them.
#include "jail_both.h"

#include <sched.h>
#include <sys/mount.h>

static void jail_memory_in_tmp_is_bounded(void **state)
{
	struct jail *jail = need_jail(state);
	static const char *const places[] = { "/tmp", "/dev/shm", "$HOME" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char line[256];

		(void)snprintf(line, sizeof(line),
			       "head -c 8000000 /dev/zero > %s/a && head -c 64000000 /dev/zero > %s/b",
			       places[i], places[i]);
		expect_denied(jail, line, "No space left");
	}
}

static void jail_file_size_is_bounded(void **state)
{
	struct jail *jail = need_jail(state);
	struct outcome outcome;

	jail->sandbox.file_size_max = 1 << 20;
	outcome = jail_run(jail, "ulimit -c; head -c 500000 /dev/zero > small && echo small; exec head -c "
				 "3000000 /dev/zero > large");
	jail->sandbox.file_size_max = (uint64_t)1 << 30;
	assert_string_equal(outcome.out, "0\nsmall\n");
	assert_int_equal(outcome.result.exit_code, 128 + SIGXFSZ);
}

static void jail_memory_is_bounded(void **state)
{
#if defined(__SANITIZE_ADDRESS__)
	(void)state; // the shadow memory is above any sensible limit
#else
	struct jail *jail = need_jail(state);
	struct outcome outcome = probe(jail, "memory", "");

	assert_string_equal(outcome.out, "memory ENOMEM\n");
	jail->sandbox.memory_max = 0;
	outcome = probe(jail, "memory", "");
	jail->sandbox.memory_max = (uint64_t)2 << 30;
	assert_string_equal(outcome.out, "memory ok\n");
#endif
}

static void jail_processes_are_bounded_for_users(void **state)
{
	struct jail *jail = need_jail(state);
	struct outcome outcome;

	if (geteuid() == 0)
		return; // the kernel does not hold it for root: that takes a cgroup
	jail->sandbox.pids_max = 20;
	outcome = probe(jail, "forks", "");
	jail->sandbox.pids_max = 256;
	assert_non_null(strstr(outcome.out, " EAGAIN"));
	assert_in_range(strtol(outcome.out + 6, NULL, 10), 10, 20);
}

static void jail_exit_codes_pass_through(void **state)
{
	struct jail *jail = need_jail(state);
	static const struct {
		const char *line;
		int code;
	} table[] = {
		{ "exit 0", 0 },          { "exit 1", 1 },          { "exit 42", 42 },
		{ "exit 255", 255 },      { "kill -KILL $$", 137 }, { "kill -TERM $$", 143 },
		{ "nosuchcommand", 127 }, { "./SKILL.md", 126 },
	};

	jail_write(jail->workspace, "SKILL.md", "not a program\n");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct outcome outcome = jail_run(jail, table[i].line);

		assert_int_equal(outcome.result.end, JOB_EXITED);
		assert_int_equal(outcome.result.exit_code, table[i].code);
	}
}

static void jail_missing_program_is_127(void **state)
{
	struct jail *jail = need_jail(state);
	static const struct {
		const char *name;
		int code;
	} table[] = {
		{ "nosuchcommand", 127 },
		{ "/usr/bin/nosuch", 127 },
		{ "/root/x", 127 },
		{ "./SKILL.md", 126 },
		{ "true", 0 },
		{ "/bin/false", 1 },
	};

	jail_write(jail->workspace, "SKILL.md", "not a program\n");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct outcome outcome = jail_run_argv(jail, (const char *const[]){ table[i].name, NULL });

		assert_int_equal(outcome.result.end, JOB_EXITED);
		assert_int_equal(outcome.result.exit_code, table[i].code);
	}
}

static void jail_that_cannot_be_built_is_no_exit_code(void **state)
{
	struct jail *jail = need_jail(state);
	struct outcome outcome;
	char missing[128];

	(void)snprintf(missing, sizeof(missing), "%s/missing", jail->root);
	jail->spec.view = missing;
	outcome = jail_run(jail, "exit 0");
	jail->spec.view = jail->view;
	assert_int_equal(outcome.spawned, 0);
	assert_int_equal(outcome.result.end, JOB_SETUP_FAILED);
	assert_non_null(strstr(outcome.err, "bwrap: "));
}

static void jail_arguments_arrive_unchanged(void **state)
{
	struct jail *jail = need_jail(state);
	char path[128], *large = malloc(120001);
	struct outcome outcome;

	(void)snprintf(path, sizeof(path), "%s/probe", jail->view);
	outcome = jail_run_argv(jail, (const char *const[]){ "/usr/bin/printf", "<%s>", "", "a\nb", "--bind",
							     "\xff$(id)\"'", "*", NULL });
	assert_string_equal(outcome.out, "<><a\nb><--bind><\xff$(id)\"'><*>");
	memset(large, 'x', 120000);
	large[120000] = '\0';
	outcome = jail_run_argv(jail,
				(const char *const[]){ "/bin/sh", "-c", "echo ${#1}", "sh", large, NULL });
	assert_string_equal(outcome.out, "120000\n");
	free(large);
}

static void jail_argument_above_kernels_limit_is_refused(void **state)
{
	struct jail *jail = *state;
	char *large = malloc(200001);
	struct outcome outcome;

	memset(large, 'x', 200000);
	large[200000] = '\0';
	outcome = jail_run_argv(jail, (const char *const[]){ "/bin/sh", "-c", large, NULL });
	assert_int_equal(outcome.spawned, -E2BIG);
	assert_non_null(strstr(outcome.error.message, "128 KiB"));
	free(large);
}

// How many processes have `marker` in their command line.
static int count_processes(const char *marker)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		char path[300], text[4096];
		ssize_t len;
		int fd;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		len = read(fd, text, sizeof(text));
		(void)close(fd);
		count += len > 0 && memmem(text, (size_t)len, marker, strlen(marker)) != NULL;
	}
	(void)closedir(dir);
	return count;
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	(void)closedir(dir);
	return count;
}

static void start(struct jail *jail, const char *const *argv, struct job *ret)
{
	struct error error = { 0 };

	jail->spec.stdin_fd = STDIN_FILENO;
	jail->spec.stdout_fd = STDOUT_FILENO;
	jail->spec.stderr_fd = STDERR_FILENO;
	jail_argv(jail, argv);
	if (job_spawn(&jail->support, &jail->spec, ret, &error) < 0)
		fail_msg("%s", error.message);
}

static void wait_for_file(const char *dir, const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (int i = 0; i < 3000; i++) {
		if (access(path, F_OK) == 0)
			return;
		(void)usleep(10000);
	}
	fail_msg("%s did not appear", path);
}

static void jail_kill_takes_all_that_hide(void **state)
{
	struct jail *jail = need_jail(state);
	char line[512], marker[64];
	struct job_result result;
	struct job job;

	(void)snprintf(marker, sizeof(marker), "marker-%d", getpid());
	(void)snprintf(
		line, sizeof(line),
		"trap '' TERM INT HUP; %s/probe daemon %s; touch ready1; while :; do sleep 1; done; : %s",
		jail->view, marker, marker);
	jail->sandbox.memory_max = 0;
	start(jail, (const char *const[]){ "/bin/sh", "-c", line, NULL }, &job);
	jail->sandbox.memory_max = (uint64_t)2 << 30;
	wait_for_file(jail->workspace, "ready1");
	assert_true(count_processes(marker) >= 2);
	assert_int_equal(job_collect(&job, &result), -EAGAIN);
	assert_int_equal(job_kill(&job, &result), 0);
	assert_int_equal(result.end, JOB_SIGNALED);
	assert_int_equal(result.signal, SIGKILL);
	assert_int_equal(count_processes(marker), 0);
}

static void jail_signal_ends_what_ignores_it(void **state)
{
	struct jail *jail = need_jail(state);
	char line[512], marker[64];
	struct job_result result;
	struct pollfd wait;
	struct job job;

	(void)snprintf(marker, sizeof(marker), "marker-t-%d", getpid());
	(void)snprintf(line, sizeof(line), "trap '' TERM; touch ready2; while :; do sleep 1; done; : %s",
		       marker);
	start(jail, (const char *const[]){ "/bin/sh", "-c", line, NULL }, &job);
	wait_for_file(jail->workspace, "ready2");
	assert_int_equal(job_signal(&job, SIGTERM), 0);
	wait = (struct pollfd){ .fd = job.pidfd, .events = POLLIN };
	assert_int_equal(poll(&wait, 1, 10000), 1);
	assert_int_equal(job_collect(&job, &result), 0);
	assert_int_equal(result.end, JOB_SIGNALED);
	assert_int_equal(result.signal, SIGTERM);
	assert_int_equal(count_processes(marker), 0);
}

static void jail_end_takes_what_was_left_running(void **state)
{
	struct jail *jail = need_jail(state);
	char line[512], marker[64];
	struct outcome outcome;

	(void)snprintf(marker, sizeof(marker), "marker-e-%d", getpid());
	(void)snprintf(line, sizeof(line), "%s/probe daemon %s; sh -c 'sleep 1000; : %s' & exit 7",
		       jail->view, marker, marker);
	jail->sandbox.memory_max = 0;
	outcome = jail_run(jail, line);
	jail->sandbox.memory_max = (uint64_t)2 << 30;
	assert_int_equal(outcome.result.exit_code, 7);
	assert_int_equal(count_processes(marker), 0);
}

static void jail_killed_at_any_moment_leaves_nothing(void **state)
{
	struct jail *jail = need_jail(state);
	char marker[64], line[128];
	int descriptors = count_descriptors();

	(void)snprintf(marker, sizeof(marker), "marker-k-%d", getpid());
	(void)snprintf(line, sizeof(line), "sleep 1000; : %s", marker);
	for (useconds_t delay = 0; delay < 12000; delay += 200) {
		struct job_result result;
		struct job job;

		start(jail, (const char *const[]){ "/bin/sh", "-c", line, NULL }, &job);
		(void)usleep(delay);
		assert_int_equal(job_kill(&job, &result), 0);
	}
	(void)usleep(100000);
	assert_int_equal(count_processes(marker), 0);
	assert_int_equal(count_descriptors(), descriptors);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // no zombie either: we are the subreaper
	assert_int_equal(errno, ECHILD);
}

static void jail_many_at_once_all_end(void **state)
{
	struct jail *jail = need_jail(state);
	struct job jobs[32];
	int descriptors = count_descriptors();
	char marker[64], line[128];

	(void)snprintf(marker, sizeof(marker), "marker-p-%d", getpid());
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		(void)snprintf(line, sizeof(line), "sleep 0.1; echo %s > p%zu; exit %zu", marker, i, i);
		start(jail, (const char *const[]){ "/bin/sh", "-c", line, NULL }, &jobs[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		struct pollfd wait = { .fd = jobs[i].pidfd, .events = POLLIN };
		struct job_result result;
		char name[16];

		assert_int_equal(poll(&wait, 1, JAIL_TIMEOUT_MS), 1);
		assert_int_equal(job_collect(&jobs[i], &result), 0);
		assert_int_equal(result.end, JOB_EXITED);
		assert_int_equal(result.exit_code, i);
		(void)snprintf(name, sizeof(name), "p%zu", i);
		wait_for_file(jail->workspace, name);
	}
	assert_int_equal(count_processes(marker), 0);
	assert_int_equal(count_descriptors(), descriptors);
}

static void jail_command_on_the_view_runs(void **state)
{
	struct jail *jail = need_jail(state);
	struct outcome outcome;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/script.sh", jail->view);
	jail_write(jail->view, "script.sh", "#!/bin/sh\necho \"script $1\"\n");
	assert_int_equal(chmod(path, 0755), 0);
	jail->spec.cwd = jail->view;
	outcome = jail_run_argv(jail, (const char *const[]){ "./script.sh", "one", NULL });
	jail->spec.cwd = jail->workspace;
	assert_string_equal(outcome.out, "script one\n");
}

// A view whose server does not answer, in a mount namespace of its own. 0, or what went wrong.
static int hung_view(struct jail *jail)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128], line[64] = "cat SKILL.md";
	struct error error = { 0 };
	struct job_result result;
	struct pollfd wait;
	struct job job;

	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("hung", jail->view, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		return 77;
	jail->spec.stdin_fd = STDIN_FILENO;
	jail->spec.stdout_fd = STDOUT_FILENO;
	jail->spec.stderr_fd = STDERR_FILENO;
	jail_argv(jail, (const char *const[]){ "/bin/sh", "-c", line, NULL });
	(void)alarm(30); // ends us, should we hang
	if (job_spawn(&jail->support, &jail->spec, &job, &error) < 0)
		return 1;
	wait = (struct pollfd){ .fd = job.pidfd, .events = POLLIN };
	if (poll(&wait, 1, 300) != 0)
		return 2; // it can't have been built
	if (job_kill(&job, &result) < 0 || result.end != JOB_SIGNALED)
		return 3;
	// The server dies: the jail can't be built, and says so.
	(void)close(fuse);
	if (job_spawn(&jail->support, &jail->spec, &job, &error) < 0)
		return 4;
	wait.fd = job.pidfd;
	if (poll(&wait, 1, 20000) != 1 || job_collect(&job, &result) < 0 || result.end != JOB_SETUP_FAILED)
		return 5;
	return 0;
}

// bwrap binds what stands at the view's name: a folder that is no mount of ours is the raw source.
static void jail_view_of_another_kind_is_not_shown(void **state)
{
	static const char line[] = "while read -r a b c d p r; do [ \"$p\" != \"$0\" ] || f=${r#* - }; done "
				   "</proc/self/mountinfo; echo \"${f%% *}\"";
	static const char *const views[] = { "view", "view of\tthe \\ skills" };
	struct jail *jail = need_jail(state);
	struct outcome outcome;
	char view[128], type[64];

	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		(void)snprintf(view, sizeof(view), "%s/%s", jail->root, views[i]);
		assert_true(mkdir(view, 0755) == 0 || errno == EEXIST);
		jail->spec.view = view;
		outcome = jail_run_argv(
			jail, (const char *const[]){ "/bin/sh", "-c", line, i == 0 ? view : "", NULL });
		if (i == 0)
			(void)snprintf(type, sizeof(type), "%.*s", (int)strcspn(outcome.out, "\n"),
				       outcome.out);
		assert_true(strlen(type) > 1);
		jail->spec.view_type = "fuse.skillfs";
		outcome = jail_run(jail, "echo ran; cat ../view/SKILL.md");
		assert_string_equal(outcome.out, "");
		assert_int_equal(outcome.result.exit_code, 125);
		assert_non_null(strstr(outcome.err, "not mounted"));
		jail->spec.view_type = type;
		outcome = jail_run(jail, "echo ran");
		assert_string_equal(outcome.out, "ran\n");
		jail->spec.view_type = NULL;
	}
	jail->spec.view = jail->view;
}

static void jail_hung_view_blocks_nobody(void **state)
{
	struct jail *jail = need_jail(state);
	int status;
	pid_t pid;

	if (geteuid() != 0 || access("/dev/fuse", R_OK | W_OK) < 0)
		return; // only root can mount like this
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(hung_view(jail));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) != 77)
		assert_int_equal(WEXITSTATUS(status), 0);
}

static void jail_root_drops_to_the_user(void **state)
{
	struct jail *jail = need_jail(state);
	struct outcome outcome;

	if (geteuid() != 0)
		return; // has been tried as root
	assert_int_equal(chown(jail->workspace, NOBODY, NOBODY), 0);
	jail->spec.uid = NOBODY;
	jail->spec.gid = NOBODY;
	outcome = jail_output(
		jail, "id -u; id -G; touch mine; cat ~/.gitconfig > /dev/null; ulimit -p || ulimit -u");
	jail->spec.uid = 0;
	jail->spec.gid = 0;
	assert_int_equal(chown(jail->workspace, 0, 0), 0);
	assert_string_equal(outcome.out, "65534\n65534\n256\n");
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jail_memory_in_tmp_is_bounded),
		cmocka_unit_test(jail_file_size_is_bounded),
		cmocka_unit_test(jail_memory_is_bounded),
		cmocka_unit_test(jail_processes_are_bounded_for_users),
		cmocka_unit_test(jail_exit_codes_pass_through),
		cmocka_unit_test(jail_missing_program_is_127),
		cmocka_unit_test(jail_that_cannot_be_built_is_no_exit_code),
		cmocka_unit_test(jail_arguments_arrive_unchanged),
		cmocka_unit_test(jail_argument_above_kernels_limit_is_refused),
		cmocka_unit_test(jail_kill_takes_all_that_hide),
		cmocka_unit_test(jail_signal_ends_what_ignores_it),
		cmocka_unit_test(jail_end_takes_what_was_left_running),
		cmocka_unit_test(jail_killed_at_any_moment_leaves_nothing),
		cmocka_unit_test(jail_many_at_once_all_end),
		cmocka_unit_test(jail_command_on_the_view_runs),
		cmocka_unit_test(jail_view_of_another_kind_is_not_shown),
		cmocka_unit_test(jail_hung_view_blocks_nobody),
		cmocka_unit_test(jail_root_drops_to_the_user),
	};

	return cmocka_run_group_tests_name(geteuid() == 0 ? "jobs, as root" : "jobs, as an ordinary user",
					   tests, jail_setup, jail_teardown);
}

int main(int argc, char **argv)
{
	return jail_main(argc, argv, run);
}
