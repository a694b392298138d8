// SPDX-License-Identifier: Apache-2.0
//
// One pass of the prefilter names the places where matches can begin, and at
// each a rule's expression is tried, anchored; the rule's check then decides.
// A rule of the configuration that has no beginning to look for is searched for
// in the whole text.
//
// Patterns are linear by construction. The limits are the last wall: whatever
// PCRE2 answers but "match" and "no match" makes the scan fail, and a failed
// scan means that the text is not served.
#include "sanitize/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/buf.h"
#include "sanitize/cleanup.h"
#include "sanitize/printable.h"
#include "sanitize/scanner.h"
#include "sanitize/utf8.h"

// Steps of one match: some, and a few for each byte of the text.
#define MATCH_LIMIT          100000
#define MATCH_LIMIT_PER_BYTE 4
#define JIT_STACK_MIN        (32 * 1024)
#define JIT_STACK_MAX        (1024 * 1024)
// More matches than this in one text is no document, and nobody reads them.
#define MATCHES_MAX ((size_t)1 << 16)
// How far back a match may belong that is found late, before all are sorted at the end.
#define MATCHES_BACK 32
// Starts of an own rule between two questions to the budget: in a MiB some 100, which at worst take some 0.1 s.
#define STARTS_TIMES_BYTES ((size_t)1 << 27)
#define STARTS_MIN         16
// In binary files only stretches of printable characters are text, and of ASCII they must hold as much: chance
// makes `|sh` every few megabytes.
#define PRINTABLE_MIN       5
#define PRINTABLE_MIN_SHORT 10

// ------------------------------------------------------------------- matches

void matches_release(struct matches *matches)
{
	free(matches->items);
	*matches = (struct matches){ NULL, 0, 0 };
}

static void cleanup_matches(struct matches *matches)
{
	matches_release(matches);
}

static int compare_matches(const void *left, const void *right)
{
	const struct match *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->rule > b->rule) - (a->rule < b->rule);
}

// What one scan needs besides the text.
struct run {
	const struct scanner *scanner;
	const struct budget *budget;
	pcre2_match_data *match_data; // made when the first expression is tried
	pcre2_match_context *limits;
	pcre2_jit_stack *stack; // made when the small one on the thread's stack is not enough
	uint32_t match_limit;
	size_t offset_limit;       // no match begins behind it; only for rules that are not anchored
	struct rule_state *states; // one for each rule
	size_t shortest;           // match that counts
	struct matches *matches;
	bool unsorted;
};

// What is remembered of one rule in one text.
struct rule_state {
	size_t from; // the next match begins here or later
	bool begun;  // `memo` is in use
	struct scan_memo memo;
};

static void cleanup_run(struct run *run)
{
	pcre2_match_context_free(run->limits);
	pcre2_jit_stack_free(run->stack);
	pcre2_match_data_free(run->match_data);
	free(run->states);
}

// Matches come nearly in order; one that comes late moves up to its place.
static int matches_add(struct run *run, const struct match *match)
{
	struct matches *matches = run->matches;
	size_t place, back = 0;

	if (match->end - match->start < run->shortest)
		return 0;
	if (matches->count == MATCHES_MAX)
		return -EOVERFLOW;
	if (matches->count == matches->cap) {
		size_t cap = matches->cap < 16 ? 16 : matches->cap * 2;
		struct match *items = realloc(matches->items, cap * sizeof(*items));

		if (items == NULL)
			return -ENOMEM;
		matches->items = items;
		matches->cap = cap;
	}
	for (place = matches->count++; place > 0 && compare_matches(&matches->items[place - 1], match) > 0;
	     place--) {
		if (++back > MATCHES_BACK) {
			run->unsorted = true;
			break;
		}
		matches->items[place] = matches->items[place - 1];
	}
	matches->items[place] = *match;
	return 0;
}

// --------------------------------------------------------------------- match

