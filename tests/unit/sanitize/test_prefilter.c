// SPDX-License-Identifier: Apache-2.0
//
// The prefilter finds what can begin wherever it stands, with AVX2 and without
// it; on the vectors and on real skills ($SKILLFS_CORPUS, when set) the scanner gives the plain
// scan's matches.
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sanitize/buf.h"
#include "sanitize/classify.h"
#include "sanitize/prefilter.h"
#include "sanitize/scan.h"
#include "sanitize/scan_text.h"
#include "spec/plain_scan.h"

// ------------------------------------------------------------------- anchors

static size_t read_anchors(const char *expression, struct anchor anchors[ANCHORS_MAX])
{
	return anchors_read(expression, false, anchors);
}

static bool fits(const struct anchor *anchor, const char *text)
{
	size_t i;

	for (i = 0; i < anchor->len; i++) {
		if (!byte_set_has(&anchor->sets[i], (unsigned char)text[i]))
			return false;
	}
	return true;
}

static void anchors_of_literal_hold_both_cases(void **state)
{
	struct anchor anchors[ANCHORS_MAX];

	(void)state;
	assert_int_equal(read_anchors("\\bEval\\s*\\(", anchors), 1);
	assert_int_equal(anchors[0].len, 4);
	assert_true(anchors[0].at_word_start);
	assert_true(fits(&anchors[0], "eVaL"));
	assert_false(fits(&anchors[0], "evil"));
	assert_int_equal(anchors_read("Eval", true, anchors), 1);
	assert_true(fits(&anchors[0], "Eval"));
	assert_false(fits(&anchors[0], "eval"));
}

static void anchors_of_alternatives_are_multiplied(void **state)
{
	struct anchor anchors[ANCHORS_MAX];

	(void)state;
	assert_int_equal(read_anchors("\\b(?:ab|cd)[12]|ef{2}g+h", anchors), 3);
	assert_true(fits(&anchors[0], "ab1"));
	assert_true(fits(&anchors[1], "cd2"));
	assert_true(fits(&anchors[2], "effg"));
	assert_int_equal(anchors[2].len, 4);
	assert_false(anchors[2].at_word_start);
}

static void anchors_end_where_anything_may_follow(void **state)
{
	static const struct {
		const char *expression;
		size_t len; // of the first anchor
	} items[] = {
		{ "ab?c", 1 },
		{ "ab*c", 1 },
		{ "abc+d", 3 },
		{ "a(?:b|c)?d", 1 },
		{ "a{2,3}b", 2 },
		{ "a{,3}b", 0 },
		{ "a\\1", 1 },
		{ "a[[:alpha:]]", 0 },
		{ "(?:ab?)c", 1 },
		{ "a(?:b|cd*)e", 3 },
		{ "(?i:a)b", 0 },
		{ "a\\Kb", 0 },
		{ "\\Qab\\E", 0 },
		{ "(?<n>a)b", 0 },
		{ "(*UTF)a", 0 },
		{ "x?y", 0 },
		{ "", 0 },
		{ "a|", 0 },
		{ "a(?#b)c", 0 },
		{ "^ab$", 2 },
		{ "(?<=x)ab", 2 },
		{ "(?!x)ab", 2 },
		{ "abcdefghij", 8 },
		{ "a\\x{62}", 1 },
		// Braces that repeat nothing stand for themselves.
		{ "ab{2,c}d", 1 },
		{ "a(?!b){x}c", 1 },
		{ "(?<!a){x}b", 0 },
		{ "a(?!b){2}c", 2 },
		{ "a{2,3", 0 },
		{ "a{2, }b", 0 },
		{ "(?!a){ 2 }b", 0 },
	};
	struct anchor anchors[ANCHORS_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		size_t count = read_anchors(items[i].expression, anchors);

		if ((count == 0 ? 0 : anchors[0].len) != items[i].len)
			fail_msg("%s: %zu", items[i].expression, count == 0 ? 0 : anchors[0].len);
	}
}

static void anchors_of_long_run_need_its_beginning(void **state)
{
	struct anchor anchors[ANCHORS_MAX];

	(void)state;
	assert_int_equal(read_anchors("(?<![a-z])[a-z]{60,}", anchors), 1);
	assert_int_equal(anchors[0].run, 60);
	// Without it a match can begin inside a run, and another class says nothing.
	assert_int_equal(read_anchors("[a-z]{60,}", anchors), 1);
	assert_int_equal(anchors[0].run, 0);
	assert_int_equal(read_anchors("(?<![a-y])[a-z]{60,}", anchors), 1);
	assert_int_equal(anchors[0].run, 0);
	// Nor does a run say where another alternative begins.
	assert_int_equal(read_anchors("(?<![a-z])[a-z]{60,}|[0-9]", anchors), 2);
	assert_int_equal(anchors[0].run, 0);
	assert_int_equal(anchors[1].len, 1);
}

