// SPDX-License-Identifier: Apache-2.0
//
// How a prefilter is made of anchors: a window of each, and groups of them that
// are rarely mistaken for each other.
#include "sanitize/prefilter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/cleanup.h"
#include "sanitize/prefilter_find.h"

#define CASE_BIT 0x20
// Of a place that comes through, counted in comparisons of one anchor.
#define PLACE_COST 4

// How often bytes occur among 65,536 of Markdown, scripts and data as skills hold them.
static const uint16_t frequencies[256] = {
	1,     1,    1,    1,    1,    1,    1,   1,   1,   10,   2092, 1,   1,    2,    1,    1,
	1,     1,    1,    1,    1,    1,    1,   1,   1,   1,    1,    1,   1,    1,    1,    1,
	10246, 12,   695,  409,  29,   12,   12,  220, 456, 457,  574,  30,  521,  941,  735,  253,
	224,   176,  138,  81,   73,   84,   49,  36,  41,  29,   554,  104, 35,   319,  64,   27,
	17,    251,  110,  287,  166,  243,  119, 89,  75,  199,  18,   41,  134,  164,  145,  166,
	207,   28,   218,  292,  256,  121,  55,  59,  27,  31,   12,   130, 35,   130,  8,    458,
	609,   2921, 464,  1618, 1381, 4830, 800, 823, 870, 2967, 70,   314, 1802, 1174, 2780, 2875,
	1284,  103,  2813, 2910, 3602, 1208, 423, 382, 265, 608,  81,   167, 257,  167,  4,    1,
	112,   16,   22,   4,    1,    5,    11,  4,   4,   3,    1,    5,   8,    2,    2,    7,
	13,    2,    11,   8,    129,  12,   3,   4,   2,   1,    4,    1,   13,   3,    1,    10,
	3,     2,    2,    1,    2,    2,    2,   2,   1,   1,    1,    1,   1,    1,    1,    1,
	12,    3,    7,    3,    6,    16,   2,   4,   16,  3,    6,    7,   6,    11,   17,   5,
	1,     1,    1,    2,    1,    1,    1,   1,   1,   1,    1,    1,   1,    1,    1,    1,
	114,   52,   1,    1,    1,    1,    1,   1,   1,   1,    1,    1,   1,    1,    1,    1,
	1,     1,    164,  1,    2,    6,    4,   3,   2,   2,    1,    1,   1,    1,    1,    3,
	8,     1,    1,    1,    1,    1,    1,   1,   1,   1,    1,    1,   1,    1,    1,    1,
};

// -------------------------------------------------------------------- windows

// A group of anchors as the tables see it: for each place of the window the halves of bytes that are allowed.
struct halves {
	uint16_t low[PREFILTER_WINDOW], high[PREFILTER_WINDOW];
};

static double set_frequency(const struct byte_set *set)
{
	double sum = 0;

	for (unsigned int byte = 0; byte < 256; byte++) {
		if (byte_set_has(set, (unsigned char)byte))
			sum += frequencies[byte];
	}
	return sum < 65536 ? sum / 65536 : 1;
}

// How often the window that begins at place `from` of an anchor fits.
static double window_frequency(const struct anchor *anchor, size_t from)
{
	double product = 1;

	for (size_t i = from; i < from + PREFILTER_WINDOW && i < anchor->len; i++)
		product *= set_frequency(&anchor->sets[i]);
	return product;
}

// The place where the windows of all anchors of one owner begin: where they are rarest. The same for all, so that its
// candidates come in order.
static size_t choose_window(const struct anchor *anchors, size_t count, double *ret_frequency)
{
	size_t best = 0, shortest = ANCHOR_SETS;

	for (size_t i = 0; i < count; i++)
		shortest = anchors[i].len < shortest ? anchors[i].len : shortest;
	*ret_frequency = 2 * (double)count;
	for (size_t from = 0; from < shortest; from++) {
		double sum = 0;

		for (size_t i = 0; i < count; i++)
			sum += window_frequency(&anchors[i], from);
		if (sum < *ret_frequency) {
			*ret_frequency = sum;
			best = from;
		}
	}
	return best;
}

double anchors_frequency(const struct anchor *anchors, size_t count)
{
	double frequency = 0;

	if (count > 0 && anchors[0].run == 0)
		(void)choose_window(anchors, count, &frequency);
	return frequency * (1 << 20);
}

static struct halves window_halves(const struct anchor *anchor, size_t from)
{
	struct halves halves;

	memset(&halves, 0xFF, sizeof(halves));
	for (size_t i = 0; i < PREFILTER_WINDOW && from + i < anchor->len; i++) {
		halves.low[i] = halves.high[i] = 0;
		for (unsigned int byte = 0; byte < 256; byte++) {
			if (byte_set_has(&anchor->sets[from + i], (unsigned char)byte)) {
				halves.low[i] |= (uint16_t)(1u << (byte & 15));
				halves.high[i] |= (uint16_t)(1u << (byte >> 4));
			}
		}
	}
	return halves;
}

