// SPDX-License-Identifier: Apache-2.0
//
// The pipeline, by each of its prescans, against the plain steps that it stands for: bytes, counts, notices and
// places must be theirs.
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "hostile.h"
#include "sanitize/character.h"
#include "sanitize/steps.h"
#include "sanitize/utf8.h"
#include "spec/plain_sanitize.h"

#define FILE_MAX ((size_t)1 << 20)

// What was compared and what differed, for the message.
struct comparison {
	const struct prescan *prescan;
	bool is_code;
	const char *text;
	size_t len;
	const struct plain_sanitized *want;
};

static void show(const char *what, const char *text, size_t len)
{
	fprintf(stderr, "%s:", what);
	for (size_t i = 0; i < len && i < 400; i++)
		fprintf(stderr, " %02X", (unsigned char)text[i]);
	fprintf(stderr, "\n");
}

static void differs(const struct comparison *of, const char *what)
{
	fprintf(stderr, "%s, %s: %s\n", of->prescan->name, of->is_code ? "code" : "text", what);
	show("input", of->text, of->len);
	if (of->want->text != NULL)
		show("want", of->want->text, of->want->len);
	fail();
}

static size_t line_of(const struct comparison *of, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset; i++)
		line += of->text[i] == '\n';
	return line;
}

static void compare_bytes(const struct comparison *of, const struct cleaned *got)
{
	const char *text = got->unchanged ? of->text : got->text.data;
	size_t len = got->unchanged ? of->len : got->text.len;

	if (len != of->want->len || (len > 0 && memcmp(text, of->want->text, len) != 0)) {
		show("got", text, len);
		differs(of, "bytes");
	}
	if (got->unchanged != (len == of->len && memcmp(of->text, of->want->text, len) == 0))
		differs(of, "unchanged");
}

static void compare_stats(const struct comparison *of, const struct sanitize_stats *got)
{
	const struct sanitize_stats *want = &of->want->stats;

	if (got->html_comments_stripped != want->html_comments_stripped)
		differs(of, "comments stripped");
	if (got->invisible_stripped != want->invisible_stripped)
		differs(of, "invisible stripped");
	if (got->tag_block_detected != want->tag_block_detected)
		differs(of, "tag block");
	if (got->normalized != want->normalized)
		differs(of, "normalized");
	if (got->size != want->size || got->source_size != want->source_size)
		differs(of, "sizes");
}

static void compare_notices(const struct comparison *of, const struct notices *got)
{
	for (int code = 0; code <= NOTICE_BIDI_CONTROL; code++) {
		const struct plain_notice *want = &of->want->notices[code];
		const struct notice *notice = notices_find(got, (enum notice_code)code);
		const char *detail = code == NOTICE_TAG_BLOCK ? of->want->tag_text : "";

		if (code == NOTICE_HTML_COMMENT && of->want->is_unterminated)
			detail = "unterminated";
		if ((notice == NULL ? 0 : notice->count) != want->count)
			differs(of, notice_name((enum notice_code)code));
		if (notice == NULL)
			continue;
		if (strcmp(notice->detail == NULL ? "" : notice->detail, detail) != 0)
			differs(of, "detail");
		if (notice->line < line_of(of, want->first.low) ||
		    notice->line > line_of(of, want->first.high))
			differs(of, "line");
	}
}

static void compare_places(const struct comparison *of, const struct cleaned *got)
{
	size_t width, source;
	uint32_t code;

	for (size_t at = 0; at < of->want->len; at += width) {
		width = utf8_decode(of->want->text + at, of->want->len - at, &code);
		source = offset_map_source(&got->map, at);
		if (source < of->want->places[at].low || source > of->want->places[at].high) {
			fprintf(stderr, "%zu comes from %zu, not from %zu to %zu\n", at, source,
				of->want->places[at].low, of->want->places[at].high);
			differs(of, "place");
		}
	}
}