// ----------------------------------------------------------------- prefilter

struct found {
	size_t count;
	size_t owner[4], start[4];
};

static int take_found(void *arg, size_t owner, size_t start)
{
	struct found *found = arg;

	assert_true(found->count < 4);
	found->owner[found->count] = owner;
	found->start[found->count++] = start;
	return 0;
}

static size_t kinds(enum prefilter_kind ret[2])
{
	struct prefilter_builder *builder = calloc(1, sizeof(*builder));
	struct prefilter *prefilter;
	size_t count = 1;

	assert_non_null(builder);
	ret[0] = PREFILTER_SCALAR;
	ret[1] = PREFILTER_AVX2;
	if (prefilter_build(builder, PREFILTER_AVX2, &prefilter) == 0) {
		prefilter_free(prefilter);
		count = 2;
	}
	free(builder);
	return count;
}

static struct prefilter *build(enum prefilter_kind kind, const char *const *expressions)
{
	struct prefilter_builder *builder = calloc(1, sizeof(*builder));
	struct prefilter *prefilter;
	size_t i;

	assert_non_null(builder);
	for (i = 0; expressions[i] != NULL; i++) {
		struct anchor anchors[ANCHORS_MAX];
		size_t count = anchors_read(expressions[i], false, anchors);

		assert_true(count > 0 && prefilter_add(builder, i, anchors, count));
	}
	assert_int_equal(prefilter_build(builder, kind, &prefilter), 0);
	assert_int_equal(prefilter_kind(prefilter), kind);
	free(builder);
	return prefilter;
}

// Text of exactly its length, so that a read beyond it shows.
static void assert_found(const struct prefilter *prefilter, const char *what, size_t owner, size_t at,
			 size_t len, size_t limit)
{
	struct prefilter_cursor cursor = { .at = 0 };
	struct found found = { .count = 0 };
	char *text = malloc(len);

	assert_non_null(text);
	memset(text, ' ', len);
	memcpy(text + at, what, strlen(what));
	while (cursor.at < len)
		assert_int_equal(prefilter_run(prefilter, text, len, limit, &cursor, take_found, &found), 0);
	if (found.count != 1 || found.owner[0] != owner || found.start[0] != at)
		fail_msg("%s at %zu of %zu: %zu found", what, at, len, found.count);
	free(text);
}

static void prefilter_finds_at_every_place(void **state)
{
	static const char *const expressions[] = { "\\bxmrig",
						   "\\|[^|]",
						   "printenv",
						   "(?:ab|cd)ef",
						   "</(?:sk|av|\\s[s])",
						   "(?<![a-z])[a-z]{60,}",
						   NULL };
	static const char run[] = "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz";
	enum prefilter_kind kind[2];
	size_t count = kinds(kind), len, at, i;

	(void)state;
	for (i = 0; i < count; i++) {
		struct prefilter *prefilter = build(kind[i], expressions);

		for (len = 1; len < 180; len++) {
			for (at = 0; at < len; at++) {
				if (len - at >= 1)
					assert_found(prefilter, "|", 1, at, len, SIZE_MAX);
				if (len - at >= 5)
					assert_found(prefilter, "XMrig", 0, at, len, 40);
				if (len - at >= 8)
					assert_found(prefilter, "printENV", 2, at, len, 1);
				if (len - at >= 4)
					assert_found(prefilter, "</ S", 4, at, len, SIZE_MAX);
				if (len - at >= sizeof(run) - 1)
					assert_found(prefilter, run, 5, at, len, len % 2 ? 32 : SIZE_MAX);
			}
		}
		prefilter_free(prefilter);
	}
}

static void prefilter_with_many_anchors_finds_each(void **state)
{
	enum prefilter_kind kind[2];
	size_t count = kinds(kind), i, j;

	(void)state;
	for (i = 0; i < count; i++) {
		struct prefilter_builder *builder = calloc(1, sizeof(*builder));
		struct prefilter *prefilter;
		struct anchor anchors[ANCHORS_MAX];
		char word[8];

		assert_non_null(builder);
		for (j = 0; j < PREFILTER_ANCHORS_MAX; j++) {
			(void)snprintf(word, sizeof(word), "w%zuq", 100 + j);
			assert_int_equal(anchors_read(word, false, anchors), 1);
			assert_true(prefilter_add(builder, j, anchors, 1));
		}
		assert_false(prefilter_add(builder, j, anchors, 1));
		assert_int_equal(prefilter_build(builder, kind[i], &prefilter), 0);
		for (j = 0; j < PREFILTER_ANCHORS_MAX; j++) {
			(void)snprintf(word, sizeof(word), "w%zuq", 100 + j);
			assert_found(prefilter, word, j, j % 50, 100, SIZE_MAX);
		}
		prefilter_free(prefilter);
		free(builder);
	}
}

