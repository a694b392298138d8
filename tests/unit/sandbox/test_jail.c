// SPDX-License-Identifier: Apache-2.0
//
// What a command can and can't do in the jail. Run by root, everything is tried as root and then as an ordinary user.
#include "jail.h"

#include <grp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/un.h>

#include "probe.h"

#define NOBODY 65534

static int setup(void **state)
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

static int teardown(void **state)
{
	jail_remove(*state);
	free(*state);
	return 0;
}

static struct jail *need_jail(void **state)
{
	struct jail *jail = *state;

	if (jail->support.tier != TIER_BWRAP_SECCOMP) {
		print_message("no jail here: %s (%s)\n", jail->support.reason,
			      jail->support.hint == NULL ? "" : jail->support.hint);
		skip();
	}
	return jail;
}

static struct outcome probe(struct jail *jail, const char *what, const char *argument)
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

static void jail_any_command_runs(void **state)
{
	struct jail *jail = need_jail(state);
	struct outcome outcome = jail_output(jail, "echo out; echo err >&2; pwd; cat ../view/SKILL.md");
	char expect[256];

	(void)snprintf(expect, sizeof(expect), "out\n%s\n", jail->workspace);
	assert_memory_equal(outcome.out, expect, strlen(expect));
	assert_non_null(strstr(outcome.out, "a skill\n"));
	assert_non_null(strstr(outcome.err, "err\n"));
}

static void jail_ordinary_programs_run(void **state)
{
	struct jail *jail = need_jail(state);
	static const struct {
		const char *program;
		const char *line;
		const char *output;
	} table[] = {
		{ "/bin/bash", "bash -c 'echo $((1 + 1)) <(:)'", "2 " },
		{ "/usr/bin/python3",
		  "/usr/bin/python3 -c 'import subprocess,threading,socket,tempfile,multiprocessing as m; "
		  "t=threading.Thread(target=print,args=(\"thread\",)); t.start(); t.join(); "
		  "tempfile.TemporaryFile().write(b\"x\"); socket.socket(); m.Lock(); "
		  "print(subprocess.check_output([\"id\",\"-u\"]).strip().isdigit())'",
		  "thread\nTrue" },
		{ "/usr/bin/node",
		  "node -e 'const w=require(\"worker_threads\");new "
		  "w.Worker(\"1\",{eval:true}).on(\"exit\",()=>"
		  "console.log(require(\"child_process\").execSync(\"echo child\").toString()+1))'",
		  "child\n1" },
		{ "/usr/bin/git",
		  "git init -q r && cd r && git -c user.email=a@b commit -q --allow-empty -m x && git log "
		  "--format=%an%s",
		  "Somebodyx" },
		{ "/usr/bin/tar", "echo t > t && tar cf - t | tar tf -", "t\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct outcome outcome;

		if (access(table[i].program, X_OK) < 0) {
			print_message("no %s here\n", table[i].program);
			continue;
		}
		outcome = jail_output(jail, table[i].line);
		if (strstr(outcome.out, table[i].output) == NULL)
			fail_msg("%s: %s%s", table[i].program, outcome.out, outcome.err);
	}
}

static void jail_identity_is_the_users(void **state)
{
	struct jail *jail = need_jail(state);
	struct outcome outcome = jail_output(jail, "id -u; id -g");
	char expect[64];

	(void)snprintf(expect, sizeof(expect), "%u\n%u\n", geteuid(), getegid());
	assert_string_equal(outcome.out, expect);
}

static void jail_status_no_privileges_no_masks(void **state)
{
	struct jail *jail = need_jail(state);
	sigset_t mask, old;
	struct outcome outcome;
	static const char *const lines[] = {
		"SigBlk:\t0000000000000000",
		"SigIgn:\t0000000000000000",
		"CapInh:\t0000000000000000",
		"CapPrm:\t0000000000000000",
		"CapEff:\t0000000000000000",
		"CapBnd:\t0000000000000000",
		"CapAmb:\t0000000000000000",
		"NoNewPrivs:\t1",
		"Seccomp:\t2",
	};

	// Ours must not reach the command.
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &mask, &old), 0);
	(void)signal(SIGPIPE, SIG_IGN);
	// Without a shell where there need be none: some clear their mask themselves.
	outcome = jail_run_argv(jail, (const char *const[]){ "/bin/cat", "/proc/self/status", NULL });
	(void)signal(SIGPIPE, SIG_DFL);
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (strstr(outcome.out, lines[i]) == NULL)
			fail_msg("'%s' is not in\n%s", lines[i], outcome.out);
}

