// SPDX-License-Identifier: Apache-2.0
//
// What a command can and can't reach in the jail.
#include "jail_both.h"

#include <sys/un.h>

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

// The same mode and group as before: nothing is changed outside when it fails to fail.
static void jail_cannot_change_devices(void **state)
{
	static const char line[] = "for d in null zero full random urandom tty; do f=/dev/$d; chmod \"$(stat "
				   "-c %a $f)\" $f && echo $f; "
				   "done 2>/dev/null; echo x >/dev/null && head -c 3 /dev/zero | wc -c";

	assert_string_equal(jail_output(need_jail(state), line).out, "3\n");
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

// Whether the kernel has foreign system calls at all: without them the instruction is a fault, jail or not.
static bool foreign_calls_exist(void)
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)signal(SIGSEGV, SIG_DFL); // a sanitizer's handler would make an exit of it
		if (freopen("/dev/null", "w", stdout) != NULL)
			probe_foreign();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) || WTERMSIG(status) == SIGSYS;
}

static void jail_foreign_system_call_kills(void **state)
{
	struct outcome outcome = probe(need_jail(state), "foreign", "");

	assert_int_equal(outcome.result.end, JOB_EXITED);
	if (foreign_calls_exist())
		assert_int_equal(outcome.result.exit_code, 128 + SIGSYS);
	else
		assert_int_not_equal(outcome.result.exit_code, 0);
	assert_null(strstr(outcome.out, "foreign"));
}

static void jail_processes_only_its_own(void **state)
{
	struct outcome outcome = jail_output(
		need_jail(state), "cd /proc; echo [0-9]* | wc -w; kill -0 $PPID && ! kill -0 4000");

	assert_true(strtol(outcome.out, NULL, 10) <= 5);
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
		cmocka_unit_test(jail_cannot_change_devices),
		cmocka_unit_test(jail_home_writes_stay_inside),
		cmocka_unit_test(jail_dangerous_calls_are_denied),
		cmocka_unit_test(jail_new_namespaces_are_denied),
		cmocka_unit_test(jail_new_namespaces_without_filter_are_denied),
		cmocka_unit_test(jail_sockets_only_ordinary_families),
		cmocka_unit_test(jail_foreign_system_call_kills),
		cmocka_unit_test(jail_processes_only_its_own),
		cmocka_unit_test(jail_broker_only_reaches_nothing_else),
		cmocka_unit_test(jail_dead_filter_is_never_left_out),
	};

	return cmocka_run_group_tests_name(geteuid() == 0 ? "jail, as root" : "jail, as an ordinary user",
					   tests, jail_setup, jail_teardown);
}

int main(int argc, char **argv)
{
	return jail_main(argc, argv, run);
}
