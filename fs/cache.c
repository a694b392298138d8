// SPDX-License-Identifier: Apache-2.0
#include "fs/cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "fs/spool.h"

#define IN_USE_MS 200 // since the last read, a copy still has its reader

// Bodies of one kind, oldest first.
struct line {
	struct body *oldest, *newest;
	uint64_t bytes;
};

struct cache {
	pthread_mutex_t lock; // all below
	uint64_t max;
	struct line memory, copies;
	struct body **slots;
	size_t slot_count; // a power of two
	size_t count;
};

static struct line *line_of(struct cache *cache, const struct body *body)
{
	return body->fd < 0 ? &cache->memory : &cache->copies;
}

// What letting go of it would give back.
static size_t weight(const struct body *body)
{
	return body->fd < 0 ? sizeof(*body) + body->data.cap : body->size;
}

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void line_add(struct line *line, struct body *body)
{
	body->used_ms = now_ms();
	body->prev = line->newest;
	body->next = NULL;
	*(line->newest != NULL ? &line->newest->next : &line->oldest) = body;
	line->newest = body;
	line->bytes += weight(body);
}

static void line_remove(struct line *line, struct body *body)
{
	*(body->prev != NULL ? &body->prev->next : &line->oldest) = body->next;
	*(body->next != NULL ? &body->next->prev : &line->newest) = body->prev;
	body->prev = body->next = NULL;
	line->bytes -= weight(body);
}

// The digest is under a secret, so that its bits can be taken as they are.
static struct body **find(const struct cache *cache, const struct digest *digest, size_t size)
{
	struct body **slot = &cache->slots[digest->low & (cache->slot_count - 1)];

	while (*slot != NULL && !((*slot)->size == size && digest_equal(&(*slot)->digest, digest)))
		slot = &(*slot)->slot_next;
	return slot;
}

// The reference is the caller's then.
static struct body *detach(struct cache *cache, struct body *body)
{
	struct body **slot = find(cache, &body->digest, body->size);

	*slot = body->slot_next;
	body->slot_next = NULL;
	line_remove(line_of(cache, body), body);
	cache->count--;
	return body;
}

static bool in_use(const struct body *body)
{
	return atomic_load(&body->refs) > 1 || now_ms() - body->used_ms < IN_USE_MS;
}

static bool make_room(void *context, bool force)
{
	struct cache *cache = context;
	struct body *body;

	pthread_mutex_lock(&cache->lock);
	body = cache->copies.oldest;
	if (body != NULL && (force || !in_use(body)))
		(void)detach(cache, body);
	else
		body = NULL;
	pthread_mutex_unlock(&cache->lock);
	body_unref(body);
	return body != NULL;
}

int cache_new(uint64_t max, struct spool *spool, struct cache **ret)
{
	struct cache *cache = calloc(1, sizeof(*cache));

	if (cache == NULL)
		return -ENOMEM;
	cache->max = max;
	cache->slot_count = 1024;
	cache->slots = calloc(cache->slot_count, sizeof(struct body *));
	if (cache->slots == NULL) {
		free(cache);
		return -ENOMEM;
	}
	pthread_mutex_init(&cache->lock, NULL);
	if (spool != NULL)
		spool_set_room(spool, &(struct spool_room){ make_room, cache });
	*ret = cache;
	return 0;
}

void cache_free(struct cache *cache)
{
	if (cache == NULL)
		return;
	while (cache->memory.oldest != NULL)
		body_unref(detach(cache, cache->memory.oldest));
	while (cache->copies.oldest != NULL)
		body_unref(detach(cache, cache->copies.oldest));
	free(cache->slots);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

static void grow(struct cache *cache)
{
	size_t slot_count = cache->slot_count * 2;
	struct body **slots = calloc(slot_count, sizeof(struct body *));

	if (slots == NULL)
		return; // longer chains, nothing lost
	for (size_t i = 0; i < cache->slot_count; i++) {
		struct body *next;

		for (struct body *body = cache->slots[i]; body != NULL; body = next) {
			struct body **slot = &slots[body->digest.low & (slot_count - 1)];

			next = body->slot_next;
			body->slot_next = *slot;
			*slot = body;
		}
	}
	free(cache->slots);
	cache->slots = slots;
	cache->slot_count = slot_count;
}

struct body *cache_find(struct cache *cache, const struct digest *digest, size_t size)
{
	struct body *body;

	pthread_mutex_lock(&cache->lock);
	body = *find(cache, digest, size);
	if (body != NULL) {
		struct line *line = line_of(cache, body);

		(void)body_ref(body);
		line_remove(line, body);
		line_add(line, body);
	}
	pthread_mutex_unlock(&cache->lock);
	return body;
}

struct body *cache_add(struct cache *cache, struct body *body)
{
	struct body *there, *gone = NULL;
	struct line *line;

	pthread_mutex_lock(&cache->lock);
	there = *find(cache, &body->digest, body->size);
	if (there != NULL) {
		(void)body_ref(there);
		gone = body;
	} else {
		struct body **slot;

		if (cache->count >= cache->slot_count)
			grow(cache);
		slot = &cache->slots[body->digest.low & (cache->slot_count - 1)];
		body->slot_next = *slot;
		*slot = body_ref(body);
		there = body;
		line_add(line_of(cache, body), body);
		cache->count++;
	}
	line = &cache->memory;
	// The newest stays even when it alone is too large: a reader is at it. Those that go are chained by their slot pointer.
	while (line->bytes > cache->max && line->oldest != line->newest) {
		struct body *old = detach(cache, line->oldest);

		old->slot_next = gone;
		gone = old;
	}
	pthread_mutex_unlock(&cache->lock);
	while (gone != NULL) {
		struct body *next = gone->slot_next;

		body_unref(gone);
		gone = next;
	}
	return there;
}

uint64_t cache_bytes(struct cache *cache)
{
	uint64_t bytes;

	pthread_mutex_lock(&cache->lock);
	bytes = cache->memory.bytes;
	pthread_mutex_unlock(&cache->lock);
	return bytes;
}