size_t scan_next(const struct scan_text *text, enum memo memo, scan_finder *find, size_t from)
{
	struct scan_memo *memos = text->memo;

	if (memos->next[memo].known && from <= memos->next[memo].at)
		return memos->next[memo].at;
	memos->next[memo].at = from < text->len ? find(text, from) : text->len;
	memos->next[memo].known = true;
	return memos->next[memo].at;
}

static int run_begin(struct run *run)
{
	// One pair of offsets: groups of own rules are of no interest.
	run->match_data = pcre2_match_data_create(1, NULL);
	run->limits = pcre2_match_context_copy(run->scanner->limits);
	if (run->match_data == NULL || run->limits == NULL)
		return -ENOMEM;
	(void)pcre2_set_match_limit(run->limits, run->match_limit);
	return 0;
}

static int match_once(struct run *run, const struct compiled *compiled, const char *data, size_t len,
		      size_t from)
{
	const pcre2_code *code = compiled->code;
	PCRE2_SPTR subject = (PCRE2_SPTR)data;
	int rc;

	if (run->limits == NULL && run_begin(run) < 0)
		return PCRE2_ERROR_NOMEMORY;
	(void)pcre2_set_offset_limit(run->limits, run->offset_limit);
	// Without PCRE2's checks of its arguments, which cost as much as most matches.
	if (compiled->jit)
		rc = pcre2_jit_match(code, subject, len, from, PCRE2_NOTEMPTY, run->match_data, run->limits);
	else
		rc = pcre2_match(code, subject, len, from, PCRE2_NOTEMPTY, run->match_data, run->limits);
	if (rc != PCRE2_ERROR_JIT_STACKLIMIT || run->stack != NULL)
		return rc;
	run->stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, NULL);
	if (run->stack == NULL)
		return PCRE2_ERROR_NOMEMORY;
	pcre2_jit_stack_assign(run->limits, NULL, run->stack);
	return pcre2_jit_match(code, subject, len, from, PCRE2_NOTEMPTY, run->match_data, run->limits);
}

// One text: a file, or a stretch of a binary one.
struct stretch {
	struct run *run;
	struct scan_text text;
	size_t base; // where it begins in what the caller scans
};

// Tries a rule at state->from, or, when it is not anchored, from there on to run->offset_limit; state->from is then
// where to go on. 1 when there may be more, 0 when there is none, or an error.
static int try_rule(struct stretch *stretch, size_t index, struct rule_state *state)
{
	struct run *run = stretch->run;
	const struct compiled *compiled = &run->scanner->compiled[index];
	const struct rule *rule = compiled->rule;
	int rc = match_once(run, compiled, stretch->text.data, stretch->text.len, state->from);
	enum severity severity = rule->severity;
	size_t start, end, resume = 0;
	bool counts = true;

	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	if (rc == PCRE2_ERROR_NOMEMORY)
		return -ENOMEM;
	if (rc < 0)
		return -EOVERFLOW;
	start = pcre2_get_ovector_pointer(run->match_data)[0];
	end = pcre2_get_ovector_pointer(run->match_data)[1];
	// Only an own pattern with \K can do this.
	if (start < state->from || end <= start || end > stretch->text.len)
		return -EOVERFLOW;
	state->from = start;
	if (rule->check != NULL)
		counts = rule->check(&stretch->text, &start, &end, &severity, &resume);
	if (resume <= state->from)
		resume = counts && end > state->from ? end : state->from + 1;
	state->from = resume;
	if (!counts)
		return 1;
	rc = matches_add(run, &(struct match){ .rule = index,
					       .start = stretch->base + start,
					       .end = stretch->base + end,
					       .severity = severity,
					       .context = context_at(stretch->text.contexts, start) });
	return rc < 0 ? rc : 1;
}

