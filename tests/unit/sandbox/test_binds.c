// SPDX-License-Identifier: Apache-2.0
//
// Which configured binds are refused, and in which order the rest is made. Nothing is mounted but in a namespace of its own.
#include "jail.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sandbox/binds.h"
#include "sandbox/path.h"

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

static int build(struct jail *jail, struct error *error)
{
	CLEANUP(binds) struct binds binds = { 0 };

	*error = (struct error){ 0 };
	return binds_build(&jail->spec, jail->spec.home, &binds, error);
}

static void expect_workspace(struct jail *jail, const char *workspace, int rc, const char *message)
{
	struct error error;
	int got;

	jail->spec.workspace = workspace;
	got = build(jail, &error);
	jail->spec.workspace = jail->workspace;
	if (got != rc || strstr(error.message, message) == NULL)
		fail_msg("workspace %s: %d '%s', wanted %d '%s'", workspace, got, error.message, rc, message);
}

static void expect_allowed(struct jail *jail, const char *path, int rc, const char *message)
{
	struct error error;
	int got;

	assert_int_equal(strv_add(&jail->sandbox.read_only_allow_paths, path), 0);
	got = build(jail, &error);
	strv_release(&jail->sandbox.read_only_allow_paths);
	if (got != rc || strstr(error.message, message) == NULL)
		fail_msg("readOnlyAllowPaths %s: %d '%s', wanted %d '%s'", path, got, error.message, rc,
			 message);
}

static char *at(struct jail *jail, const char *name)
{
	static char paths[8][256];
	static size_t next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", jail->root, name);
	return path;
}

static void path_plain_or_not(void **state)
{
	static const char *const bad[] = { "",   "a",   "a/b",    "//",      "/a/",  "/a//b",
					   "/.", "/..", "/a/./b", "/a/../b", "/a/.." };
	static const char *const good[] = { "/", "/a", "/a/b", "/a/...", "/.a", "/a b\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(path_is_plain(bad[i]));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(path_is_plain(good[i]));
	assert_true(path_is_within("/a", "/a"));
	assert_true(path_is_within("/a/b", "/a"));
	assert_true(path_is_within("/a", "/"));
	assert_false(path_is_within("/ab", "/a"));
	assert_false(path_is_within("/", "/a"));
}

static void workspace_unsafe_is_refused(void **state)
{
	struct jail *jail = *state;

	expect_workspace(jail, jail->workspace, 0, "");
	expect_workspace(jail, "relative", -EINVAL, "plain");
	expect_workspace(jail, at(jail, "ws/../ws"), -EINVAL, "plain");
	expect_workspace(jail, at(jail, "missing"), -ENOENT, "No such file");
	expect_workspace(jail, at(jail, "view/SKILL.md"), -ENOTDIR, "Not a directory");
	expect_workspace(jail, "/", -EINVAL, "holds");
	expect_workspace(jail, "/tmp", -EINVAL, "holds");
	expect_workspace(jail, jail->root, -EINVAL, "holds the skills");
	expect_workspace(jail, jail->view, -EINVAL, "the skills");
	expect_workspace(jail, jail->hide, -EINVAL, "the control directory");
	expect_workspace(jail, jail->home, -EINVAL, "home directory");
	expect_workspace(jail, at(jail, "home/.ssh"), -EINVAL, "~/.ssh");
	expect_workspace(jail, "/usr", -EINVAL, "system folder");
	expect_workspace(jail, "/etc/alternatives", -EINVAL, "system folder");
	expect_workspace(jail, "/proc", -EINVAL, "system folder");
	expect_workspace(jail, "/dev/shm", -EINVAL, "system folder");
}

static void workspace_in_home_is_fine(void **state)
{
	struct jail *jail = *state;

	assert_int_equal(mkdir(at(jail, "home/project"), 0755), 0);
	expect_workspace(jail, at(jail, "home/project"), 0, "");
}

static void workspace_symlink_is_refused(void **state)
{
	struct jail *jail = *state;

	assert_int_equal(symlink(jail->workspace, at(jail, "link")), 0);
	expect_workspace(jail, at(jail, "link"), -EINVAL, "symbolic link");
	assert_int_equal(symlink(jail->root, at(jail, "ws/up")), 0);
	expect_workspace(jail, at(jail, "ws/up/ws"), -EINVAL, "symbolic link");
	assert_int_equal(unlink(at(jail, "link")), 0);
	assert_int_equal(unlink(at(jail, "ws/up")), 0);
}

static void workspace_with_the_source_is_refused(void **state)
{
	struct jail *jail = *state;

	assert_int_equal(mkdir(at(jail, "project"), 0755), 0);
	assert_int_equal(mkdir(at(jail, "project/skills"), 0755), 0);
	jail->spec.source = at(jail, "project/skills");
	expect_workspace(jail, at(jail, "project"), -EINVAL, "the skills' source");
	expect_workspace(jail, at(jail, "project/skills"), -EINVAL, "the skills' source");
	jail->spec.source = NULL;
	expect_workspace(jail, at(jail, "project"), 0, "");
}

static void workspace_home_through_a_link_is_refused(void **state)
{
	struct jail *jail = *state;

	assert_int_equal(symlink(jail->home, at(jail, "homelink")), 0);
	jail->spec.home = at(jail, "homelink");
	expect_workspace(jail, jail->home, -EINVAL, "home directory");
	jail->spec.home = jail->home;
	assert_int_equal(unlink(at(jail, "homelink")), 0);
}

// The same folders under other names, by bind mounts: in a child with a mount namespace.
static int aliases(struct jail *jail)
{
	struct error error;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	if (mkdir(at(jail, "alias"), 0755) < 0 || mkdir(at(jail, "alias2"), 0755) < 0 ||
	    mount(jail->root, at(jail, "alias"), NULL, MS_BIND, NULL) < 0 ||
	    mount(jail->home, at(jail, "alias2"), NULL, MS_BIND, NULL) < 0)
		return 1;
	jail->spec.workspace = at(jail, "alias");
	if (build(jail, &error) != -EINVAL || strstr(error.message, "holds the skills") == NULL)
		return 2;
	jail->spec.workspace = at(jail, "alias/view");
	if (build(jail, &error) != -EINVAL || strstr(error.message, "lies in the skills") == NULL)
		return 3;
	jail->spec.workspace = at(jail, "alias2");
	if (build(jail, &error) != -EINVAL || strstr(error.message, "home directory") == NULL)
		return 4;
	jail->spec.workspace = at(jail, "alias/ws");
	if (build(jail, &error) != 0)
		return 5;
	jail->spec.workspace = jail->workspace;
	(void)strv_add(&jail->sandbox.read_only_allow_paths, at(jail, "alias/view"));
	if (build(jail, &error) != -EINVAL || strstr(error.message, "source") == NULL)
		return 6;
	return 0;
}

static void workspace_other_name_for_the_same_is_refused(void **state)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(aliases(*state));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) != 77) // only root makes a mount namespace
		assert_int_equal(status, 0);
	(void)rmdir(at(*state, "alias"));
	(void)rmdir(at(*state, "alias2"));
}

