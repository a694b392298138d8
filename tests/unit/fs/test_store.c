// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fs/store.h"
#include "sanitize/cleanup.h"

struct fixture {
	struct pool *pool;
	struct store *store;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct stat st = { .st_dev = 1, .st_ino = 1, .st_mode = S_IFDIR };

	assert_non_null(fixture);
	assert_int_equal(pool_new(&fixture->pool), 0);
	assert_int_equal(store_new(fixture->pool, &fixture->store), 0);
	assert_int_equal(store_root(fixture->store, STDIN_FILENO, &st), 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	pool_free(fixture->pool);
	store_free(fixture->store);
	free(fixture);
	return 0;
}

static struct identity identity(uint64_t ino, int64_t size)
{
	return (struct identity){ .dev = 1, .ino = ino, .size = size };
}

// Builds and publishes a file of that size.
static struct node *publish(struct store *store, uint64_t ino, uint64_t variant, int64_t size)
{
	struct identity id = identity(ino, size);
	struct stat st = { .st_dev = 1, .st_ino = ino, .st_size = id.size };
	struct snapshot *snapshot;
	struct node *node = NULL;

	assert_int_equal(store_claim(store, &id, variant, NULL, &node), STORE_CLAIMED);
	assert_int_equal(snapshot_build_hidden(ENTRY_FILE, &st, NULL, &snapshot), 0);
	snapshot->verdict = VERDICT_CLEAN;
	snapshot->cls = variant == 2 ? CLASS_CODE : CLASS_PROSE;
	assert_int_equal(store_publish(store, &id, variant, "f", snapshot, &node), 0);
	return node;
}

static void claim_of_a_known_file_hits_the_same_node(void **state)
{
	struct fixture *fixture = *state;
	struct identity id = identity(10, 3);
	struct node *node = publish(fixture->store, 10, 1, 3), *again = NULL;

	assert_int_equal(store_claim(fixture->store, &id, 1, NULL, &again), STORE_HIT);
	assert_ptr_equal(node, again);
	node_put(fixture->store, node);
	node_put(fixture->store, again);
}

static void changed_file_gets_a_new_node(void **state)
{
	struct fixture *fixture = *state;
	struct node *old = publish(fixture->store, 10, 1, 3);
	struct node *new = publish(fixture->store, 10, 1, 4);

	assert_int_not_equal(old->id, new->id);
	assert_int_equal(old->ino, new->ino);
	node_put(fixture->store, old);
	node_put(fixture->store, new);
}

static void other_class_of_one_inode_has_another_inode_number(void **state)
{
	struct fixture *fixture = *state;
	struct node *prose = publish(fixture->store, 10, 1, 3);
	struct node *code = publish(fixture->store, 10, 2, 3);

	assert_int_not_equal(prose->id, code->id);
	assert_int_not_equal(prose->ino, code->ino);
	node_put(fixture->store, prose);
	node_put(fixture->store, code);
}

static void inode_numbers_stay_below_2_to_the_53(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t inos[] = { 1, 0xffffffff, (uint64_t)1 << 51, (uint64_t)1 << 63, UINT64_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(inos); i++) {
		for (unsigned cls = 0; cls < 3; cls++) {
			struct identity id = identity(inos[i], 0);

			assert_true(store_ino(fixture->store, &id, cls) < (uint64_t)1 << 53);
			id.dev = 99;
			assert_true(store_ino(fixture->store, &id, cls) < (uint64_t)1 << 53);
		}
	}
}

static void forgotten_file_is_remembered_forgotten_link_is_not(void **state)
{
	struct fixture *fixture = *state;
	struct stat st = { .st_dev = 1, .st_ino = 20, .st_mode = S_IFLNK };
	struct identity id = identity(10, 3);
	struct node *node = publish(fixture->store, 10, 1, 3), *link = NULL;
	uint64_t file_id = node->id, link_id;

	assert_int_equal(store_link(fixture->store, &st, "l", "f", &link), 0);
	link_id = link->id;
	node_looked_up(fixture->store, node);
	node_looked_up(fixture->store, link);
	node_put(fixture->store, node);
	node_put(fixture->store, link);
	store_forget(fixture->store, file_id, 1);
	store_forget(fixture->store, link_id, 1);
	assert_null(store_get(fixture->store, link_id));
	assert_int_equal(store_claim(fixture->store, &id, 1, NULL, &node), STORE_HIT);
	assert_int_equal(node->id, file_id);
	node_put(fixture->store, node);
}

struct parked {
	struct task task;
	atomic_int runs;
};

static void run_parked(struct task *task)
{
	atomic_fetch_add(&((struct parked *)task)->runs, 1);
}

static void second_claim_parks_and_runs_after_publishing(void **state)
{
	struct fixture *fixture = *state;
	struct identity id = identity(10, 3);
	struct stat st = { .st_dev = 1, .st_ino = 10, .st_size = 3 };
	struct parked parked = { .task = { .run = run_parked } };
	struct snapshot *snapshot;
	struct node *node = NULL;

	assert_int_equal(store_claim(fixture->store, &id, 1, NULL, &node), STORE_CLAIMED);
	assert_int_equal(store_claim(fixture->store, &id, 1, NULL, &node), STORE_BUSY);
	assert_int_equal(store_claim(fixture->store, &id, 1, &parked.task, &node), STORE_PARKED);
	assert_int_equal(snapshot_build_hidden(ENTRY_FILE, &st, NULL, &snapshot), 0);
	assert_int_equal(store_publish(fixture->store, &id, 1, "f", snapshot, &node), 0);
	node_put(fixture->store, node);
	assert_int_equal(atomic_load(&parked.runs), 0);
	assert_int_equal(pool_start(fixture->pool, 1), 0);
	pool_free(fixture->pool); // runs what is queued
	assert_int_equal(atomic_load(&parked.runs), 1);
	assert_int_equal(pool_new(&fixture->pool), 0);
}

static void building_a_body_again_is_claimed_once(void **state)
{
	struct fixture *fixture = *state;
	struct node *node = publish(fixture->store, 10, 1, 3);
	struct parked parked = { .task = { .run = run_parked } };

	assert_int_equal(store_claim_again(fixture->store, node, NULL), STORE_CLAIMED);
	assert_int_equal(store_claim_again(fixture->store, node, NULL), STORE_BUSY);
	assert_int_equal(store_claim_again(fixture->store, node, &parked.task), STORE_PARKED);
	store_abandon(fixture->store, node_identity(node), node->variant);
	assert_int_equal(store_claim_again(fixture->store, node, NULL), STORE_CLAIMED);
	store_abandon(fixture->store, node_identity(node), node->variant);
	assert_int_equal(pool_start(fixture->pool, 1), 0);
	pool_free(fixture->pool);
	assert_int_equal(atomic_load(&parked.runs), 1);
	assert_int_equal(pool_new(&fixture->pool), 0);
	node_put(fixture->store, node);
}

static void thousands_of_nodes_are_found_by_id_and_identity(void **state)
{
	struct fixture *fixture = *state;
	uint64_t ids[9000];

	for (uint64_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct node *node = publish(fixture->store, 100 + i, 1, 1);

		ids[i] = node->id;
		node_put(fixture->store, node);
	}
	for (uint64_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct node *node = store_get(fixture->store, ids[i]);

		assert_non_null(node);
		assert_int_equal(node_identity(node)->ino, 100 + i);
		node_put(fixture->store, node);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(claim_of_a_known_file_hits_the_same_node),
		TEST(changed_file_gets_a_new_node),
		TEST(other_class_of_one_inode_has_another_inode_number),
		TEST(inode_numbers_stay_below_2_to_the_53),
		TEST(forgotten_file_is_remembered_forgotten_link_is_not),
		TEST(building_a_body_again_is_claimed_once),
		TEST(second_claim_parks_and_runs_after_publishing),
		TEST(thousands_of_nodes_are_found_by_id_and_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
