// SPDX-License-Identifier: Apache-2.0
#include "fs/store.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "fs/claims.h"
#include "fs/hash.h"
#include "sanitize/cleanup.h"

#define IDLE_MAX 262144 // files that nobody looks at and that are still remembered
#define INO_BITS 53     // JavaScript holds no larger integer exactly

struct store {
	struct pool *pool;
	pthread_mutex_t lock; // all below
	struct node **by_id, **by_identity;
	size_t slot_count; // of both tables; a power of two
	size_t node_count;
	uint64_t next_id;
	uint64_t secret;
	dev_t root_dev; // set once by store_root()
	struct claims claims;
	struct node *idle_oldest, *idle_newest;
	size_t idle_count;
};

int store_new(struct pool *pool, struct store **ret)
{
	struct store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return -ENOMEM;
	store->slot_count = 4096;
	store->by_id = calloc(store->slot_count, sizeof(struct node *));
	store->by_identity = calloc(store->slot_count, sizeof(struct node *));
	if (store->by_id == NULL || store->by_identity == NULL ||
	    getrandom(&store->secret, sizeof(store->secret), 0) < 0) {
		free(store->by_id);
		free(store->by_identity);
		free(store);
		return -ENOMEM;
	}
	store->pool = pool;
	store->next_id = NODE_FIRST;
	pthread_mutex_init(&store->lock, NULL);
	*ret = store;
	return 0;
}

// What must be equal for a node to be found again: a directory is its inode, all else is one exact version.
static uint64_t identity_key(const struct store *store, enum node_kind kind, const struct identity *identity,
			     uint64_t variant)
{
	uint64_t fields[7] = { (uint64_t)kind, identity->dev, identity->ino, variant };

	if (kind != NODE_DIRECTORY) {
		fields[4] = (uint64_t)identity->size;
		fields[5] = (uint64_t)identity->mtime.tv_sec ^ ((uint64_t)identity->mtime.tv_nsec << 32);
		fields[6] = (uint64_t)identity->ctime.tv_sec ^ ((uint64_t)identity->ctime.tv_nsec << 32);
	}
	return hash_key(fields, sizeof(fields), store->secret);
}

const struct identity *node_identity(const struct node *node)
{
	switch ((enum node_kind)node->kind) {
	case NODE_DIRECTORY:
		return &node->directory->identity;
	case NODE_FILE:
		return &node->snapshot->identity;
	case NODE_LINK:
		break;
	}
	return &node->link->identity;
}

static bool same(const struct node *node, enum node_kind kind, const struct identity *identity,
		 uint64_t variant)
{
	const struct identity *its;

	if (node->kind != kind || node->variant != variant)
		return false;
	its = node_identity(node);
	return kind == NODE_DIRECTORY ? its->dev == identity->dev && its->ino == identity->ino
				      : identity_equal(its, identity);
}

static size_t id_slot(const struct store *store, uint64_t id)
{
	return (size_t)(id & (store->slot_count - 1));
}

static size_t identity_slot(const struct store *store, const struct node *node)
{
	return (size_t)(identity_key(store, node->kind, node_identity(node), node->variant) &
			(store->slot_count - 1));
}

static struct node *find(struct store *store, enum node_kind kind, const struct identity *identity,
			 uint64_t variant)
{
	size_t slot = (size_t)(identity_key(store, kind, identity, variant) & (store->slot_count - 1));
	struct node *node = store->by_identity[slot];

	while (node != NULL && !same(node, kind, identity, variant))
		node = node->identity_next;
	return node;
}

static void grow(struct store *store)
{
	size_t old_count = store->slot_count;
	struct node **by_id = calloc(old_count * 2, sizeof(struct node *));
	struct node **by_identity = calloc(old_count * 2, sizeof(struct node *));
	struct node **old = store->by_id;

	if (by_id == NULL || by_identity == NULL) {
		free(by_id);
		free(by_identity);
		return; // longer chains, nothing lost
	}
	store->slot_count = old_count * 2;
	for (size_t i = 0; i < old_count; i++) {
		struct node *next;

		for (struct node *node = old[i]; node != NULL; node = next) {
			size_t id = id_slot(store, node->id);
			size_t identity = identity_slot(store, node);

			next = node->id_next;
			node->id_next = by_id[id];
			by_id[id] = node;
			node->identity_next = by_identity[identity];
			by_identity[identity] = node;
		}
	}
	free(store->by_id);
	free(store->by_identity);
	store->by_id = by_id;
	store->by_identity = by_identity;
}

