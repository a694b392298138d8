// SPDX-License-Identifier: Apache-2.0
//
// One compiled expression for each rule, run over the whole text from left to
// right; a rule's check then decides on each candidate.
//
// Patterns are linear by construction. The limits are the last wall: whatever
// PCRE2 answers but "match" and "no match" makes the scan fail, and a failed
// scan means that the text is not served.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "sanitize/scan.h"

#include <errno.h>
#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/buf.h"
#include "sanitize/cleanup.h"
#include "sanitize/context.h"
#include "sanitize/scan_text.h"
#include "sanitize/utf8.h"

// Steps of one match: some, and a few for each byte of the text.
#define MATCH_LIMIT          100000
#define MATCH_LIMIT_PER_BYTE 4
#define DEPTH_LIMIT          10000
#define HEAP_LIMIT           (64 * 1024) // KiB
#define JIT_STACK_MIN        (32 * 1024)
#define JIT_STACK_MAX        (1024 * 1024)
// More matches than this in one text is no document.
#define MATCHES_MAX ((size_t)1 << 20)
// In binary files only stretches of printable characters are text, and of ASCII they must hold as much: chance
// makes `|sh` every few megabytes.
#define PRINTABLE_MIN       5
#define PRINTABLE_MIN_SHORT 10

struct compiled {
	const struct rule *rule;
	pcre2_code *code;
};

struct scanner {
	struct compiled *compiled;
	size_t count;
	struct rule *custom; // strings owned
	size_t custom_count;
	pcre2_match_context *limits;
	bool jit;
	char ruleset[sizeof(RULESET_VERSION) + 1 + 16];
};

static void cleanup_scanner(struct scanner **slot)
{
	scanner_free(*slot);
}

static void cleanup_context_map(struct context_map *map)
{
	context_map_release(map);
}

static void cleanup_matches(struct matches *matches)
{
	matches_release(matches);
}

// ------------------------------------------------------------------- compile

static int compile_rule(const struct rule *rule, bool jit, struct compiled *ret, bool *ret_jit,
			struct error *error)
{
	uint32_t options = PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | (rule->case_sensitive ? 0 : PCRE2_CASELESS);
	PCRE2_SIZE offset;
	pcre2_code *code;
	int number;

	// The interpreter looks for a first letter in both cases up to the end of the text, at each call again.
	if (!jit)
		options |= PCRE2_NO_START_OPTIMIZE;
	code = pcre2_compile((PCRE2_SPTR)rule->pattern, PCRE2_ZERO_TERMINATED, options, &number, &offset,
			     NULL);
	if (code == NULL) {
		PCRE2_UCHAR message[256];

		if (pcre2_get_error_message(number, message, sizeof(message)) < 0)
			message[0] = '\0';
		return error_set(error, number == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -EINVAL,
				 "rule %s: pattern, offset %zu: %s", rule->id, (size_t)offset,
				 (const char *)message);
	}
	if (jit && pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) < 0) {
		pcre2_code_free(code);
		*ret_jit = false;
		return compile_rule(rule, false, ret, &(bool){ false }, error);
	}
	*ret_jit = jit;
	*ret = (struct compiled){ .rule = rule, .code = code };
	return 0;
}

static int copy_custom(const struct custom_rule *custom, struct rule *ret)
{
	const char *const from[] = { custom->id, custom->category, custom->description, custom->pattern };
	char *copy[4] = { NULL, NULL, NULL, NULL };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(from); i++) {
		copy[i] = strdup(from[i] == NULL ? "" : from[i]);
		if (copy[i] == NULL) {
			while (i > 0)
				free(copy[--i]);
			return -ENOMEM;
		}
	}
	*ret = (struct rule){
		.id = copy[0],
		.category = copy[1],
		.description = copy[2],
		.pattern = copy[3],
		.severity = custom->severity,
	};
	return 0;
}

// FNV-1a, 64 bits; the terminator keeps neighbours apart.
static uint64_t hash_text(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	} while (*text++ != '\0');
	return hash;
}

static void set_ruleset(struct scanner *scanner)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	size_t i;

	for (i = 0; i < scanner->count; i++) {
		const struct rule *rule = scanner->compiled[i].rule;

		hash = hash_text(hash, rule->id);
		hash = hash_text(hash, severity_name(rule->severity));
		hash = hash_text(hash, rule->pattern);
	}
	(void)snprintf(scanner->ruleset, sizeof(scanner->ruleset), "%s+%016llx", RULESET_VERSION,
		       (unsigned long long)hash);
}

