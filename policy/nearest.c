// SPDX-License-Identifier: Apache-2.0
#include "policy/nearest.h"

#include <ctype.h>
#include <string.h>

#define MAX_WORD 48 // longer words are nobody's slip of the finger

// Letter case, `-` and `_` are what people mix up, so they don't count: max_file_size is maxFileSize.
static size_t fold(const char *word, char ret[MAX_WORD])
{
	size_t len = 0;

	for (; *word != '\0'; word++) {
		if (*word == '-' || *word == '_')
			continue;
		if (len == MAX_WORD)
			return 0;
		ret[len++] = (char)tolower((unsigned char)*word);
	}
	return len;
}

static size_t least(size_t a, size_t b, size_t c)
{
	size_t min = a < b ? a : b;

	return min < c ? min : c;
}

// Insertions, deletions, changes and swaps of neighbours between two folded words.
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][MAX_WORD + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_len; j++) {
		before[j] = 0;
		last[j] = j;
	}
	for (size_t i = 1; i <= a_len; i++) {
		size_t *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t change = last[j - 1] + (a[i - 1] != b[j - 1]);

			row[j] = least(change, last[j] + 1, row[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1, row[j]);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[b_len];
}

void nearest_start(struct nearest *nearest, const char *word)
{
	*nearest = (struct nearest){ .word = word };
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
	char a[MAX_WORD], b[MAX_WORD];
	size_t a_len = fold(nearest->word, a), b_len = fold(candidate, b);
	size_t distance;

	if (a_len == 0 || b_len == 0)
		return;
	distance = edit_distance(a, a_len, b, b_len);
	if (distance > 1 + (a_len < b_len ? a_len : b_len) / 4)
		return;
	if (nearest->best == NULL || distance < nearest->distance) {
		nearest->best = candidate;
		nearest->distance = distance;
	}
}