// How often a group's tables let a place through.
static double halves_frequency(const struct halves *halves)
{
	double product = 1;

	for (size_t i = 0; i < PREFILTER_WINDOW; i++) {
		unsigned int sum = 0;

		if (halves->low[i] == 0xFFFF && halves->high[i] == 0xFFFF)
			continue;
		for (unsigned int high = halves->high[i]; high != 0; high &= high - 1) {
			const uint16_t *row = frequencies + 16 * __builtin_ctz(high);

			for (unsigned int low = halves->low[i]; low != 0; low &= low - 1)
				sum += row[__builtin_ctz(low)];
		}
		product *= (double)sum / 65536;
	}
	return product;
}

// Of a group: how often a place comes through, times what it costs to compare it with each anchor.
static double group_cost(const struct halves *halves, size_t anchors)
{
	return halves_frequency(halves) * (double)(PLACE_COST + anchors);
}

static struct halves halves_join(const struct halves *a, const struct halves *b)
{
	struct halves both;

	for (size_t i = 0; i < PREFILTER_WINDOW; i++) {
		both.low[i] = a->low[i] | b->low[i];
		both.high[i] = a->high[i] | b->high[i];
	}
	return both;
}

// -------------------------------------------------------------------- buckets

struct grouping {
	struct halves halves[PREFILTER_ANCHORS_MAX];
	double own[PREFILTER_ANCHORS_MAX]; // cost
	size_t size[PREFILTER_ANCHORS_MAX];
	double cost[PREFILTER_ANCHORS_MAX][PREFILTER_ANCHORS_MAX]; // of joining two groups, left above right
	size_t group[PREFILTER_ANCHORS_MAX];                       // of each anchor
	bool alive[PREFILTER_ANCHORS_MAX];
	size_t count;
};

static void update_costs(struct grouping *grouping, size_t changed)
{
	for (size_t i = 0; i < grouping->count; i++) {
		struct halves both;
		size_t size;
		double cost;

		if (i == changed || !grouping->alive[i])
			continue;
		both = halves_join(&grouping->halves[i], &grouping->halves[changed]);
		size = grouping->size[i] + grouping->size[changed];
		cost = size > PREFILTER_FITS
			       ? HUGE_VAL
			       : group_cost(&both, size) - grouping->own[i] - grouping->own[changed];
		grouping->cost[i > changed ? i : changed][i > changed ? changed : i] = cost;
	}
}

// Joins the two groups that cost least together, until there are as many as buckets.
static void join_groups(struct grouping *grouping)
{
	size_t left = grouping->count;

	for (size_t i = 1; i < grouping->count; i++) {
		for (size_t j = 0; j < i; j++) {
			struct halves both = halves_join(&grouping->halves[i], &grouping->halves[j]);

			grouping->cost[i][j] = group_cost(&both, 2) - grouping->own[i] - grouping->own[j];
		}
	}
	for (; left > PREFILTER_BUCKETS; left--) {
		size_t into = 0, from = 0;
		double least = HUGE_VAL;

		for (size_t i = 1; i < grouping->count; i++) {
			for (size_t j = 0; grouping->alive[i] && j < i; j++) {
				if (grouping->alive[j] && grouping->cost[i][j] < least) {
					least = grouping->cost[i][j];
					into = j;
					from = i;
				}
			}
		}
		grouping->halves[into] = halves_join(&grouping->halves[into], &grouping->halves[from]);
		grouping->size[into] += grouping->size[from];
		grouping->own[into] = group_cost(&grouping->halves[into], grouping->size[into]);
		grouping->alive[from] = false;
		for (size_t i = 0; i < grouping->count; i++) {
			if (grouping->group[i] == from)
				grouping->group[i] = into;
		}
		update_costs(grouping, into);
	}
}

static void add_halves(struct prefilter_tables *tables, const struct halves *halves, uint8_t bit)
{
	for (size_t i = 0; i < PREFILTER_WINDOW; i++) {
		for (unsigned int half = 0; half < 16; half++) {
			if (halves->low[i] >> half & 1)
				tables->low[i][half] |= bit;
			if (halves->high[i] >> half & 1)
				tables->high[i][half] |= bit;
		}
	}
}

static void add_bytes(struct prefilter_tables *tables, const struct anchor *anchor, size_t from, uint8_t bit)
{
	for (size_t i = 0; i < PREFILTER_WINDOW; i++) {
		for (unsigned int byte = 0; byte < 256; byte++) {
			if (from + i >= anchor->len ||
			    byte_set_has(&anchor->sets[from + i], (unsigned char)byte))
				tables->refused[byte] &= ~((uint32_t)bit << (8 * i));
		}
	}
}