int scanner_compile(const struct custom_rule *custom, size_t custom_count, bool jit, struct scanner **ret,
		    struct error *error)
{
	CLEANUP(scanner) struct scanner *scanner = calloc(1, sizeof(*scanner));
	size_t i;
	int rc;

	if (scanner == NULL || custom_count > SIZE_MAX / 2 / sizeof(struct compiled) - rule_count)
		return error_set(error, -ENOMEM, "out of memory");
	scanner->compiled = calloc(rule_count + custom_count, sizeof(*scanner->compiled));
	scanner->custom = calloc(custom_count + 1, sizeof(*scanner->custom));
	scanner->limits = pcre2_match_context_create(NULL);
	if (scanner->compiled == NULL || scanner->custom == NULL || scanner->limits == NULL)
		return error_set(error, -ENOMEM, "out of memory");
	(void)pcre2_set_depth_limit(scanner->limits, DEPTH_LIMIT);
	(void)pcre2_set_heap_limit(scanner->limits, HEAP_LIMIT);
	scanner->jit = jit;
	for (i = 0; i < custom_count; i++) {
		rc = copy_custom(&custom[i], &scanner->custom[i]);
		if (rc < 0)
			return error_set(error, rc, "out of memory");
		scanner->custom_count++;
	}
	for (i = 0; i < rule_count + custom_count; i++) {
		const struct rule *rule = i < rule_count ? &rules[i] : &scanner->custom[i - rule_count];
		bool compiled_jit = false;

		rc = compile_rule(rule, jit, &scanner->compiled[i], &compiled_jit, error);
		if (rc < 0)
			return rc;
		scanner->count++;
		scanner->jit = scanner->jit && compiled_jit;
	}
	set_ruleset(scanner);
	*ret = take(scanner);
	return 0;
}

int scanner_new(const struct custom_rule *custom, size_t custom_count, struct scanner **ret,
		struct error *error)
{
	return scanner_compile(custom, custom_count, true, ret, error);
}

void scanner_free(struct scanner *scanner)
{
	size_t i;

	if (scanner == NULL)
		return;
	for (i = 0; i < scanner->count; i++)
		pcre2_code_free(scanner->compiled[i].code);
	for (i = 0; i < scanner->custom_count; i++) {
		free((char *)scanner->custom[i].id);
		free((char *)scanner->custom[i].category);
		free((char *)scanner->custom[i].description);
		free((char *)scanner->custom[i].pattern);
	}
	pcre2_match_context_free(scanner->limits);
	free(scanner->compiled);
	free(scanner->custom);
	free(scanner);
}

bool scanner_has_jit(const struct scanner *scanner)
{
	return scanner->jit;
}

const char *scanner_ruleset(const struct scanner *scanner)
{
	return scanner->ruleset;
}

size_t scanner_rule_count(const struct scanner *scanner)
{
	return scanner->count;
}

const struct rule *scanner_rule(const struct scanner *scanner, size_t index)
{
	return scanner->compiled[index].rule;
}

// --------------------------------------------------------------------- match

void matches_release(struct matches *matches)
{
	free(matches->items);
	*matches = (struct matches){ NULL, 0, 0 };
}

static int matches_add(struct matches *matches, const struct match *match)
{
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
	matches->items[matches->count++] = *match;
	return 0;
}

static int compare_matches(const void *left, const void *right)
{
	const struct match *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->rule > b->rule) - (a->rule < b->rule);
}

size_t scan_next(const struct scan_text *text, enum memo memo, scan_finder *find, size_t from)
{
	struct scan_memo *memos = text->memo;

	if (memos->next[memo].known && from <= memos->next[memo].at)
		return memos->next[memo].at;
	memos->next[memo].at = from < text->len ? find(text, from) : text->len;
	memos->next[memo].known = true;
	return memos->next[memo].at;
}

// What one scan needs besides the text.
struct run {
	const struct scanner *scanner;
	const struct budget *budget;
	pcre2_match_data *match_data;
	pcre2_match_context *limits;
	pcre2_jit_stack *stack; // made when the small one on the thread's stack is not enough
	struct matches *matches;
};

static void cleanup_run(struct run *run)
{
	pcre2_match_context_free(run->limits);
	pcre2_jit_stack_free(run->stack);
	pcre2_match_data_free(run->match_data);
}

