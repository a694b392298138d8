// SPDX-License-Identifier: Apache-2.0
#include "fs/store.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "fs/hash.h"
#include "sanitize/cleanup.h"

#define IDLE_MAX 262144 // files that nobody looks at and that are still remembered
#define INO_BITS 53     // JavaScript holds no larger integer exactly

// A file that is being built.
struct claim {
	struct claim *next;
	struct identity identity;
	unsigned variant;
	struct task *parked;
};

struct store {
	struct pool *pool;
	pthread_mutex_t lock; // all below
	struct node **by_id, **by_identity;
	size_t slot_count; // of both tables; a power of two
	size_t node_count;
	uint64_t next_id;
	uint64_t secret;
	dev_t root_dev; // set once by store_root()
	struct claim *claims;
	struct node *idle_oldest, *idle_newest;
	size_t idle_count;
	struct cache caches[2]; // text, binary
};

int store_new(struct pool *pool, uint64_t cache_size, uint64_t spool_size, struct store **ret)
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
	store->caches[0].max = cache_size;
	store->caches[1].max = spool_size;
	pthread_mutex_init(&store->lock, NULL);
	*ret = store;
	return 0;
}

// What must be equal for a node to be found again: a directory is its inode, all else is one exact version.
static uint64_t identity_key(const struct store *store, enum node_kind kind, const struct identity *identity,
			     unsigned variant)
{
	uint64_t fields[8] = { (uint64_t)kind, identity->dev, identity->ino };

	if (kind != NODE_DIRECTORY) {
		fields[3] = (uint64_t)identity->size;
		fields[4] = (uint64_t)identity->mtime.tv_sec ^ ((uint64_t)identity->mtime.tv_nsec << 32);
		fields[5] = (uint64_t)identity->ctime.tv_sec ^ ((uint64_t)identity->ctime.tv_nsec << 32);
		fields[6] = variant;
	}
	return hash_key(fields, sizeof(fields), store->secret);
}

static bool same(const struct node *node, enum node_kind kind, const struct identity *identity,
		 unsigned variant)
{
	if (node->kind != kind)
		return false;
	if (kind == NODE_DIRECTORY)
		return node->identity.dev == identity->dev && node->identity.ino == identity->ino;
	return node->variant == variant && identity_equal(&node->identity, identity);
}

static size_t id_slot(const struct store *store, uint64_t id)
{
	return (size_t)(id & (store->slot_count - 1));
}

static size_t identity_slot(const struct store *store, const struct node *node)
{
	return (size_t)(identity_key(store, node->kind, &node->identity, node->variant) &
			(store->slot_count - 1));
}

static struct node *find(struct store *store, enum node_kind kind, const struct identity *identity,
			 unsigned variant)
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

