// SPDX-License-Identifier: Apache-2.0
#include "fs/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

void hash_text(const void *data, size_t len, char ret[static HASH_TEXT_SIZE])
{
	XXH128_hash_t hash = XXH3_128bits(data, len);

	(void)snprintf(ret, HASH_TEXT_SIZE, "xxh3:%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
		       (uint64_t)hash.low64);
}

uint64_t hash_key(const void *data, size_t len, uint64_t secret)
{
	return XXH3_64bits_withSeed(data, len, secret);
}