static void jail_environment_only_what_was_given(void **state)
{
	struct jail *jail = need_jail(state);
	static const char *const names[] = { "PATH",           "HOME", "TMPDIR", "PYTHONDONTWRITEBYTECODE",
					     "XDG_CACHE_HOME", "CI" };
	struct outcome outcome;

	assert_int_equal(setenv("AWS_SECRET_ACCESS_KEY", "topsecret", 1), 0);
	assert_int_equal(strv_add(&jail->spec.env, "CI=two\nlines"), 0);
	outcome = jail_output(
		jail, "env -0 | cut -z -d= -f1 | tr '\\0' '\\n'; cat /proc/*/environ | tr '\\0' '\\n'; "
		      "wc -c < /proc/1/environ; printf '%s' \"$CI\"");
	strv_release(&jail->spec.env);
	(void)unsetenv("AWS_SECRET_ACCESS_KEY");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_non_null(strstr(outcome.out, names[i]));
	assert_null(strstr(outcome.out, "topsecret"));
	assert_null(strstr(outcome.out, "AWS"));
	assert_non_null(strstr(outcome.out, "\n0\ntwo\nlines"));
}

static void jail_command_line_of_process_1_shows_nothing(void **state)
{
	struct jail *jail = need_jail(state);
	struct outcome outcome = jail_output(jail, "tr '\\0' ' ' < /proc/1/cmdline");

	assert_int_equal(strncmp(outcome.out, "bwrap --args ", 13), 0);
	assert_null(strstr(outcome.out, jail->root));
	assert_null(strstr(outcome.out, "--setenv"));
}

static void jail_descriptors_none_inherited(void **state)
{
	struct jail *jail = need_jail(state);
	struct outcome outcome;
	int dir = open("/etc", O_RDONLY | O_DIRECTORY); // without O_CLOEXEC, as a library might
	int high = fcntl(dir, F_DUPFD, 300);

	assert_true(dir >= 0 && high >= 0);
	outcome = jail_output(
		jail,
		"for fd in /proc/self/fd/*; do echo ${fd##*/}; done; ls /proc/1/fd -l | grep -v -e event -e "
		"memfd:out -e memfd:err -e /dev/null");
	(void)close(dir);
	(void)close(high);
	assert_string_equal(outcome.out, "0\n1\n2\n3\ntotal 0\n");
}

// Shell lines that must fail with this text on stderr. Each stands beside what does work in the jail.
static void expect_denied(struct jail *jail, const char *line, const char *error)
{
	struct outcome outcome = jail_run(jail, line);

	if (outcome.spawned < 0 || outcome.result.end != JOB_EXITED || outcome.result.exit_code == 0 ||
	    strstr(outcome.err, error) == NULL)
		fail_msg("'%s': end %d, code %d, wanted '%s'\n%s\n%s", line, outcome.result.end,
			 outcome.result.exit_code, error, outcome.out, outcome.err);
}

