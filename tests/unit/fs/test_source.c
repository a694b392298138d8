// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/source.h"
#include "sanitize/cleanup.h"

struct tree {
	char path[64];
	struct source *source;
};

static void make_file(const struct tree *tree, const char *name)
{
	CLEANUP(free) char *path = NULL;
	int fd;

	assert_true(asprintf(&path, "%s/root/%s", tree->path, name) > 0);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void make_directory(const struct tree *tree, const char *name)
{
	CLEANUP(free) char *path = NULL;

	assert_true(asprintf(&path, "%s/root/%s", tree->path, name) > 0);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void make_link(const struct tree *tree, const char *target, const char *name)
{
	CLEANUP(free) char *path = NULL;

	assert_true(asprintf(&path, "%s/root/%s", tree->path, name) > 0);
	assert_int_equal(symlink(target, path), 0);
}

static int setup(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	struct error error = { "" };
	char root[96];

	assert_non_null(tree);
	(void)snprintf(tree->path, sizeof(tree->path), "/tmp/skillfs-test-XXXXXX");
	assert_non_null(mkdtemp(tree->path));
	(void)snprintf(root, sizeof(root), "%s/root", tree->path);
	assert_int_equal(mkdir(root, 0755), 0);
	// Without a source there is no teardown.
	if (source_open(root, &tree->source, &error) < 0) {
		(void)rmdir(root);
		(void)rmdir(tree->path);
		free(tree);
		fail_msg("%s", error.message);
	}
	make_directory(tree, "a");
	make_directory(tree, "a/b");
	make_file(tree, "a/b/file");
	make_file(tree, "top");
	*state = tree;
	return 0;
}

static void remove_below(int dir_fd)
{
	CLEANUP(buf) struct buf names = BUF_INIT;
	size_t count = 0;
	const char *name;

	if (source_list(dir_fd, &names, &count) < 0)
		return;
	name = names.data;
	for (size_t i = 0; i < count; i++, name += strlen(name) + 1) {
		CLEANUP(fd) int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0)
			remove_below(fd);
		(void)unlinkat(dir_fd, name, fd >= 0 ? AT_REMOVEDIR : 0);
	}
}

static int teardown(void **state)
{
	struct tree *tree = *state;
	int fd = open(tree->path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	source_close(tree->source);
	remove_below(fd);
	(void)close(fd);
	(void)rmdir(tree->path);
	free(tree);
	return 0;
}

// Looks at `name` in the directory `dir`; `target` is what must be shown, NULL for don't care.
static void expect(const struct tree *tree, const char *dir, const char *name, enum entry_kind kind,
		   const char *target)
{
	CLEANUP(fd)
	int fd = dir[0] == '\0' ? dup(tree->source->root_fd)
				: source_open_directory(tree->source->root_fd, dir);
	const struct place place = { .fd = fd, .path = dir };
	CLEANUP(found) struct found found = FOUND_INIT;

	assert_true(fd >= 0);
	assert_int_equal(source_examine(tree->source, &place, name, &found), 0);
	if (found.kind != kind)
		print_error("%s/%s: kind %d, expected %d\n", dir, name, (int)found.kind, (int)kind);
	assert_int_equal(found.kind, kind);
	if (target != NULL)
		assert_string_equal(found.target, target);
}

static void examine_plain_entries_gives_their_kind(void **state)
{
	const struct tree *tree = *state;

	expect(tree, "", "a", ENTRY_DIRECTORY, NULL);
	expect(tree, "", "top", ENTRY_FILE, NULL);
	expect(tree, "", "none", ENTRY_MISSING, NULL);
	expect(tree, "", ".", ENTRY_MISSING, NULL);
	expect(tree, "", "..", ENTRY_MISSING, NULL);
	expect(tree, "", "a/b", ENTRY_MISSING, NULL);
}

static void examine_special_files_are_special(void **state)
{
	const struct tree *tree = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	CLEANUP(free) char *path = NULL;
	int fd;

	assert_true(asprintf(&path, "%s/root/fifo", tree->path) > 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	expect(tree, "", "fifo", ENTRY_SPECIAL, NULL);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/root/sock", tree->path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	expect(tree, "", "sock", ENTRY_SPECIAL, NULL);
	(void)close(fd);
}

static void examine_reserved_name_is_reserved_at_any_depth(void **state)
{
	const struct tree *tree = *state;

	make_directory(tree, ".skillfs");
	make_file(tree, "a/.skillfs");
	expect(tree, "", ".skillfs", ENTRY_RESERVED, NULL);
	expect(tree, "a", ".skillfs", ENTRY_RESERVED, NULL);
	make_link(tree, ".skillfs/exec", "door");
	make_link(tree, "../.skillfs", "a/door");
	expect(tree, "", "door", ENTRY_ESCAPE, NULL);
	expect(tree, "a", "door", ENTRY_ESCAPE, NULL);
}

// The source need not have the name: the mount has it, and it leads to where commands are run.
static void examine_link_to_the_control_link_is_an_escape(void **state)
{
	const struct tree *tree = *state;

	make_link(tree, ".skillfs/exec", "door");
	make_link(tree, "././/.skillfs/", "dots");
	make_link(tree, "a/b/../../.skillfs/jobs", "round");
	make_link(tree, "../.skillfs", "a/door");
	make_link(tree, "a/door/exec", "chain");
	expect(tree, "", "door", ENTRY_ESCAPE, NULL);
	expect(tree, "", "dots", ENTRY_ESCAPE, NULL);
	expect(tree, "", "round", ENTRY_ESCAPE, NULL);
	expect(tree, "a", "door", ENTRY_ESCAPE, NULL);
	expect(tree, "", "chain", ENTRY_ESCAPE, NULL);
}

static void examine_links_beneath_the_root_are_shown(void **state)
{
	const struct tree *tree = *state;

	make_link(tree, "a/b/file", "l1");
	make_link(tree, "../top", "a/l2");
	make_link(tree, "../../a/./b/../b/file", "a/b/l3");
	make_link(tree, "nowhere", "dangling");
	make_link(tree, "loop2", "loop1");
	make_link(tree, "loop1", "loop2");
	make_link(tree, "a", "dir");
	expect(tree, "", "l1", ENTRY_LINK, "a/b/file");
	expect(tree, "a", "l2", ENTRY_LINK, "../top");
	expect(tree, "a/b", "l3", ENTRY_LINK, "../../a/./b/../b/file");
	expect(tree, "", "dangling", ENTRY_LINK, "nowhere");
	expect(tree, "", "loop1", ENTRY_LINK, "loop2");
	expect(tree, "", "dir", ENTRY_LINK, "a");
}

static void examine_absolute_links_beneath_the_root_become_relative(void **state)
{
	const struct tree *tree = *state;
	CLEANUP(free) char *file = NULL;
	CLEANUP(free) char *beside = NULL;

	assert_true(asprintf(&file, "%s/a/b/file", tree->source->path) > 0);
	assert_true(asprintf(&beside, "%sx", tree->source->path) > 0);
	make_link(tree, file, "abs");
	make_link(tree, file, "a/b/abs");
	make_link(tree, tree->source->path, "a/root");
	make_link(tree, beside, "beside");
	make_link(tree, "/etc/passwd", "passwd");
	expect(tree, "", "abs", ENTRY_LINK, "a/b/file");
	expect(tree, "a/b", "abs", ENTRY_LINK, "../../a/b/file");
	expect(tree, "a", "root", ENTRY_LINK, "../");
	expect(tree, "", "beside", ENTRY_ESCAPE, NULL);
	expect(tree, "", "passwd", ENTRY_ESCAPE, "/etc/passwd");
}

static void examine_links_that_leave_are_escapes(void **state)
{
	const struct tree *tree = *state;

	make_link(tree, "..", "up");
	make_link(tree, "../..", "a/up");
	make_link(tree, "../root/top", "out-and-in");
	make_link(tree, "nowhere/../../etc", "dangling-out");
	// Harmless as text, not as the kernel walks it: `a/b/here` is the root.
	make_link(tree, "../..", "a/b/here");
	make_link(tree, "a/b/here/../outside", "through");
	make_link(tree, "up", "chain");
	make_link(tree, "/proc/self/root/etc", "magic");
	expect(tree, "", "up", ENTRY_ESCAPE, NULL);
	expect(tree, "a", "up", ENTRY_ESCAPE, NULL);
	expect(tree, "", "out-and-in", ENTRY_ESCAPE, NULL);
	expect(tree, "", "dangling-out", ENTRY_ESCAPE, NULL);
	expect(tree, "a/b", "here", ENTRY_LINK, "../..");
	expect(tree, "", "through", ENTRY_ESCAPE, NULL);
	expect(tree, "", "chain", ENTRY_ESCAPE, NULL);
	expect(tree, "", "magic", ENTRY_ESCAPE, NULL);
}

static void open_never_follows_links(void **state)
{
	const struct tree *tree = *state;

	make_link(tree, "top", "l");
	make_link(tree, "a", "d");
	assert_int_equal(source_open_file(tree->source->root_fd, "l"), -ELOOP);
	assert_true(source_open_directory(tree->source->root_fd, "d") < 0);
	assert_true(source_open_file(tree->source->root_fd, "d/b/file") < 0);
	assert_true(source_open_file(tree->source->root_fd, "../root/top") < 0);
}

struct seen {
	struct buf paths;
};

static int note(const struct source_entry *entry, void *context)
{
	struct seen *seen = context;

	return buf_printf(&seen->paths, "%s\n", entry->path);
}

static void walk_visits_everything_sorted(void **state)
{
	const struct tree *tree = *state;
	struct seen seen = { BUF_INIT };

	make_link(tree, "/etc", "zz");
	make_file(tree, "B");
	assert_int_equal(source_walk(tree->source, note, &seen), 0);
	assert_string_equal(seen.paths.data, "B\na\na/b\na/b/file\ntop\nzz\n");
	buf_release(&seen.paths);
}

static void count_directories_leaves_out_files_and_reserved(void **state)
{
	const struct tree *tree = *state;
	const struct place root = { .fd = tree->source->root_fd, .path = "" };
	size_t count = 99;

	make_directory(tree, "c");
	make_directory(tree, ".skillfs");
	make_link(tree, "c", "l");
	assert_int_equal(source_count_directories(tree->source, &root, &count), 0);
	assert_int_equal(count, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(examine_plain_entries_gives_their_kind),
		TEST(examine_special_files_are_special),
		TEST(examine_reserved_name_is_reserved_at_any_depth),
		TEST(examine_link_to_the_control_link_is_an_escape),
		TEST(examine_links_beneath_the_root_are_shown),
		TEST(examine_absolute_links_beneath_the_root_become_relative),
		TEST(examine_links_that_leave_are_escapes),
		TEST(open_never_follows_links),
		TEST(walk_visits_everything_sorted),
		TEST(count_directories_leaves_out_files_and_reserved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