static struct cache *cache_of(struct store *store, const struct node *node)
{
	return &store->caches[node->snapshot->report.cls == CLASS_BINARY ? 1 : 0];
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

static void node_free(struct store *store, struct node *node)
{
	if (node->idle)
		idle_remove(store, node);
	if (node->kind == NODE_FILE)
		cache_drop(cache_of(store, node), node);
	unlink_from(&store->by_id[id_slot(store, node->id)], node, true);
	unlink_from(&store->by_identity[identity_slot(store, node)], node, false);
	store->node_count--;
	listing_unref(node->listing);
	snapshot_unref(node->snapshot);
	if (node->fd >= 0)
		(void)close(node->fd);
	free(node->target);
	free(node->path);
	free(node);
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

static struct node *node_new(enum node_kind kind, const struct identity *identity, unsigned variant,
			     const char *path)
{
	struct node *node = calloc(1, sizeof(*node));

	if (node == NULL)
		return NULL;
	node->kind = kind;
	node->identity = *identity;
	node->variant = variant;
	node->fd = -1;
	node->path = strdup(path);
	if (node->path == NULL) {
		free(node);
		return NULL;
	}
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
	struct identity identity = identity_of(st);
	struct node *node = node_new(NODE_DIRECTORY, &identity, 0, "");

	if (node == NULL)
		return -ENOMEM;
	node->fd = dup(fd);
	if (node->fd < 0) {
		free(node->path);
		free(node);
		return -errno;
	}
	store->root_dev = st->st_dev;
	node->ino = store_ino(store, &identity, 0);
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
	node = find(store, fresh->kind, &fresh->identity, fresh->variant);
	if (node == NULL) {
		node = fresh;
		node_insert(store, node, store->next_id++);
		fresh = NULL;
	}
	node_hold(store, node);
	pthread_mutex_unlock(&store->lock);
	if (fresh != NULL) {
		if (fresh->fd >= 0)
			(void)close(fresh->fd);
		snapshot_unref(fresh->snapshot);
		free(fresh->target);
		free(fresh->path);
		free(fresh);
	}
	return node;
}

int store_directory(struct store *store, int fd, const struct stat *st, const char *path, struct node **ret)
{
	struct identity identity = identity_of(st);
	struct node *node = node_new(NODE_DIRECTORY, &identity, 0, path);

	if (node == NULL) {
		(void)close(fd);
		return -ENOMEM;
	}
	node->fd = fd;
	node->ino = store_ino(store, &identity, 0);
	*ret = find_or_insert(store, node);
	return 0;
}

int store_link(struct store *store, const struct stat *st, const char *path, const char *target,
	       struct node **ret)
{
	struct identity identity = identity_of(st);
	// An absolute target is shown differently at each depth, so the text shown is part of the key.
	unsigned variant = (unsigned)hash_key(target, strlen(target), store->secret);
	struct node *node = node_new(NODE_LINK, &identity, variant, path);

	if (node == NULL)
		return -ENOMEM;
	node->st = *st;
	node->target = strdup(target);
	if (node->target == NULL) {
		free(node->path);
		free(node);
		return -ENOMEM;
	}
	node->ino = store_ino(store, &identity, 0);
	*ret = find_or_insert(store, node);
	return 0;
}

static struct claim **find_claim(struct store *store, const struct identity *identity, unsigned variant)
{
	struct claim **claim = &store->claims;

	while (*claim != NULL &&
	       ((*claim)->variant != variant || !identity_equal(&(*claim)->identity, identity)))
		claim = &(*claim)->next;
	return claim;
}

int store_claim(struct store *store, const struct identity *identity, unsigned variant, struct task *task,
		struct node **ret)
{
	struct node *node;
	struct claim *claim;
	int rc;

	pthread_mutex_lock(&store->lock);
	node = find(store, NODE_FILE, identity, variant);
	if (node != NULL) {
		node_hold(store, node);
		*ret = node;
		rc = STORE_HIT;
	} else if ((claim = *find_claim(store, identity, variant)) != NULL) {
		rc = task == NULL ? STORE_BUSY : STORE_PARKED;
		if (task != NULL) {
			task->next = claim->parked;
			claim->parked = task;
		}
	} else if ((claim = calloc(1, sizeof(*claim))) != NULL) {
		claim->identity = *identity;
		claim->variant = variant;
		claim->next = store->claims;
		store->claims = claim;
		rc = STORE_CLAIMED;
	} else {
		rc = -ENOMEM;
	}
	pthread_mutex_unlock(&store->lock);
	return rc;
}

void store_abandon(struct store *store, const struct identity *claimed, unsigned variant)
{
	struct claim **slot, *claim;
	struct task *task;

	pthread_mutex_lock(&store->lock);
	slot = find_claim(store, claimed, variant);
	claim = *slot;
	*slot = claim->next;
	pthread_mutex_unlock(&store->lock);
	task = claim->parked;
	free(claim);
	while (task != NULL) {
		struct task *next = task->next;

		pool_queue(store->pool, task);
		task = next;
	}
}

int store_publish(struct store *store, const struct identity *claimed, unsigned variant, const char *path,
		  struct snapshot *snapshot, struct buf *data, struct node **ret)
{
	struct node *fresh = node_new(NODE_FILE, &snapshot->identity, variant, path);
	struct body *body = NULL;
	struct node *node;

	if (fresh == NULL) {
		snapshot_unref(snapshot);
		store_abandon(store, claimed, variant);
		return -ENOMEM;
	}
	fresh->snapshot = snapshot;
	fresh->ino = store_ino(store, &snapshot->identity, (unsigned)snapshot->report.cls);
	node = find_or_insert(store, fresh);
	// Without memory for it the body is rebuilt when somebody reads.
	if (!verdict_hides(node->snapshot->verdict))
		body = node_set_body(store, node, data);
	body_unref(body);
	store_abandon(store, claimed, variant);
	*ret = node;
	return 0;
}

struct body *node_body(struct store *store, struct node *node)
{
	struct body *body = NULL;
	struct cache *cache;

	pthread_mutex_lock(&store->lock);
	if (node->body != NULL) {
		body = body_ref(node->body);
		cache = cache_of(store, node);
		if (cache->newest != node) {
			cache_drop(cache_of(store, node), node);
			cache_keep(cache_of(store, node), node, body_ref(body));
		}
	}
	pthread_mutex_unlock(&store->lock);
	return body;
}

struct body *node_set_body(struct store *store, struct node *node, struct buf *data)
{
	struct body *body = body_new(data);

	if (body == NULL)
		return NULL;
	pthread_mutex_lock(&store->lock);
	if (node->body == NULL)
		cache_keep(cache_of(store, node), node, body_ref(body));
	pthread_mutex_unlock(&store->lock);
	return body;
}

bool node_set_listing(struct store *store, struct node *node, struct listing *listing,
		      const struct timespec *now)
{
	struct listing *old;
	bool changed;

	pthread_mutex_lock(&store->lock);
	old = node->listing;
	changed = old == NULL || !listing_equal(old, listing);
	if (old != NULL && changed)
		node->visible_changed = *now;
	node->listing = listing;
	pthread_mutex_unlock(&store->lock);
	listing_unref(old);
	return changed;
}

struct listing *node_listing(struct store *store, struct node *node)
{
	struct listing *listing;

	pthread_mutex_lock(&store->lock);
	listing = node->listing;
	if (listing != NULL)
		(void)listing_ref(listing);
	pthread_mutex_unlock(&store->lock);
	return listing;
}

bool node_directories(struct store *store, const struct node *node, const struct identity *version,
		      size_t *ret)
{
	bool counted;

	pthread_mutex_lock(&store->lock);
	counted = identity_equal(&node->counted, version);
	if (counted)
		*ret = node->directories;
	pthread_mutex_unlock(&store->lock);
	return counted;
}

void node_set_directories(struct store *store, struct node *node, const struct identity *version,
			  size_t count)
{
	pthread_mutex_lock(&store->lock);
	node->counted = *version;
	node->directories = count;
	pthread_mutex_unlock(&store->lock);
}

struct timespec node_visible_changed(struct store *store, const struct node *node)
{
	struct timespec changed;

	pthread_mutex_lock(&store->lock);
	changed = node->visible_changed;
	pthread_mutex_unlock(&store->lock);
	return changed;
}

void store_stat(struct store *store, uint64_t *ret_nodes, uint64_t *ret_cached_bytes)
{
	pthread_mutex_lock(&store->lock);
	*ret_nodes = store->node_count;
	*ret_cached_bytes = store->caches[0].bytes + store->caches[1].bytes;
	pthread_mutex_unlock(&store->lock);
}
