// SPDX-License-Identifier: Apache-2.0
//
// Bytes that come in pieces have the hash of the whole.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fs/hash.h"

static void hash_of_pieces_is_that_of_the_whole(void **state)
{
	struct hashes whole, pieces;
	char data[3000];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * i);
	for (size_t piece = 1; piece < sizeof(data); piece += 97) {
		struct hash_state *hash = hash_begin();

		assert_non_null(hash);
		for (size_t at = 0; at < sizeof(data); at += piece)
			hash_update(hash, data + at, piece < sizeof(data) - at ? piece : sizeof(data) - at);
		hash_end(hash, &pieces);
		hash_free(hash);
		hash_bytes(data, sizeof(data), &whole);
		assert_memory_equal(pieces.plain, whole.plain, HASH_SIZE);
		assert_true(digest_equal(&pieces.digest, &whole.digest));
	}
}

static void hash_of_nothing_is_that_of_an_empty_text(void **state)
{
	struct hash_state *hash = hash_begin();
	struct hashes whole, nothing;
	char text[HASH_TEXT_SIZE];

	(void)state;
	assert_non_null(hash);
	hash_end(hash, &nothing);
	hash_free(hash);
	hash_bytes("", 0, &whole);
	assert_memory_equal(nothing.plain, whole.plain, HASH_SIZE);
	assert_true(digest_equal(&nothing.digest, &whole.digest));
	// xxHash's own test vector.
	hash_print(whole.plain, text);
	assert_string_equal(text, "xxh3:99aa06d3014798d86001c324468d497f");
	hash_text("", 0, text);
	assert_string_equal(text, "xxh3:99aa06d3014798d86001c324468d497f");
}

static void digest_is_not_the_hash_that_everybody_can_compute(void **state)
{
	unsigned char digest[HASH_SIZE];
	struct hashes hashes;

	(void)state;
	hash_bytes("abc", 3, &hashes);
	for (size_t i = 0; i < HASH_SIZE; i++)
		digest[i] = (unsigned char)((i < 8 ? hashes.digest.high : hashes.digest.low) >>
					    (56 - 8 * (i % 8)));
	assert_memory_not_equal(digest, hashes.plain, HASH_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_of_pieces_is_that_of_the_whole),
		cmocka_unit_test(hash_of_nothing_is_that_of_an_empty_text),
		cmocka_unit_test(digest_is_not_the_hash_that_everybody_can_compute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