static void allowed_paths_unsafe_are_refused(void **state)
{
	struct jail *jail = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(mkdir(at(jail, "data"), 0755), 0);
	assert_int_equal(mkdir(at(jail, "sockets"), 0755), 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/sockets/s", jail->root);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	expect_allowed(jail, at(jail, "data"), 0, "");
	expect_allowed(jail, at(jail, "missing"), 0, "");
	expect_allowed(jail, "data", -EINVAL, "plain");
	expect_allowed(jail, "/", -EINVAL, "home directory");
	expect_allowed(jail, "/tmp", -EINVAL, "home directory");
	expect_allowed(jail, jail->home, -EINVAL, "home directory");
	expect_allowed(jail, "/proc/sys", -EINVAL, "of its own");
	expect_allowed(jail, "/dev", -EINVAL, "of its own");
	expect_allowed(jail, at(jail, "sockets"), -EINVAL, "holds a socket");
	expect_allowed(jail, at(jail, "sockets/s"), -EINVAL, "is a socket");
	expect_allowed(jail, jail->hide, -EINVAL, "control directory");
	assert_int_equal(symlink(at(jail, "home/.ssh"), at(jail, "ws/data")), 0);
	expect_allowed(jail, at(jail, "ws/data"), -EINVAL, "symbolic link");
	assert_int_equal(unlink(at(jail, "ws/data")), 0);
	(void)close(fd);
}

static ssize_t index_of(const struct binds *binds, enum bind_kind kind, const char *path)
{
	for (size_t i = 0; i < binds->count; i++)
		if (binds->items[i].kind == kind && strcmp(binds->items[i].path, path) == 0)
			return (ssize_t)i;
	return -1;
}

static void order_protections_come_last(void **state)
{
	struct jail *jail = *state;
	CLEANUP(binds) struct binds binds = { 0 };
	ssize_t home, workspace, inside, outside, view, root;

	assert_int_equal(mkdir(at(jail, "ws/.git"), 0755), 0);
	assert_int_equal(strv_add(&jail->sandbox.read_only_allow_paths, at(jail, "ws/.git")), 0);
	assert_int_equal(strv_add(&jail->sandbox.read_only_allow_paths, at(jail, "data")), 0);
	assert_int_equal(binds_build(&jail->spec, jail->home, &binds, NULL), 0);
	strv_release(&jail->sandbox.read_only_allow_paths);
	home = index_of(&binds, BIND_TMPFS, jail->home);
	outside = index_of(&binds, BIND_READ_ONLY, at(jail, "data"));
	workspace = index_of(&binds, BIND_READ_WRITE, jail->workspace);
	inside = index_of(&binds, BIND_READ_ONLY, at(jail, "ws/.git"));
	view = index_of(&binds, BIND_READ_ONLY, jail->view);
	root = index_of(&binds, BIND_SEAL, "/");
	assert_true(index_of(&binds, BIND_TMPFS, "/tmp") >= 0);
	assert_true(index_of(&binds, BIND_READ_ONLY, at(jail, "home/.gitconfig")) > home);
	assert_true(home >= 0 && outside > home && workspace > outside && inside > workspace &&
		    view > inside);
	assert_int_equal(root, binds.count - 1);
	for (size_t i = 0; i < binds.count; i++)
		assert_true(binds.items[i].kind != BIND_READ_WRITE || (ssize_t)i == workspace);
}

static void hidden_below_an_allowed_path_is_covered(void **state)
{
	struct jail *jail = *state;
	struct outcome outcome;
	char line[1024];

	assert_int_equal(mkdir(at(jail, "data/ctl"), 0755), 0);
	assert_int_equal(mkdir(at(jail, "data/raw"), 0755), 0);
	jail_write(at(jail, "data/ctl"), "exec", "x");
	jail_write(at(jail, "data/raw"), "SKILL.md", "x");
	jail_write(at(jail, "data"), "file", "seen\n");
	if (jail->support.tier == TIER_NONE)
		skip();
	assert_int_equal(strv_add(&jail->sandbox.read_only_allow_paths, at(jail, "data")), 0);
	jail->spec.hide = at(jail, "data/ctl");
	jail->spec.source = at(jail, "data/raw");
	(void)snprintf(line, sizeof(line), "cd %s && ls -A ctl raw && cat file; touch ctl/x raw/x",
		       at(jail, "data"));
	outcome = jail_run(jail, line);
	jail->spec.hide = jail->hide;
	jail->spec.source = NULL;
	strv_release(&jail->sandbox.read_only_allow_paths);
	assert_string_equal(outcome.out, "ctl:\n\nraw:\nseen\n");
	assert_int_equal(outcome.result.exit_code, 1);
}

static void allowed_path_is_read_only_inside(void **state)
{
	struct jail *jail = *state;
	struct outcome outcome;
	char line[1024];

	if (jail->support.tier == TIER_NONE)
		skip();
	assert_int_equal(strv_add(&jail->sandbox.read_only_allow_paths, at(jail, "data")), 0);
	assert_int_equal(strv_add(&jail->sandbox.read_only_allow_paths, at(jail, "ws/.git")), 0);
	(void)snprintf(line, sizeof(line), "cat %s/file; echo > %s/file; touch .git/x; mv .git g",
		       at(jail, "data"), at(jail, "data"));
	outcome = jail_run(jail, line);
	strv_release(&jail->sandbox.read_only_allow_paths);
	assert_string_equal(outcome.out, "seen\n");
	assert_non_null(strstr(outcome.err, "touch: cannot touch '.git/x': Read-only file system"));
	assert_non_null(strstr(outcome.err, "busy"));
}

static void home_that_cannot_be_covered_is_replaced(void **state)
{
	struct jail *jail = *state;
	static const char *const homes[] = { "/", "/usr/games", "/bin", "/dev", "relative", "/a/..", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		CLEANUP(free) char *home = NULL;
		struct outcome outcome;

		jail->spec.home = homes[i];
		assert_int_equal(binds_home(&jail->spec, &home), 0);
		assert_string_equal(home, "/home/skillfs");
		if (jail->support.tier != TIER_NONE) {
			outcome = jail_output(jail, "echo $HOME; touch ~/x");
			assert_string_equal(outcome.out, "/home/skillfs\n");
		}
		jail->spec.home = jail->home;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_plain_or_not),
		cmocka_unit_test(workspace_unsafe_is_refused),
		cmocka_unit_test(workspace_in_home_is_fine),
		cmocka_unit_test(workspace_symlink_is_refused),
		cmocka_unit_test(workspace_with_the_source_is_refused),
		cmocka_unit_test(workspace_home_through_a_link_is_refused),
		cmocka_unit_test(workspace_other_name_for_the_same_is_refused),
		cmocka_unit_test(allowed_paths_unsafe_are_refused),
		cmocka_unit_test(order_protections_come_last),
		cmocka_unit_test(hidden_below_an_allowed_path_is_covered),
		cmocka_unit_test(allowed_path_is_read_only_inside),
		cmocka_unit_test(home_that_cannot_be_covered_is_replaced),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