// ---------------------------------------------------------------------- build

// The byte that alone is in the set, or the letter that is in both cases; -1 for other sets.
static int set_single(const struct byte_set *set, uint8_t *ret_mask)
{
	int count = 0, last = -1;

	for (int byte = 0; byte < 256; byte++) {
		if (byte_set_has(set, (unsigned char)byte)) {
			count++;
			last = byte;
		}
	}
	*ret_mask = 0xFF;
	if (count == 1)
		return last;
	*ret_mask = (uint8_t)~CASE_BIT;
	return count == 2 && last >= 'a' && last <= 'z' &&
			       byte_set_has(set, (unsigned char)(last & ~CASE_BIT))
		       ? last & ~CASE_BIT
		       : -1;
}

static void add_check(struct prefilter *prefilter, struct check *check, const struct anchor *anchor,
		      size_t owner, size_t window)
{
	uint8_t value[COMPARED] = { 0 }, mask[COMPARED] = { 0 };

	*check = (struct check){ .owner = (uint32_t)owner,
				 .first_set = (uint16_t)prefilter->set_count,
				 .shift = (uint8_t)window,
				 .at_word_start = anchor->at_word_start };
	for (size_t i = 0; i < anchor->len; i++) {
		uint8_t bits;
		int single = set_single(&anchor->sets[i], &bits);

		if (single >= 0) {
			value[i] = (uint8_t)single;
			mask[i] = bits;
		} else {
			prefilter->sets[prefilter->set_count++] = (struct set_check){ anchor->sets[i], i };
			check->set_count++;
		}
	}
	memcpy(&check->value, value, sizeof(check->value));
	memcpy(&check->mask, mask, sizeof(check->mask));
}

static bool run_is_usable(const struct anchor *anchor)
{
	if (anchor->run < 3 * PREFILTER_HALF - 1)
		return false;
	for (unsigned int byte = 0; byte < 256; byte++) {
		if ((byte <= PREFILTER_RUN_ABOVE || byte >= 0x7F) &&
		    byte_set_has(&anchor->sets[0], (unsigned char)byte))
			return false;
	}
	return true;
}

bool prefilter_add(struct prefilter_builder *builder, size_t owner, const struct anchor *anchors,
		   size_t count)
{
	size_t runs = 0;

	if (count > PREFILTER_ANCHORS_MAX - builder->count)
		return false;
	for (size_t i = 0; i < count; i++) {
		runs += anchors[i].run > 0;
		if (anchors[i].run > 0 && !run_is_usable(&anchors[i]))
			return false;
	}
	if (runs > PREFILTER_RUNS_MAX - builder->runs)
		return false;
	builder->runs += runs;
	for (size_t i = 0; i < count; i++) {
		builder->items[builder->count].anchor = anchors[i];
		builder->items[builder->count++].owner = owner;
	}
	return true;
}

// Where the window begins in each anchor of the builder.
static void choose_windows(const struct prefilter_builder *builder, size_t *ret_windows)
{
	struct anchor anchors[ANCHORS_MAX];
	size_t start, end, window;
	double frequency;

	for (start = 0; start < builder->count; start = end) {
		for (end = start; end < builder->count && end - start < ANCHORS_MAX &&
				  builder->items[end].owner == builder->items[start].owner;
		     end++)
			anchors[end - start] = builder->items[end].anchor;
		window = choose_window(anchors, end - start, &frequency);
		for (size_t i = start; i < end; i++)
			ret_windows[i] = window;
	}
}

static void fill(struct prefilter *prefilter, const struct prefilter_builder *builder,
		 struct grouping *grouping)
{
	size_t windows[PREFILTER_ANCHORS_MAX], of[PREFILTER_ANCHORS_MAX], bucket = 0, count = 0;

	memset(prefilter->tables.refused, 0xFF, sizeof(prefilter->tables.refused));
	choose_windows(builder, windows);
	for (size_t i = 0; i < builder->count; i++) {
		const struct anchor *anchor = &builder->items[i].anchor;

		if (anchor->run > 0) {
			prefilter->runs[prefilter->run_count++] =
				(struct run_check){ anchor->sets[0], builder->items[i].owner, anchor->run };
			continue;
		}
		of[grouping->count] = i;
		grouping->halves[grouping->count] = window_halves(anchor, windows[i]);
		grouping->size[grouping->count] = 1;
		grouping->own[grouping->count] = group_cost(&grouping->halves[grouping->count], 1);
		grouping->group[grouping->count] = grouping->count;
		grouping->alive[grouping->count] = true;
		grouping->count++;
	}
	join_groups(grouping);
	for (size_t group = 0; group < grouping->count; group++) {
		if (!grouping->alive[group])
			continue;
		prefilter->bucket_start[bucket] = count;
		add_halves(&prefilter->tables, &grouping->halves[group], (uint8_t)(1u << bucket));
		for (size_t i = 0; i < grouping->count; i++) {
			const struct anchor *anchor = &builder->items[of[i]].anchor;

			if (grouping->group[i] != group)
				continue;
			add_check(prefilter, &prefilter->checks[count++], anchor, builder->items[of[i]].owner,
				  windows[of[i]]);
			add_bytes(&prefilter->tables, anchor, windows[of[i]], (uint8_t)(1u << bucket));
		}
		bucket++;
	}
	for (; bucket <= PREFILTER_BUCKETS; bucket++)
		prefilter->bucket_start[bucket] = count;
}