static void idle_remove(struct store *store, struct node *node)
{
	*(node->idle_prev != NULL ? &node->idle_prev->idle_next : &store->idle_oldest) = node->idle_next;
	*(node->idle_next != NULL ? &node->idle_next->idle_prev : &store->idle_newest) = node->idle_prev;
	node->idle_prev = node->idle_next = NULL;
	store->idle_count--;
	node->idle = false;
}

static void unlink_from(struct node **slot, const struct node *node, bool by_id)
{
	while (*slot != node)
		slot = by_id ? &(*slot)->id_next : &(*slot)->identity_next;
	*slot = by_id ? node->id_next : node->identity_next;
}

// One that is in no table.
static void node_destroy(struct node *node)
{
	switch ((enum node_kind)node->kind) {
	case NODE_DIRECTORY:
		listing_unref(node->directory->listing);
		if (node->directory->fd >= 0)
			(void)close(node->directory->fd);
		follow_unref(node->directory->follow);
		free(node->directory);
		break;
	case NODE_FILE:
		snapshot_unref(node->snapshot);
		break;
	case NODE_LINK:
		free(node->link->target);
		free(node->link);
		break;
	}
	free(node->path);
	free(node);
}

static void node_free(struct store *store, struct node *node)
{
	if (node->idle)
		idle_remove(store, node);
	unlink_from(&store->by_id[id_slot(store, node->id)], node, true);
	unlink_from(&store->by_identity[identity_slot(store, node)], node, false);
	store->node_count--;
	node_destroy(node);
}

// Nobody holds the node any more: files are remembered for a while, so that a scan is not done twice.
static void node_release(struct store *store, struct node *node)
{
	if (node->lookups > 0 || node->refs > 0 || node->id == NODE_ROOT)
		return;
	if (node->kind != NODE_FILE) {
		node_free(store, node);
		return;
	}
	if (!node->idle) {
		node->idle = true;
		node->idle_prev = store->idle_newest;
		node->idle_next = NULL;
		*(store->idle_newest != NULL ? &store->idle_newest->idle_next : &store->idle_oldest) = node;
		store->idle_newest = node;
		store->idle_count++;
	}
	while (store->idle_count > IDLE_MAX)
		node_free(store, store->idle_oldest);
}

static void node_hold(struct store *store, struct node *node)
{
	if (node->idle)
		idle_remove(store, node);
	node->refs++;
}

