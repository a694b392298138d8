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

#include "sanitize/sanitize.h"
#include "sanitize/scan.h"
#include "sanitize/scan_text.h"

static struct scanner *scanner;

static int setup(void **state)
{
	struct error error = { "" };

	(void)state;
	if (scanner_new(NULL, 0, &scanner, &error) < 0) {
		print_error("%s\n", error.message);
		return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scanner_free(scanner);
	return 0;
}

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
	       strcmp(json_string_value(json_object_get(want, "severity")), severity_name(have->severity)) == 0 &&
	       (size_t)json_integer_value(json_object_get(want, "lineNumber")) == have->line &&
	       (!json_is_integer(position) || (size_t)json_integer_value(position) == have->byte_offset) &&
	       strlen(matched) == utf16_clip(have->matched_text, 100) &&
	       memcmp(matched, have->matched_text, strlen(matched)) == 0;
}

static void scan_text(const char *text, size_t len, struct findings *ret)
{
	struct matches matches = { NULL, 0, 0 };
	size_t i;

	assert_int_equal(scanner_scan(scanner, CLASS_PROSE, text, len, &matches), 0);
	for (i = 0; i < matches.count; i++) {
		const struct match *match = &matches.items[i];
		struct finding finding = {
			.rule = scanner_rule(scanner, match->rule),
			.severity = match->severity,
			.byte_offset = match->start,
			.line = line_of(text, match->start),
		};

		assert_int_equal(findings_add(ret, &finding, text + match->start, match->end - match->start), 0);
	}
	findings_sort(ret);
	matches_release(&matches);
}

// The number of findings that are missing or too many.
static int compare(const char *id, const char *field, const json_t *want, const char *text, size_t len)
{
	struct findings findings = { NULL, 0, 0 };
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
		print_error("%s %s: unexpected %s at %zu, line %zu: %s\n", id, field, findings.items[j].rule->id,
			    findings.items[j].byte_offset, findings.items[j].line, findings.items[j].matched_text);
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

static int compare_pipeline(const char *id, const json_t *vector, const json_t *want, const char *text, size_t len)
{
	const json_t *limit = json_object_get(vector, "maxBodyLength");
	size_t max = json_is_integer(limit) ? (size_t)json_integer_value(limit) : MAX_BODY_LENGTH_DEFAULT, kept;
	struct cleaned cleaned = { 0 };
	struct sanitize_stats stats = { 0 };
	struct notices notices = { NULL, 0, 0 };
	struct buf body = BUF_INIT;
	int wrong;

	assert_int_equal(sanitize_text(text, len, &cleaned, &stats, &notices), 0);
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
	print_message("%d vectors, %d comparisons, %d not representable in UTF-8\n", vectors, compared, unreadable);
	assert_int_equal(vectors, 380);
	assert_in_range(unreadable, 0, 8);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_all_match_recorded_findings),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
