// SPDX-License-Identifier: Apache-2.0
//
// Markdown contexts: each case marks the context of every byte of interest by
// the place of a letter in the text.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sanitize/context.h"

// A capital letter in the text stands in this context.
static const struct {
	char letter;
	enum context context;
} letters[] = {
	{ 'Y', CONTEXT_FRONT_MATTER }, { 'P', CONTEXT_PROSE }, { 'I', CONTEXT_INLINE_CODE },
	{ 'F', CONTEXT_FENCED_CODE },  { 'T', CONTEXT_TABLE }, { 'H', CONTEXT_HTML_COMMENT },
	{ 'C', CONTEXT_CODE },
};

static size_t wrong;

static void check(enum file_class cls, const char *text)
{
	struct context_map map;
	size_t i, j;

	context_map_begin(&map, cls, text, strlen(text));
	assert_int_equal(context_map_build(&map), 0);
	for (i = 0; text[i] != '\0'; i++) {
		for (j = 0; j < sizeof(letters) / sizeof(letters[0]); j++) {
			if (text[i] != letters[j].letter || context_at(&map, i) == letters[j].context)
				continue;
			print_error("%s\n  byte %zu is %s\n", text, i, context_name(context_at(&map, i)));
			wrong++;
		}
	}
	context_map_release(&map);
}

static void context_of_prose_follows_markdown(void **state)
{
	static const char *const texts[] = {
		"P\n",
		"---\na: Y\n---\nP\n",
		"P\n---\nP\n---\n",
		// Fences.
		"```sh\nF\n```\nP\n",
		"P\n~~~\nF\n```\nF\n~~~\nP\n",
		"````\nF\n```\nF\n````\nP\n",
		"```\nF\n~~~\nF\n",
		"```\nF\n``` x\nF\n```  \nP\n",
		"1. P\n   ```\n   F\n   ```\n   P\n",
		"- ```\n  F\n  ```\nP\n",
		"> ```\n> F\n> ```\n> P\n",
		"``` a ` b\nP\n",
		"``\nI\n``\n\nP\n",
		// Spans.
		"P `I` P `I` P",
		"P ``I ` I`` P `I` P",
		"P `I\nI` P",
		"P ` P\n\nP `I` P `I` P",
		"# P ` P\nP `I` P\n",
		"- P ` P\n- P `I` P\n",
		"P \\` P `I` P",
		"P `I\\` P `I` P",
		"P ``P` P",
		"P ` P",
		"`I` P ``` `I`",
		// Tables.
		"|T|T|\n|-|-|\n|T|T|\n\nP\n",
		"P\nT | T\n--- | :-:\nT | T\n\nP",
		"|T|\n|-|\n|T|\nP\n",
		"> |T|T|\n> |-|-|\n> |T|T|\n",
		"|P|P|\n|-|-|-|\n|P|P|\n",
		"|P|P|\n\n|P|P|\n",
		"P | P\nP | P\n",
		"|T|T|\r\n|-|-|\r\n|T|T|\r\n\r\nP\r\n",
		"|T|T \\| T|\n|-|-|\n|T|`I \\| I`|\n",
		"|T|T|\n|-|-|\nP | P\n",
		"|T|T|\n|-|-|",
		// Comments.
		"P <!-- H --> P <!-- H\nH --> P <!-- P",
		"P <!--> H --> P",
		"```\nF <!-- H --> F\n```\n",
		"`I <!-- H --> I`",
	};
	size_t i;

	(void)state;
	wrong = 0;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check(CLASS_PROSE, texts[i]);
	assert_int_equal(wrong, 0);
}

static void context_of_code_is_code(void **state)
{
	(void)state;
	wrong = 0;
	check(CLASS_CODE, "---\nC\n---\n```\nC\n```\n|C|\n|-|\n`C` <!-- C -->");
	assert_int_equal(wrong, 0);
}

// The spans of a text, each in brackets.
static void assert_spans(enum file_class cls, const char *text, const char *want)
{
	struct context_map map;
	const struct text_range *span;
	char have[256] = "";
	size_t at = 0, length = 0;

	context_map_begin(&map, cls, text, strlen(text));
	assert_int_equal(context_map_build(&map), 0);
	while ((span = context_next_span(&map, at)) != NULL) {
		length += (size_t)snprintf(have + length, sizeof(have) - length, "[%.*s]",
					   (int)(span->end - span->start), text + span->start);
		at = span->start + 1;
	}
	assert_string_equal(have, want);
	context_map_release(&map);
}

static void spans_of_single_ticks_leave_closed_backtick_fences_out(void **state)
{
	(void)state;
	assert_spans(CLASS_PROSE, "`a` ``b`` `c`", "[`a`][`c`]");
	assert_spans(CLASS_PROSE, "```\n`a`\n```\n`b`", "[`b`]");
	assert_spans(CLASS_PROSE, "~~~\n`a`\n~~~\n`b`", "[`a`][`b`]");
	assert_spans(CLASS_PROSE, "```\n`a`\n", "[`a`]");
	assert_spans(CLASS_PROSE, "---\na: `b`\n---\n`c`", "[`b`][`c`]");
	assert_spans(CLASS_PROSE, "a `b\n\nc` d", "");
}

static void spans_of_code_pair_within_lines(void **state)
{
	(void)state;
	assert_spans(CLASS_CODE, "a `b` c `d`", "[`b`][`d`]");
	assert_spans(CLASS_CODE, "# it`s\n`a`\n# don`t\n`b`", "[`a`][`b`]");
	assert_spans(CLASS_CODE, "x = `a\nb\nc`; y = `d`", "[`a\nb\nc`][`d`]");
	assert_spans(CLASS_CODE, "x = `a\n\nb` `c`", "[` `]");
	assert_spans(CLASS_CODE, "`a \\` b`", "[`a \\` b`]");
}

static void context_map_with_too_many_ranges_fails(void **state)
{
	const size_t most = 4 * CONTEXT_RANGES_MAX, len = most + 4;
	struct context_map map;
	char *text = malloc(len);
	size_t i;

	(void)state;
	assert_non_null(text);
	for (i = 0; i < len; i++)
		text[i] = "`a` "[i % 4];
	context_map_begin(&map, CLASS_PROSE, text, most);
	assert_int_equal(context_map_build(&map), 0);
	assert_int_equal(map.spans.count, CONTEXT_RANGES_MAX);
	context_map_release(&map);
	context_map_begin(&map, CLASS_PROSE, text, len);
	assert_int_equal(context_map_build(&map), -EOVERFLOW);
	context_map_release(&map);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(context_of_prose_follows_markdown),
		cmocka_unit_test(context_of_code_is_code),
		cmocka_unit_test(spans_of_single_ticks_leave_closed_backtick_fences_out),
		cmocka_unit_test(spans_of_code_pair_within_lines),
		cmocka_unit_test(context_map_with_too_many_ranges_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
