// SPDX-License-Identifier: Apache-2.0
//
// Hyperscan over the same expressions, as far as it takes them: all end
// offsets of all matches, and the cheaper question which rules match at all.
#include "scanners.h"

#ifdef BENCH_HYPERSCAN
#include <errno.h>
#include <hs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hyperscan {
	hs_database_t *database;
	hs_scratch_t *scratch;
};

struct answer {
	struct tally *tally;
	uint64_t seen;
};

static int on_match(unsigned int id, unsigned long long from, unsigned long long to, unsigned int flags,
		    void *context)
{
	struct answer *answer = context;

	(void)from;
	(void)flags;
	answer->tally->pairs += (answer->seen >> id & 1) == 0;
	answer->tally->found++;
	answer->seen |= UINT64_C(1) << id;
	tally_mix(answer->tally, (uint64_t)to << 8 | id);
	return 0;
}

static int hyperscan_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	const struct hyperscan *scanner = state;

	for (size_t i = 0; i < corpus->count; i++) {
		struct answer answer = { .tally = ret };

		if (hs_scan(scanner->database, corpus->texts[i].data, (unsigned int)corpus->texts[i].len, 0,
			    scanner->scratch, on_match, &answer) != HS_SUCCESS)
			return -EIO;
	}
	return 0;
}

static void compile(struct method *method, unsigned int mode, const char *const *patterns,
		    unsigned int *flags, const unsigned int *ids, unsigned int count)
{
	struct hyperscan *scanner = calloc(1, sizeof(*scanner));
	hs_compile_error_t *error = NULL;

	method->missing = "out of memory";
	if (scanner == NULL)
		return;
	for (unsigned int i = 0; i < count; i++)
		flags[i] |= mode;
	if (hs_compile_multi(patterns, flags, ids, count, HS_MODE_BLOCK, NULL, &scanner->database, &error) !=
		    HS_SUCCESS ||
	    hs_alloc_scratch(scanner->database, &scanner->scratch) != HS_SUCCESS) {
		fprintf(stderr, "Hyperscan: %s\n", error == NULL ? "no scratch" : error->message);
		method->missing = "Hyperscan does not compile the set";
		return;
	}
	method->missing = NULL;
	method->state = scanner;
	method->pass = hyperscan_pass;
}

void hyperscan_new(struct method *all, struct method *which)
{
	const char **patterns = calloc(expression_count, sizeof(*patterns));
	unsigned int *flags = calloc(expression_count, sizeof(*flags));
	unsigned int *ids = calloc(expression_count, sizeof(*ids));
	unsigned int count = 0;
	char refused[128] = "";

	all->missing = which->missing = "out of memory";
	if (patterns == NULL || flags == NULL || ids == NULL)
		goto out;
	for (size_t i = 0; i < expression_count; i++) {
		const struct expression *expression = &expressions[i];
		hs_compile_error_t *error = NULL;
		hs_database_t *database = NULL;

		patterns[count] = expression->pattern;
		flags[count] = expression->case_sensitive ? 0 : HS_FLAG_CASELESS;
		ids[count] = (unsigned int)i;
		if (hs_compile(patterns[count], flags[count], HS_MODE_BLOCK, NULL, &database, &error) ==
		    HS_SUCCESS) {
			hs_free_database(database);
			count++;
			continue;
		}
		fprintf(stderr, "%s: Hyperscan refuses the expression: %s\n", expression->id, error->message);
		(void)snprintf(refused + strlen(refused), sizeof(refused) - strlen(refused), " %s",
			       expression->id);
		hs_free_compile_error(error);
	}
	compile(all, 0, patterns, flags, ids, count);
	compile(which, HS_FLAG_SINGLEMATCH, patterns, flags, ids, count);
	(void)snprintf(all->note, sizeof(all->note), "end offsets of all matches; took %u of %zu%s%s", count,
		       expression_count, refused[0] == '\0' ? "" : ", not", refused);
	(void)snprintf(which->note, sizeof(which->note), "which rules match, nothing more; the same %u",
		       count);
out:
	free(patterns);
	free(flags);
	free(ids);
}
#else
void hyperscan_new(struct method *all, struct method *which)
{
	all->missing = which->missing = "libhyperscan-dev is not here";
}
#endif
