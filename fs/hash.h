// SPDX-License-Identifier: Apache-2.0
//
// Content hashes. XXH3 is fast and not collision resistant, and the author of a skill picks the content: the
// plain hash only names what was served. What is compared or shared goes by a digest under a secret that is
// random per process, for which nobody can prepare two contents.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_SIZE      16
#define HASH_TEXT_SIZE 38 // "xxh3:", 32 hex digits, NUL

struct digest {
	uint64_t low, high;
};

struct hashes {
	unsigned char plain[HASH_SIZE]; // XXH3-128, big endian, as printed
	struct digest digest;
};

void hash_bytes(const void *data, size_t len, struct hashes *ret);
// The plain one alone, printed.
void hash_text(const void *data, size_t len, char ret[static HASH_TEXT_SIZE]);
void hash_print(const unsigned char plain[static HASH_SIZE], char ret[static HASH_TEXT_SIZE]);
// The same of bytes that come in pieces. NULL is -ENOMEM.
struct hash_state;
struct hash_state *hash_begin(void);
void hash_update(struct hash_state *state, const void *data, size_t len);
void hash_end(const struct hash_state *state, struct hashes *ret);
void hash_free(struct hash_state *state); // NULL is allowed
// For hash tables whose keys strangers choose: `secret` is random per process.
uint64_t hash_key(const void *data, size_t len, uint64_t secret);

static inline bool digest_equal(const struct digest *a, const struct digest *b)
{
	return a->low == b->low && a->high == b->high;
}
