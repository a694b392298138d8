// SPDX-License-Identifier: Apache-2.0
//
// skillfs doctor: what the machine has of what skillfs needs. A check says what it saw and, where something is missing, how to
// mend it. Nothing is changed.
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "fs/commands/command.h"
#include "fs/mountinfo.h"
#include "fs/output/text.h"
#include "policy/config.h"
#include "sandbox/sandbox.h"
#include "sanitize/cleanup.h"
#include "sanitize/scan.h"

#define DEVICE    "/dev/fuse"
#define FUSE_CONF "/etc/fuse.conf"

enum health { HEALTH_OK, HEALTH_WARN, HEALTH_FAIL };

struct doctor {
	const char *config_path;
	struct config *config; // NULL when it could not be read
	enum health worst;
};

static void __attribute__((format(printf, 5, 6)))
say(struct doctor *doctor, enum health health, const char *what, const char *mend, const char *format, ...)
{
	static const char *const names[] = { "ok", "warn", "fail" };
	CLEANUP(buf) struct buf line = BUF_INIT;
	char detail[1024];
	va_list args;

	if (health > doctor->worst)
		doctor->worst = health;
	va_start(args, format);
	(void)vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	if (text_escape(&line, detail, strlen(detail), TEXT_NO_LIMIT) < 0)
		return;
	if (mend != NULL &&
	    (buf_append_string(&line, " (") < 0 ||
	     text_escape(&line, mend, strlen(mend), TEXT_NO_LIMIT) < 0 || buf_append_byte(&line, ')') < 0))
		return;
	(void)printf("%-4s  %s: %s\n", names[health], what, line.data == NULL ? "" : line.data);
}

static void check_kernel(struct doctor *doctor)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	struct utsname name;
	CLEANUP(fd) int fd = -1;
	const char *release = uname(&name) == 0 ? name.release : "unknown";

	fd = (int)syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how));
	if (fd >= 0)
		say(doctor, HEALTH_OK, "kernel", NULL, "%s, with openat2", release);
	else if (errno == ENOSYS || errno == EPERM)
		say(doctor, HEALTH_FAIL, "kernel",
		    "Linux 5.6 or later; in a container, a seccomp profile that allows openat2",
		    "%s: openat2 does not work: %s", release, strerror(errno));
	else
		say(doctor, HEALTH_WARN, "kernel", NULL, "%s: cannot try openat2 here: %s", release,
		    strerror(errno));
}

static void check_device(struct doctor *doctor)
{
	CLEANUP(fd) int fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd >= 0)
		say(doctor, HEALTH_OK, DEVICE, NULL, "can be opened");
	else if (errno == ENOENT)
		say(doctor, HEALTH_FAIL, DEVICE,
		    "modprobe fuse; in a container: --device /dev/fuse --cap-add SYS_ADMIN", "not there");
	else if (errno == EACCES && stat(DEVICE, &st) == 0)
		say(doctor, HEALTH_FAIL, DEVICE, "chmod 0666 /dev/fuse as root, as distributions ship it",
		    "mode %04o: not for this user", (unsigned)(st.st_mode & 07777));
	else
		say(doctor, HEALTH_FAIL, DEVICE, "modprobe fuse; in a container: --device /dev/fuse", "%s",
		    strerror(errno));
}

// Where libfuse would find it: the first in PATH.
static char *find_program(const char *program)
{
	const char *path = getenv("PATH");

	for (const char *part = path == NULL ? "/usr/bin:/bin" : path; *part != '\0';) {
		size_t len = strcspn(part, ":");
		CLEANUP(buf) struct buf file = BUF_INIT;

		if (len > 0 && buf_printf(&file, "%.*s/%s", (int)len, part, program) == 0 &&
		    access(file.data, X_OK) == 0)
			return buf_detach(&file);
		part += len + (part[len] == ':');
	}
	return NULL;
}

static void check_fusermount(struct doctor *doctor)
{
	CLEANUP(free) char *program = find_program("fusermount3");
	bool root = geteuid() == 0;
	struct stat st;

	if (program == NULL)
		say(doctor, root ? HEALTH_OK : HEALTH_FAIL, "fusermount3", root ? NULL : "apt install fuse3",
		    root ? "not there; root does without" : "not in PATH: only root can mount");
	else if (!root && (stat(program, &st) < 0 || st.st_uid != 0 || (st.st_mode & S_ISUID) == 0))
		say(doctor, HEALTH_FAIL, "fusermount3", "apt install --reinstall fuse3",
		    "%s is not setuid root: only root can mount", program);
	else
		say(doctor, HEALTH_OK, "fusermount3", NULL, "%s", program);
}

static void check_allow_other(struct doctor *doctor)
{
	FILE *file = fopen(FUSE_CONF, "re");
	char line[256];
	bool allowed = false;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\r\n")] = '\0';
		if (strcmp(line, "user_allow_other") == 0)
			allowed = true;
	}
	if (file != NULL)
		(void)fclose(file);
	if (geteuid() == 0)
		say(doctor, HEALTH_OK, "allow_other", NULL, "root may always use it");
	else if (allowed)
		say(doctor, HEALTH_OK, "allow_other", NULL, "user_allow_other stands in " FUSE_CONF);
	else
		say(doctor, HEALTH_OK, "allow_other",
		    "for agents of other users: add user_allow_other to " FUSE_CONF,
		    "not allowed: only you can read your mounts");
}

