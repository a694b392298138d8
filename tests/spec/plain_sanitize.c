// SPDX-License-Identifier: Apache-2.0
#include "spec/plain_sanitize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <uninorm.h>

#include "sanitize/utf8.h"

#define TEXT_ROUNDS  4
#define CODE_ROUNDS  8
#define TAG_TEXT_MAX 200

// A code point or, in code, a stretch of bytes that is none.
struct unit {
	uint32_t code;
	char bytes[4];
	size_t len;
	struct plain_place place;
};

struct units {
	struct unit *all;
	size_t count;
};

static void *need(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static struct unit unit_of(uint32_t code, struct plain_place place)
{
	struct unit unit = { .code = code, .place = place };

	unit.len = utf8_encode(code, unit.bytes);
	return unit;
}

static struct units units_new(size_t max)
{
	return (struct units){ need(calloc(max + 1, sizeof(struct unit))), 0 };
}

static void units_add(struct units *units, struct unit unit)
{
	units->all[units->count++] = unit;
}

static bool units_equal(const struct units *a, const struct units *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->all[i].len != b->all[i].len ||
		    memcmp(a->all[i].bytes, b->all[i].bytes, a->all[i].len) != 0)
			return false;
	return true;
}

static void note(struct plain_notice *notice, struct plain_place place)
{
	if (notice->count++ == 0) {
		notice->first = place;
		return;
	}
	if (place.low < notice->first.low)
		notice->first.low = place.low;
	if (place.high < notice->first.high)
		notice->first.high = place.high;
}

// `places` says where each byte came from; NULL: from where it stands.
static struct units decode(const char *text, size_t len, const struct plain_place *places)
{
	struct units units = units_new(len);
	size_t width;

	for (size_t at = 0; at < len; at += width) {
		struct unit unit = { .place = places == NULL ? (struct plain_place){ at, at } : places[at] };

		width = utf8_decode(text + at, len - at, &unit.code);
		memcpy(unit.bytes, text + at, width);
		unit.len = width;
		units_add(&units, unit);
	}
	return units;
}

static void repair(struct units *units, struct plain_sanitized *ret)
{
	for (size_t i = 0; i < units->count; i++) {
		if (units->all[i].code != UTF8_INVALID)
			continue;
		note(&ret->notices[NOTICE_TEXT_INVALID_UTF8], units->all[i].place);
		units->all[i] = unit_of(0xFFFD, units->all[i].place);
	}
}

static bool spells(const struct units *units, size_t at, const char *word)
{
	for (; *word != '\0'; word++, at++)
		if (at >= units->count || units->all[at].code != (unsigned char)*word)
			return false;
	return true;
}

static size_t find(const struct units *units, size_t from, const char *word)
{
	while (from < units->count && !spells(units, from, word))
		from++;
	return from;
}

// Once from left to right; how many went.
static size_t strip_comments(struct units *units, struct plain_sanitized *ret)
{
	size_t out = 0, comments = 0, closer;

	for (size_t i = 0; i < units->count;) {
		closer = spells(units, i, "<!--") ? find(units, i + 4, "-->") : units->count;
		if (closer == units->count) {
			units->all[out++] = units->all[i++];
			continue;
		}
		note(&ret->notices[NOTICE_HTML_COMMENT], units->all[i].place);
		i = closer + 3;
		comments++;
	}
	units->count = out;
	return comments;
}

static size_t normalize_some(const struct unit *from, size_t count, uint32_t **ret)
{
	uint32_t *codes = need(calloc(count + 1, sizeof(*codes)));
	size_t len = 0;

	for (size_t i = 0; i < count; i++)
		codes[i] = from[i].code;
	*ret = need(u32_normalize(UNINORM_NFKC, codes, count, NULL, &len));
	free(codes);
	return len;
}

// The whole text at once gives the characters. Where they came from is known between ASCII characters, which
// nothing before them changes: either all stayed, or any may have come from any.
static struct units normalize(const struct units *units)
{
	uint32_t *whole, *part;
	size_t whole_len = normalize_some(units->all, units->count, &whole), len, end;
	struct units normal = units_new(whole_len);