// 0 or -ENOMEM.
static int line_up(struct prefilter *prefilter)
{
	struct prefilter_lines *lines = &prefilter->lines;
	size_t most = PREFILTER_LINE, total;

	for (size_t bucket = 0; bucket < PREFILTER_BUCKETS; bucket++) {
		size_t count = prefilter->bucket_start[bucket + 1] - prefilter->bucket_start[bucket];

		most = count > most ? count : most;
	}
	lines->per_bucket = most = (most + PREFILTER_LINE - 1) / PREFILTER_LINE * PREFILTER_LINE;
	total = PREFILTER_BUCKETS * most;
	lines->values = calloc(total, sizeof(*lines->values));
	lines->masks = calloc(total, sizeof(*lines->masks));
	if (lines->values == NULL || lines->masks == NULL)
		return -ENOMEM;
	for (size_t bucket = 0; bucket < PREFILTER_BUCKETS; bucket++) {
		const struct check *check = prefilter->checks + prefilter->bucket_start[bucket];
		size_t count = prefilter->bucket_start[bucket + 1] - prefilter->bucket_start[bucket];

		for (size_t i = 0; i < most; i++) {
			uint8_t value[2 * COMPARED] = { 0 }, mask[2 * COMPARED] = { 0 };
			size_t shift;

			if (i < count) {
				memcpy(value, &check[i].value, COMPARED);
				memcpy(mask, &check[i].mask, COMPARED);
			} else {
				// Left over; look_at_hit() does not count it.
				memset(value, 0xFF, sizeof(value));
				memset(mask, 0xFF, sizeof(mask));
			}
			shift = i < count ? check[i].shift : 0;
			memcpy(&lines->values[bucket * most + i], value + shift, COMPARED);
			memcpy(&lines->masks[bucket * most + i], mask + shift, COMPARED);
		}
	}
	return 0;
}

int prefilter_build(const struct prefilter_builder *builder, enum prefilter_kind kind, struct prefilter **ret)
{
	struct prefilter *prefilter;
	struct grouping *grouping;

	if (kind == PREFILTER_BEST)
		kind = prefilter_has_avx2() ? PREFILTER_AVX2 : PREFILTER_SCALAR;
	if (kind == PREFILTER_AVX2 && !prefilter_has_avx2())
		return -ENOTSUP;
	prefilter = calloc(1, sizeof(*prefilter));
	grouping = calloc(1, sizeof(*grouping));
	if (prefilter != NULL) {
		prefilter->checks = calloc(builder->count + 1, sizeof(*prefilter->checks));
		prefilter->sets = calloc(builder->count * ANCHOR_SETS + 1, sizeof(*prefilter->sets));
	}
	if (prefilter == NULL || grouping == NULL || prefilter->checks == NULL || prefilter->sets == NULL) {
		prefilter_free(prefilter);
		free(grouping);
		return -ENOMEM;
	}
	prefilter->kind = kind;
	prefilter->find = kind == PREFILTER_AVX2 ? prefilter_find_avx2 : prefilter_find_scalar;
	prefilter->narrow = kind == PREFILTER_AVX2 ? prefilter_narrow_avx2 : prefilter_narrow_scalar;
	for (unsigned int byte = 0; byte < 256; byte++)
		prefilter->word[byte] = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
					(byte >= 'a' && byte <= 'z') || byte == '_';
	fill(prefilter, builder, grouping);
	free(grouping);
	if (line_up(prefilter) < 0) {
		prefilter_free(prefilter);
		return -ENOMEM;
	}
	*ret = prefilter;
	return 0;
}

void prefilter_free(struct prefilter *prefilter)
{
	if (prefilter == NULL)
		return;
	free(prefilter->checks);
	free(prefilter->sets);
	free(prefilter->lines.values);
	free(prefilter->lines.masks);
	free(prefilter);
}

enum prefilter_kind prefilter_kind(const struct prefilter *prefilter)
{
	return prefilter->kind;
}
