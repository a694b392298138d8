// SPDX-License-Identifier: Apache-2.0
#include "fs/mountinfo.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/source.h"
#include "sanitize/cleanup.h"

#define LAYERS_MAX        64
#define HELPER_TIMEOUT_MS 10000

static const char *const fusermount_paths[] = { "/usr/bin/fusermount3", "/bin/fusermount3",
						"/usr/local/bin/fusermount3" };

static void cleanup_file(FILE **file)
{
	if (*file != NULL)
		(void)fclose(*file);
}

// mountinfo writes blanks and backslashes in octal.
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' && from[2] <= '7' &&
		    from[3] >= '0' && from[3] <= '7') {
			*to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

static void examine(struct mount_entry *entry)
{
	CLEANUP(free) char *link = NULL;
	char target[PATH_MAX];
	struct statfs st;
	ssize_t len;

	// A stat may be answered from the kernel's cache; statfs always asks the daemon.
	entry->dead = statfs(entry->mountpoint, &st) < 0 && errno == ENOTCONN;
	if (entry->dead || strcmp(entry->type, CONTENT_TYPE) != 0)
		return;
	if (asprintf(&link, "%s/" RESERVED_NAME, entry->mountpoint) < 0)
		return;
	len = readlink(link, target, sizeof(target));
	if (len > 0 && (size_t)len < sizeof(target))
		entry->control_dir = strndup(target, (size_t)len);
}

void mount_list_free(struct mount_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(entries[i].mountpoint);
		free(entries[i].type);
		free(entries[i].control_dir);
	}
	free(entries);
}

// Calls `visit` with the mountpoint and type of each mount that this process sees, in mount order.
static int each_mount(int (*visit)(const char *mountpoint, const char *type, void *context), void *context)
{
	CLEANUP(file) FILE *file = fopen("/proc/self/mountinfo", "re");
	CLEANUP(free) char *line = NULL;
	size_t size = 0;
	int rc = 0;

	if (file == NULL)
		return -errno;
	// ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS [FIELD...] - TYPE SOURCE SUPER
	while (rc == 0 && getline(&line, &size, file) >= 0) {
		char *rest = line, *mountpoint = NULL, *type;

		for (int i = 0; i < 5 && rest != NULL; i++)
			mountpoint = strsep(&rest, " ");
		type = rest == NULL ? NULL : strstr(rest, " - ");
		if (type == NULL)
			continue;
		type += 3;
		unescape(mountpoint);
		rc = visit(mountpoint, strsep(&type, " "), context);
	}
	return rc;
}

static bool is_ours(const char *type)
{
	return strcmp(type, CONTENT_TYPE) == 0 || strcmp(type, CONTROL_TYPE) == 0;
}

