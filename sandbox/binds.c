// SPDX-License-Identifier: Apache-2.0
#include "sandbox/binds.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/bind_audit.h"
#include "sandbox/path.h"
#include "sanitize/buf.h"
#include "sanitize/cleanup.h"

#define BINDS_MAX     1024
#define FALLBACK_HOME "/home/skillfs"
#define MODE_SHARED   01777
#define MODE_OWNER    0755

// The system, read-only, as far as it exists. /etc is not bound whole: as root it would show the shadow file.
static const struct {
	const char *path;
	bool as_host; // a symbolic link stays one (merged /usr)
} system_rules[] = {
	{ "/usr", false },
	{ "/bin", true },
	{ "/sbin", true },
	{ "/lib", true },
	{ "/lib64", true },
	{ "/lib32", true },
	{ "/etc/resolv.conf", false }, // often a link into /run: what it points to is bound here
	{ "/etc/hosts", false },
	{ "/etc/hostname", false },
	{ "/etc/ssl", false },
	{ "/etc/ca-certificates", false },
	{ "/etc/pki", false },
	{ "/etc/ld.so.cache", false },
	{ "/etc/ld.so.conf", false },
	{ "/etc/ld.so.conf.d", false },
	{ "/etc/alternatives", false },
	{ "/etc/localtime", false },
	{ "/etc/passwd", false },
	{ "/etc/group", false },
	{ "/etc/nsswitch.conf", false },
	{ "/etc/fonts", false },
};

// Private keys in folders of the table above, covered: a jail that root starts could read them.
static const char *const system_masks[] = { "/etc/ssl/private", "/etc/pki/tls/private" };

// The user's own, read-only, below HOME, as far as it exists. Whatever may hold a credential stays out:
// - ~/.claude, ~/.claude.json, ~/.local/share/claude: tokens and settings that run commands, and no job is to write them;
// - ~/.local/share: keyrings; of ~/.local only what programs are;
// - ~/.config/git/credentials: git's credential store, so not the folder but its files;
// - ~/.npm, ~/.cache: a channel between agents; the environment points caches into the workspace.
static const char *const user_rules[] = {
	".gitconfig",         // who commits, and how
	".config/git/config", // the same, the other place
	".config/git/ignore",
	".config/git/attributes",
	".local/bin", // the user's programs
	".local/lib", // and their Python packages
	".nvm",       // Node versions
};

void binds_release(struct binds *binds)
{
	for (size_t i = 0; i < binds->count; i++) {
		free(binds->items[i].path);
		free(binds->items[i].source);
		if (binds->items[i].fd >= 0)
			(void)close(binds->items[i].fd);
	}
	free(binds->items);
	*binds = (struct binds){ 0 };
}

// Copies the strings of `like` and takes its descriptor, on failure too.
static int add(struct binds *binds, const struct bind *like)
{
	struct bind bind = *like;
	CLEANUP(fd) int fd = like->fd;
	CLEANUP(free) char *path = strdup(like->path);
	CLEANUP(free) char *source = like->source == NULL ? NULL : strdup(like->source);

	if (path == NULL || (source == NULL && like->source != NULL))
		return -ENOMEM;
	if (binds->count == BINDS_MAX)
		return -E2BIG;
	if (binds->count == binds->cap) {
		size_t cap = binds->cap == 0 ? 64 : binds->cap * 2;
		struct bind *items = reallocarray(binds->items, cap, sizeof(*items));

		if (items == NULL)
			return -ENOMEM;
		binds->items = items;
		binds->cap = cap;
	}
	bind.path = take(path);
	bind.source = take(source);
	bind.fd = take_fd(fd);
	binds->items[binds->count++] = bind;
	return 0;
}

static int add_bind(struct binds *binds, enum bind_kind kind, const char *source, const char *path, int fd)
{
	return add(binds,
		   &(struct bind){ .kind = kind, .path = (char *)path, .source = (char *)source, .fd = fd });
}

// What is not there, or not there for the job's user, is left out.
static int add_optional(struct binds *binds, const char *path)
{
	CLEANUP(place) struct place place = PLACE_INIT;
	int rc = place_open(path, true, &place);

	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	return add_bind(binds, BIND_READ_ONLY, place.path, path, take_fd(place.fd));
}

