// SPDX-License-Identifier: Apache-2.0
//
// Input: a text, given to each half of the pipeline. What must hold is said here
// with libunistring and plain loops, not with the code under test.
#include <errno.h>
#include <uninorm.h>
#include <unistr.h>

#include "fuzz.h"
#include "sanitize/prescan.h"
#include "sanitize/sanitize.h"
#include "sanitize/steps.h"
#include "spec/plain_sanitize.h"

#define FLAG_CHARACTERS 7 // a black flag, five tags, the cancel tag

struct cleaning {
	int rc;
	char *text; // exactly `len` bytes
	size_t len;
	struct cleaned cleaned;
	struct sanitize_stats stats;
	struct notices notices;
};

typedef int sanitizer(const char *text, size_t len, const struct budget *budget, struct cleaned *ret,
		      struct sanitize_stats *stats, struct notices *notices);

static struct cleaning clean(sanitizer *sanitize, const char *text, size_t len)
{
	struct cleaning cleaning = { .cleaned.unchanged = false };

	cleaning.rc = sanitize(text, len, NULL, &cleaning.cleaned, &cleaning.stats, &cleaning.notices);
	if (cleaning.rc < 0)
		return cleaning;
	if (cleaning.cleaned.unchanged) {
		cleaning.len = len;
		cleaning.text = fuzz_copy(text, len);
	} else {
		cleaning.len = cleaning.cleaned.text.len;
		cleaning.text = fuzz_copy(cleaning.cleaned.text.data, cleaning.len);
	}
	return cleaning;
}

static void clean_release(struct cleaning *cleaning)
{
	free(cleaning->text);
	cleaned_release(&cleaning->cleaned);
	notices_release(&cleaning->notices);
}

