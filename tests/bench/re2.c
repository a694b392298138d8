// SPDX-License-Identifier: Apache-2.0
//
// RE2's set over the same expressions: it says which of them match, not where.
#include "scanners.h"

#ifdef BENCH_RE2
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engines.h"

static int re2_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	for (size_t i = 0; i < corpus->count; i++) {
		uint64_t found;

		if (re2_set_match(state, corpus->texts[i].data, corpus->texts[i].len, &found) < 0)
			return -ENOMEM;
		ret->pairs += (size_t)__builtin_popcountll(found);
	}
	ret->found = ret->pairs;
	return 0;
}

void re2_new(struct method *method)
{
	const char **patterns = calloc(expression_count, sizeof(*patterns));
	int *case_sensitive = calloc(expression_count, sizeof(*case_sensitive));
	size_t taken = 0;

	method->missing = "out of memory";
	if (patterns != NULL && case_sensitive != NULL) {
		for (size_t i = 0; i < expression_count; i++) {
			patterns[i] = expressions[i].pattern;
			case_sensitive[i] = expressions[i].case_sensitive;
		}
		method->state = re2_set_new(patterns, case_sensitive, expression_count, &taken);
		method->missing = method->state == NULL ? "RE2 does not compile the set" : NULL;
		method->pass = re2_pass;
		(void)snprintf(method->note, sizeof(method->note),
			       "which rules match, nothing more; took %zu of %zu", taken, expression_count);
	}
	free(patterns);
	free(case_sensitive);
}
#else
void re2_new(struct method *method)
{
	method->missing = "libre2-dev or g++ is not here";
}
#endif