static void jail_files_outside_are_absent_or_read_only(void **state)
{
	struct jail *jail = need_jail(state);
	// What an ordinary user may not write anyway says so first.
	const char *const denied = geteuid() == 0 ? "Read-only file system" : "Permission denied";
	const struct {
		const char *line;
		const char *error;
	} table[] = {
		{ "cat ~/.ssh/id_rsa", "No such file" },
		{ "ls ~/.ssh", "No such file" },
		{ "cat /etc/shadow", "No such file" },
		{ "cat /etc/sudoers", "No such file" },
		{ "cat ../ctl/exec", "No such file" },
		{ "ls /sys", "No such file" },
		{ "ls /run", "No such file" },
		{ "ls /var/log", "No such file" },
		{ "ls /root/.bashrc", "No such file" },
		{ "touch /usr/bin/x", "Read-only file system" },
		{ "touch /bin/x", "Read-only file system" },
		{ "echo >> /etc/passwd", denied },
		{ "rm ~/.gitconfig", "busy" },
		{ "echo >> ~/.gitconfig", "Read-only file system" },
		{ "touch /x", "Read-only file system" },
		{ "mkdir /run", "Read-only file system" },
		{ "touch /dev/x", "Read-only file system" },
		{ "touch /etc/x", "Read-only file system" },
		{ "echo >> ../view/SKILL.md", "Read-only file system" },
		{ "touch ../view/x", "Read-only file system" },
		{ "rm ../view/SKILL.md", "Read-only file system" },
		{ "mv ../view ../v2", "busy" },
		{ "chmod 777 ../view", "Read-only file system" },
		{ "mv ../ws ../ws2", "busy" },
		// Opened only: a hole here would change the machine that runs the tests.
		{ ": > /proc/sys/kernel/core_pattern", "Read-only file system" },
		{ ": > /proc/sys/vm/drop_caches", "Read-only file system" },
		{ ": > /proc/sys/net/ipv4/ip_forward", "Read-only file system" },
		{ ": > /proc/sysrq-trigger", "" },
		{ "sh -c 'exec 3<> /proc/1/mem'", "Read-only file system" },
		{ "mknod m b 8 0", "Operation not permitted" },
		{ "exec 3<> /dev/tty", "/dev/tty" },
		{ "mount -t tmpfs none /tmp", "" },
		{ "unshare -U true", "Operation not permitted" },
		{ "unshare -r id", "Operation not permitted" },
		{ "chroot /tmp true", "Operation not permitted" },
		{ "hostname other", "" },
	};

	(void)jail_output(jail,
			  "touch x && ls ~ > /dev/null && cat ../view/SKILL.md ~/.gitconfig /etc/passwd && "
			  "touch /tmp/x /dev/shm/x ~/x");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		expect_denied(jail, table[i].line, table[i].error);
}

static void jail_workspace_is_writable_outside(void **state)
{
	struct jail *jail = need_jail(state);
	char path[128];
	struct stat st;

	(void)jail_output(
		jail,
		"mkdir -p a/b && echo hello > a/b/c && mv a d && ln -s /etc/shadow s && chmod 600 d/b/c");
	(void)snprintf(path, sizeof(path), "%s/d/b/c", jail->workspace);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(st.st_size, 6);
}

static void jail_cannot_reach_the_program_outside(void **state)
{
	struct jail *jail = need_jail(state);
	struct stat before, after;
	struct outcome outcome;

	assert_int_equal(stat(jail->support.program, &before), 0);
	outcome = jail_run(jail, "echo x >> /proc/1/exe; chmod 755 /proc/1/exe; touch /proc/1/exe; chown "
				 "$(id -u) /proc/1/exe; "
				 "grep Seccomp: /proc/1/status");
	assert_string_equal(outcome.out, "Seccomp:\t2\n");
	assert_int_equal(stat(jail->support.program, &after), 0);
	assert_int_equal(before.st_ctim.tv_sec, after.st_ctim.tv_sec);
	assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
}

static void jail_home_writes_stay_inside(void **state)
{
	struct jail *jail = need_jail(state);
	char path[128];

	(void)jail_output(jail,
			  "echo evil >> ~/.bashrc && ln -s ~/.profile p && echo evil > p && cat ~/.profile");
	(void)snprintf(path, sizeof(path), "%s/.bashrc", jail->home);
	assert_int_equal(access(path, F_OK), -1);
	(void)snprintf(path, sizeof(path), "%s/.profile", jail->home);
	assert_int_equal(access(path, F_OK), -1);
}

