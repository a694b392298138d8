// SPDX-License-Identifier: Apache-2.0
//
// Run by the build: writes the table that sanitize/character.h declares, with libunistring's answers for each
// code point. generate-characters FILE
#include "sanitize/character.h"

#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

#include "sanitize/cleanup.h"
#include "sanitize/invisible_ranges.h"

#define CODE_POINTS 0x110000u
#define BLOCKS      (CODE_POINTS / CHARACTER_BLOCK)
#define POOL_MAX    65536u // places are 16 bits wide
#define PARTS_MAX   32
#define BLACK_FLAG  0x1F3F4 // stays, but begins what step 3 looks at as a whole

struct pair {
	uint32_t first, second, composed;
};

static struct character all[CODE_POINTS];
static bool inert[CODE_POINTS];
static bool is_second[CODE_POINTS];

static struct pair pairs[4096];
static size_t pairs_count;

static char bytes[POOL_MAX];
static size_t bytes_count;
static uint32_t parts[POOL_MAX];
static size_t parts_count;

static struct character unique[POOL_MAX];
static size_t unique_count, unique_inert;
static uint16_t rows[BLOCKS][CHARACTER_BLOCK];
static size_t rows_count;
static uint16_t blocks[BLOCKS];

static _Noreturn void give_up(const char *why, uint32_t code)
{
	fprintf(stderr, "generate-characters: U+%04X: %s\n", code, why);
	exit(1);
}

static bool is_surrogate(uint32_t code)
{
	return code >= 0xD800 && code <= 0xDFFF;
}

static bool is_hangul_syllable(uint32_t code)
{
	return code >= 0xAC00 && code <= 0xD7A3;
}

static size_t normalize(uninorm_t form, uint32_t code, uint32_t *ret)
{
	size_t count = PARTS_MAX;

	if (u32_normalize(form, &code, 1, ret, &count) != ret)
		give_up("decomposes into too much", code);
	return count;
}

static void find_pairs(void)
{
	ucs4_t both[UC_DECOMPOSITION_MAX_LENGTH];

	for (uint32_t code = 0; code < CODE_POINTS; code++) {
		if (is_surrogate(code) || is_hangul_syllable(code) ||
		    uc_canonical_decomposition(code, both) != 2 || uc_composition(both[0], both[1]) != code)
			continue;
		if (pairs_count == ARRAY_SIZE(pairs))
			give_up("too many compositions", code);
		pairs[pairs_count++] = (struct pair){ both[0], both[1], code };
		is_second[both[1]] = true;
	}
	for (uint32_t vowel = 0x1161; vowel <= 0x1175; vowel++)
		is_second[vowel] = true;
	for (uint32_t trail = 0x11A8; trail <= 0x11C2; trail++)
		is_second[trail] = true;
}

static int compare_pairs(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return (a->second > b->second) - (a->second < b->second);
}

static enum character_kind kind_of(uint32_t code)
{
	for (size_t i = 0; i < ARRAY_SIZE(invisible_ranges); i++)
		if (code >= invisible_ranges[i].first && code <= invisible_ranges[i].last)
			return invisible_ranges[i].kind;
	return KIND_KEEP;
}

static uint16_t add_bytes(const char *text, size_t len, uint32_t code)
{
	const char *known = memmem(bytes, bytes_count, text, len);

	if (known != NULL)
		return (uint16_t)(known - bytes);
	if (bytes_count + len > POOL_MAX)
		give_up("the bytes are too many", code);
	memcpy(bytes + bytes_count, text, len);
	bytes_count += len;
	return (uint16_t)(bytes_count - len);
}

static uint16_t add_parts(const uint32_t *some, size_t count, uint32_t code)
{
	for (size_t at = 0; at + count <= parts_count; at++)
		if (memcmp(parts + at, some, count * sizeof(*some)) == 0)
			return (uint16_t)at;
	if (parts_count + count > POOL_MAX)
		give_up("the parts are too many", code);
	memcpy(parts + parts_count, some, count * sizeof(*some));
	parts_count += count;
	return (uint16_t)(parts_count - count);
}

static void describe(uint32_t code)
{
	struct character *character = &all[code];
	uint32_t composed[PARTS_MAX], decomposed[PARTS_MAX];
	size_t composed_len = normalize(UNINORM_NFKC, code, composed);
	size_t decomposed_len = normalize(UNINORM_NFKD, code, decomposed), len = 4 * PARTS_MAX;
	uint8_t text[4 * PARTS_MAX];

	if (uc_combining_class(decomposed[0]) == 0 && !is_second[decomposed[0]])
		character->flags |= CHARACTER_BOUNDARY;
	if (uc_is_property_emoji(code))
		character->flags |= CHARACTER_EMOJI;
	if (is_hangul_syllable(code) || (code >= 0x1100 && code <= 0x1112))
		character->flags |= CHARACTER_JOINS;
	character->combining = (uint8_t)uc_combining_class(code);
	character->kind = (uint8_t)kind_of(code);
	if (composed_len != 1 || composed[0] != code) {
		if (u32_to_u8(composed, composed_len, text, &len) != text || len > UINT8_MAX)
			give_up("becomes too much", code);
		character->alone = add_bytes((const char *)text, len, code);
		character->alone_len = (uint8_t)len;
	}
	if (is_hangul_syllable(code)) {
		character->flags |= CHARACTER_HANGUL;
	} else if (decomposed_len != 1 || decomposed[0] != code) {
		for (size_t i = 0; i < decomposed_len; i++)
			decomposed[i] |= (uint32_t)uc_combining_class(decomposed[i]) << CHARACTER_CLASS_SHIFT;
		character->parts = add_parts(decomposed, decomposed_len, code);
		character->parts_len = (uint8_t)decomposed_len;
		character->flags |= CHARACTER_JOINS; // a mark may go between the parts
	}
	inert[code] = (character->flags & CHARACTER_BOUNDARY) != 0 && character->alone_len == 0 &&
		      character->kind == KIND_KEEP && code != BLACK_FLAG;
}

