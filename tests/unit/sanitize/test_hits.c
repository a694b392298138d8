// SPDX-License-Identifier: Apache-2.0
//
// Matches of several forms become one list, as the obvious comparison of each with each makes it.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hostile.h"
#include "sanitize/hits.h"

#define RULES 3
#define MOST  40

static int compare(const void *left, const void *right)
{
	const struct hit *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->match.rule < b->match.rule ? -1 : a->match.rule > b->match.rule;
}

// A form's hits: of one rule they do not overlap, places mostly go forward.
static size_t make_form(uint64_t *seed, struct hit *form)
{
	const size_t count = hostile_random(seed) % MOST;
	size_t ends[RULES] = { 0 };

	for (size_t i = 0; i < count; i++) {
		const size_t rule = hostile_random(seed) % RULES;

		form[i] = (struct hit){ .match = { .rule = rule,
						   .severity = hostile_random(seed) % 2 ? SEVERITY_WARN
											: SEVERITY_CRITICAL,
						   .context = (enum context)(hostile_random(seed) % 8) } };
		form[i].start = ends[rule] + hostile_random(seed) % 5;
		form[i].end = form[i].start + 1 + hostile_random(seed) % 6;
		ends[rule] = form[i].end;
	}
	qsort(form, count, sizeof(*form), compare);
	if (count > 1 && hostile_random(seed) % 4 == 0) {
		const size_t at = hostile_random(seed) % (count - 1);
		const struct hit hit = form[at];

		form[at] = form[at + 1];
		form[at + 1] = hit;
	}
	return count;
}

static void hits_of_forms_are_merged_as_each_with_each(void **state)
{
	uint64_t seed = 17;

	(void)state;
	for (size_t round = 0; round < hostile_runs(20000); round++) {
		struct hit form[MOST], plain[HITS_FORMS * MOST];
		struct hits hits = { .items = NULL };
		struct hits_cursor cursor = { { 0 } };
		const struct hit *hit;
		size_t total = 0, seen = 0;

		for (size_t i = 0; i < HITS_FORMS; i++) {
			const size_t count = make_form(&seed, form), known = total;

			assert_int_equal(hits_begin_form(&hits, count, RULES), 0);
			for (size_t k = 0; k < count; k++) {
				struct hit *same = NULL;

				hits_add(&hits, &form[k]);
				// The one that reaches farthest of those that begin before our end.
				for (size_t m = 0; m < known; m++)
					if (plain[m].match.rule == form[k].match.rule &&
					    plain[m].start < form[k].end && plain[m].end > form[k].start &&
					    (same == NULL || plain[m].end > same->end))
						same = &plain[m];
				if (same == NULL) {
					plain[total++] = form[k];
				} else if (same->match.severity < form[k].match.severity) {
					same->match.severity = form[k].match.severity;
					same->match.context = form[k].match.context;
				}
			}
			hits_end_form(&hits);
		}
		assert_int_equal(hits.count, total);
		for (const struct hit *last = NULL; (hit = hits_next(&hits, &cursor)) != NULL; last = hit) {
			assert_true(last == NULL || compare(last, hit) <= 0);
			seen++;
			for (size_t m = 0; m < total; m++)
				if (plain[m].start == hit->start && plain[m].end == hit->end &&
				    plain[m].match.rule == hit->match.rule &&
				    plain[m].match.severity == hit->match.severity &&
				    plain[m].match.context == hit->match.context)
					break;
				else
					assert_true(m + 1 < total);
		}
		assert_int_equal(seen, total);
		hits_release(&hits);
	}
}

static void hits_beyond_the_limit_are_refused(void **state)
{
	struct hits hits = { .items = NULL };

	(void)state;
	assert_int_equal(hits_begin_form(&hits, HITS_MAX + 1, RULES), -EOVERFLOW);
	for (size_t i = 0; i < HITS_FORMS; i++)
		assert_int_equal(hits_begin_form(&hits, 0, RULES), 0);
	assert_int_equal(hits_begin_form(&hits, 0, RULES), -EOVERFLOW);
	assert_null(hits_next(&hits, &(struct hits_cursor){ { 0 } }));
	hits_release(&hits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_of_forms_are_merged_as_each_with_each),
		cmocka_unit_test(hits_beyond_the_limit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