static void compare_by(const struct comparison *of)
{
	struct cleaned cleaned = { .unchanged = false };
	struct sanitize_stats stats = { .truncated = false };
	struct notices notices = { NULL, 0, 0 };
	int rc = (of->is_code ? sanitize_code_by : sanitize_text_by)(of->prescan, of->text, of->len, NULL,
								     &cleaned, &stats, &notices);

	if (rc != of->want->rc)
		differs(of, "result");
	if (rc == 0) {
		compare_bytes(of, &cleaned);
		compare_stats(of, &stats);
		compare_notices(of, &notices);
		compare_places(of, &cleaned);
	}
	cleaned_release(&cleaned);
	notices_release(&notices);
}

static void compare(const char *text, size_t len, bool is_code)
{
	struct plain_sanitized want =
		is_code ? plain_sanitize_code(text, len) : plain_sanitize_text(text, len);
	struct comparison of = { &prescan_portable, is_code, text, len, &want };

	compare_by(&of);
	of.prescan = &prescan_avx2;
	if (prescan_has_avx2())
		compare_by(&of);
	plain_sanitized_release(&want);
}

// Text and code, alone and where the end of a block falls on each of its bytes.
static void compare_random(uint64_t *seed, size_t runs, bool is_code)
{
	char text[1024];
	size_t len, before;

	for (size_t i = 0; i < runs; i++) {
		before = i % 2 == 0 ? 0 : hostile_random(seed) % 160;
		memset(text, i % 4 == 1 ? 'x' : '\n', before);
		len = before + hostile_text(seed, 0, 16, text + before, 512);
		if (i % 3 == 0) {
			memset(text + len, 'y', 150);
			len += hostile_random(seed) % 150;
		}
		compare(text, len, is_code);
	}
}

static void sanitize_text_random_hostile_equals_plain_steps(void **state)
{
	uint64_t seed = 77;

	(void)state;
	compare_random(&seed, hostile_runs(1), false);
}

static void sanitize_code_random_hostile_equals_plain_steps(void **state)
{
	uint64_t seed = 78;

	(void)state;
	compare_random(&seed, hostile_runs(4), true);
}

static void sanitize_text_random_nests_equal_plain_steps(void **state)
{
	size_t runs = hostile_runs(8);
	uint64_t seed = 4711;
	char text[512];

	(void)state;
	for (size_t i = 0; i < runs; i++) {
		// Of the comment's own pieces alone.
		size_t len = 0, pieces = 1 + hostile_random(&seed) % 60;

		for (size_t k = 0; k < pieces; k++) {
			const struct hostile_piece *piece = &hostile_pieces[hostile_random(&seed) % 16];

			memcpy(text + len, piece->bytes, piece->len);
			len += piece->len;
		}
		compare(text, len, false);
	}
}

static size_t add(char *text, size_t len, uint32_t code)
{
	return len + utf8_encode(code, text + len);
}

static const uint32_t neighbours[] = { 'a', 0xE9, 0x301, 0x1100, 0xAC00, 0x1F600, '<', '\n', 0xFE0F };
#define NEIGHBOURS (sizeof(neighbours) / sizeof(neighbours[0]))

static void sanitize_text_all_code_points_equal_plain_steps(void **state)
{
#ifdef HOSTILE_SLOW
	const uint32_t step = 7;
#else
	const uint32_t step = 1;
#endif
	char text[1024];
	size_t len;

	(void)state;
	// Each between all its neighbours at once, so that a million texts are enough.
	for (uint32_t code = 0; code < 0x110000; code += step) {
		if (code >= 0xD800 && code <= 0xDFFF)
			continue;
		len = add(text, 0, code);
		for (size_t i = 0; i < NEIGHBOURS; i++) {
			len = add(text, len, ' ');
			len = add(text, len, neighbours[i]);
			len = add(text, len, code);
			len = add(text, len, neighbours[i]);
		}
		compare(text, len, false);
	}
}

// One character of each kind that the table tells apart.
static size_t interesting(uint32_t *ret, size_t max)
{
	struct character seen[512];
	size_t count = 0, i;

	for (uint32_t code = 0; code < 0x110000; code++) {
		struct character kind;

		if (code >= 0xD800 && code <= 0xDFFF)
			continue;
		kind = *character_get(code);
		kind.alone = kind.parts = kind.compositions = 0;
		kind.compositions_len = kind.compositions_len > 0;
		for (i = 0; i < count && memcmp(&seen[i], &kind, sizeof(kind)) != 0; i++)
			;
		if (i < count)
			continue;
		assert_true(count < max);
		seen[count] = kind;
		ret[count++] = code;
	}
	return count;
}