static void describe_all(void)
{
	find_pairs();
	qsort(pairs, pairs_count, sizeof(pairs[0]), compare_pairs);
	for (uint32_t code = 0; code < CODE_POINTS; code++)
		if (!is_surrogate(code))
			describe(code);
	for (size_t i = pairs_count; i-- > 0;) {
		struct character *first = &all[pairs[i].first];

		if (first->compositions_len == UINT8_MAX)
			give_up("joins with too much", pairs[i].first);
		first->compositions = (uint16_t)i;
		first->compositions_len++;
		first->flags |= CHARACTER_JOINS;
	}
}

static uint16_t find_unique(uint32_t code)
{
	size_t start = inert[code] ? 0 : unique_inert, i = start;

	while (i < unique_count && memcmp(&unique[i], &all[code], sizeof(all[code])) != 0)
		i++;
	if (i == unique_count) {
		if (unique_count == POOL_MAX)
			give_up("the characters are too different", code);
		unique[unique_count++] = all[code];
	}
	return (uint16_t)i;
}

// Two passes, the inert ones first. Neighbours are mostly alike, which spares the search.
static void number_all(void)
{
	static uint16_t indexes[CODE_POINTS];

	for (int pass = 0; pass < 2; pass++) {
		uint32_t last = CODE_POINTS;

		for (uint32_t code = 0; code < CODE_POINTS; code++) {
			if (inert[code] == (pass == 1))
				continue;
			if (last < CODE_POINTS && memcmp(&all[last], &all[code], sizeof(all[0])) == 0)
				indexes[code] = indexes[last];
			else
				indexes[code] = find_unique(code);
			last = code;
		}
		if (pass == 0)
			unique_inert = unique_count;
	}
	for (size_t block = 0; block < BLOCKS; block++) {
		const uint16_t *row = indexes + block * CHARACTER_BLOCK;
		size_t i = 0;

		while (i < rows_count && memcmp(rows[i], row, sizeof(rows[0])) != 0)
			i++;
		if (i == rows_count)
			memcpy(rows[rows_count++], row, sizeof(rows[0]));
		blocks[block] = (uint16_t)i;
	}
}

static void write_all(FILE *out)
{
	fprintf(out, "// Made by generate-characters.\n#include \"sanitize/character.h\"\n\n"
		     "const uint16_t character_blocks[] = {");
	for (size_t i = 0; i < BLOCKS; i++)
		fprintf(out, "%s%u,", i % 16 == 0 ? "\n" : "", blocks[i]);
	fprintf(out, "\n};\n\nconst uint16_t character_indexes[][CHARACTER_BLOCK] = {\n");
	for (size_t i = 0; i < rows_count; i++) {
		fprintf(out, "{");
		for (size_t k = 0; k < CHARACTER_BLOCK; k++)
			fprintf(out, "%u,", rows[i][k]);
		fprintf(out, "},\n");
	}
	fprintf(out, "};\n\nconst struct character characters[] = {\n");
	for (size_t i = 0; i < unique_count; i++) {
		const struct character *one = &unique[i];

		fprintf(out, "{%u,%u,%u,%u,%u,%u,%u,%u,%u},\n", one->alone, one->parts, one->compositions,
			one->alone_len, one->parts_len, one->compositions_len, one->combining, one->kind,
			one->flags);
	}
	fprintf(out, "};\n\nconst uint16_t characters_inert = %zu;\n\nconst char character_bytes[] = {",
		unique_inert);
	for (size_t i = 0; i < bytes_count; i++)
		fprintf(out, "%s%d,", i % 24 == 0 ? "\n" : "", bytes[i]);
	fprintf(out, "\n};\n\nconst uint32_t character_parts[] = {");
	for (size_t i = 0; i < parts_count; i++)
		fprintf(out, "%s0x%X,", i % 16 == 0 ? "\n" : "", parts[i]);
	fprintf(out, "\n};\n\nconst struct character_composition character_compositions[] = {\n");
	for (size_t i = 0; i < pairs_count; i++)
		fprintf(out, "{0x%X,0x%X},\n", pairs[i].second, pairs[i].composed);
	fprintf(out, "};\n");
}

int main(int argc, char **argv)
{
	FILE *out = argc == 2 ? fopen(argv[1], "w") : NULL;

	if (out == NULL) {
		fprintf(stderr, "usage: generate-characters FILE\n");
		return 1;
	}
	describe_all();
	number_all();
	write_all(out);
	if (ferror(out) || fclose(out) != 0) {
		fprintf(stderr, "generate-characters: %s: can't be written\n", argv[1]);
		return 1;
	}
	return 0;
}