// The rows of the product document and their kin.
static bool is_invisible(ucs4_t c)
{
	return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || (c >= 0x7F && c < 0xA0) || c == 0xAD ||
	       c == 0x34F || c == 0x61C || c == 0x115F || c == 0x1160 || c == 0x17B4 || c == 0x17B5 ||
	       (c >= 0x180B && c <= 0x180E) || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
	       (c >= 0x2060 && c <= 0x2064) || (c >= 0x2066 && c <= 0x206F) || c == 0x3164 ||
	       (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF || c == 0xFFA0 || (c >= 0xFFF9 && c <= 0xFFFB) ||
	       (c >= 0x1D173 && c <= 0x1D17A) || (c >= 0xE0000 && c <= 0xE007F) ||
	       (c >= 0xE0100 && c <= 0xE01EF);
}

static bool is_flag(const char *text, size_t len)
{
	static const char *const names[] = { "gbeng", "gbsct", "gbwls" };

	for (size_t i = 0; i < 3; i++) {
		uint8_t flag[FLAG_CHARACTERS * 4];
		int at = u8_uctomb(flag, 0x1F3F4, sizeof(flag));

		for (size_t k = 0; k < 5; k++)
			at += u8_uctomb(flag + at, (ucs4_t)(0xE0000 + names[i][k]),
					(ptrdiff_t)sizeof(flag) - at);
		at += u8_uctomb(flag + at, 0xE007F, (ptrdiff_t)sizeof(flag) - at);
		if (len >= (size_t)at && memcmp(text, flag, (size_t)at) == 0)
			return true;
	}
	return false;
}

// Nothing invisible but emoji with their selector and the three flags; a mark at the start where it may be kept.
static void check_visible(const char *text, size_t len, bool keeps_mark)
{
	ucs4_t previous = 0, c;
	size_t width;

	for (size_t at = 0; at < len; at += width, previous = c) {
		int used = u8_mbtoucr(&c, (const uint8_t *)text + at, len - at);

		width = used > 0 ? (size_t)used : 1;
		if (used <= 0)
			c = 0;
		if (used <= 0 || !is_invisible(c))
			goto flag;
		if (c == 0xFE0F && previous != 0 && normalize_is_emoji(previous) &&
		    (previous > 0x7F ||
		     (len - at >= 6 && memcmp(text + at, "\xEF\xB8\x8F\xE2\x83\xA3", 6) == 0)))
			continue;
		FUZZ_CHECK(at == 0 && c == 0xFEFF && keeps_mark, "U+%04X at %zu of %zu", (unsigned)c, at,
			   len);
	flag:
		if (used > 0 && c == 0x1F3F4 && is_flag(text + at, len - at))
			width = FLAG_CHARACTERS * 4;
	}
}

static bool has_comment(const char *text, size_t len)
{
	const char *opener = memmem(text, len, "<!--", 4);

	return opener != NULL && memmem(opener + 4, len - (size_t)(opener + 4 - text), "-->", 3) != NULL;
}

static bool is_normal(const char *text, size_t len)
{
	size_t normal_len = 0;
	uint8_t *normal = u8_normalize(UNINORM_NFKC, (const uint8_t *)text, len, NULL, &normal_len);
	bool same = normal_len == len && (len == 0 || (normal != NULL && memcmp(normal, text, len) == 0));

	free(normal);
	return same;
}

// Each byte's place is in the source, never goes back, and a byte that was copied is the one at its place.
static void check_map(const struct cleaning *cleaning, const char *source, size_t source_len)
{
	const struct offset_map *map = &cleaning->cleaned.map;
	size_t last = 0, run = 0;

	for (size_t i = 1; i < map->count; i++)
		FUZZ_CHECK(map->runs[i - 1].to < map->runs[i].to, "run %zu", i);
	for (size_t to = 0; to <= cleaning->len; to++) {
		size_t from = offset_map_source(map, to);

		FUZZ_CHECK(from >= last, "byte %zu is from %zu, the one before from %zu", to, from, last);
		FUZZ_CHECK(to < cleaning->len ? from < source_len : from <= source_len,
			   "byte %zu of %zu is from %zu of %zu", to, cleaning->len, from, source_len);
		last = from;
		while (run < map->count && map->runs[run].to <= to)
			run++;
		if (to < cleaning->len && (run == 0 || !map->runs[run - 1].collapsed))
			FUZZ_CHECK(cleaning->text[to] == source[from], "byte %zu is not byte %zu", to, from);
	}
}

static void check_told(const struct cleaning *cleaning, const char *source, size_t source_len)
{
	size_t lines = fuzz_line_of(source, source_len);

	FUZZ_CHECK(cleaning->stats.source_size == source_len && cleaning->stats.size == cleaning->len,
		   "%zu to %zu", cleaning->stats.source_size, cleaning->stats.size);
	for (size_t i = 0; i < cleaning->notices.count; i++) {
		const struct notice *notice = &cleaning->notices.items[i];

		FUZZ_CHECK(notice->count > 0 && notice->line >= 1 && notice->line <= lines,
			   "%s %zu times, line %zu of %zu", notice_name(notice->code), notice->count,
			   notice->line, lines);
		FUZZ_CHECK(notice->detail == NULL || !fuzz_has_control(notice->detail), "%s: %s",
			   notice_name(notice->code), notice->detail);
	}
}

static void check_again(sanitizer *sanitize, const struct cleaning *once)
{
	struct cleaning twice = clean(sanitize, once->text, once->len);

	FUZZ_CHECK(twice.rc == 0 && twice.cleaned.unchanged, "the second time: %d, %zu to %zu bytes",
		   twice.rc, once->len, twice.len);
	FUZZ_CHECK(twice.stats.html_comments_stripped == 0 && twice.stats.invisible_stripped == 0 &&
			   !twice.stats.normalized && !twice.stats.tag_block_detected,
		   "the second time something is counted");
	clean_release(&twice);
}

static bool ends_in_marker(const char *text, size_t len)
{
	const size_t marker = sizeof(TRUNCATED_MARKER) - 1;

	return len >= marker && memcmp(text + len - marker, TRUNCATED_MARKER, marker) == 0;
}

// `text` is sanitized.
static void check_cut(const char *text, size_t len, size_t max)
{
	size_t keep = sanitize_cut(text, len, max), front = front_matter_length(text, len), cut_len;
	size_t characters = u8_mbsnlen((const uint8_t *)text + front, len - front);
	struct cleaning again;
	struct buf cut = BUF_INIT;
	char *copy;

	FUZZ_CHECK(keep <= len && (keep == len || keep >= front), "%zu of %zu, front matter %zu", keep, len,
		   front);
	FUZZ_CHECK(characters > max || keep == len, "%zu characters cut to %zu", characters, max);
	if (keep == len) {
		FUZZ_CHECK(characters <= max || (ends_in_marker(text, len) &&
						 characters <= max + sizeof(TRUNCATED_MARKER) - 1),
			   "%zu characters are more than %zu", characters, max);
		return;
	}
	FUZZ_CHECK(u8_mbsnlen((const uint8_t *)text + front, keep - front) <= max, "cut to more than %zu",
		   max);
	if (buf_append(&cut, text, keep) < 0 || buf_append_string(&cut, TRUNCATED_MARKER) < 0)
		abort();
	cut_len = cut.len;
	copy = fuzz_copy(cut.data, cut_len);
	FUZZ_CHECK(sanitize_cut(copy, cut_len, max) == cut_len, "cut twice");
	again = clean(sanitize_text, copy, cut_len);
	FUZZ_CHECK(again.rc == 0 && again.cleaned.unchanged, "what was cut at %zu is not sanitized", keep);
	clean_release(&again);
	free(copy);
	buf_release(&cut);
}

static void check_plain(const struct cleaning *got, struct plain_sanitized want)
{
	FUZZ_CHECK(got->rc == want.rc, "%d, the specification: %d", got->rc, want.rc);
	if (want.rc == 0) {
		FUZZ_CHECK(got->len == want.len &&
				   (want.len == 0 || memcmp(got->text, want.text, want.len) == 0),
			   "%zu bytes, the specification: %zu", got->len, want.len);
		FUZZ_CHECK(got->stats.html_comments_stripped == want.stats.html_comments_stripped &&
				   got->stats.invisible_stripped == want.stats.invisible_stripped &&
				   got->stats.tag_block_detected == want.stats.tag_block_detected &&
				   got->stats.normalized == want.stats.normalized,
			   "counts are not those of the specification");
	}
	plain_sanitized_release(&want);
}

// The two ways of looking ahead stop at the same places, wherever they begin.
static void check_prescans(const char *text, size_t len)
{
	if (!prescan_has_avx2())
		return;
	for (size_t at = 0; at <= len; at += 1 + at / 8) {
		size_t inert = prescan_portable.inert(text + at, len - at);
		size_t clean_len = prescan_portable.clean(text + at, len - at);

		FUZZ_CHECK(prescan_avx2.inert(text + at, len - at) == inert, "inert from %zu: %zu", at,
			   inert);
		FUZZ_CHECK(prescan_avx2.clean(text + at, len - at) == clean_len, "clean from %zu: %zu", at,
			   clean_len);
	}
}

static void fuzz_prose(const char *text, size_t len)
{
	struct cleaning once = clean(sanitize_text, text, len);
	size_t characters;

	FUZZ_CHECK(once.rc == 0, "prose of %zu bytes: %d", len, once.rc);
	check_plain(&once, plain_sanitize_text(text, len));
	FUZZ_CHECK(once.cleaned.unchanged == (once.len == len && memcmp(once.text, text, len) == 0),
		   "unchanged: %d", once.cleaned.unchanged);
	FUZZ_CHECK(u8_check((const uint8_t *)once.text, once.len) == NULL, "not UTF-8");
	FUZZ_CHECK(!has_comment(once.text, once.len), "a comment is left");
	FUZZ_CHECK(is_normal(once.text, once.len), "not NFKC");
	check_visible(once.text, once.len, false);
	check_map(&once, text, len);
	check_told(&once, text, len);
	check_again(sanitize_text, &once);
	characters = u8_mbsnlen((const uint8_t *)once.text, once.len);
	for (size_t max = 1; max <= characters + 1; max += 1 + characters / 6)
		check_cut(once.text, once.len, max);
	if (characters > 1)
		check_cut(once.text, once.len, characters - 1);
	clean_release(&once);
}

static void fuzz_code(const char *text, size_t len)
{
	struct cleaning once = clean(sanitize_code, text, len);

	check_plain(&once, plain_sanitize_code(text, len));
	// Bytes that join to invisible characters again and again are refused; UTF-8 never is.
	if (once.rc < 0) {
		FUZZ_CHECK(once.rc == -EOVERFLOW && u8_check((const uint8_t *)text, len) != NULL,
			   "code of %zu bytes: %d", len, once.rc);
		return;
	}
	FUZZ_CHECK(once.len <= len, "%zu to %zu bytes", len, once.len);
	FUZZ_CHECK(once.cleaned.unchanged == (once.len == len && memcmp(once.text, text, len) == 0),
		   "unchanged: %d", once.cleaned.unchanged);
	check_visible(once.text, once.len, true);
	check_map(&once, text, len);
	check_told(&once, text, len);
	check_again(sanitize_code, &once);
	clean_release(&once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct piece input = fuzz_input(data, size);

	check_prescans(input.data, input.len);
	fuzz_prose(input.data, input.len);
	fuzz_code(input.data, input.len);
	return 0;
}