static int match_once(struct run *run, const pcre2_code *code, const char *data, size_t len, size_t from)
{
	int rc = pcre2_match(code, (PCRE2_SPTR)data, len, from, PCRE2_NOTEMPTY, run->match_data, run->limits);

	if (rc != PCRE2_ERROR_JIT_STACKLIMIT || run->stack != NULL)
		return rc;
	run->stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, NULL);
	if (run->stack == NULL)
		return PCRE2_ERROR_NOMEMORY;
	pcre2_jit_stack_assign(run->limits, NULL, run->stack);
	return pcre2_match(code, (PCRE2_SPTR)data, len, from, PCRE2_NOTEMPTY, run->match_data, run->limits);
}

// All matches of one rule. `base` is the offset of the text in what the caller scans.
static int scan_rule(struct run *run, size_t index, const struct scan_text *text, size_t base)
{
	const struct compiled *compiled = &run->scanner->compiled[index];
	size_t from = 0;

	while (from < text->len) {
		int rc = match_once(run, compiled->code, text->data, text->len, from);
		enum severity severity = compiled->rule->severity;
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
		// Only a custom pattern with \K can do this.
		if (start < from || end <= start || end > text->len)
			return -EOVERFLOW;
		from = start;
		if (compiled->rule->check != NULL)
			counts = compiled->rule->check(text, &start, &end, &severity, &resume);
		if (resume <= from)
			resume = counts && end > from ? end : from + 1;
		from = resume;
		if (!counts)
			continue;
		rc = matches_add(run->matches, &(struct match){
						       .rule = index,
						       .start = base + start,
						       .end = base + end,
						       .severity = severity,
						       .context = context_at(text->contexts, start),
					       });
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int scan_stretch(struct run *run, enum file_class cls, const char *data, size_t len, size_t base)
{
	CLEANUP(context_map) struct context_map contexts = { .cls = cls };
	struct scan_memo memo;
	const struct scan_text text = { .data = data, .len = len, .contexts = &contexts, .memo = &memo };
	size_t i;
	int rc;

	rc = context_map_build(&contexts, cls, data, len);
	for (i = 0; rc == 0 && i < run->scanner->count; i++) {
		memset(&memo, 0, sizeof(memo));
		rc = budget_is_spent(run->budget) ? -EOVERFLOW : scan_rule(run, i, &text, base);
	}
	return rc;
}

static bool is_printable(char c)
{
	return (c >= ' ' && c <= '~') || c == '\t' || c == '\n' || c == '\r';
}

// Length of the printable character at `data`, 0 when there is none.
static size_t printable_length(const char *data, size_t len)
{
	uint32_t character;
	size_t width;

	if ((unsigned char)*data < 0x80)
		return is_printable(*data);
	width = utf8_decode(data, len, &character);
	return character != UTF8_INVALID && character >= 0xA0 ? width : 0;
}

// A binary file: each stretch of printable characters is a text of its own.
static int scan_binary(struct run *run, const char *data, size_t len)
{
	size_t start, end, kept, width, ascii;
	int rc;

	for (start = 0; start < len; start = end) {
		while (start < len && printable_length(data + start, len - start) == 0)
			start++;
		ascii = 0;
		for (end = start; end < len; end += width) {
			width = printable_length(data + end, len - end);
			if (width == 0)
				break;
			ascii += width == 1;
		}
		if (ascii < PRINTABLE_MIN)
			continue;
		kept = run->matches->count;
		rc = scan_stretch(run, CLASS_BINARY, data + start, end - start, start);
		if (rc < 0)
			return rc;
		if (ascii >= PRINTABLE_MIN_SHORT)
			continue;
		for (size_t i = kept; i < run->matches->count; i++) {
			const struct match *match = &run->matches->items[i];

			if (match->end - match->start >= PRINTABLE_MIN)
				run->matches->items[kept++] = *match;
		}
		run->matches->count = kept;
	}
	return 0;
}

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
	CLEANUP(run) struct run run = { .scanner = scanner, .budget = budget, .matches = &matches };
	int rc = 0;

	if (len > BUF_MAX)
		return -EOVERFLOW;
	if (len > 0) {
		// One pair of offsets: groups of custom rules are of no interest.
		run.match_data = pcre2_match_data_create(1, NULL);
		run.limits = pcre2_match_context_copy(scanner->limits);
		if (run.match_data == NULL || run.limits == NULL)
			return -ENOMEM;
		(void)pcre2_set_match_limit(run.limits, match_limit(len));
		rc = cls == CLASS_BINARY ? scan_binary(&run, text, len)
					 : scan_stretch(&run, cls, text, len, 0);
	}
	if (rc < 0)
		return rc;
	if (matches.count > 0)
		qsort(matches.items, matches.count, sizeof(*matches.items), compare_matches);
	*ret_matches = matches;
	matches = (struct matches){ NULL, 0, 0 };
	return 0;
}
