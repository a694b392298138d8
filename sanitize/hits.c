// SPDX-License-Identifier: Apache-2.0
#include "sanitize/hits.h"

#include <errno.h>
#include <stdlib.h>

static int compare_places(const void *left, const void *right)
{
	const struct hit *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->match.rule < b->match.rule ? -1 : a->match.rule > b->match.rule;
}

static void index_release(struct hits_index *index)
{
	free(index->order);
	free(index->farthest);
	free(index->rules);
	free(index->hints);
	*index = (struct hits_index){ NULL, NULL, NULL, NULL };
}

void hits_release(struct hits *hits)
{
	index_release(&hits->index);
	free(hits->items);
	*hits = (struct hits){ .items = NULL };
}

const struct hit *hits_next(const struct hits *hits, struct hits_cursor *cursor)
{
	const struct hit *next = NULL;
	size_t form = 0;

	for (size_t i = 0; i < hits->form_count; i++) {
		const struct hit *hit;

		if (hits->forms[i] + cursor->at[i] == hits->forms[i + 1])
			continue;
		hit = &hits->items[hits->forms[i] + cursor->at[i]];
		if (next == NULL || compare_places(hit, next) < 0) {
			next = hit;
			form = i;
		}
	}
	if (next != NULL)
		cursor->at[form]++;
	return next;
}

// Hits in order of place, dealt out to their rules: each rule's are in order then.
static int index_build(struct hits *hits, size_t rule_total)
{
	struct hits_index *index = &hits->index;
	struct hits_cursor cursor = { { 0 } };
	const struct hit *hit;

	index_release(index);
	index->order = reallocarray(NULL, hits->count, sizeof(*index->order));
	index->farthest = reallocarray(NULL, hits->count, sizeof(*index->farthest));
	index->rules = calloc(rule_total + 1, sizeof(*index->rules));
	index->hints = calloc(rule_total + 1, sizeof(*index->hints));
	if (index->order == NULL || index->farthest == NULL || index->rules == NULL || index->hints == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < hits->count; i++)
		index->rules[hits->items[i].match.rule + 1]++;
	for (size_t i = 0; i < rule_total; i++) {
		index->rules[i + 1] += index->rules[i];
		index->hints[i] = index->rules[i];
	}
	while ((hit = hits_next(hits, &cursor)) != NULL) {
		const size_t rule = hit->match.rule, at = index->hints[rule]++;

		index->order[at] = (uint32_t)(hit - hits->items);
		index->farthest[at] = index->order[at];
		if (at > index->rules[rule] && hits->items[index->farthest[at - 1]].end > hit->end)
			index->farthest[at] = index->farthest[at - 1];
	}
	for (size_t i = 0; i < rule_total; i++)
		index->hints[i] = index->rules[i];
	return 0;
}

int hits_begin_form(struct hits *hits, size_t extra, size_t rule_total)
{
	struct hit *grown;

	if (extra > HITS_MAX - hits->count || hits->form_count == HITS_FORMS)
		return -EOVERFLOW;
	if (extra > hits->cap - hits->count) {
		grown = reallocarray(hits->items, hits->count + extra, sizeof(*grown));
		if (grown == NULL)
			return -ENOMEM;
		hits->items = grown;
		hits->cap = hits->count + extra;
	}
	if (hits->count > 0 && extra > 0) {
		int rc = index_build(hits, rule_total);

		if (rc < 0)
			return rc;
	}
	hits->forms[hits->form_count++] = hits->count;
	hits->forms[hits->form_count] = hits->count;
	return 0;
}

// How many of the rule's indexed hits begin before `end`, as a place in `order`. Searches go from left to right, so
// the answer is near the last one.
static size_t begin_before(const struct hits *hits, size_t rule, size_t end)
{
	const struct hits_index *index = &hits->index;
	size_t low = index->rules[rule], high = index->rules[rule + 1], at = index->hints[rule], step;

	for (step = 1; at < high && hits->items[index->order[at]].start < end; step *= 2) {
		low = at + 1;
		at = step < high - low ? low + step : high;
	}
	if (at < high)
		high = at;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (hits->items[index->order[middle]].start < end)
			low = middle + 1;
		else
			high = middle;
	}
	index->hints[rule] = low;
	return low;
}

void hits_add(struct hits *hits, const struct hit *hit)
{
	const struct hits_index *index = &hits->index;
	const size_t rule = hit->match.rule;

	if (hits->forms[hits->form_count - 1] > 0) {
		const size_t at = begin_before(hits, rule, hit->end);
		struct hit *same = at > index->rules[rule] ? &hits->items[index->farthest[at - 1]] : NULL;

		if (same != NULL && same->end > hit->start) {
			// What was a table cell in the source may be none in what is served.
			if (same->match.severity < hit->match.severity) {
				same->match.severity = hit->match.severity;
				same->match.context = hit->match.context;
			}
			return;
		}
	}
	hits->items[hits->count++] = *hit;
	hits->forms[hits->form_count] = hits->count;
}

void hits_end_form(struct hits *hits)
{
	const size_t begin = hits->forms[hits->form_count - 1], count = hits->count - begin;
	struct hit *form = count > 0 ? &hits->items[begin] : NULL;

	for (size_t i = 1; i < count; i++) {
		if (compare_places(&form[i - 1], &form[i]) <= 0)
			continue;
		qsort(form, count, sizeof(*form), compare_places);
		break;
	}
}
