// SPDX-License-Identifier: Apache-2.0
//
// From a file to its snapshot and its body: where bodies lie, and what becomes of those for which there is no room.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/snapshot.h"
#include "fs/spool.h"
#include "sanitize/cleanup.h"

#define FOLDER "/tmp/skillfs-test.XXXXXX"
#define MIB    ((size_t)1 << 20)

struct fixture {
	char folder[sizeof(FOLDER)];
	int dir_fd;
	struct config *config;
	struct scanner *scanner;
	struct snapshot_context context;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct error error = { "" };

	assert_non_null(fixture);
	memcpy(fixture->folder, FOLDER, sizeof(FOLDER));
	assert_non_null(mkdtemp(fixture->folder));
	fixture->dir_fd = open(fixture->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(config_default(&fixture->config), 0);
	assert_int_equal(scanner_new(NULL, 0, &fixture->scanner, &error), 0);
	fixture->context = (struct snapshot_context){ .scanner = fixture->scanner,
						      .config = fixture->config,
						      .agent = &fixture->config->agents[0] };
	assert_int_equal(spool_new(fixture->config->mount.spool_size, -1, &fixture->context.spool), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	(void)unlinkat(fixture->dir_fd, "file", 0);
	(void)unlinkat(fixture->dir_fd, "file.json", 0);
	(void)close(fixture->dir_fd);
	(void)rmdir(fixture->folder);
	assert_int_equal(spool_used(fixture->context.spool), 0);
	spool_free(fixture->context.spool);
	scanner_free(fixture->scanner);
	config_free(fixture->config);
	free(fixture);
	return 0;
}

// `size` bytes of the text, again and again.
static void make(struct fixture *fixture, const char *name, size_t size, const char *text, size_t len)
{
	FILE *file =
		fdopen(openat(fixture->dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), "w");

	assert_non_null(file);
	for (size_t at = 0; at < size; at += len)
		assert_int_equal(fwrite(text, 1, len < size - at ? len : size - at, file),
				 len < size - at ? len : size - at);
	assert_int_equal(fclose(file), 0);
}

static struct snapshot *build(struct fixture *fixture, const char *name, struct body_request *body)
{
	struct snapshot *snapshot;

	assert_int_equal(snapshot_build(&fixture->context, fixture->dir_fd, name, name, &snapshot, body), 0);
	return snapshot;
}

#define TEXT   "{\"key\": \"words and more words\"},\n"
#define BINARY "\0\1\2\3words\xff\xfe\r"
#define HIDDEN "x\xe2\x80\x8by\n" // an invisible character, which is taken out

static void bodies_lie_where_their_size_says(void **state)
{
	static const struct {
		const char *name, *text;
		size_t len, size, served;
		bool spooled;
	} files[] = {
		{ "file.json", TEXT, sizeof(TEXT) - 1, 1000, 1000, false },
		{ "file.json", TEXT, sizeof(TEXT) - 1, MIB, MIB, false },
		{ "file.json", TEXT, sizeof(TEXT) - 1, MIB + 1, MIB + 1, true },
		{ "file.json", TEXT, sizeof(TEXT) - 1, 9 * MIB, 9 * MIB, true }, // comes in pieces
		{ "file.json", HIDDEN, sizeof(HIDDEN) - 1, 9 * MIB, 9 * MIB / 6 * 3, true },
		{ "file", BINARY, sizeof(BINARY) - 1, 2 * MIB, 2 * MIB, true },
		{ "file", BINARY, sizeof(BINARY) - 1, 9 * MIB, 9 * MIB, true },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct body_request body = { .wanted = BODY_WANTED };
		CLEANUP(snapshot) struct snapshot *snapshot = NULL;
		struct hashes hashes;
		CLEANUP(free) char *data = malloc(files[i].served + 1);

		make(fixture, files[i].name, files[i].size, files[i].text, files[i].len);
		snapshot = build(fixture, files[i].name, &body);
		assert_false(verdict_hides(snapshot->verdict));
		assert_int_equal(body.error, 0);
		assert_non_null(body.body);
		assert_int_equal(body.body->size, snapshot->size);
		assert_int_equal(snapshot->size, files[i].served);
		assert_int_equal(body.body->fd >= 0, files[i].spooled);
		// Not a byte more than it takes.
		assert_int_equal(spool_used(fixture->context.spool), files[i].spooled ? files[i].served : 0);
		assert_int_equal(body_read(body.body, data, files[i].served + 1, 0, true), files[i].served);
		hash_bytes(data, files[i].served, &hashes);
		assert_true(digest_equal(&hashes.digest, &snapshot->hashes.digest));
		body_unref(body.body);
		assert_int_equal(spool_used(fixture->context.spool), 0);
		assert_int_equal(unlinkat(fixture->dir_fd, files[i].name, 0), 0);
	}
}

static void larger_than_the_spool_is_hidden(void **state)
{
	struct fixture *fixture = *state;
	struct body_request body = { .wanted = BODY_WANTED };
	CLEANUP(snapshot) struct snapshot *snapshot = NULL, *unread = NULL;

	fixture->config->mount.spool_size = 2 * MIB;
	make(fixture, "file", 2 * MIB + 1, BINARY, sizeof(BINARY) - 1);
	snapshot = build(fixture, "file", &body);
	unread = build(fixture, "file", NULL);
	assert_int_equal(snapshot->verdict, VERDICT_ERROR);
	assert_int_equal(unread->verdict, VERDICT_ERROR);
	assert_null(body.body);
	assert_string_equal(notices_find(snapshot_notices(snapshot), NOTICE_FS_TOO_LARGE)->detail,
			    "2097153 bytes; mount.spoolSize is 2097152");
}

static void without_room_there_is_a_snapshot_and_no_body(void **state)
{
	struct fixture *fixture = *state;
	struct body_request first = { .wanted = BODY_WANTED }, second = { .wanted = BODY_IF_ROOM };
	CLEANUP(snapshot) struct snapshot *one = NULL, *two = NULL;

	spool_free(fixture->context.spool);
	assert_int_equal(spool_new(3 * MIB, -1, &fixture->context.spool), 0);
	make(fixture, "file", 2 * MIB, BINARY, sizeof(BINARY) - 1);
	one = build(fixture, "file", &first);
	assert_non_null(first.body);
	two = build(fixture, "file", &second);
	assert_int_equal(two->verdict, VERDICT_CLEAN);
	assert_int_equal(two->size, 2 * MIB);
	assert_null(second.body);
	assert_int_equal(second.error, -ENOSPC);
	assert_true(digest_equal(&one->hashes.digest, &two->hashes.digest));
	body_unref(first.body);
}

static void file_that_cannot_be_read_may_be_read_later(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(snapshot) struct snapshot *large = NULL, *gone = NULL;

	fixture->config->mount.max_file_size = 10;
	make(fixture, "file", 100, TEXT, sizeof(TEXT) - 1);
	large = build(fixture, "file", NULL);
	gone = build(fixture, "none", NULL);
	assert_int_equal(large->verdict, VERDICT_ERROR);
	assert_false(large->passing);
	assert_int_equal(gone->verdict, VERDICT_ERROR);
	assert_true(gone->passing);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bodies_lie_where_their_size_says),
		TEST(larger_than_the_spool_is_hidden),
		TEST(without_room_there_is_a_snapshot_and_no_body),
		TEST(file_that_cannot_be_read_may_be_read_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