// Every line of `expect` must be a line of the output.
static void expect_lines(const struct outcome *outcome, const char *const *expect, size_t count)
{
	assert_int_equal(outcome->result.end, JOB_EXITED);
	assert_int_equal(outcome->result.exit_code, 0);
	for (size_t i = 0; i < count; i++) {
		char line[128];

		(void)snprintf(line, sizeof(line), "%s\n", expect[i]);
		if (strstr(outcome->out, line) == NULL)
			fail_msg("'%s' is not in\n%s%s", expect[i], outcome->out, outcome->err);
	}
}

static void jail_dangerous_calls_are_denied(void **state)
{
	struct outcome outcome = probe(need_jail(state), "calls", "");
	static const char *const expect[] = {
		"getpid ok",
		"ptrace EPERM",
		"process_vm_readv EPERM",
		"process_vm_writev EPERM",
		"pidfd_getfd EPERM",
		"keyctl EPERM",
		"add_key EPERM",
		"request_key EPERM",
		"bpf EPERM",
		"perf_event_open EPERM",
		"userfaultfd EPERM",
		"io_uring_setup EPERM",
		"mount EPERM",
		"umount2 EPERM",
		"pivot_root EPERM",
		"chroot EPERM",
		"open_tree EPERM",
		"fsopen EPERM",
		"mount_setattr EPERM",
		"open_by_handle_at EPERM",
		"setns EPERM",
		"unshare user EPERM",
		"unshare mount EPERM",
		"kexec_load EPERM",
		"init_module EPERM",
		"clone3 ENOSYS",
		"TIOCSTI EPERM",
		"TIOCSTI high bits EPERM",
		"TIOCLINUX EPERM",
	};

	expect_lines(&outcome, expect, ARRAY_SIZE(expect));
}

static void jail_new_namespaces_are_denied(void **state)
{
	struct outcome outcome = probe(need_jail(state), "clone", "");
	static const char *const expect[] = { "clone newuser EPERM", "clone ok" };

	expect_lines(&outcome, expect, ARRAY_SIZE(expect));
}

static void jail_new_namespaces_without_filter_are_denied(void **state)
{
	struct jail *jail = need_jail(state);
	struct outcome outcome;

	jail->support.tier = TIER_BWRAP;
	outcome = probe(jail, "clone", "");
	jail->support.tier = TIER_BWRAP_SECCOMP;
	assert_non_null(strstr(outcome.out, "clone ok\n"));
	assert_non_null(strstr(outcome.out, "clone newuser E"));
}

static void jail_sockets_only_ordinary_families(void **state)
{
	struct outcome outcome = probe(need_jail(state), "sockets", "");
	static const char *const expect[] = {
		"unix ok",
		"inet ok",
		"netlink route ok",
		"netlink diag EPERM",
		"vsock EPERM",
		"packet EPERM",
		"alg EPERM",
		"bluetooth EPERM",
		"vsock high bits EPERM",
		"family 64 EPERM",
		"family -1 EPERM",
	};

	expect_lines(&outcome, expect, ARRAY_SIZE(expect));
}

static void jail_foreign_system_call_kills(void **state)
{
	struct outcome outcome = probe(need_jail(state), "foreign", "");

	assert_int_equal(outcome.result.end, JOB_EXITED);
	assert_int_equal(outcome.result.exit_code, 128 + SIGSYS);
	assert_null(strstr(outcome.out, "foreign"));
}

static void jail_processes_only_its_own(void **state)
{
	struct outcome outcome = jail_output(
		need_jail(state), "cd /proc; echo [0-9]* | wc -w; kill -0 $PPID && ! kill -0 4000");

	assert_true(strtol(outcome.out, NULL, 10) <= 5);
}

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

static int abstract_listener(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path + 1, name, strlen(name));
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))),
			 0);
	assert_int_equal(listen(fd, 5), 0);
	return fd;
}

static int listener(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 5), 0);
	return fd;
}

