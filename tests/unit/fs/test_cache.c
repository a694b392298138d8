// SPDX-License-Identifier: Apache-2.0
//
// Bodies: shared by content, let go in the order of use, and for the large ones sealed copies bounded in total.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/cache.h"
#include "fs/spool.h"
#include "sanitize/cleanup.h"

#define ROOM 4096

struct fixture {
	struct spool *spool;
	struct cache *cache;
};

static int set_up_with(void **state, int dir_fd)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(spool_new(ROOM, dir_fd, &fixture->spool), 0);
	assert_int_equal(cache_new(ROOM, fixture->spool, &fixture->cache), 0);
	*state = fixture;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, -1);
}

static int set_up_on_disk(void **state)
{
	return set_up_with(state, open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	cache_free(fixture->cache);
	assert_int_equal(spool_used(fixture->spool), 0);
	spool_free(fixture->spool);
	free(fixture);
	return 0;
}

// `len` times the letter, in memory.
static struct body *in_memory(char letter, size_t len)
{
	CLEANUP(buf) struct buf data = BUF_INIT;
	struct hashes hashes;
	struct body *body;

	for (size_t i = 0; i < len; i++)
		assert_int_equal(buf_append_byte(&data, (unsigned char)letter), 0);
	hash_bytes(data.data, data.len, &hashes);
	body = body_new(&data, &hashes.digest);
	assert_non_null(body);
	return body;
}

static int spool_it(struct fixture *fixture, char letter, size_t len, bool push, struct body **ret)
{
	CLEANUP(copy) struct copy copy = { .spool = NULL };
	char data[ROOM + 1];
	struct hashes hashes;
	int rc;

	memset(data, letter, sizeof(data));
	hash_bytes(data, len, &hashes);
	rc = copy_begin(fixture->spool, len, push, &copy);
	if (rc == 0)
		rc = copy_append(&copy, data, len);
	return rc < 0 ? rc : copy_finish(&copy, &hashes.digest, ret);
}

static int spooled(struct fixture *fixture, char letter, size_t len, struct body **ret)
{
	return spool_it(fixture, letter, len, true, ret);
}

static struct body *find(struct fixture *fixture, char letter, size_t len)
{
	char data[ROOM];
	struct hashes hashes;

	memset(data, letter, sizeof(data));
	hash_bytes(data, len, &hashes);
	return cache_find(fixture->cache, &hashes.digest, len);
}

static bool holds(struct fixture *fixture, char letter, size_t len)
{
	struct body *body = find(fixture, letter, len);

	body_unref(body);
	return body != NULL;
}

static void equal_content_is_one_body(void **state)
{
	struct fixture *fixture = *state;
	struct body *first = cache_add(fixture->cache, in_memory('a', 100));
	uint64_t bytes = cache_bytes(fixture->cache);
	struct body *second = cache_add(fixture->cache, in_memory('a', 100));

	assert_ptr_equal(first, second);
	assert_int_equal(cache_bytes(fixture->cache), bytes);
	assert_false(holds(fixture, 'a', 99));
	assert_false(holds(fixture, 'b', 100));
	body_unref(first);
	body_unref(second);
}

static void above_the_limit_the_one_used_longest_ago_goes(void **state)
{
	struct fixture *fixture = *state;
	struct body *first = cache_add(fixture->cache, in_memory('a', 1500));

	body_unref(cache_add(fixture->cache, in_memory('b', 1500)));
	assert_true(holds(fixture, 'a', 1500)); // now used after b
	body_unref(cache_add(fixture->cache, in_memory('c', 1500)));
	assert_true(holds(fixture, 'a', 1500));
	assert_false(holds(fixture, 'b', 1500));
	assert_true(holds(fixture, 'c', 1500));
	assert_true(cache_bytes(fixture->cache) <= ROOM);
	// One alone that is larger: a reader is at it. What others hold stays whole.
	body_unref(cache_add(fixture->cache, in_memory('d', 2 * ROOM)));
	assert_false(holds(fixture, 'a', 1500));
	assert_int_equal(first->size, 1500);
	assert_int_equal(first->data.data[1499], 'a');
	body_unref(first);
}

static void read_piece(const struct body *body, size_t offset, size_t len, const char *expected)
{
	char data[64];
	ssize_t got = body_read(body, data, len, offset, true);

	assert_int_equal(got, strlen(expected));
	assert_memory_equal(data, expected, strlen(expected));
}

static void copy_reads_as_it_was_written(void **state)
{
	struct fixture *fixture = *state;
	struct body *body = NULL;

	assert_int_equal(spooled(fixture, 'x', 10, &body), 0);
	assert_true(body->fd >= 0);
	read_piece(body, 0, 4, "xxxx");
	read_piece(body, 8, 4, "xx");
	read_piece(body, 10, 4, "");
	read_piece(body, 99, 4, "");
	body = cache_add(fixture->cache, body);
	assert_int_equal(spool_used(fixture->spool), 10);
	body_unref(body);
	assert_int_equal(spool_used(fixture->spool), 10); // the cache has it
	body = find(fixture, 'x', 10);
	assert_non_null(body);
	body_unref(body);
}

static void copy_in_memory_cannot_be_changed(void **state)
{
	struct fixture *fixture = *state;
	struct body *body = NULL;

	assert_int_equal(spooled(fixture, 'x', 10, &body), 0);
	assert_true(body->in_memory);
	assert_int_equal(pwrite(body->fd, "y", 1, 0), -1);
	assert_int_equal(ftruncate(body->fd, 0), -1);
	assert_ptr_equal(mmap(NULL, 10, PROT_WRITE, MAP_SHARED, body->fd, 0), MAP_FAILED);
	assert_int_equal(fcntl(body->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	body_unref(body);
}

static void copy_on_disk_has_no_name_and_is_the_owners(void **state)
{
	struct fixture *fixture = *state;
	struct body *small = NULL, *large = NULL;
	struct stat st;

	assert_int_equal(spooled(fixture, 's', ROOM / 4, &small), 0);
	assert_true(small->in_memory);
	assert_int_equal(spooled(fixture, 'l', ROOM / 2, &large), 0);
	assert_false(large->in_memory);
	assert_int_equal(fstat(large->fd, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	read_piece(large, ROOM / 2 - 2, 9, "ll");
	body_unref(small);
	body_unref(large);
}

static void full_spool_lets_go_of_the_oldest_and_then_refuses(void **state)
{
	struct fixture *fixture = *state;
	struct body *held, *body = NULL;

	assert_int_equal(spooled(fixture, 'z', ROOM + 1, &body), -EFBIG);
	for (char letter = 'a'; letter <= 'd'; letter++) {
		assert_int_equal(spooled(fixture, letter, ROOM / 4, &body), 0);
		body_unref(cache_add(fixture->cache, body));
	}
	assert_int_equal(spool_it(fixture, 'e', ROOM / 4, false, &body), -ENOSPC);
	assert_true(holds(fixture, 'a', ROOM / 4));
	assert_true(holds(fixture, 'b', ROOM / 4));                  // now used after c and d
	assert_int_equal(spooled(fixture, 'e', ROOM / 4, &body), 0); // waits for a while: all are in use
	assert_false(holds(fixture, 'c', ROOM / 4));
	assert_true(holds(fixture, 'b', ROOM / 4));
	body_unref(cache_add(fixture->cache, body));
	// What is being read takes room until the reader lets go.
	held = find(fixture, 'e', ROOM / 4);
	spool_end(fixture->spool);
	assert_int_equal(spooled(fixture, 'f', ROOM, &body), -ENOSPC);
	body_unref(held);
}

static void *let_go(void *context)
{
	(void)usleep(100000);
	body_unref(context);
	return NULL;
}

static void room_that_a_reader_takes_is_waited_for(void **state)
{
	struct fixture *fixture = *state;
	struct body *body = NULL, *held;
	pthread_t thread;

	assert_int_equal(spooled(fixture, 'e', ROOM / 4, &body), 0);
	held = cache_add(fixture->cache, body);
	assert_int_equal(pthread_create(&thread, NULL, let_go, held), 0);
	assert_int_equal(spooled(fixture, 'f', ROOM, &body), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	body_unref(body);
}

static void copy_that_grows_asks_for_more_room(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(copy) struct copy copy = { .spool = NULL };
	char data[ROOM] = "";

	assert_int_equal(copy_begin(fixture->spool, 10, true, &copy), 0);
	assert_int_equal(copy_append(&copy, data, 1000), 0);
	assert_int_equal(spool_used(fixture->spool), 1000);
	assert_int_equal(copy_append(&copy, data, ROOM), -EFBIG);
	copy_discard(&copy);
	assert_int_equal(spool_used(fixture->spool), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_content_is_one_body),
		TEST(above_the_limit_the_one_used_longest_ago_goes),
		TEST(copy_reads_as_it_was_written),
		TEST(copy_in_memory_cannot_be_changed),
		cmocka_unit_test_setup_teardown(copy_on_disk_has_no_name_and_is_the_owners, set_up_on_disk,
						tear_down),
		TEST(full_spool_lets_go_of_the_oldest_and_then_refuses),
		TEST(room_that_a_reader_takes_is_waited_for),
		TEST(copy_that_grows_asks_for_more_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