static int add_made(struct binds *binds, enum bind_kind kind, const char *path)
{
	return add(binds, &(struct bind){ .kind = kind, .path = (char *)path, .fd = -1 });
}

static int add_tmpfs(struct binds *binds, const char *path, unsigned mode, uint64_t size)
{
	return add(binds,
		   &(struct bind){
			   .kind = BIND_TMPFS, .path = (char *)path, .fd = -1, .mode = mode, .size = size });
}

static int add_system(struct binds *binds)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_rules); i++) {
		const char *path = system_rules[i].path;
		char target[PATH_MAX];
		ssize_t len = system_rules[i].as_host ? readlink(path, target, sizeof(target) - 1) : -1;
		int rc;

		if (len > 0) {
			target[len] = '\0';
			rc = add_bind(binds, BIND_SYMLINK, target, path, -1);
		} else {
			rc = add_optional(binds, path);
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int add_made_places(struct binds *binds, const struct job_spec *spec, const char *home)
{
	uint64_t size = spec->sandbox->tmp_size_max;
	int rc = add_made(binds, BIND_PROC, "/proc");

	// /proc/sys asks only whether the writer is root, not for a capability: one line written by a jail that root started
	// (kernel/core_pattern) would run a program outside. bwrap covers some of it, and not in a user namespace.
	if (rc == 0)
		rc = add_made(binds, BIND_SEAL, "/proc");
	if (rc == 0)
		rc = add_made(binds, BIND_DEV, "/dev");
	// Without a size of its own it could fill the machine's memory.
	if (rc == 0)
		rc = add_tmpfs(binds, "/dev/shm", MODE_SHARED, size);
	if (rc == 0)
		rc = add_tmpfs(binds, "/tmp", MODE_SHARED, size);
	// An empty home: what is not bound into it below does not exist.
	return rc < 0 ? rc : add_tmpfs(binds, home, MODE_OWNER, size);
}

static int add_user(struct binds *binds, const struct job_spec *spec, const char *home)
{
	if (spec->home == NULL || strcmp(home, spec->home) != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(user_rules); i++) {
		CLEANUP(buf) struct buf path = BUF_INIT;
		int rc = buf_printf(&path, "%s/%s", home, user_rules[i]);

		if (rc == 0)
			rc = add_optional(binds, path.data);
		if (rc < 0)
			return rc;
	}
	return 0;
}

// readOnlyAllowPaths: those beside or above the workspace go before it, those in it after it.
static int add_allowed(struct binds *binds, const struct job_spec *spec, const char *home, bool in_workspace,
		       struct error *error)
{
	const struct strv *paths = &spec->sandbox->read_only_allow_paths;

	for (size_t i = 0; i < paths->count; i++) {
		const char *path = paths->items[i];
		bool inside = spec->workspace != NULL && path_is_within(path, spec->workspace);
		CLEANUP(place) struct place place = PLACE_INIT;
		int rc;

		if (inside != in_workspace)
			continue;
		rc = audit_allowed(spec, home, path, inside, &place, error);
		if (rc == -ENOENT)
			continue; // as the system paths: those that exist
		if (rc < 0)
			return rc;
		rc = add_bind(binds, BIND_READ_ONLY, place.path, path, take_fd(place.fd));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int add_workspace(struct binds *binds, const struct job_spec *spec, const char *home,
			 struct error *error)
{
	CLEANUP(place) struct place place = PLACE_INIT;
	int rc;

	if (spec->workspace == NULL)
		return 0;
	rc = audit_workspace(spec, home, &place, error);
	return rc < 0 ? rc
		      : add_bind(binds, BIND_READ_WRITE, spec->workspace, spec->workspace, take_fd(place.fd));
}

static int add_broker(struct binds *binds, const struct job_spec *spec, struct error *error)
{
	const char *path = spec->sandbox->broker_socket_path;
	CLEANUP(place) struct place place = PLACE_INIT;
	int rc;

	if (spec->sandbox->network != NETWORK_BROKER_ONLY || path == NULL)
		return 0;
	rc = audit_broker(path, &place, error);
	// Connecting needs no writable mount.
	return rc < 0 ? rc : add_bind(binds, BIND_READ_ONLY, place.path, path, take_fd(place.fd));
}

// Whether something of the host that is bound so far shows `path`.
static bool is_shown(const struct binds *binds, const char *path)
{
	for (size_t i = 0; i < binds->count; i++)
		if ((binds->items[i].kind == BIND_READ_ONLY || binds->items[i].kind == BIND_READ_WRITE) &&
		    path_is_within(path, binds->items[i].path))
			return true;
	return false;
}

static int add_masks(struct binds *binds, const struct job_spec *spec)
{
	const char *const hidden[] = {
		spec->hide,
		spec->source != NULL && spec->view != NULL && strcmp(spec->source, spec->view) == 0
			? NULL
			: spec->source,
	};
	struct stat st;
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(system_masks); i++) {
		if (lstat(system_masks[i], &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		rc = add_tmpfs(binds, system_masks[i], MODE_OWNER, 0);
		if (rc < 0)
			return rc;
		rc = add_made(binds, BIND_SEAL, system_masks[i]);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		if (hidden[i] == NULL || !is_shown(binds, hidden[i]))
			continue;
		rc = add_tmpfs(binds, hidden[i], MODE_OWNER, 0);
		if (rc < 0)
			return rc;
		rc = add_made(binds, BIND_SEAL, hidden[i]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int binds_home(const struct job_spec *spec, char **ret)
{
	const char *home = spec->home;

	if (home == NULL || !path_is_plain(home) || strcmp(home, "/") == 0 || audit_is_system(home))
		home = FALLBACK_HOME;
	*ret = strdup(home);
	return *ret == NULL ? -ENOMEM : 0;
}

static int build(const struct job_spec *spec, const char *home, struct binds *ret, struct error *error)
{
	CLEANUP(binds) struct binds binds = { 0 };
	int rc = add_system(&binds);

	if (rc == 0)
		rc = add_made_places(&binds, spec, home);
	if (rc == 0)
		rc = add_user(&binds, spec, home);
	if (rc == 0)
		rc = add_allowed(&binds, spec, home, false, error);
	if (rc == 0)
		rc = add_workspace(&binds, spec, home, error);
	if (rc == 0)
		rc = add_allowed(&binds, spec, home, true, error);
	if (rc == 0)
		rc = add_broker(&binds, spec, error);
	if (rc == 0)
		rc = add_masks(&binds, spec);
	// Last of all that shows anything, so that nothing covers it again. By its name: opening it could wait for its server.
	if (rc == 0 && spec->view != NULL)
		rc = add_bind(&binds, BIND_READ_ONLY, spec->view, spec->view, -1);
	// The folders that were made on the way are in memory, and nobody bounds them.
	if (rc == 0)
		rc = add_made(&binds, BIND_SEAL, "/dev");
	if (rc == 0)
		rc = add_made(&binds, BIND_SEAL, "/");
	if (rc == -ENOMEM)
		return error_set(error, rc, "out of memory");
	if (rc < 0)
		return rc;
	*ret = binds;
	binds = (struct binds){ 0 };
	return 0;
}

int binds_build(const struct job_spec *spec, const char *home, struct binds *ret, struct error *error)
{
	int rc;

	// Everything is looked up with the rights of the user that the jail will have.
	(void)setfsgid(spec->gid);
	(void)setfsuid(spec->uid);
	rc = build(spec, home, ret, error);
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
	return rc;
}

bool binds_show(const struct job_spec *spec, const char *home, const char *path)
{
	const struct strv *allowed = &spec->sandbox->read_only_allow_paths;

	for (size_t i = 0; i < ARRAY_SIZE(system_rules); i++)
		if (path_is_within(path, system_rules[i].path))
			return true;
	for (size_t i = 0; i < allowed->count; i++)
		if (path_is_within(path, allowed->items[i]))
			return true;
	if (path_is_within(path, home) && strcmp(path, home) != 0) {
		const char *below = path + strlen(home) + 1;

		for (size_t i = 0; i < ARRAY_SIZE(user_rules); i++)
			if (path_is_within(below, user_rules[i]))
				return true;
	}
	return false;
}