	for (size_t i = 0; i < units->count; i = end) {
		struct plain_place all = units->all[i].place;
		bool same;

		for (end = i + 1; end < units->count && units->all[end].code >= 0x80; end++) {
			if (units->all[end].place.low < all.low)
				all.low = units->all[end].place.low;
			if (units->all[end].place.high > all.high)
				all.high = units->all[end].place.high;
		}
		len = normalize_some(units->all + i, end - i, &part);
		same = len == end - i;
		for (size_t k = 0; same && k < len; k++)
			same = part[k] == units->all[i + k].code;
		for (size_t k = 0; k < len; k++)
			units_add(&normal, unit_of(part[k], same ? units->all[i + k].place : all));
		free(part);
	}
	if (normal.count != whole_len)
		abort();
	for (size_t i = 0; i < whole_len; i++)
		if (normal.all[i].code != whole[i])
			abort();
	free(whole);
	return normal;
}

static bool is_bidi(uint32_t c)
{
	return c == 0x61C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
	       (c >= 0x2066 && c <= 0x2069);
}

static bool is_tag(uint32_t c)
{
	return c >= 0xE0000 && c <= 0xE007F;
}

static bool is_line(uint32_t c)
{
	return c == 0x85 || c == 0x2028 || c == 0x2029;
}

static bool is_dropped(uint32_t c)
{
	return (c >= 1 && c < 9) || c == 11 || c == 12 || (c >= 14 && c < 32) || (c >= 0x7F && c < 0xA0) ||
	       c == 0xAD || c == 0x34F || c == 0x115F || c == 0x1160 || c == 0x17B4 || c == 0x17B5 ||
	       (c >= 0x180B && c <= 0x180E) || (c >= 0x200B && c <= 0x200D) || (c >= 0x2060 && c <= 0x2064) ||
	       (c >= 0x206A && c <= 0x206F) || c == 0x3164 || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF ||
	       c == 0xFFA0 || (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0x1D173 && c <= 0x1D17A) ||
	       (c >= 0xE0100 && c <= 0xE01EF);
}

static bool is_flag(const struct units *units, size_t at)
{
	static const char *const names[] = { "gbeng", "gbsct", "gbwls" };

	for (size_t i = 0; i < 3; i++) {
		bool same = at + 7 <= units->count && units->all[at].code == 0x1F3F4 &&
			    units->all[at + 6].code == 0xE007F;

		for (size_t k = 0; same && k < 5; k++)
			same = units->all[at + 1 + k].code == 0xE0000u + (unsigned char)names[i][k];
		if (same)
			return true;
	}
	return false;
}

static bool keeps_selector(const struct units *out, const struct units *in, size_t at)
{
	const uint32_t base = out->count > 0 ? out->all[out->count - 1].code : UTF8_INVALID;

	if (base == UTF8_INVALID || !uc_is_property_emoji(base))
		return false;
	return base > 0x7F || (at + 1 < in->count && in->all[at + 1].code == 0x20E3);
}

static void drop(const struct unit *unit, bool is_first, struct plain_sanitized *ret)
{
	const uint32_t code = unit->code;
	enum notice_code what = NOTICE_INVISIBLE_CHARACTER;

	ret->stats.invisible_stripped++;
	if (is_tag(code)) {
		size_t len = strlen(ret->tag_text);

		if (code >= 0xE0020 && code <= 0xE007E && len < TAG_TEXT_MAX)
			ret->tag_text[len] = (char)(code - 0xE0000);
		what = NOTICE_TAG_BLOCK;
	} else if (code == 0) {
		what = NOTICE_TEXT_NUL;
	} else if (is_bidi(code)) {
		what = NOTICE_BIDI_CONTROL;
	} else if (is_first && code == 0xFEFF) {
		return;
	}
	note(&ret->notices[what], unit->place);
}

static struct units strip(const struct units *units, bool is_code, bool notes_invalid,
			  struct plain_sanitized *ret)
{
	struct units out = units_new(units->count);

