// SPDX-License-Identifier: Apache-2.0
//
// The rule table and the configuration's own rules, compiled: an expression for
// each, and one prefilter for all that have a beginning to look for.
#include "sanitize/scanner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/check.h"
#include "sanitize/cleanup.h"
#include "sanitize/fnv.h"

#define DEPTH_LIMIT 10000
#define HEAP_LIMIT  (64 * 1024) // KiB
// An own rule whose beginning stands more often in a MiB of text is searched for plainly.
#define ANCHOR_FREQUENCY_MAX 16384

static void cleanup_scanner(struct scanner **slot)
{
	scanner_free(*slot);
}

static int compile_rule(const struct rule *rule, bool anchored, bool jit, struct compiled *ret,
			struct error *error)
{
	// No optimization at the start: it would look ahead for what a match must hold, up to the end of the text, at each
	// call again.
	const uint32_t options = PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NO_START_OPTIMIZE |
				 (anchored ? PCRE2_ANCHORED : PCRE2_USE_OFFSET_LIMIT) |
				 (rule->case_sensitive ? 0 : PCRE2_CASELESS);
	PCRE2_SIZE offset;
	pcre2_code *code;
	size_t size;
	int number;

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
	// A pattern can ask for none, which is no error.
	if (jit && (pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) < 0 ||
		    pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &size) < 0 || size == 0)) {
		pcre2_code_free(code);
		return compile_rule(rule, anchored, false, ret, error);
	}
	*ret = (struct compiled){ .rule = rule, .code = code, .anchored = anchored, .jit = jit };
	return 0;
}

// A pattern that goes round in itself fails on any text, and then no file could be served.
static int try_out(const struct scanner *scanner, const struct compiled *compiled, struct error *error)
{
	static const char text[] = "a word";
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	PCRE2_UCHAR message[256];
	int rc;

	if (data == NULL)
		return error_set(error, -ENOMEM, "out of memory");
	rc = pcre2_match(compiled->code, (PCRE2_SPTR)text, sizeof(text) - 1, 0, PCRE2_NOTEMPTY, data,
			 scanner->limits);
	pcre2_match_data_free(data);
	if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH)
		return 0;
	if (pcre2_get_error_message(rc, message, sizeof(message)) < 0)
		message[0] = '\0';
	return error_set(error, rc == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -EINVAL,
			 "rule %s: pattern fails on a text of two words: %s", compiled->rule->id,
			 (const char *)message);
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

// With the terminator, which keeps neighbours apart.
static uint64_t hash_text(uint64_t hash, const char *text)
{
	return fnv_add(hash, text, strlen(text) + 1);
}

static void set_ruleset(struct scanner *scanner)
{
	uint64_t hash = FNV_START;
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

// Whether the prefilter looks for the rule's beginning.
static bool add_anchors(struct prefilter_builder *builder, size_t index, const struct rule *rule, bool own)
{
	const char *expression = rule->anchors != NULL ? rule->anchors : rule->pattern;
	struct anchor anchors[ANCHORS_MAX];
	size_t count = anchors_read(expression, rule->case_sensitive, anchors);

	if (count == 0 || (own && anchors_frequency(anchors, count) > ANCHOR_FREQUENCY_MAX))
		return false;
	return prefilter_add(builder, index, anchors, count);
}

static int build_binaries(enum prefilter_kind kind, struct prefilter **ret)
{
	CLEANUP(free) struct prefilter_builder *builder = calloc(1, sizeof(*builder));
	struct anchor anchors[ANCHORS_MAX];

	if (builder == NULL)
		return -ENOMEM;
	(void)prefilter_add(builder, 0, anchors, anchors_read(check_binaries, false, anchors));
	return prefilter_build(builder, kind, ret);
}

static int compile_all(struct scanner *scanner, bool jit, enum prefilter_kind kind, struct error *error)
{
	CLEANUP(free) struct prefilter_builder *builder = calloc(1, sizeof(*builder));
	size_t i;
	int rc;

	if (builder == NULL)
		return error_set(error, -ENOMEM, "out of memory");
	for (i = 0; i < rule_count + scanner->custom_count; i++) {
		const bool own = i >= rule_count;
		const struct rule *rule = own ? &scanner->custom[i - rule_count] : &rules[i];
		const bool anchored = add_anchors(builder, i, rule, own);

		rc = compile_rule(rule, anchored, jit, &scanner->compiled[i], error);
		if (rc < 0)
			return rc;
		scanner->count++;
		rc = own ? try_out(scanner, &scanner->compiled[i], error) : 0;
		if (rc < 0)
			return rc;
		scanner->plain_count += !anchored;
		scanner->jit = scanner->jit && (own || scanner->compiled[i].jit);
	}
	rc = prefilter_build(builder, kind, &scanner->prefilter);
	if (rc == 0)
		rc = build_binaries(kind, &scanner->binaries);
	if (rc < 0)
		return error_set(error, rc, "%s",
				 rc == -ENOMEM ? "out of memory" : "this processor has no AVX2");
	return 0;
}

int scanner_compile(const struct custom_rule *custom, size_t custom_count, bool jit, enum prefilter_kind kind,
		    struct scanner **ret, struct error *error)
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
	rc = compile_all(scanner, jit, kind, error);
	if (rc < 0)
		return rc;
	set_ruleset(scanner);
	*ret = take(scanner);
	return 0;
}

int scanner_new(const struct custom_rule *custom, size_t custom_count, struct scanner **ret,
		struct error *error)
{
	return scanner_compile(custom, custom_count, true, PREFILTER_BEST, ret, error);
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
	prefilter_free(scanner->prefilter);
	prefilter_free(scanner->binaries);
	pcre2_match_context_free(scanner->limits);
	free(scanner->compiled);
	free(scanner->custom);
	free(scanner);
}

bool scanner_has_jit(const struct scanner *scanner)
{
	return scanner->jit;
}

bool scanner_has_avx2(const struct scanner *scanner)
{
	return prefilter_kind(scanner->prefilter) == PREFILTER_AVX2;
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

bool scanner_rule_is_plain(const struct scanner *scanner, size_t index)
{
	return !scanner->compiled[index].anchored;
}
