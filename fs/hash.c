// SPDX-License-Identifier: Apache-2.0
#include "fs/hash.h"

#include <string.h>
#include <xxhash.h>

#define PREFIX     "xxh3:"
#define PREFIX_LEN (sizeof(PREFIX) - 1)
#define DIGITS     32
_Static_assert(HASH_TEXT_SIZE == PREFIX_LEN + DIGITS + 1, "a hash is printed whole");

// By hand: printf() takes as long as hashing 10 KB.
static void print_hash(XXH128_hash_t hash, char ret[static HASH_TEXT_SIZE])
{
	memcpy(ret, PREFIX, PREFIX_LEN);
	for (size_t i = 0; i < DIGITS; i++) {
		const uint64_t half = i < DIGITS / 2 ? hash.high64 : hash.low64;

		ret[PREFIX_LEN + i] = "0123456789abcdef"[half >> (60 - 4 * (i % (DIGITS / 2))) & 15];
	}
	ret[PREFIX_LEN + DIGITS] = '\0';
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