static void check_jail(struct doctor *doctor)
{
	struct sandbox_support support = { .tier = TIER_NONE };
	enum health health = HEALTH_WARN;
	int rc = sandbox_detect(&support);

	if (rc < 0) {
		say(doctor, HEALTH_FAIL, "jail", NULL, "%s", strerror(-rc));
		return;
	}
	if (support.tier == TIER_BWRAP_SECCOMP)
		health = HEALTH_OK;
	for (size_t i = 0; doctor->config != NULL && i < doctor->config->agent_count; i++)
		if (support.tier == TIER_NONE &&
		    doctor->config->agents[i].sandbox.enabled == SANDBOX_REQUIRED)
			health = HEALTH_FAIL;
	say(doctor, health, "jail", support.hint, "%s%s%s%s%s", sandbox_tier_name(support.tier),
	    support.program == NULL ? "" : ", ", support.program == NULL ? "" : support.program,
	    support.reason == NULL ? "" : ": ", support.reason == NULL ? "" : support.reason);
	sandbox_support_release(&support);
}

static void check_confinement(struct doctor *doctor)
{
	long landlock;

	if (access("/proc/sys/kernel/seccomp/actions_avail", F_OK) == 0)
		say(doctor, HEALTH_OK, "seccomp", NULL, "in the kernel");
	else
		say(doctor, HEALTH_WARN, "seccomp", "a kernel with CONFIG_SECCOMP_FILTER",
		    "not in this kernel: the daemon and its jobs run without a system call filter");
	// Only asks for the version; restricts nothing.
	landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	if (landlock > 0)
		say(doctor, HEALTH_OK, "landlock", NULL, "version %ld", landlock);
	else
		say(doctor, HEALTH_OK, "landlock", NULL, "not in this kernel; seccomp does without");
}

static void check_config(struct doctor *doctor)
{
	struct error error = { "" };
	int rc = command_load_config(doctor->config_path, &doctor->config, &error);

	if (rc < 0) {
		say(doctor, HEALTH_FAIL, "configuration", "mend the file; skillfs config check FILE", "%s",
		    error_text(&error, rc));
		return;
	}
	say(doctor, HEALTH_OK, "configuration", NULL, "%s",
	    doctor->config->path == NULL ? "none: the defaults hold" : doctor->config->path);
	for (size_t i = 0; i < doctor->config->warnings.count; i++)
		say(doctor, HEALTH_WARN, "configuration", NULL, "%s", doctor->config->warnings.items[i]);
}

static void check_rules(struct doctor *doctor)
{
	struct scanner *scanner = NULL;
	struct error error = { "" };
	const struct config *config = doctor->config;
	int rc = scanner_new(config == NULL ? NULL : config->custom_rules,
			     config == NULL ? 0 : config->custom_rule_count, &scanner, &error);

	if (rc < 0)
		say(doctor, HEALTH_FAIL, "rules", "mend rules.custom in the configuration", "%s",
		    error_text(&error, rc));
	else if (scanner_has_jit(scanner))
		say(doctor, HEALTH_OK, "rules", NULL, "%zu, compiled to machine code, %s AVX2",
		    scanner_rule_count(scanner), scanner_has_avx2(scanner) ? "with" : "without");
	else
		say(doctor, HEALTH_WARN, "rules",
		    "a libpcre2 with JIT, and a policy that allows executable memory",
		    "%zu, interpreted: scanning is slow", scanner_rule_count(scanner));
	scanner_free(scanner);
}

static void check_mounts(struct doctor *doctor)
{
	struct mount_entry *entries = NULL;
	size_t count = 0, live = 0;
	int rc = mount_list(&entries, &count);

	if (rc < 0) {
		say(doctor, HEALTH_WARN, "mounts", NULL, "cannot read the mount table: %s", strerror(-rc));
		return;
	}
	for (size_t i = 0; i < count; i++) {
		CLEANUP(buf) struct buf mend = BUF_INIT;

		if (!entries[i].dead)
			live += strcmp(entries[i].type, CONTENT_TYPE) == 0;
		else if (buf_printf(&mend, "skillfs umount %s, or mount it again", entries[i].mountpoint) ==
			 0)
			say(doctor, HEALTH_FAIL, "mounts", mend.data, "%s is dead: its daemon is gone",
			    entries[i].mountpoint);
	}
	say(doctor, HEALTH_OK, "mounts", NULL, "%zu alive", live);
	mount_list_free(entries, count);
}

static void check_user(struct doctor *doctor)
{
	if (geteuid() == 0)
		say(doctor, HEALTH_OK, "user", "better mount as the user whose agents read the skills",
		    "root: mounts and their jobs belong to root");
	else
		say(doctor, HEALTH_OK, "user", NULL, "%ju, not root", (uintmax_t)geteuid());
}

// The configuration comes first: other checks look at it.
static void (*const checks[])(struct doctor *doctor) = {
	check_config,      check_rules, check_kernel,      check_device, check_fusermount,
	check_allow_other, check_jail,  check_confinement, check_mounts, check_user,
};

int command_doctor(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct doctor doctor = { .worst = HEALTH_OK };
	int answer;

	while ((answer = getopt_long(argc, argv, ":c:h", long_options, NULL)) != -1) {
		if (answer != 'c')
			return command_bad_option("doctor", argv, answer);
		doctor.config_path = optarg;
	}
	if (optind < argc)
		return command_usage("doctor", "takes no arguments");
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i](&doctor);
	config_free(doctor.config);
	return doctor.worst == HEALTH_FAIL ? EXIT_FAILED : EXIT_OK;
}