static int take_candidate(void *arg, size_t index, size_t start)
{
	struct stretch *stretch = arg;
	const struct rule *rule = stretch->run->scanner->compiled[index].rule;
	struct rule_state *state = &stretch->run->states[index];
	int rc;

	if (start < state->from)
		return 0;
	// An own rule may read the whole text at each candidate.
	if (index >= rule_count && budget_is_spent(stretch->run->budget))
		return -EOVERFLOW;
	if (rule->check != NULL || rule->locate != NULL) {
		if (!state->begun) {
			memset(&state->memo, 0, sizeof(state->memo));
			state->begun = true;
		}
		stretch->text.memo = &state->memo;
	}
	if (rule->glance != NULL && !rule->glance(&stretch->text, start))
		return 0;
	if (rule->locate != NULL) {
		start = rule->locate(&stretch->text, start);
		if (start == SIZE_MAX || start < state->from)
			return 0;
	}
	state->from = start;
	rc = try_rule(stretch, index, state);
	return rc < 0 ? rc : 0;
}

static int scan_anchored(struct stretch *stretch)
{
	struct prefilter_cursor cursor = { .at = 0 };
	int rc = 0;

	while (rc == 0 && cursor.at < stretch->text.len) {
		if (budget_is_spent(stretch->run->budget))
			return -EOVERFLOW;
		rc = prefilter_run(stretch->run->scanner->prefilter, stretch->text.data, stretch->text.len,
				   BUDGET_BYTES, &cursor, take_candidate, stretch);
	}
	return rc;
}

// How many starts are tried before the budget is asked again. Each can read the whole text, and PCRE2's limits don't
// count a loop over one character.
static size_t starts_at_once(size_t len)
{
	size_t starts = STARTS_TIMES_BYTES / len;

	return starts < STARTS_MIN ? STARTS_MIN : starts;
}

static int scan_plain_rule(struct stretch *stretch, size_t index)
{
	struct rule_state *state = &stretch->run->states[index];
	const size_t len = stretch->text.len, step = starts_at_once(len);
	size_t end = 0;
	int rc = 1;

	while (rc >= 0 && state->from < len) {
		if (budget_is_spent(stretch->run->budget))
			return -EOVERFLOW;
		if (state->from >= end)
			end = step < len - state->from ? state->from + step : len;
		stretch->run->offset_limit = end - 1;
		rc = try_rule(stretch, index, state);
		// None begins before `end`.
		if (rc == 0)
			state->from = end;
	}
	stretch->run->offset_limit = PCRE2_UNSET;
	return rc < 0 ? rc : 0;
}

static int scan_plain(struct stretch *stretch)
{
	const struct scanner *scanner = stretch->run->scanner;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < scanner->count; i++) {
		if (!scanner->compiled[i].anchored)
			rc = scan_plain_rule(stretch, i);
	}
	return rc;
}

enum rules_meant { ANCHORED_RULES = 1, PLAIN_RULES = 2, ALL_RULES = 3 };

static int scan_stretch(struct run *run, enum rules_meant meant, enum file_class cls, const char *data,
			size_t len, size_t base)
{
	CLEANUP(context_map) struct context_map contexts;
	struct stretch stretch = {
		.run = run,
		.text = { .data = data,
			  .len = len,
			  .contexts = &contexts,
			  .binaries = run->scanner->binaries },
		.base = base,
	};
	int rc = 0;

	context_map_begin(&contexts, cls, data, len);
	for (size_t i = 0; i < run->scanner->count; i++) {
		run->states[i].from = 0;
		run->states[i].begun = false;
	}
	if (meant & ANCHORED_RULES)
		rc = scan_anchored(&stretch);
	if (rc == 0 && meant & PLAIN_RULES && run->scanner->plain_count > 0)
		rc = scan_plain(&stretch);
	return rc == 0 ? contexts.status : rc;
}

// -------------------------------------------------------------- binary files

// Length of the printable character that ends at `end`, 0 when there is none.
static size_t printable_length_before(const char *data, size_t end)
{
	uint32_t character;
	size_t width = utf8_decode_last(data, end, &character);

	if (character < 0x80)
		return printable_ascii((char)character);
	return character != UTF8_INVALID && character >= 0xA0 ? width : 0;
}

