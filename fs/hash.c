// SPDX-License-Identifier: Apache-2.0
#include "fs/hash.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#define PREFIX     "xxh3:"
#define PREFIX_LEN (sizeof(PREFIX) - 1)
_Static_assert(HASH_TEXT_SIZE == PREFIX_LEN + 2 * HASH_SIZE + 1, "a hash is printed whole");
_Static_assert(sizeof(XXH128_canonical_t) == HASH_SIZE, "a hash is kept whole");

#define SECRET_SIZE 192 // as XXH3's own

static unsigned char secret[SECRET_SIZE];
static pthread_once_t secret_once = PTHREAD_ONCE_INIT;

static void make_secret(void)
{
	size_t len = 0;

	while (len < sizeof(secret)) {
		ssize_t got = getrandom(secret + len, sizeof(secret) - len, 0);

		if (got < 0)
			abort(); // a secret that is none would be worse
		len += (size_t)got;
	}
}

static void store(XXH128_hash_t plain, XXH128_hash_t keyed, struct hashes *ret)
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, plain);
	memcpy(ret->plain, canonical.digest, HASH_SIZE);
	ret->digest = (struct digest){ keyed.low64, keyed.high64 };
}

void hash_bytes(const void *data, size_t len, struct hashes *ret)
{
	(void)pthread_once(&secret_once, make_secret);
	store(XXH3_128bits(data, len), XXH3_128bits_withSecret(data, len, secret, sizeof(secret)), ret);
}

// By hand: printf() takes as long as hashing 10 KB.
void hash_print(const unsigned char plain[static HASH_SIZE], char ret[static HASH_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	memcpy(ret, PREFIX, PREFIX_LEN);
	for (size_t i = 0; i < HASH_SIZE; i++) {
		ret[PREFIX_LEN + 2 * i] = digits[plain[i] >> 4];
		ret[PREFIX_LEN + 2 * i + 1] = digits[plain[i] & 15];
	}
	ret[PREFIX_LEN + 2 * HASH_SIZE] = '\0';
}

void hash_text(const void *data, size_t len, char ret[static HASH_TEXT_SIZE])
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, len));
	hash_print(canonical.digest, ret);
}

struct hash_state {
	XXH3_state_t *plain, *keyed;
};

struct hash_state *hash_begin(void)
{
	struct hash_state *state = calloc(1, sizeof(*state));

	if (state == NULL)
		return NULL;
	state->plain = XXH3_createState();
	state->keyed = XXH3_createState();
	if (state->plain == NULL || state->keyed == NULL) {
		hash_free(state);
		return NULL;
	}
	(void)pthread_once(&secret_once, make_secret);
	(void)XXH3_128bits_reset(state->plain);
	(void)XXH3_128bits_reset_withSecret(state->keyed, secret, sizeof(secret));
	return state;
}

void hash_update(struct hash_state *state, const void *data, size_t len)
{
	(void)XXH3_128bits_update(state->plain, data, len);
	(void)XXH3_128bits_update(state->keyed, data, len);
}

void hash_end(const struct hash_state *state, struct hashes *ret)
{
	store(XXH3_128bits_digest(state->plain), XXH3_128bits_digest(state->keyed), ret);
}

void hash_free(struct hash_state *state)
{
	if (state == NULL)
		return;
	(void)XXH3_freeState(state->plain);
	(void)XXH3_freeState(state->keyed);
	free(state);
}

uint64_t hash_key(const void *data, size_t len, uint64_t key)
{
	return XXH3_64bits_withSeed(data, len, key);
}