// --------------------------------------------------------------------- texts

static struct {
	struct plain_scanner *plain;
	struct scanner *scanners[2];
	size_t count, texts, found;
} compared;

static void compare(enum file_class cls, const char *text, size_t len, const char *name)
{
	struct matches want = { NULL, 0, 0 };
	size_t i;

	assert_int_equal(plain_scan(compared.plain, cls, text, len, &want), 0);
	for (i = 0; i < compared.count; i++) {
		struct matches got = { NULL, 0, 0 };

		assert_int_equal(scanner_scan(compared.scanners[i], cls, text, len, NULL, &got), 0);
		if (got.count != want.count ||
		    (got.count > 0 && memcmp(got.items, want.items, got.count * sizeof(*got.items)) != 0))
			fail_msg("%s: %zu matches, the plain scan finds %zu", name, got.count, want.count);
		matches_release(&got);
	}
	compared.texts++;
	compared.found += want.count;
	matches_release(&want);
}

static void compare_begin(void)
{
	enum prefilter_kind kind[2];
	size_t i;

	compared.texts = compared.found = 0;
	compared.count = kinds(kind);
	assert_int_equal(plain_scanner_new(NULL, 0, &compared.plain), 0);
	for (i = 0; i < compared.count; i++)
		assert_int_equal(scanner_compile(NULL, 0, true, kind[i], &compared.scanners[i], NULL), 0);
}

static void compare_end(void)
{
	size_t i;

	plain_scanner_free(compared.plain);
	for (i = 0; i < compared.count; i++)
		scanner_free(compared.scanners[i]);
}

static void vectors_equal_plain_scan(void **state)
{
	static const enum file_class classes[] = { CLASS_PROSE, CLASS_CODE, CLASS_BINARY };
	FILE *file = fopen(TEST_DATA "/vectors/scan.jsonl", "r");
	char *line = NULL;
	size_t size = 0, i;

	(void)state;
	assert_non_null(file);
	compare_begin();
	while (getline(&line, &size, file) > 0) {
		json_t *vector = json_loads(line, JSON_ALLOW_NUL, NULL);
		const char *text = json_string_value(json_object_get(vector, "text"));
		size_t len = json_string_length(json_object_get(vector, "text"));

		for (i = 0; text != NULL && i < 3; i++)
			compare(classes[i], text, len, json_string_value(json_object_get(vector, "id")));
		json_decref(vector);
	}
	free(line);
	fclose(file);
	assert_true(compared.texts > 900 && compared.found > 300);
	compare_end();
}

static int compare_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	FILE *file;
	char *data;

	if (type != FTW_F || st->st_size == 0)
		return 0;
	file = fopen(path, "r");
	data = malloc((size_t)st->st_size);
	if (file == NULL || data == NULL || fread(data, 1, (size_t)st->st_size, file) != (size_t)st->st_size)
		fail_msg("%s cannot be read", path);
	fclose(file);
	compare(classify(path + ftw->base, data, (size_t)st->st_size), data, (size_t)st->st_size, path);
	compare(CLASS_BINARY, data, (size_t)st->st_size, path);
	free(data);
	return 0;
}

static void skills_equal_plain_scan(void **state)
{
	const char *corpus = getenv("SKILLFS_CORPUS");

	(void)state;
	compare_begin();
	assert_int_equal(nftw(TEST_DATA "/skills", compare_file, 20, FTW_PHYS), 0);
	if (corpus != NULL && *corpus != '\0')
		assert_int_equal(nftw(corpus, compare_file, 20, FTW_PHYS), 0);
	assert_true(compared.texts > 0);
	compare_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anchors_of_literal_hold_both_cases),
		cmocka_unit_test(anchors_of_alternatives_are_multiplied),
		cmocka_unit_test(anchors_end_where_anything_may_follow),
		cmocka_unit_test(anchors_of_long_run_need_its_beginning),
		cmocka_unit_test(prefilter_finds_at_every_place),
		cmocka_unit_test(prefilter_with_many_anchors_finds_each),
		cmocka_unit_test(vectors_equal_plain_scan),
		cmocka_unit_test(skills_equal_plain_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
