// SPDX-License-Identifier: Apache-2.0
#include "sandbox/seccomp_filter.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sanitize/cleanup.h"

#define FILTER_SIZE_MAX (4096 * 8) // BPF_MAXINSNS instructions

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

// By name; one that this libseccomp or architecture does not have is skipped, unless it has a number here (numbers
// above 424 are the same on all architectures that we build for).
static const struct {
	const char *name;
	int number;
} denied[] = {
	// other processes' memory and descriptors
	{ "ptrace", 0 },
	{ "process_vm_readv", 0 },
	{ "process_vm_writev", 0 },
	{ "process_madvise", 0 },
	{ "pidfd_getfd", 438 },
	{ "kcmp", 0 },
	// the caller's keyrings are not in a namespace
	{ "add_key", 0 },
	{ "request_key", 0 },
	{ "keyctl", 0 },
	// large kernel surface that ordinary programs do without
	{ "bpf", 0 },
	{ "perf_event_open", 0 },
	{ "userfaultfd", 0 },
	{ "io_uring_setup", 425 },
	{ "io_uring_enter", 426 },
	{ "io_uring_register", 427 },
	{ "lookup_dcookie", 0 },
	{ "fanotify_init", 0 },
	{ "modify_ldt", 0 },
	{ "vm86", 0 },
	{ "vm86old", 0 },
	{ "uselib", 0 },
	// files by handle go round every mount
	{ "name_to_handle_at", 0 },
	{ "open_by_handle_at", 0 },
	// mounts and namespaces
	{ "mount", 0 },
	{ "umount", 0 },
	{ "umount2", 0 },
	{ "pivot_root", 0 },
	{ "chroot", 0 },
	{ "open_tree", 428 },
	{ "move_mount", 429 },
	{ "fsopen", 430 },
	{ "fsconfig", 431 },
	{ "fsmount", 432 },
	{ "fspick", 433 },
	{ "mount_setattr", 442 },
	{ "open_tree_attr", 467 },
	{ "setns", 0 },
	{ "unshare", 0 },
	// the machine
	{ "kexec_load", 0 },
	{ "kexec_file_load", 0 },
	{ "init_module", 0 },
	{ "finit_module", 0 },
	{ "delete_module", 0 },
	{ "reboot", 0 },
	{ "swapon", 0 },
	{ "swapoff", 0 },
	{ "acct", 0 },
	{ "syslog", 0 },
	{ "quotactl", 0 },
	{ "quotactl_fd", 443 },
	{ "nfsservctl", 0 },
	{ "iopl", 0 },
	{ "ioperm", 0 },
	{ "settimeofday", 0 },
	{ "stime", 0 },
	{ "clock_settime", 0 },
	{ "vhangup", 0 },
};

// clone(2) flags that make a namespace. clone3 hides its flags in memory, where a filter can't look: it is "not
// implemented", and libc falls back to clone.
static const uint64_t namespace_flags[] = {
	CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,
};

// Putting characters into a terminal's input queue.
static const uint64_t denied_ioctls[] = { TIOCSTI, TIOCLINUX };

static const int allowed_families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
#define SMALL_FAMILIES 64

// The kernel reads these arguments as 32 bits whatever stands above: compare no more than that, or a set high bit
// walks past the rule.
#define LOW_32 0xffffffffULL

static int deny_calls(scmp_filter_ctx ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(denied); i++) {
		int number = seccomp_syscall_resolve_name(denied[i].name);
		int rc;

		if (number == __NR_SCMP_ERROR)
			number = denied[i].number;
		// Below zero: a call that this architecture does not have. None of ours is call 0 anywhere.
		if (number <= 0)
			continue;
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), number, 0);
		if (rc < 0)
			return rc;
	}
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int deny_arguments(scmp_filter_ctx ctx)
{
#if defined(__s390__) || defined(__CRIS__)
	const unsigned clone_flags = 1;
#else
	const unsigned clone_flags = 0;
#endif
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(namespace_flags); i++) {
		rc = seccomp_rule_add(
			ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
			SCMP_CMP64(clone_flags, SCMP_CMP_MASKED_EQ, namespace_flags[i], namespace_flags[i]));
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < ARRAY_SIZE(denied_ioctls); i++) {
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
				      SCMP_A1_64(SCMP_CMP_MASKED_EQ, LOW_32, denied_ioctls[i]));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static bool family_allowed(int family)
{
	for (size_t i = 0; i < ARRAY_SIZE(allowed_families); i++)
		if (allowed_families[i] == family)
			return true;
	return false;
}

// An allow list turned round: each small family that is not on it, then any number with a higher bit.
static int deny_families(scmp_filter_ctx ctx, int call)
{
	int rc;

	for (int family = 0; family < SMALL_FAMILIES; family++) {
		if (family_allowed(family))
			continue;
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), call, 1,
				      SCMP_A0_64(SCMP_CMP_MASKED_EQ, LOW_32, (uint64_t)family));
		if (rc < 0)
			return rc;
	}
	for (uint64_t bit = SMALL_FAMILIES; bit <= LOW_32; bit <<= 1) {
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), call, 1,
				      SCMP_A0_64(SCMP_CMP_MASKED_EQ, bit, bit));
		if (rc < 0)
			return rc;
	}
	// Of netlink only rtnetlink, which getifaddrs(3) needs.
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), call, 2,
				SCMP_A0_64(SCMP_CMP_MASKED_EQ, LOW_32, (uint64_t)AF_NETLINK),
				SCMP_A2_64(SCMP_CMP_NE, 0, 0));
}

static int export(scmp_filter_ctx ctx, struct buf *ret)
{
	CLEANUP(fd) int fd = memfd_create("skillfs-seccomp", MFD_CLOEXEC);
	CLEANUP(buf) struct buf buf = BUF_INIT;
	struct stat st;
	int rc;

	if (fd < 0)
		return -errno;
	rc = seccomp_export_bpf(ctx, fd);
	if (rc < 0)
		return rc;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0 || st.st_size > FILTER_SIZE_MAX)
		return -EFBIG;
	rc = buf_reserve(&buf, (size_t)st.st_size);
	if (rc < 0)
		return rc;
	if (pread(fd, buf.data, (size_t)st.st_size, 0) != st.st_size)
		return -EIO;
	buf.len = (size_t)st.st_size;
	*ret = buf;
	buf = BUF_INIT;
	return 0;
}

int seccomp_filter_build(struct buf *ret, struct error *error)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int rc;

	if (ctx == NULL)
		return error_set(error, -ENOMEM, "seccomp: out of memory");
	// A 32-bit program would have other call numbers: it gets none at all.
	rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (rc == 0)
		rc = deny_calls(ctx);
	if (rc == 0)
		rc = deny_arguments(ctx);
	if (rc == 0)
		rc = deny_families(ctx, SCMP_SYS(socket));
	if (rc == 0)
		rc = deny_families(ctx, SCMP_SYS(socketpair));
	if (rc == 0)
		rc = export(ctx, ret);
	seccomp_release(ctx);
	return rc < 0 ? error_set(error, rc, "seccomp filter: %s", strerror(-rc)) : 0;
}
