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
	char data[3000], whole[HASH_TEXT_SIZE], pieces[HASH_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * i);
	for (size_t piece = 1; piece < sizeof(data); piece += 97) {
		struct hash_state *hash = hash_begin();

		assert_non_null(hash);
		for (size_t at = 0; at < sizeof(data); at += piece)
			hash_update(hash, data + at, piece < sizeof(data) - at ? piece : sizeof(data) - at);
		hash_end(hash, pieces);
		hash_free(hash);
		hash_text(data, sizeof(data), whole);
		assert_string_equal(pieces, whole);
	}
}

static void hash_of_nothing_is_that_of_an_empty_text(void **state)
{
	char whole[HASH_TEXT_SIZE], nothing[HASH_TEXT_SIZE];
	struct hash_state *hash = hash_begin();

	(void)state;
	assert_non_null(hash);
	hash_end(hash, nothing);
	hash_free(hash);
	hash_text("", 0, whole);
	assert_string_equal(nothing, whole);
	// xxHash's own test vector.
	assert_string_equal(whole, "xxh3:99aa06d3014798d86001c324468d497f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_of_pieces_is_that_of_the_whole),
		cmocka_unit_test(hash_of_nothing_is_that_of_an_empty_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
