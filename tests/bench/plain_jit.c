// SPDX-License-Identifier: Apache-2.0
//
// The naive way: each expression over each text, from match to match.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

#include "scanners.h"

struct plain_jit {
	pcre2_code **codes;
	pcre2_match_data *match_data;
};

static int plain_jit_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	const struct plain_jit *plain = state;
	const PCRE2_SIZE *place = pcre2_get_ovector_pointer(plain->match_data);

	for (size_t i = 0; i < corpus->count; i++) {
		const struct text *text = &corpus->texts[i];

		for (size_t rule = 0; rule < expression_count; rule++) {
			size_t from = 0;
			int rc;

			while ((rc = pcre2_match(plain->codes[rule], (PCRE2_SPTR)text->data, text->len, from,
						 PCRE2_NOTEMPTY, plain->match_data, NULL)) >= 0) {
				ret->pairs += from == 0;
				ret->found++;
				tally_mix(ret, place[0] << 8 | rule);
				from = place[1];
			}
			if (rc != PCRE2_ERROR_NOMATCH)
				return -EOVERFLOW;
		}
	}
	return 0;
}

void plain_jit_new(struct method *method)
{
	struct plain_jit *plain = calloc(1, sizeof(*plain));
	size_t jit = 0;

	method->missing = "out of memory";
	if (plain == NULL)
		return;
	plain->codes = calloc(expression_count, sizeof(*plain->codes));
	plain->match_data = pcre2_match_data_create(1, NULL);
	if (plain->codes == NULL || plain->match_data == NULL)
		return;
	for (size_t i = 0; i < expression_count; i++) {
		const struct expression *expression = &expressions[i];
		PCRE2_SIZE offset;
		int number;

		plain->codes[i] = pcre2_compile((PCRE2_SPTR)expression->pattern, PCRE2_ZERO_TERMINATED,
						expression->case_sensitive ? 0 : PCRE2_CASELESS, &number,
						&offset, NULL);
		if (plain->codes[i] == NULL) {
			fprintf(stderr, "%s: PCRE2 refuses the expression at %zu\n", expression->id,
				(size_t)offset);
			method->missing = "PCRE2 refuses an expression";
			return;
		}
		jit += pcre2_jit_compile(plain->codes[i], PCRE2_JIT_COMPLETE) == 0;
	}
	(void)snprintf(method->note, sizeof(method->note), "%zu expressions, %zu of them with JIT",
		       expression_count, jit);
	method->missing = NULL;
	method->state = plain;
	method->pass = plain_jit_pass;
}