static void sanitize_text_pairs_equal_plain_steps(void **state)
{
	uint32_t codes[512];
	size_t count = interesting(codes, 512 - NEIGHBOURS), len;
	char text[8];

	(void)state;
	for (size_t i = 0; i < NEIGHBOURS; i++)
		codes[count++] = neighbours[i];
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++) {
			len = add(text, 0, codes[i]);
			len = add(text, len, codes[k]);
			compare(text, len, false);
		}
}

static int compare_file(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	size_t len = strlen(path);
	char *text;
	FILE *file;

	(void)where;
	if (kind != FTW_F || len < 3 || strcmp(path + len - 3, ".md") != 0 ||
	    (size_t)status->st_size > FILE_MAX)
		return 0;
	file = fopen(path, "r");
	text = malloc((size_t)status->st_size + 1);
	assert_non_null(file);
	assert_non_null(text);
	len = fread(text, 1, (size_t)status->st_size, file);
	fclose(file);
	compare(text, len, false);
	compare(text, len, true);
	free(text);
	return 0;
}

static void sanitize_corpus_equals_plain_steps(void **state)
{
	const char *corpus = getenv("SKILLFS_CORPUS");
	char path[4096];

	(void)state;
	if (corpus == NULL || *corpus == '\0')
		return; // to tests/run.sh a skipped case is a failure
	snprintf(path, sizeof(path), "%s/benign", corpus);
	assert_int_equal(nftw(path, compare_file, 16, FTW_PHYS), 0);
}

// How far a prescan goes: to the byte the same, and no further than the steps leave the text alone.
static void prescan_random_hostile_answers_are_equal(void **state)
{
	size_t runs = hostile_runs(4);
	uint64_t seed = 11;
	char text[1024];

	(void)state;
	if (!prescan_has_avx2())
		return;
	for (size_t i = 0; i < runs; i++) {
		size_t len = 0, pad;

		for (int k = 0; k < 3; k++) {
			pad = hostile_random(&seed) % 90;
			memset(text + len, k == 1 ? '!' : '<', pad);
			len += pad;
			len += hostile_text(&seed, 0, 4, text + len, 128);
		}
		if (prescan_avx2.clean(text, len) != prescan_portable.clean(text, len) ||
		    prescan_avx2.inert(text, len) != prescan_portable.inert(text, len)) {
			show("input", text, len);
			fail();
		}
	}
}

static void prescan_ordinary_text_is_clean(void **state)
{
	const char text[] =
		"# Title\r\n\tcaf\xC3\xA9 \xE2\x80\x94 <b>x</b> <!DOCTYPE> -- \xF0\x9F\x98\x80 \xE2\x86\x92 "
		"\xE2\x94\x82 \xE4\xB8\xAD\xE6\x96\x87 \xEA\xB0\x80 !\xE2\x9C\x85\xEF\xB8\x8F "
		"1\xEF\xB8\x8F\xE2\x83\xA3";

	(void)state;
	assert_int_equal(prescan_portable.clean(text, sizeof(text) - 1), sizeof(text) - 1);
	if (prescan_has_avx2())
		assert_int_equal(prescan_avx2.clean(text, sizeof(text) - 1), sizeof(text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prescan_ordinary_text_is_clean),
		cmocka_unit_test(prescan_random_hostile_answers_are_equal),
		cmocka_unit_test(sanitize_text_pairs_equal_plain_steps),
		cmocka_unit_test(sanitize_text_all_code_points_equal_plain_steps),
		cmocka_unit_test(sanitize_text_random_nests_equal_plain_steps),
		cmocka_unit_test(sanitize_text_random_hostile_equals_plain_steps),
		cmocka_unit_test(sanitize_code_random_hostile_equals_plain_steps),
		cmocka_unit_test(sanitize_corpus_equals_plain_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
