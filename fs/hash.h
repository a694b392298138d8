// SPDX-License-Identifier: Apache-2.0
//
// Content hashes. XXH3 is fast and not collision resistant, and the author of a
// skill picks the content: use these to name and to compare what was scanned, never to trust.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HASH_TEXT_SIZE 38 // "xxh3:", 32 hex digits, NUL

void hash_text(const void *data, size_t len, char ret[static HASH_TEXT_SIZE]);
// The same of bytes that come in pieces. NULL is -ENOMEM.
struct hash_state;
struct hash_state *hash_begin(void);
void hash_update(struct hash_state *state, const void *data, size_t len);
void hash_end(const struct hash_state *state, char ret[static HASH_TEXT_SIZE]);
void hash_free(struct hash_state *state); // NULL is allowed
// For hash tables whose keys strangers choose: `secret` is random per process.
uint64_t hash_key(const void *data, size_t len, uint64_t secret);