// Scans the stretch of printable characters that begins at `start`; gives its end.
static int scan_printable(struct run *run, enum rules_meant meant, const char *data, size_t len, size_t start,
			  size_t *ret_end)
{
	size_t end, width, ascii = 0;

	for (end = start; end < len; end += width) {
		width = printable_length(data + end, len - end);
		if (width == 0)
			break;
		ascii += width == 1;
	}
	*ret_end = end;
	if (ascii < PRINTABLE_MIN)
		return 0;
	run->shortest = ascii < PRINTABLE_MIN_SHORT ? PRINTABLE_MIN : 0;
	return scan_stretch(run, meant, CLASS_BINARY, data + start, end - start, start);
}

struct binary {
	struct run *run;
	const char *data;
	size_t len;
	size_t done; // stretches up to here have been scanned
};

// Where something can begin: the whole stretch around it is scanned.
static int take_stretch(void *arg, size_t index, size_t start)
{
	struct binary *binary = arg;
	size_t width, inside = 0;

	(void)index;
	// Behind the first byte of a character.
	while (inside < 3 && start > binary->done && utf8_is_continuation(binary->data[start])) {
		start--;
		inside++;
	}
	if (start < binary->done || printable_length(binary->data + start, binary->len - start) <= inside)
		return 0;
	while (start > binary->done) {
		width = printable_length_before(binary->data, start);
		if (width == 0 || width > start - binary->done)
			break;
		start -= width;
	}
	return scan_printable(binary->run, ANCHORED_RULES, binary->data, binary->len, start, &binary->done);
}

// A binary file: each stretch of printable characters is a text of its own.
static int scan_binary(struct run *run, const char *data, size_t len)
{
	struct binary binary = { .run = run, .data = data, .len = len };
	struct prefilter_cursor cursor = { .at = 0 };
	size_t at = 0, end;
	int rc = 0;

	while (rc == 0 && cursor.at < len) {
		if (budget_is_spent(run->budget))
			return -EOVERFLOW;
		rc = prefilter_run(run->scanner->prefilter, data, len, BUDGET_BYTES, &cursor, take_stretch,
				   &binary);
	}
	// The others want all stretches.
	while (rc == 0 && run->scanner->plain_count > 0 && at < len) {
		rc = scan_printable(run, PLAIN_RULES, data, len, at, &end);
		at = end > at ? end : at + 1;
	}
	return rc;
}

// -------------------------------------------------------------------- public

static uint32_t match_limit(size_t len)
{
	return len > (UINT32_MAX - MATCH_LIMIT) / MATCH_LIMIT_PER_BYTE
		       ? UINT32_MAX
		       : (uint32_t)(MATCH_LIMIT + MATCH_LIMIT_PER_BYTE * len);
}

int scanner_scan(const struct scanner *scanner, enum file_class cls, const char *text, size_t len,
		 const struct budget *budget, struct matches *ret_matches)
{
	CLEANUP(matches) struct matches matches = { NULL, 0, 0 };
	CLEANUP(run)
	struct run run = { .scanner = scanner,
			   .budget = budget,
			   .match_limit = match_limit(len),
			   .offset_limit = PCRE2_UNSET,
			   .matches = &matches };
	int rc = 0;

	*ret_matches = matches;
	if (len > BUF_MAX)
		return -EOVERFLOW;
	if (len > 0) {
		run.states = malloc(scanner->count * sizeof(*run.states));
		if (run.states == NULL)
			return -ENOMEM;
		rc = cls == CLASS_BINARY ? scan_binary(&run, text, len)
					 : scan_stretch(&run, ALL_RULES, cls, text, len, 0);
	}
	if (rc < 0 && rc != -EOVERFLOW)
		return rc;
	if (run.unsorted)
		qsort(matches.items, matches.count, sizeof(*matches.items), compare_matches);
	*ret_matches = matches;
	matches = (struct matches){ NULL, 0, 0 };
	return rc;
}
