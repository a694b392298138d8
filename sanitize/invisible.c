// SPDX-License-Identifier: Apache-2.0
//
// Step 3: characters that nobody sees but a program reads. Takes out exactly
// what invisible_ranges.h lists; decides from the text alone, so that a second pass finds nothing.
#include "sanitize/character.h"
#include "sanitize/cleanup.h"
#include "sanitize/steps.h"
#include "sanitize/utf8.h"

#include <string.h>

#define KEYCAP          0x20E3
#define TAG_BASE        0xE0000
#define CANCEL_TAG      0xE007F
#define BYTE_ORDER_MARK 0xFEFF

// The flags in use that are written with tags: England, Scotland, Wales. Each as the bytes that stay whole.
#define TAG(letter) "\xF3\xA0\x81" letter
static const char *const flags[] = {
	"\xF0\x9F\x8F\xB4" TAG("\xA7") TAG("\xA2") TAG("\xA5") TAG("\xAE") TAG("\xA7") TAG("\xBF"),
	"\xF0\x9F\x8F\xB4" TAG("\xA7") TAG("\xA2") TAG("\xB3") TAG("\xA3") TAG("\xB4") TAG("\xBF"),
	"\xF0\x9F\x8F\xB4" TAG("\xA7") TAG("\xA2") TAG("\xB7") TAG("\xAC") TAG("\xB3") TAG("\xBF"),
};
#define BLACK_FLAG_LEN 4
#define FLAG_LEN       28
#define KEYCAP_LEN     7 // base, U+FE0F, U+20E3
#define KEYCAP_TAIL    "\xEF\xB8\x8F\xE2\x83\xA3"

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

size_t invisible_flag_length(const char *text, size_t len)
{
	return is_flag(text, len) ? FLAG_LEN : BLACK_FLAG_LEN;
}

bool invisible_selects_emoji(uint32_t previous, const char *text, size_t len)
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

// What is to be done with the character at `at`, which is not inert: whether it stays. It may turn out longer
// than one character, or be another one from here on.
static bool keeps(const struct edit *edit, size_t at, bool keep_mark, uint32_t previous, uint32_t *character,
		  size_t *width, struct invisible *found)
{
	const char *text = edit->source + at;

	if (*character == UTF8_INVALID) {
		seen_add(&found->invalid, at);
		return true;
	}
	switch ((enum character_kind)character_get(*character)->kind) {
	case KIND_KEEP:
		if (*character == BLACK_FLAG) {
			*width = invisible_flag_length(text, edit->len - at);
			if (*width > BLACK_FLAG_LEN)
				*character = CANCEL_TAG;
		}
		return true;
	case KIND_EMOJI:
		if (invisible_selects_emoji(previous, text, edit->len - at))
			return true;
		seen_add(&found->invisible, at);
		break;
	case KIND_LINE:
		seen_add(&found->invisible, at);
		*character = '\n';
		break;
	case KIND_TAG:
		add_tag(found, *character, at);
		break;
	case KIND_BIDI:
		seen_add(&found->bidi, at);
		break;
	case KIND_NUL:
		seen_add(&found->nul, at);
		break;
	case KIND_DROP:
		// A byte order mark at the start is a habit of editors, nothing to tell.
		if (at != 0 || *character != BYTE_ORDER_MARK)
			seen_add(&found->invisible, at);
		else if (keep_mark)
			return true;
		break;
	}
	found->stripped++;
	return false;
}

int invisible_strip(struct edit *edit, bool keep_mark, struct invisible *found)
{
	const char *text = edit->source;
	uint32_t character, previous = UTF8_INVALID; // the last one that stayed
	size_t at = edit->start, width, inert = INERT_RUN;
	int rc = 0;

	if (at > 0) {
		width = utf8_decode_last(text, at, &previous);
		// A comment may have stood between a flag and its tags.
		if (previous == BLACK_FLAG) {
			at -= width;
			previous = UTF8_INVALID;
		}
	}
	for (; at < edit->len && rc == 0; at += width) {
		if (inert >= INERT_RUN) {
			inert = 0;
			width = edit->prescan->inert(text + at, edit->len - at);
			if (width > 0) {
				(void)utf8_decode_last(text, at + width, &previous);
				continue;
			}
		}
		width = utf8_decode(text + at, edit->len - at, &character);
		if (character != UTF8_INVALID && character_is_inert(character)) {
			inert++;
			previous = character;
			continue;
		}
		inert = 0;
		rc = edit_ask(edit, at);
		if (rc < 0)
			break;
		if (keeps(edit, at, keep_mark, previous, &character, &width, found)) {
			previous = character;
		} else if (character == '\n') {
			previous = character;
			rc = edit_replace(edit, at, at + width, "\n", 1);
		} else {
			rc = edit_replace(edit, at, at + width, NULL, 0);
		}
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
