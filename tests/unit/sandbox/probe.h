// SPDX-License-Identifier: Apache-2.0
//
// System calls that a shell can't make. The test program copies itself into the jail and is run there as
// `probe WHAT`: it prints the name of the errno that each call ended with.
#pragma once

#include <errno.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void probe_say(const char *what, long rc)
{
	printf("%s %s\n", what, rc >= 0 ? "ok" : strerrorname_np(errno));
	(void)fflush(stdout);
}

static inline void probe_calls(void)
{
	char buf[256] = { 0 };

	probe_say("getpid", syscall(SYS_getpid));
	probe_say("ptrace", syscall(SYS_ptrace, PTRACE_SEIZE, 1, 0, 0));
	probe_say("process_vm_readv", syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0));
	probe_say("process_vm_writev", syscall(SYS_process_vm_writev, 1, 0, 0, 0, 0, 0));
	probe_say("pidfd_getfd", syscall(SYS_pidfd_getfd, 0, 0, 0));
	probe_say("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
	probe_say("add_key", syscall(SYS_add_key, "user", "skillfs", "x", 1, KEY_SPEC_PROCESS_KEYRING));
	probe_say("request_key", syscall(SYS_request_key, "user", "skillfs", 0, 0));
	probe_say("bpf", syscall(SYS_bpf, 0, buf, sizeof(buf)));
	probe_say("perf_event_open", syscall(SYS_perf_event_open, buf, 0, -1, -1, 0));
	probe_say("userfaultfd", syscall(SYS_userfaultfd, 1));
	probe_say("io_uring_setup", syscall(SYS_io_uring_setup, 1, buf));
	probe_say("mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, 0));
	probe_say("umount2", syscall(SYS_umount2, "/tmp", 2));
	probe_say("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp"));
	probe_say("chroot", syscall(SYS_chroot, "/tmp"));
	probe_say("open_tree", syscall(SYS_open_tree, -100, "/", 1));
	probe_say("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	probe_say("mount_setattr", syscall(SYS_mount_setattr, -100, "/", 0, buf, 32));
	probe_say("open_by_handle_at", syscall(SYS_open_by_handle_at, 0, buf, 0));
	probe_say("setns", syscall(SYS_setns, 0, 0));
	probe_say("unshare user", syscall(SYS_unshare, CLONE_NEWUSER));
	probe_say("unshare mount", syscall(SYS_unshare, CLONE_NEWNS));
	probe_say("kexec_load", syscall(SYS_kexec_load, 0, 0, 0, 0));
	probe_say("init_module", syscall(SYS_init_module, buf, 0, ""));
	probe_say("clone3", syscall(SYS_clone3, buf, 88));
	probe_say("TIOCSTI", ioctl(0, TIOCSTI, "x"));
	probe_say("TIOCSTI high bits", syscall(SYS_ioctl, 0, 0x100000000UL | TIOCSTI, "x"));
	probe_say("TIOCLINUX", syscall(SYS_ioctl, 0, 0x541CUL, "\2"));
}

static inline void probe_clone(void)
{
	long rc = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (rc == 0)
		_exit(0);
	probe_say("clone newuser", rc);
	rc = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (rc == 0)
		_exit(0);
	probe_say("clone", rc);
}

static inline void probe_sockets(void)
{
	const struct {
		const char *name;
		unsigned long family;
		unsigned long protocol;
	} table[] = {
		{ "unix", AF_UNIX, 0 },
		{ "inet", AF_INET, 0 },
		{ "inet6", AF_INET6, 0 },
		{ "netlink route", AF_NETLINK, 0 },
		{ "netlink diag", AF_NETLINK, 4 },
		{ "vsock", 40, 0 },
		{ "packet", 17, 0 },
		{ "alg", 38, 0 },
		{ "bluetooth", 31, 0 },
		{ "vsock high bits", 0x100000000UL | 40, 0 },
		{ "family 64", 64, 0 },
		{ "family -1", 0xffffffffUL, 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		probe_say(table[i].name, syscall(SYS_socket, table[i].family, SOCK_DGRAM, table[i].protocol));
}

// Connects to an abstract socket of that name.
static inline void probe_abstract(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(address.sun_path + 1, name, len);
	probe_say("abstract", connect(fd, (struct sockaddr *)&address,
				      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)));
}

static inline void probe_unix(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	probe_say("connect", connect(fd, (struct sockaddr *)&address, sizeof(address)));
}

// A 32-bit system call: getpid is number 20 there.
static inline void probe_foreign(void)
{
#if defined(__x86_64__)
	long rc = 20;

	__asm__ volatile("int $0x80" : "+a"(rc) : : "memory");
	printf("foreign %ld\n", rc);
	(void)fflush(stdout);
#else
	raise(SIGSYS);
#endif
}

static inline void probe_memory(void)
{
	for (int i = 0; i < 64; i++) {
		char *block = malloc((size_t)64 << 20);

		if (block == NULL) {
			probe_say("memory", -1);
			return;
		}
		block[0] = 1;
	}
	probe_say("memory", 0);
}

static inline void probe_forks(void)
{
	int count = 0;

	for (; count < 500; count++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			(void)pause();
			_exit(0);
		}
	}
	printf("forks %d %s\n", count, count < 500 ? strerrorname_np(errno) : "ok");
	(void)fflush(stdout);
}

// Leaves the group and the session, ignores what can be ignored, and outlives its parent.
static inline void probe_daemon(void)
{
	if (fork() > 0)
		return;
	(void)setsid();
	if (fork() > 0)
		_exit(0);
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_IGN);
	for (int fd = 0; fd < 3; fd++)
		(void)close(fd);
	for (;;)
		(void)sleep(1000);
}

static inline int probe_main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *argument = argc > 2 ? argv[2] : "";

	if (strcmp(what, "calls") == 0)
		probe_calls();
	else if (strcmp(what, "clone") == 0)
		probe_clone();
	else if (strcmp(what, "sockets") == 0)
		probe_sockets();
	else if (strcmp(what, "abstract") == 0)
		probe_abstract(argument);
	else if (strcmp(what, "unix") == 0)
		probe_unix(argument);
	else if (strcmp(what, "foreign") == 0)
		probe_foreign();
	else if (strcmp(what, "memory") == 0)
		probe_memory();
	else if (strcmp(what, "forks") == 0)
		probe_forks();
	else if (strcmp(what, "daemon") == 0)
		probe_daemon();
	else if (strcmp(what, "arguments") == 0)
		for (int i = 2; i < argc; i++)
			printf("<%s>", argv[i]);
	else
		return 2;
	(void)fflush(stdout);
	_exit(0); // no leak check: it would want ptrace
}
