// SPDX-License-Identifier: Apache-2.0
//
// Step 3: characters that nobody sees but a program reads. Takes out exactly
// the table below; decides from the text alone, so that a second pass finds nothing.
#include "sanitize/cleanup.h"
#include "sanitize/steps.h"
#include "sanitize/utf8.h"

#include <string.h>

enum kind {
	KIND_KEEP,
	KIND_DROP,
	KIND_BIDI,
	KIND_NUL,
	KIND_TAG,
	KIND_LINE,    // becomes a line feed: without it words would be glued together
	KIND_EMOJI,   // U+FE0F: stays behind an emoji
	KIND_INVALID, // no UTF-8
};

struct range {
	uint32_t first, last;
	enum kind kind;
};

// Sorted.
static const struct range ranges[] = {
	{ 0x0000, 0x0000, KIND_NUL },
	{ 0x0001, 0x0008, KIND_DROP }, // C0 but tab, line feed, carriage return
	{ 0x000B, 0x000C, KIND_DROP },
	{ 0x000E, 0x001F, KIND_DROP },
	{ 0x007F, 0x0084, KIND_DROP }, // DEL and C1
	{ 0x0085, 0x0085, KIND_LINE }, // NEL
	{ 0x0086, 0x009F, KIND_DROP },
	{ 0x00AD, 0x00AD, KIND_DROP }, // soft hyphen
	{ 0x034F, 0x034F, KIND_DROP }, // combining grapheme joiner
	{ 0x061C, 0x061C, KIND_BIDI }, // Arabic letter mark
	{ 0x115F, 0x1160, KIND_DROP }, // Hangul fillers
	{ 0x17B4, 0x17B5, KIND_DROP }, // Khmer inherent vowels
	{ 0x180B, 0x180E, KIND_DROP }, // Mongolian selectors
	{ 0x200B, 0x200D, KIND_DROP }, // zero width
	{ 0x200E, 0x200F, KIND_BIDI }, // marks
	{ 0x2028, 0x2029, KIND_LINE }, // line and paragraph separator
	{ 0x202A, 0x202E, KIND_BIDI }, // embeddings and overrides
	{ 0x2060, 0x2064, KIND_DROP }, // word joiner, invisible operators
	{ 0x2066, 0x2069, KIND_BIDI }, // isolates
	{ 0x206A, 0x206F, KIND_DROP }, // deprecated format characters
	{ 0x3164, 0x3164, KIND_DROP }, // Hangul filler
	{ 0xFE00, 0xFE0E, KIND_DROP }, // variation selectors
	{ 0xFE0F, 0xFE0F, KIND_EMOJI },
	{ 0xFEFF, 0xFEFF, KIND_DROP },   // byte order mark
	{ 0xFFA0, 0xFFA0, KIND_DROP },   // halfwidth Hangul filler
	{ 0xFFF9, 0xFFFB, KIND_DROP },   // interlinear annotation
	{ 0x1D173, 0x1D17A, KIND_DROP }, // musical format characters
	{ 0xE0000, 0xE007F, KIND_TAG },
	{ 0xE0100, 0xE01EF, KIND_DROP }, // variation selectors supplement
};

#define BLACK_FLAG 0x1F3F4
#define KEYCAP     0x20E3
#define TAG_BASE   0xE0000
#define CANCEL_TAG 0xE007F

// The flags in use that are written with tags: England, Scotland, Wales. Each as the bytes that stay whole.
#define TAG(letter) "\xF3\xA0\x81" letter
static const char *const flags[] = {
	"\xF0\x9F\x8F\xB4" TAG("\xA7") TAG("\xA2") TAG("\xA5") TAG("\xAE") TAG("\xA7") TAG("\xBF"),
	"\xF0\x9F\x8F\xB4" TAG("\xA7") TAG("\xA2") TAG("\xB3") TAG("\xA3") TAG("\xB4") TAG("\xBF"),
	"\xF0\x9F\x8F\xB4" TAG("\xA7") TAG("\xA2") TAG("\xB7") TAG("\xAC") TAG("\xB3") TAG("\xBF"),
};
#define FLAG_LEN    28
#define KEYCAP_LEN  7 // base, U+FE0F, U+20E3
#define KEYCAP_TAIL "\xEF\xB8\x8F\xE2\x83\xA3"

