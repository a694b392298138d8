// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "spec/plain_scan.h"

#include <errno.h>
#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/context.h"
#include "sanitize/scan_text.h"
#include "sanitize/utf8.h"

// What a stretch of printable characters in a binary file must hold to count, and of ASCII if it is short.
#define PRINTABLE_MIN       5
#define PRINTABLE_MIN_SHORT 10

struct plain_scanner {
	struct {
		struct rule rule;
		pcre2_code *code;
	} * items;
	size_t count;
	pcre2_match_data *match_data;
};

struct plain_run {
	const struct plain_scanner *scanner;
	struct matches *matches;
};

int plain_scanner_new(const struct custom_rule *custom, size_t custom_count, struct plain_scanner **ret)
{
	struct plain_scanner *scanner = calloc(1, sizeof(*scanner));

	if (scanner == NULL)
		return -ENOMEM;
	scanner->items = calloc(rule_count + custom_count, sizeof(*scanner->items));
	scanner->match_data = pcre2_match_data_create(1, NULL);
	if (scanner->items == NULL || scanner->match_data == NULL) {
		plain_scanner_free(scanner);
		return -ENOMEM;
	}
	for (size_t i = 0; i < rule_count + custom_count; i++) {
		struct rule rule = i < rule_count ? rules[i]
						  : (struct rule){
							    .id = custom[i - rule_count].id,
							    .pattern = custom[i - rule_count].pattern,
							    .severity = custom[i - rule_count].severity,
						    };
		PCRE2_SIZE offset;
		int number;

		scanner->items[i].rule = rule;
		scanner->items[i].code = pcre2_compile((PCRE2_SPTR)rule.pattern, PCRE2_ZERO_TERMINATED,
						       PCRE2_NEVER_UTF | PCRE2_NEVER_UCP |
							       (rule.case_sensitive ? 0 : PCRE2_CASELESS),
						       &number, &offset, NULL);
		if (scanner->items[i].code == NULL) {
			plain_scanner_free(scanner);
			return -EINVAL;
		}
		(void)pcre2_jit_compile(scanner->items[i].code, PCRE2_JIT_COMPLETE);
		scanner->count++;
	}
	*ret = scanner;
	return 0;
}

void plain_scanner_free(struct plain_scanner *scanner)
{
	if (scanner == NULL)
		return;
	for (size_t i = 0; i < scanner->count; i++)
		pcre2_code_free(scanner->items[i].code);
	pcre2_match_data_free(scanner->match_data);
	free(scanner->items);
	free(scanner);
}

static int add(struct matches *matches, const struct match *match)
{
	if (matches->count == matches->cap) {
		size_t cap = matches->cap == 0 ? 64 : matches->cap * 2;
		struct match *grown = realloc(matches->items, cap * sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		matches->items = grown;
		matches->cap = cap;
	}
	matches->items[matches->count++] = *match;
	return 0;
}

static int scan_rule(const struct plain_run *run, size_t index, const struct scan_text *text, size_t base)
{
	const struct rule *rule = &run->scanner->items[index].rule;
	size_t from = 0;

	while (from < text->len) {
		pcre2_match_data *data = run->scanner->match_data;
		int rc = pcre2_match(run->scanner->items[index].code, (PCRE2_SPTR)text->data, text->len, from,
				     PCRE2_NOTEMPTY, data, NULL);
		enum severity severity = rule->severity;
		size_t start, end, resume = 0;
		bool counts = true;

		if (rc == PCRE2_ERROR_NOMATCH)
			return 0;
		if (rc < 0)
			return -EOVERFLOW;
		start = from = pcre2_get_ovector_pointer(data)[0];
		end = pcre2_get_ovector_pointer(data)[1];
		if (rule->check != NULL)
			counts = rule->check(text, &start, &end, &severity, &resume);
		if (resume <= from)
			resume = counts && end > from ? end : from + 1;
		from = resume;
		if (!counts)
			continue;
		rc = add(run->matches, &(struct match){ .rule = index,
							.start = base + start,
							.end = base + end,
							.severity = severity,
							.context = context_at(text->contexts, start) });
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int scan_stretch(const struct plain_run *run, enum file_class cls, const char *data, size_t len,
			size_t base)
{
	struct context_map contexts;
	struct scan_memo memo;
	const struct scan_text text = { .data = data, .len = len, .contexts = &contexts, .memo = &memo };
	int rc;

	context_map_begin(&contexts, cls, data, len);
	rc = context_map_build(&contexts);

	for (size_t i = 0; rc == 0 && i < run->scanner->count; i++) {
		memset(&memo, 0, sizeof(memo));
		rc = scan_rule(run, i, &text, base);
	}
	context_map_release(&contexts);
	return rc;
}

static size_t printable_length(const char *data, size_t len)
{
	uint32_t character;
	size_t width = utf8_decode(data, len, &character);

	if (character < 0x80)
		return (character >= ' ' && character <= '~') || character == '\t' || character == '\n' ||
		       character == '\r';
	return character != UTF8_INVALID && character >= 0xA0 ? width : 0;
}

// Each stretch of printable characters is a text of its own.
static int scan_binary(const struct plain_run *run, const char *data, size_t len)
{
	size_t start, end;
	int rc = 0;

	for (start = 0; start < len && rc == 0; start = end > start ? end : start + 1) {
		size_t ascii = 0, width, kept = run->matches->count;

		for (end = start; end < len; end += width) {
			width = printable_length(data + end, len - end);
			if (width == 0)
				break;
			ascii += width == 1;
		}
		if (ascii < PRINTABLE_MIN)
			continue;
		rc = scan_stretch(run, CLASS_BINARY, data + start, end - start, start);
		if (ascii >= PRINTABLE_MIN_SHORT)
			continue;
		for (size_t i = kept; i < run->matches->count; i++) {
			const struct match *match = &run->matches->items[i];

			if (match->end - match->start >= PRINTABLE_MIN)
				run->matches->items[kept++] = *match;
		}
		run->matches->count = kept;
	}
	return rc;
}

static int by_place(const void *left, const void *right)
{
	const struct match *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->rule > b->rule) - (a->rule < b->rule);
}

int plain_scan(const struct plain_scanner *scanner, enum file_class cls, const char *text, size_t len,
	       struct matches *ret_matches)
{
	struct matches matches = { NULL, 0, 0 };
	const struct plain_run run = { .scanner = scanner, .matches = &matches };
	int rc = 0;

	if (len > 0)
		rc = cls == CLASS_BINARY ? scan_binary(&run, text, len)
					 : scan_stretch(&run, cls, text, len, 0);
	if (rc < 0) {
		matches_release(&matches);
		return rc;
	}
	if (matches.count > 0)
		qsort(matches.items, matches.count, sizeof(*matches.items), by_place);
	*ret_matches = matches;
	return 0;
}