void store_free(struct store *store)
{
	if (store == NULL)
		return;
	for (size_t i = 0; i < store->slot_count; i++)
		while (store->by_id[i] != NULL)
			node_free(store, store->by_id[i]);
	free(store->by_id);
	free(store->by_identity);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

// Below 2^53, the same for the same file at each mount, and different for each class of one file. An inode number
// that does not leave room for the class is hashed into the upper quarter.
uint64_t store_ino(struct store *store, const struct identity *identity, unsigned cls)
{
	const uint64_t room = (uint64_t)1 << (INO_BITS - 2);
	uint64_t fields[3] = { identity->dev, identity->ino, cls };

	if (identity->dev == (uint64_t)store->root_dev && identity->ino < room)
		return identity->ino | (uint64_t)cls * room;
	return 3 * room | (hash_key(fields, sizeof(fields), store->secret) & (room - 1));
}

uint64_t store_directory_ino(struct store *store, const struct identity *identity,
			     const struct follow *follow)
{
	const uint64_t room = (uint64_t)1 << (INO_BITS - 2);
	uint64_t fields[3] = { identity->dev, identity->ino, follow == NULL ? 0 : follow->key };

	if (follow == NULL)
		return store_ino(store, identity, 0);
	return 3 * room | (hash_key(fields, sizeof(fields), store->secret) & (room - 1));
}

static struct node *node_new(enum node_kind kind, uint64_t variant, const char *path)
{
	struct node *node = calloc(1, sizeof(*node));

	if (node == NULL)
		return NULL;
	node->kind = (uint8_t)kind;
	node->variant = variant;
	node->path = strdup(path);
	if (node->path == NULL) {
		free(node);
		return NULL;
	}
	return node;
}

// Takes `fd` over, also when it fails.
static struct node *directory_new(struct store *store, int fd, const struct stat *st, const char *path,
				  struct follow *follow)
{
	struct node_directory *directory = calloc(1, sizeof(*directory));
	uint64_t variant = follow == NULL ? 0 : follow->key;
	struct node *node = directory == NULL ? NULL : node_new(NODE_DIRECTORY, variant, path);

	if (node == NULL) {
		free(directory);
		(void)close(fd);
		return NULL;
	}
	directory->fd = fd;
	directory->identity = identity_of(st);
	node->directory = directory;
	directory->follow = follow_ref(follow);
	node->ino = store_directory_ino(store, &directory->identity, follow);
	return node;
}

static void node_insert(struct store *store, struct node *node, uint64_t id)
{
	size_t slot;

	if (store->node_count >= store->slot_count)
		grow(store);
	node->id = id;
	slot = id_slot(store, id);
	node->id_next = store->by_id[slot];
	store->by_id[slot] = node;
	slot = identity_slot(store, node);
	node->identity_next = store->by_identity[slot];
	store->by_identity[slot] = node;
	store->node_count++;
}

struct node *store_get(struct store *store, uint64_t id)
{
	struct node *node;

	pthread_mutex_lock(&store->lock);
	node = store->by_id[id_slot(store, id)];
	while (node != NULL && node->id != id)
		node = node->id_next;
	if (node != NULL)
		node_hold(store, node);
	pthread_mutex_unlock(&store->lock);
	return node;
}

void node_put(struct store *store, struct node *node)
{
	if (node == NULL)
		return;
	pthread_mutex_lock(&store->lock);
	node->refs--;
	node_release(store, node);
	pthread_mutex_unlock(&store->lock);
}

void node_looked_up(struct store *store, struct node *node)
{
	pthread_mutex_lock(&store->lock);
	node->lookups++;
	pthread_mutex_unlock(&store->lock);
}

void store_forget(struct store *store, uint64_t id, uint64_t lookups)
{
	struct node *node = store_get(store, id);

	if (node == NULL)
		return;
	pthread_mutex_lock(&store->lock);
	node->lookups -= lookups < node->lookups ? lookups : node->lookups;
	node->refs--;
	node_release(store, node);
	pthread_mutex_unlock(&store->lock);
}

char *node_path(struct store *store, const struct node *node)
{
	char *path;

	pthread_mutex_lock(&store->lock);
	path = strdup(node->path);
	pthread_mutex_unlock(&store->lock);
	return path;
}

bool node_moved(struct store *store, struct node *node, const char *path)
{
	char *copy;

	pthread_mutex_lock(&store->lock);
	if (strcmp(node->path, path) == 0) {
		pthread_mutex_unlock(&store->lock);
		return false;
	}
	copy = strdup(path);
	if (copy != NULL) {
		free(node->path);
		node->path = copy;
	}
	pthread_mutex_unlock(&store->lock);
	return true;
}

int store_root(struct store *store, int fd, const struct stat *st)
{
	int copy = dup(fd);
	struct node *node;

	if (copy < 0)
		return -errno;
	store->root_dev = st->st_dev;
	node = directory_new(store, copy, st, "", NULL);
	if (node == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&store->lock);
	node_insert(store, node, NODE_ROOT);
	pthread_mutex_unlock(&store->lock);
	return 0;
}

// Found by identity, else `fresh` is put in; the one that is not needed is freed. With a reference.
static struct node *find_or_insert(struct store *store, struct node *fresh)
{
	struct node *node;

	pthread_mutex_lock(&store->lock);
	node = find(store, fresh->kind, node_identity(fresh), fresh->variant);
	if (node == NULL) {
		node = fresh;
		node_insert(store, node, store->next_id++);
		fresh = NULL;
	}
	node_hold(store, node);
	pthread_mutex_unlock(&store->lock);
	if (fresh != NULL)
		node_destroy(fresh);
	return node;
}

int store_directory(struct store *store, int fd, const struct stat *st, const char *path,
		    struct follow *follow, struct node **ret)
{
	struct node *node = directory_new(store, fd, st, path, follow);

	if (node == NULL)
		return -ENOMEM;
	*ret = find_or_insert(store, node);
	return 0;
}

int store_link(struct store *store, const struct stat *st, const char *path, const char *target,
	       struct node **ret)
{
	struct node_link *link = calloc(1, sizeof(*link));
	// An absolute target is shown differently at each depth, so the text shown is part of the key.
	struct node *node =
		link == NULL ? NULL
			     : node_new(NODE_LINK, hash_key(target, strlen(target), store->secret), path);

	if (node != NULL) {
		node->link = link;
		link->identity = identity_of(st);
		link->st = *st;
		link->target = strdup(target);
		if (link->target != NULL) {
			node->ino = store_ino(store, &link->identity, 0);
			*ret = find_or_insert(store, node);
			return 0;
		}
		node_destroy(node);
		return -ENOMEM;
	}
	free(link);
	return -ENOMEM;
}

int store_claim(struct store *store, const struct identity *identity, uint64_t variant, struct task *task,
		struct node **ret)
{
	struct node *node;
	int rc = STORE_HIT;

	pthread_mutex_lock(&store->lock);
	node = find(store, NODE_FILE, identity, variant);
	if (node != NULL) {
		node_hold(store, node);
		*ret = node;
	} else {
		rc = claims_add(&store->claims, identity, variant, task);
	}
	pthread_mutex_unlock(&store->lock);
	return rc;
}

int store_claim_again(struct store *store, const struct node *node, struct task *task)
{
	int rc;

	pthread_mutex_lock(&store->lock);
	rc = claims_add(&store->claims, node_identity(node), node->variant, task);
	pthread_mutex_unlock(&store->lock);
	return rc;
}

void store_abandon(struct store *store, const struct identity *claimed, uint64_t variant)
{
	struct task *task;

	pthread_mutex_lock(&store->lock);
	task = claims_end(&store->claims, claimed, variant);
	pthread_mutex_unlock(&store->lock);
	while (task != NULL) {
		struct task *next = task->next;

		task->heavy = false; // what took long is done
		pool_queue(store->pool, task);
		task = next;
	}
}

int store_publish(struct store *store, const struct identity *claimed, uint64_t variant, const char *path,
		  struct snapshot *snapshot, struct node **ret)
{
	struct node *fresh = node_new(NODE_FILE, variant, path);

	if (fresh == NULL) {
		snapshot_unref(snapshot);
		store_abandon(store, claimed, variant);
		return -ENOMEM;
	}
	fresh->snapshot = snapshot;
	fresh->ino = store_ino(store, &snapshot->identity, snapshot->cls);
	*ret = find_or_insert(store, fresh);
	store_abandon(store, claimed, variant);
	return 0;
}

void node_set_listing(struct store *store, struct node *node, struct listing *listing,
		      const struct timespec *now)
{
	struct listing *old;

	pthread_mutex_lock(&store->lock);
	old = node->directory->listing;
	listing->generation = old == NULL ? 1 : old->generation;
	if (old != NULL && !listing_equal(old, listing)) {
		listing->generation++;
		node->directory->visible_changed = *now;
	}
	node->directory->listing = listing;
	pthread_mutex_unlock(&store->lock);
	listing_unref(old);
}

struct listing *node_listing(struct store *store, struct node *node)
{
	struct listing *listing;

	pthread_mutex_lock(&store->lock);
	listing = node->directory->listing;
	if (listing != NULL)
		(void)listing_ref(listing);
	pthread_mutex_unlock(&store->lock);
	return listing;
}

bool node_listing_is_told(struct store *store, const struct node *node, uint32_t generation)
{
	bool told;

	pthread_mutex_lock(&store->lock);
	told = node->directory->told == generation;
	pthread_mutex_unlock(&store->lock);
	return told;
}

void node_listing_told(struct store *store, struct node *node, uint32_t generation)
{
	pthread_mutex_lock(&store->lock);
	if (node->directory->told < generation)
		node->directory->told = generation;
	pthread_mutex_unlock(&store->lock);
}

bool node_directories(struct store *store, const struct node *node, const struct identity *version,
		      size_t *ret)
{
	bool counted;

	pthread_mutex_lock(&store->lock);
	counted = identity_equal(&node->directory->counted, version);
	if (counted)
		*ret = node->directory->directories;
	pthread_mutex_unlock(&store->lock);
	return counted;
}

void node_set_directories(struct store *store, struct node *node, const struct identity *version,
			  size_t count)
{
	pthread_mutex_lock(&store->lock);
	node->directory->counted = *version;
	node->directory->directories = count;
	pthread_mutex_unlock(&store->lock);
}

struct timespec node_visible_changed(struct store *store, const struct node *node)
{
	struct timespec changed;

	pthread_mutex_lock(&store->lock);
	changed = node->directory->visible_changed;
	pthread_mutex_unlock(&store->lock);
	return changed;
}

uint64_t store_nodes(struct store *store)
{
	uint64_t nodes;

	pthread_mutex_lock(&store->lock);
	nodes = store->node_count;
	pthread_mutex_unlock(&store->lock);
	return nodes;
}