static enum kind kind_of(uint32_t character)
{
	size_t low = 0, high = ARRAY_SIZE(ranges), middle;

	if (character == UTF8_INVALID)
		return KIND_INVALID;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (character > ranges[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == ARRAY_SIZE(ranges) || character < ranges[low].first)
		return KIND_KEEP;
	return ranges[low].kind;
}

// Printable ASCII, tab and line ends: most of every text.
static bool is_plain(char byte)
{
	return (byte >= 0x20 && byte < 0x7F) || byte == '\n' || byte == '\t' || byte == '\r';
}

static bool is_flag(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (len >= FLAG_LEN && memcmp(text, flags[i], FLAG_LEN) == 0)
			return true;
	return false;
}

static bool is_keycap_base(uint32_t character)
{
	return (character >= '0' && character <= '9') || character == '#' || character == '*';
}

// `previous` is the last character that stayed; a digit is an emoji only as part of a whole keycap.
static bool selects_emoji(uint32_t previous, const char *text, size_t len)
{
	if (previous == UTF8_INVALID || !normalize_is_emoji(previous))
		return false;
	if (previous < 0x80)
		return is_keycap_base(previous) && len >= KEYCAP_LEN - 1 &&
		       memcmp(text, KEYCAP_TAIL, KEYCAP_LEN - 1) == 0;
	return true;
}

static void add_tag(struct invisible *found, uint32_t character, size_t at)
{
	uint32_t letter = character - TAG_BASE;

	seen_add(&found->tags, at);
	if (letter >= 0x20 && letter < 0x7F && found->tag_len < TAG_TEXT_MAX)
		found->tag_text[found->tag_len++] = (char)letter;
}

int invisible_strip(struct edit *edit, bool keep_mark, struct invisible *found)
{
	const char *text = edit->source;
	uint32_t character, previous = UTF8_INVALID;
	size_t at = 0, width;
	int rc = 0;

	for (; at < edit->len && rc == 0; at += width) {
		if (is_plain(text[at])) {
			previous = (unsigned char)text[at];
			width = 1;
			continue;
		}
		width = utf8_decode(text + at, edit->len - at, &character);
		switch (kind_of(character)) {
		case KIND_INVALID:
			seen_add(&found->invalid, at);
			previous = character;
			continue;
		case KIND_KEEP:
			if (character == BLACK_FLAG && is_flag(text + at, edit->len - at)) {
				width = FLAG_LEN;
				character = CANCEL_TAG;
			}
			previous = character;
			continue;
		case KIND_EMOJI:
			if (selects_emoji(previous, text + at, edit->len - at)) {
				previous = character;
				continue;
			}
			seen_add(&found->invisible, at);
			break;
		case KIND_LINE:
			seen_add(&found->invisible, at);
			found->stripped++;
			previous = '\n';
			rc = edit_replace(edit, at, at + width, "\n", 1);
			continue;
		case KIND_TAG:
			add_tag(found, character, at);
			break;
		case KIND_BIDI:
			seen_add(&found->bidi, at);
			break;
		case KIND_NUL:
			seen_add(&found->nul, at);
			break;
		case KIND_DROP:
			if (at == 0 && character == 0xFEFF) {
				if (keep_mark)
					continue;
				break; // a habit of editors, nothing to tell
			}
			seen_add(&found->invisible, at);
			break;
		}
		found->stripped++;
		rc = edit_replace(edit, at, at + width, NULL, 0);
	}
	return rc == 0 ? edit_finish(edit) : rc;
}

size_t invisible_sequence_start(const char *text, size_t len, size_t at)
{
	// A keycap's base is the one ASCII byte before its tail.
	for (size_t back = 1; back < KEYCAP_LEN && back <= at; back++)
		if (len - (at - back) >= KEYCAP_LEN && is_keycap_base((unsigned char)text[at - back]) &&
		    memcmp(text + at - back + 1, KEYCAP_TAIL, KEYCAP_LEN - 1) == 0)
			return at - back;
	for (size_t back = 1; back < FLAG_LEN && back <= at; back++)
		if (is_flag(text + at - back, len - (at - back)))
			return at - back;
	return at;
}
