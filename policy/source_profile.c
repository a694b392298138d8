// SPDX-License-Identifier: Apache-2.0
//
// Caps on a tool's output. Any bytes are taken; a byte that belongs to no valid
// UTF-8 sequence counts as one character.
#include "policy/source_profile.h"

#include <errno.h>
#include <string.h>

#include "sanitize/cleanup.h"

const struct builtin_source_profile builtin_source_profiles[] = {
	{ "web_fetch", 2000000, 50000, EXTRACTION_READABILITY },
	{ "web_search", 500000, 40000, EXTRACTION_STRUCTURED },
	{ "bash", 500000, 50000, EXTRACTION_TAIL },
	{ "file_read", 1000000, 100000, EXTRACTION_RAW },
	{ "mcp_default", 2000000, 50000, EXTRACTION_RAW },
};
const size_t builtin_source_profile_count = ARRAY_SIZE(builtin_source_profiles);

static const char *const extraction_names[] = {
	[EXTRACTION_RAW] = "raw",
	[EXTRACTION_TAIL] = "tail",
	[EXTRACTION_STRUCTURED] = "structured",
	[EXTRACTION_READABILITY] = "readability",
};

const char *extraction_name(enum extraction extraction)
{
	if ((size_t)extraction >= ARRAY_SIZE(extraction_names))
		return "unknown";
	return extraction_names[extraction];
}

int extraction_parse(const char *text, enum extraction *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(extraction_names); i++) {
		if (strcmp(text, extraction_names[i]) == 0) {
			*ret = (enum extraction)i;
			return 0;
		}
	}
	return -EINVAL;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	if (value < low)
		return low;
	return value > high ? high : value;
}

void source_profile_clamp(struct source_profile *profile)
{
	profile->max_response_bytes =
		clamp(profile->max_response_bytes, SOURCE_PROFILE_MIN_BYTES, SOURCE_PROFILE_MAX_BYTES);
	profile->max_chars = clamp(profile->max_chars, SOURCE_PROFILE_MIN_CHARS, SOURCE_PROFILE_MAX_CHARS);
}

// Length of the character at `at`: of a valid UTF-8 sequence, or 1.
static size_t character_length(const unsigned char *text, size_t len, size_t at)
{
	unsigned char lead = text[at], low = 0x80, high = 0xbf;
	size_t need;

	if (lead >= 0xc2 && lead <= 0xdf)
		need = 2;
	else if (lead >= 0xe0 && lead <= 0xef)
		need = 3;
	else if (lead >= 0xf0 && lead <= 0xf4)
		need = 4;
	else
		return 1;
	if (need > len - at)
		return 1;
	// Overlong forms, surrogates and values above U+10FFFF show in the second byte.
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	if (text[at + 1] < low || text[at + 1] > high)
		return 1;
	for (size_t i = 2; i < need; i++)
		if ((text[at + i] & 0xc0) != 0x80)
			return 1;
	return need;
}

// Where the character begins that byte `at` is in the middle of; `at` itself when it begins one. A lead
// byte is never a continuation byte, so there is at most one such character and 3 bytes back are enough.
static size_t character_start(const unsigned char *text, size_t len, size_t at)
{
	for (size_t back = 1; back <= 3 && back <= at && at < len; back++)
		if (character_length(text, len, at - back) > back)
			return at - back;
	return at;
}

static size_t skip_characters(const unsigned char *text, size_t len, size_t at, uint64_t count)
{
	for (; count > 0 && at < len; count--)
		at += character_length(text, len, at);
	return at;
}

static uint64_t count_characters(const unsigned char *text, size_t len, size_t at)
{
	uint64_t count = 0;

	for (; at < len; count++)
		at += character_length(text, len, at);
	return count;
}

void source_profile_window(const struct source_profile *profile, const char *text, size_t len,
			   size_t *ret_offset, size_t *ret_len)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t start = 0, end = len;

	if (profile->strategy == EXTRACTION_TAIL) {
		uint64_t count;

		if (len > profile->max_response_bytes) {
			size_t cut = len - (size_t)profile->max_response_bytes;

			start = character_start(bytes, len, cut);
			if (start < cut)
				start += character_length(bytes, len, start);
		}
		count = count_characters(bytes, len, start);
		if (count > profile->max_chars)
			start = skip_characters(bytes, len, start, count - profile->max_chars);
	} else {
		if (len > profile->max_response_bytes)
			end = character_start(bytes, len, (size_t)profile->max_response_bytes);
		end = skip_characters(bytes, end, 0, profile->max_chars);
	}
	*ret_offset = start;
	*ret_len = end - start;
}
