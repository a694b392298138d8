// SPDX-License-Identifier: Apache-2.0
#include "fs/cache.h"

#include <stdlib.h>

#include "fs/store.h"

struct body *body_new(struct buf *data)
{
	struct body *body = calloc(1, sizeof(*body));

	if (body == NULL)
		return NULL;
	atomic_init(&body->refs, 1);
	body->data = *data;
	*data = BUF_INIT;
	return body;
}

void body_unref(struct body *body)
{
	if (body != NULL && atomic_fetch_sub_explicit(&body->refs, 1, memory_order_acq_rel) == 1) {
		buf_release(&body->data);
		free(body);
	}
}

struct body *body_ref(struct body *body)
{
	atomic_fetch_add_explicit(&body->refs, 1, memory_order_relaxed);
	return body;
}

void cache_drop(struct cache *cache, struct node *node)
{
	if (node->body == NULL)
		return;
	*(node->body_prev != NULL ? &node->body_prev->body_next : &cache->oldest) = node->body_next;
	*(node->body_next != NULL ? &node->body_next->body_prev : &cache->newest) = node->body_prev;
	node->body_prev = node->body_next = NULL;
	cache->bytes -= node->body->data.len;
	body_unref(node->body);
	node->body = NULL;
}

void cache_keep(struct cache *cache, struct node *node, struct body *body)
{
	node->body = body;
	node->body_prev = cache->newest;
	node->body_next = NULL;
	*(cache->newest != NULL ? &cache->newest->body_next : &cache->oldest) = node;
	cache->newest = node;
	cache->bytes += body->data.len;
	while (cache->bytes > cache->max && cache->oldest != node)
		cache_drop(cache, cache->oldest);
}