	for (size_t i = 0; i < units->count; i++) {
		const struct unit *unit = &units->all[i];
		const uint32_t code = unit->code;

		if (is_flag(units, i)) {
			for (size_t k = 0; k < 7; k++)
				units_add(&out, units->all[i + k]);
			i += 6;
		} else if (code == UTF8_INVALID) {
			if (notes_invalid)
				note(&ret->notices[NOTICE_TEXT_INVALID_UTF8], unit->place);
			units_add(&out, *unit);
		} else if (is_line(code)) {
			drop(unit, false, ret);
			units_add(&out, unit_of('\n', unit->place));
		} else if ((code == 0xFE0F && keeps_selector(&out, units, i)) ||
			   (is_code && i == 0 && code == 0xFEFF)) {
			units_add(&out, *unit);
		} else if (code == 0 || is_bidi(code) || is_tag(code) || is_dropped(code)) {
			drop(unit, i == 0, ret);
		} else {
			units_add(&out, *unit);
		}
	}
	return out;
}

static void finish(struct units *units, size_t len, struct plain_sanitized *ret)
{
	size_t total = 0;

	for (size_t i = 0; i < units->count; i++)
		total += units->all[i].len;
	ret->text = need(malloc(total + 1));
	ret->places = need(calloc(total + 1, sizeof(*ret->places)));
	for (size_t i = 0; i < units->count; i++) {
		const struct unit *unit = &units->all[i];

		memcpy(ret->text + ret->len, unit->bytes, unit->len);
		for (size_t k = 0; k < unit->len; k++) {
			ret->places[ret->len + k] = unit->place;
			// The bytes of no character are copied as they are.
			if (unit->code == UTF8_INVALID) {
				ret->places[ret->len + k].low += k;
				ret->places[ret->len + k].high += k;
			}
		}
		ret->len += unit->len;
	}
	ret->text[ret->len] = '\0';
	free(units->all);
	ret->stats.source_size = len;
	ret->stats.size = ret->len;
	ret->stats.tag_block_detected = ret->notices[NOTICE_TAG_BLOCK].count > 0;
}

struct plain_sanitized plain_sanitize_text(const char *text, size_t len)
{
	struct plain_sanitized ret = { .rc = 0 };
	struct units units = decode(text, len, NULL), before, normal;
	bool is_same = false;
	size_t opener;

	repair(&units, &ret);
	for (int round = 0; !is_same && ret.rc == 0; round++) {
		if (round == TEXT_ROUNDS) {
			ret.rc = -EOVERFLOW;
			break;
		}
		before = units_new(units.count);
		memcpy(before.all, units.all, units.count * sizeof(*units.all));
		before.count = units.count;
		// The first round takes comments out once, the others until none is left.
		while (strip_comments(&units, &ret) > 0 && round > 0)
			;
		normal = normalize(&units);
		ret.stats.normalized |= !units_equal(&normal, &units);
		free(units.all);
		units = strip(&normal, false, false, &ret);
		free(normal.all);
		is_same = units_equal(&units, &before);
		free(before.all);
	}
	ret.stats.html_comments_stripped = ret.notices[NOTICE_HTML_COMMENT].count;
	opener = find(&units, 0, "<!--");
	if (opener < units.count) {
		note(&ret.notices[NOTICE_HTML_COMMENT], units.all[opener].place);
		ret.is_unterminated = true;
	}
	finish(&units, len, &ret);
	return ret;
}

struct plain_sanitized plain_sanitize_code(const char *text, size_t len)
{
	struct plain_sanitized ret = { .rc = 0 }, step = { .rc = 0 };
	struct units units = decode(text, len, NULL), out;
	bool is_same = false;

	for (int round = 0; !is_same && ret.rc == 0; round++) {
		if (round == CODE_ROUNDS) {
			ret.rc = -EOVERFLOW;
			break;
		}
		out = strip(&units, true, round == 0, &ret);
		is_same = units_equal(&out, &units);
		// Bytes that stand together now may be a character.
		step.len = 0;
		finish(&out, len, &step);
		free(units.all);
		units = decode(step.text, step.len, step.places);
		plain_sanitized_release(&step);
	}
	finish(&units, len, &ret);
	return ret;
}

void plain_sanitized_release(struct plain_sanitized *sanitized)
{
	free(sanitized->text);
	free(sanitized->places);
	sanitized->text = NULL;
	sanitized->places = NULL;
}
