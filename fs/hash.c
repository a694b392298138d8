// SPDX-License-Identifier: Apache-2.0
#include "fs/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

static void print_hash(XXH128_hash_t hash, char ret[static HASH_TEXT_SIZE])
{
	(void)snprintf(ret, HASH_TEXT_SIZE, "xxh3:%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
		       (uint64_t)hash.low64);
}

void hash_text(const void *data, size_t len, char ret[static HASH_TEXT_SIZE])
{
	print_hash(XXH3_128bits(data, len), ret);
}

// The library's state under a name of ours, so that xxhash stays in this file.
struct hash_state *hash_begin(void)
{
	XXH3_state_t *state = XXH3_createState();

	if (state != NULL)
		(void)XXH3_128bits_reset(state);
	return (struct hash_state *)state;
}

void hash_update(struct hash_state *state, const void *data, size_t len)
{
	(void)XXH3_128bits_update((XXH3_state_t *)state, data, len);
}

void hash_end(const struct hash_state *state, char ret[static HASH_TEXT_SIZE])
{
	print_hash(XXH3_128bits_digest((const XXH3_state_t *)state), ret);
}

void hash_free(struct hash_state *state)
{
	(void)XXH3_freeState((XXH3_state_t *)state);
}

uint64_t hash_key(const void *data, size_t len, uint64_t secret)
{
	return XXH3_64bits_withSeed(data, len, secret);
}