static void jail_broker_only_reaches_nothing_else(void **state)
{
	struct jail *jail = need_jail(state);
	char name[64], broker[96];
	struct outcome outcome;
	int abstract, socket_fd;

	(void)snprintf(name, sizeof(name), "skillfs-test-%d", getpid());
	assert_true(snprintf(broker, sizeof(broker), "%s/broker", jail->root) > 0);
	abstract = abstract_listener(name);
	socket_fd = listener(broker);
	outcome = probe(jail, "abstract", name);
	assert_string_equal(outcome.out,
			    "abstract ok\n"); // open mode shares the network, and says so in the manual
	jail->sandbox.network = NETWORK_BROKER_ONLY;
	outcome = probe(jail, "abstract", name);
	assert_string_equal(outcome.out, "abstract ECONNREFUSED\n");
	outcome = jail_output(jail, "cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '");
	assert_string_equal(outcome.out, "lo\n");
	outcome = probe(jail, "unix", broker);
	assert_string_equal(outcome.out, "connect ENOENT\n");
	jail->sandbox.broker_socket_path = broker;
	outcome = probe(jail, "unix", broker);
	assert_string_equal(outcome.out, "connect ok\n");
	expect_denied(jail, "rm ../broker", "busy");
	jail->sandbox.broker_socket_path = NULL;
	jail->sandbox.network = NETWORK_OPEN;
	(void)close(abstract);
	(void)close(socket_fd);
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

static void jail_dead_filter_is_never_left_out(void **state)
{
	struct jail *jail = need_jail(state);
	struct buf filter = jail->support.filter;
	struct outcome outcome;

	jail->support.filter = BUF_INIT;
	outcome = jail_run(jail, "echo ran");
	jail->support.filter = filter;
	assert_true(outcome.spawned < 0);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jail_any_command_runs),
		cmocka_unit_test(jail_ordinary_programs_run),
		cmocka_unit_test(jail_identity_is_the_users),
		cmocka_unit_test(jail_status_no_privileges_no_masks),
		cmocka_unit_test(jail_environment_only_what_was_given),
		cmocka_unit_test(jail_command_line_of_process_1_shows_nothing),
		cmocka_unit_test(jail_descriptors_none_inherited),
		cmocka_unit_test(jail_files_outside_are_absent_or_read_only),
		cmocka_unit_test(jail_workspace_is_writable_outside),
		cmocka_unit_test(jail_cannot_reach_the_program_outside),
		cmocka_unit_test(jail_home_writes_stay_inside),
		cmocka_unit_test(jail_dangerous_calls_are_denied),
		cmocka_unit_test(jail_new_namespaces_are_denied),
		cmocka_unit_test(jail_new_namespaces_without_filter_are_denied),
		cmocka_unit_test(jail_sockets_only_ordinary_families),
		cmocka_unit_test(jail_foreign_system_call_kills),
		cmocka_unit_test(jail_processes_only_its_own),
		cmocka_unit_test(jail_memory_in_tmp_is_bounded),
		cmocka_unit_test(jail_file_size_is_bounded),
		cmocka_unit_test(jail_memory_is_bounded),
		cmocka_unit_test(jail_processes_are_bounded_for_users),
		cmocka_unit_test(jail_broker_only_reaches_nothing_else),
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
		cmocka_unit_test(jail_hung_view_blocks_nobody),
		cmocka_unit_test(jail_root_drops_to_the_user),
		cmocka_unit_test(jail_dead_filter_is_never_left_out),
	};

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0); // as the launcher
	return cmocka_run_group_tests_name(geteuid() == 0 ? "jail, as root" : "jail, as an ordinary user",
					   tests, setup, teardown);
}

int main(int argc, char **argv)
{
	int failed, status;
	pid_t pid;

	if (argc > 1)
		return probe_main(argc, argv);
	failed = run();
	if (geteuid() != 0)
		return failed;
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		    setresuid(NOBODY, NOBODY, NOBODY) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
			_exit(1);
		exit(run() == 0 ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		failed++;
	return failed == 0 ? 0 : 1;
}
