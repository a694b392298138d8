// SPDX-License-Identifier: Apache-2.0
//
// Every vector's pipeline result. `maxBodyLength` counts UTF-16 units in the
// vectors; those where that shows don't bind.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "sanitize/buf.h"
#include "sanitize/cleanup.h"
#include "sanitize/sanitize.h"

// jansson refuses a lone surrogate, which a few answers hold where the text was cut inside a pair: U+FFFD
// stands for it.
static void replace_lone_surrogates(char *line)
{
	char *at = line;

	while ((at = strstr(at, "\\u")) != NULL) {
		unsigned long value = strtoul((char[]){ at[2], at[3], at[4], at[5], '\0' }, NULL, 16);
		bool pair = value >= 0xD800 && value < 0xDC00 && at[6] == '\\' && at[7] == 'u' &&
			    (at[8] == 'd' || at[8] == 'D') && strchr("cdefCDEF", at[9]) != NULL;

		if (value >= 0xD800 && value < 0xE000 && !pair)
			memcpy(at + 2, "fffd", 4);
		at += pair ? 12 : 6;
	}
}

static bool is_field(const json_t *vector, const char *name)
{
	const json_t *field;
	size_t i;

	json_array_foreach(json_object_get(vector, "divergence_fields"), i,
			   field) if (strcmp(json_string_value(field), name) == 0) return true;
	return false;
}

static char *serve(const char *text, size_t len, size_t limit, struct sanitize_stats *stats, size_t *ret_len)
{
	struct cleaned cleaned;
	struct notices notices = { NULL, 0, 0 };
	struct buf body = BUF_INIT;
	size_t keep;

	assert_int_equal(sanitize_text(text, len, NULL, &cleaned, stats, &notices), 0);
	if (!cleaned.unchanged) {
		text = cleaned.text.data;
		len = cleaned.text.len;
	}
	keep = sanitize_cut(text, len, limit);
	stats->truncated = keep < len;
	assert_int_equal(buf_append(&body, text, keep), 0);
	if (keep < len)
		assert_int_equal(buf_append_string(&body, TRUNCATED_MARKER), 0);
	*ret_len = body.len;
	cleaned_release(&cleaned);
	notices_release(&notices);
	return buf_detach(&body);
}

static bool check_vector(const json_t *vector)
{
	const json_t *want = json_object_get(json_object_get(vector, "expect"), "sanitize");
	const json_t *text = json_object_get(vector, "text"), *body = json_object_get(want, "body");
	const json_t *max = json_object_get(vector, "maxBodyLength");
	size_t limit = max == NULL ? MAX_BODY_LENGTH_DEFAULT : (size_t)json_integer_value(max);
	struct sanitize_stats stats = { .truncated = false }, again = { .truncated = false };
	CLEANUP(free) char *got = NULL;
	CLEANUP(free) char *twice = NULL;
	size_t len, twice_len;
	bool same = true;

	assert_non_null(want);
	got = serve(json_string_value(text), json_string_length(text), limit, &stats, &len);
	twice = serve(got, len, limit, &again, &twice_len);
	same = twice_len == len && memcmp(twice, got, len) == 0;
	if (!is_field(vector, "sanitize"))
		same = same && len == json_string_length(body) &&
		       memcmp(got, json_string_value(body), len) == 0 &&
		       stats.truncated == json_is_true(json_object_get(want, "truncated")) &&
		       stats.tag_block_detected == json_is_true(json_object_get(want, "tagBlockDetected")) &&
		       stats.html_comments_stripped ==
			       (size_t)json_integer_value(json_object_get(want, "htmlCommentsStripped"));
	if (!same)
		fprintf(stderr, "%s: got %.200s\n", json_string_value(json_object_get(vector, "id")), got);
	return same;
}

static void sanitize_vectors_give_expected_bodies(void **state)
{
	FILE *file = fopen(TEST_DATA "/vectors/scan.jsonl", "r");
	CLEANUP(free) char *line = NULL;
	size_t cap = 0, count = 0, wrong = 0;
	json_error_t error;
	json_t *vector;

	(void)state;
	assert_non_null(file);
	while (getline(&line, &cap, file) > 0) {
		replace_lone_surrogates(line);
		vector = json_loads(line, JSON_ALLOW_NUL, &error);
		if (vector == NULL)
			fail_msg("vector %zu: %s", count + 1, error.text);
		wrong += !check_vector(vector);
		count++;
		json_decref(vector);
	}
	(void)fclose(file);
	assert_int_equal(count, 380);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sanitize_vectors_give_expected_bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