static bool holds(const char *mountpoint, const char *path)
{
	size_t len = strlen(mountpoint);

	if (strcmp(mountpoint, "/") == 0)
		return true;
	return strncmp(mountpoint, path, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool is_at(const char *mountpoint, const char *path)
{
	return strcmp(mountpoint, path) == 0;
}

struct list {
	struct mount_entry *entries;
	size_t count;
	bool (*want)(const char *mountpoint, const char *path); // NULL: all of ours
	const char *path;
};

static int add_ours(const char *mountpoint, const char *type, void *context)
{
	struct list *list = context;
	struct mount_entry *more, *entry;

	if (!is_ours(type) || (list->want != NULL && !list->want(mountpoint, list->path)))
		return 0;
	more = realloc(list->entries, (list->count + 1) * sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	list->entries = more;
	entry = &more[list->count++];
	*entry = (struct mount_entry){ .mountpoint = strdup(mountpoint), .type = strdup(type) };
	return entry->mountpoint == NULL || entry->type == NULL ? -ENOMEM : 0;
}

// Only what is listed is asked how it does: the daemon of another mount may hang.
static int list_mounts(bool (*want)(const char *, const char *), const char *path, struct mount_entry **ret,
		       size_t *ret_count)
{
	struct list list = { .want = want, .path = path };
	int rc = each_mount(add_ours, &list);

	if (rc < 0) {
		mount_list_free(list.entries, list.count);
		return rc;
	}
	for (size_t i = 0; i < list.count; i++)
		examine(&list.entries[i]);
	*ret = list.entries;
	*ret_count = list.count;
	return 0;
}

int mount_list(struct mount_entry **ret, size_t *ret_count)
{
	return list_mounts(NULL, NULL, ret, ret_count);
}

struct top {
	const char *path;
	const char *type; // asked for; NULL: any of ours
	bool found;
};

static int see_top(const char *mountpoint, const char *type, void *context)
{
	struct top *top = context;

	if (strcmp(mountpoint, top->path) == 0)
		top->found = top->type == NULL ? is_ours(type) : strcmp(type, top->type) == 0;
	return 0;
}

bool mount_present(const char *path, const char *type)
{
	struct top top = { path, type, false };

	// A list that can't be read (no free descriptor) tells nothing, and what is taken for gone would uncover the raw folder.
	return each_mount(see_top, &top) < 0 || top.found;
}

int mount_canonical(const char *path, char **ret, struct error *error)
{
	CLEANUP(free) char *parent = NULL;
	CLEANUP(free) char *copy = NULL;
	CLEANUP(free) char *canonical = realpath(path, NULL);
	size_t len = strlen(path);
	char *slash;
	int rc;

	if (canonical == NULL && errno == ENOTCONN) {
		// The last component is a dead mount: its parent can be resolved, it can't.
		while (len > 1 && path[len - 1] == '/')
			len--;
		copy = strndup(path, len);
		if (copy == NULL)
			return -ENOMEM;
		slash = strrchr(copy, '/');
		if (slash == NULL)
			parent = realpath(".", NULL);
		else if (slash == copy)
			parent = strdup("");
		else
			parent = (*slash = '\0', realpath(copy, NULL));
		if (parent != NULL && asprintf(&canonical, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent,
					       slash == NULL ? copy : slash + 1) < 0)
			return -ENOMEM;
	}
	if (canonical == NULL) {
		rc = -errno;
		return error_set(error, rc, "%s: %s", path, strerror(-rc));
	}
	*ret = take(canonical);
	return 0;
}

// Runs a program with no environment. Its exit code, or a negative errno; -ETIMEDOUT when it had to be killed.
static int run_bounded(const char *program, char *const *args)
{
	char *const empty[] = { NULL };
	CLEANUP(fd) int pidfd = -1;
	struct pollfd ended;
	int status = 0, rc;
	pid_t pid;

	rc = posix_spawn(&pid, program, NULL, NULL, args, empty);
	if (rc != 0)
		return -rc;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	ended = (struct pollfd){ .fd = pidfd, .events = POLLIN };
	do {
		rc = pidfd < 0 ? 1 : poll(&ended, 1, HELPER_TIMEOUT_MS);
	} while (rc < 0 && errno == EINTR);
	if (rc <= 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (rc <= 0)
		return -ETIMEDOUT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

int mount_detach(const char *path, bool lazy, struct error *error)
{
	const char *program = NULL;
	const char *args[8];
	size_t count = 0;
	struct top top = { path, NULL, false };
	int rc;

	// Whatever else is mounted at that place is not ours to take away. Looks at mountinfo only: asking the
	// file system itself could wait for a daemon that is on its way out.
	rc = each_mount(see_top, &top);
	if (rc < 0)
		return error_set(error, rc, "/proc/self/mountinfo: %s", strerror(-rc));
	if (!top.found)
		return error_set(error, -ENOENT, "%s: skillfs is not mounted there", path);
	if (geteuid() == 0) {
		if (umount2(path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
			return 0;
		rc = -errno;
		return error_set(error, rc, "%s: cannot unmount: %s", path, strerror(-rc));
	}
	for (size_t i = 0; program == NULL && i < ARRAY_SIZE(fusermount_paths); i++)
		if (access(fusermount_paths[i], X_OK) == 0)
			program = fusermount_paths[i];
	if (program == NULL)
		return error_set(error, -ENOENT, "fusermount3 is not installed: apt install fuse3");
	args[count++] = "fusermount3";
	args[count++] = "-u";
	if (lazy)
		args[count++] = "-z";
	args[count++] = "--";
	args[count++] = path;
	args[count] = NULL;
	rc = run_bounded(program, (char *const *)args);
	if (rc < 0)
		return error_set(error, rc, "%s: %s", program, strerror(-rc));
	if (rc > 0)
		return error_set(error, -EBUSY,
				 "%s: cannot unmount: in use, not yours, or what fusermount3 says above",
				 path);
	return 0;
}

int mount_heal(const char *path, size_t *ret_healed, struct error *error)
{
	*ret_healed = 0;
	for (int layer = 0; layer < LAYERS_MAX; layer++) {
		struct mount_entry *entries = NULL;
		size_t count = 0;
		bool found = false, dead = false;
		int rc = list_mounts(is_at, path, &entries, &count);

		if (rc < 0)
			return error_set(error, rc, "/proc/self/mountinfo: %s", strerror(-rc));
		if (count > 0) {
			found = true;
			dead = entries[count - 1].dead;
		}
		mount_list_free(entries, count);
		if (!found)
			return 0;
		if (!dead)
			return error_set(error, -EBUSY,
					 "%s: skillfs is mounted there already; `skillfs umount %s` first",
					 path, path);
		rc = mount_detach(path, true, error);
		if (rc < 0)
			return error_prefix(error, rc, "%s: a dead mount stands there", path);
		(*ret_healed)++;
	}
	return error_set(error, -EBUSY, "%s: too many dead mounts", path);
}

int mount_of(const char *path, char **ret_mountpoint, char **ret_control_dir, struct error *error)
{
	CLEANUP(free) char *canonical = NULL;
	struct mount_entry *entries = NULL, *best = NULL;
	size_t count = 0;
	int rc;

	rc = mount_canonical(path, &canonical, error);
	if (rc < 0)
		return rc;
	rc = list_mounts(holds, canonical, &entries, &count);
	if (rc < 0)
		return error_set(error, rc, "/proc/self/mountinfo: %s", strerror(-rc));
	for (size_t i = 0; i < count; i++)
		if (strcmp(entries[i].type, CONTENT_TYPE) == 0 &&
		    (best == NULL || strlen(entries[i].mountpoint) >= strlen(best->mountpoint)))
			best = &entries[i];
	if (best == NULL)
		rc = error_set(error, -ENOENT,
			       "%s: no skillfs mount holds it; findmnt -t fuse.skillfs lists them",
			       canonical);
	else if (best->dead)
		rc = error_set(error, -ENOTCONN, "%s: the daemon of this mount has ended; mount it again",
			       best->mountpoint);
	if (rc == 0) {
		*ret_mountpoint = take(best->mountpoint);
		*ret_control_dir = take(best->control_dir);
	}
	mount_list_free(entries, count);
	return rc;
}
