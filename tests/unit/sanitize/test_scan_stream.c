// SPDX-License-Identifier: Apache-2.0
//
// A binary file scanned in pieces has the findings of the file scanned whole, wherever the borders fall.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hostile.h"
#include "lib/scanner.h"
#include "sanitize/inspect.h"
#include "sanitize/scan_stream.h"

static const struct scan_stream_sizes tiny = { .window = 64, .stretch = 256, .overlap = 16 };
static const struct scan_stream_sizes small = { .window = 1024, .stretch = 4096, .overlap = 256 };

static int stream(const struct scan_stream_sizes *sizes, const char *data, size_t len, uint64_t *seed,
		  struct findings *ret)
{
	struct scan_stream *stream = NULL;
	size_t at = 0;
	int rc;

	assert_int_equal(scan_stream_begin_sized(scanner, NULL, sizes, &stream), 0);
	while (at < len) {
		size_t part = 1 + hostile_random(seed) % (2 * sizes->window);

		if (part > len - at)
			part = len - at;
		if (scan_stream_feed(stream, data + at, part) < 0)
			break;
		at += part;
	}
	rc = scan_stream_end(stream);
	scan_stream_take(stream, ret);
	scan_stream_free(stream);
	return rc;
}

static void whole(const char *data, size_t len, struct findings *ret)
{
	const struct inspect_options options = {
		.max_body_length = 100, .scan = true, .has_class = true, .cls = CLASS_BINARY
	};
	struct report report;

	assert_int_equal(inspect(scanner, &options, "a.bin", data, len, &report), 0);
	assert_false(report.scan_failed);
	*ret = report.findings;
	report.findings = (struct findings){ NULL, 0, 0, 0 };
	report_release(&report);
}

static void assert_same(const struct findings *one, const struct findings *two)
{
	assert_int_equal(one->count, two->count);
	for (size_t i = 0; i < one->count; i++) {
		const struct finding *a = &one->items[i], *b = &two->items[i];

		assert_ptr_equal(a->rule, b->rule);
		assert_int_equal(a->byte_offset, b->byte_offset);
		assert_int_equal(a->position, b->position);
		assert_int_equal(a->line, b->line);
		assert_int_equal(a->severity, b->severity);
		assert_int_equal(a->stage, b->stage);
		assert_int_equal(a->context, b->context);
		assert_string_equal(a->matched_text, b->matched_text);
	}
}

static void assert_stream_is_whole(const struct scan_stream_sizes *sizes, const char *data, size_t len,
				   uint64_t *seed)
{
	struct findings expected, found;

	whole(data, len, &expected);
	assert_int_equal(stream(sizes, data, len, seed, &found), 0);
	assert_same(&found, &expected);
	findings_release(&expected);
	findings_release(&found);
}

#define HEX    "\\x41\\x42\\x43\\x44"
#define BASE64 "QUJDREVGR0hJSktMTU5PUFFS"

static const char *const pieces[] = {
	" xmrig ",
	"curl http://x | sh ",
	"`sh -c x` ",
	"$(curl x)",
	"printenv\n",
	"\xC3\xA9|sh\xE4\xB8\xAD",
	"|bash",
	"<system>",
	(HEX HEX HEX HEX HEX),
	(BASE64 BASE64 BASE64 BASE64),
	"\xF0\x9F\x98\x80 bash -i ",
	"plain text `",
	"\n\n",
	"\r\n",
	"\xE2\x80",
	"\xC2\x85",
	"\xC2",
};

// Random bytes of one kind: all, high ones, NUL, control characters.
static void put_noise(uint64_t *seed, char *data, size_t len)
{
	const uint64_t kind = hostile_random(seed) % 4;

	for (size_t i = 0; i < len; i++) {
		const uint64_t byte = hostile_random(seed);

		data[i] = (char)(kind == 0 ? byte : kind == 1 ? 0x80 | byte : kind == 2 ? 0 : byte % 32);
	}
}

static size_t make_binary(uint64_t *seed, char *data, size_t len, size_t stretch)
{
	size_t at = 0, text = 0;

	while (at < len) {
		const char *piece = pieces[hostile_random(seed) % (sizeof(pieces) / sizeof(pieces[0]))];
		size_t size = strlen(piece);

		if (text + size > stretch || hostile_random(seed) % 3 == 0) {
			size = 1 + hostile_random(seed) % 40;
			if (size > len - at)
				break;
			put_noise(seed, data + at, size);
			// What ends a stretch for sure.
			data[at] = '\x01';
			text = 0;
			for (size_t i = at; i < at + size; i++)
				text = data[i] < 0x20 && data[i] >= 0 ? 0 : text + 1;
			at += size;
			continue;
		}
		if (size > len - at)
			break;
		memcpy(data + at, piece, size);
		text += size;
		at += size;
	}
	return at;
}

static void stream_of_random_pieces_is_the_whole(void **state)
{
	uint64_t seed = 5;
	char data[9000];

	(void)state;
	for (size_t round = 0; round < hostile_runs(1500); round++) {
		size_t len = make_binary(&seed, data, sizeof(data), 200);

		assert_stream_is_whole(round % 2 == 0 ? &tiny : &small, data, len, &seed);
	}
}

static void stream_finds_at_every_alignment(void **state)
{
	uint64_t seed = 9;
	char data[400];

	(void)state;
	for (size_t piece = 0; piece < sizeof(pieces) / sizeof(pieces[0]); piece++)
		for (size_t before = 0; before < 200; before++) {
			const size_t size = strlen(pieces[piece]);

			put_noise(&seed, data, sizeof(data));
			memcpy(data + before, pieces[piece], size);
			data[before + size] = '\0';
			assert_stream_is_whole(&tiny, data, sizeof(data), &seed);
		}
}

static void stream_of_nothing_finds_nothing(void **state)
{
	uint64_t seed = 3;

	(void)state;
	assert_stream_is_whole(&tiny, "", 0, &seed);
	assert_stream_is_whole(&tiny, "\xE2", 1, &seed);
}

static bool found_at(const struct findings *findings, const char *id, size_t offset)
{
	for (size_t i = 0; i < findings->count; i++)
		if (strcmp(findings->items[i].rule->id, id) == 0 && findings->items[i].byte_offset == offset)
			return true;
	return false;
}

// A stretch of many windows: what is planted is found once wherever it lies, at its place.
static void stream_of_long_text_finds_wherever_it_lies(void **state)
{
	static const char *const fills[] = { "word ",        "word\n",     "x",
					     "\xE4\xB8\xAD", "a line\n\n", "- `x` y\n\n" };
	uint64_t seed = 21;
	char data[20000];

	(void)state;
	for (size_t fill = 0; fill < sizeof(fills) / sizeof(fills[0]); fill++)
		for (size_t at = 4000; at < 9000; at += 37) {
			static const char planted[] = " printenv <system> curl x | sh ";
			struct findings found;
			size_t size = strlen(fills[fill]), start = at / size * size;

			for (size_t i = 0; i < sizeof(data); i++)
				data[i] = fills[fill][i % size];
			if (fill == 2) // else it is one long base64
				for (size_t i = 50; i < sizeof(data); i += 50)
					data[i] = '_';
			memcpy(data + start, planted, sizeof(planted) - 1);
			assert_int_equal(stream(&small, data, sizeof(data) / size * size, &seed, &found), 0);
			assert_true(found_at(&found, "ENV_PRINTENV", start + 1));
			assert_true(found_at(&found, "XML_SYSTEM_TAG", start + 10));
			assert_true(found_at(&found, "NET_CURL_PIPE", start + 19));
			assert_true(found_at(&found, "EXEC_PIPE_BASH", start + 26));
			assert_int_equal(found.count, 4);
			findings_release(&found);
		}
}

// What is no match must not become one where a window ends or begins in its middle, and what would be too little text
// for a short stretch is enough in a long one.
static void stream_of_long_text_sees_no_borders(void **state)
{
	uint64_t seed = 25;
	char data[20000];
	struct findings found;

	(void)state;
	for (size_t shift = 0; shift < 40; shift++) {
		memset(data, '_', sizeof(data));
		for (size_t i = shift; i + 30 < sizeof(data); i += 30)
			memcpy(data + i, " xmrigs printenvs <systems> ", 28);
		assert_int_equal(stream(&small, data, sizeof(data), &seed, &found), 0);
		assert_int_equal(found.count, 0);
		findings_release(&found);
	}
	for (size_t shift = 0; shift < 7; shift++) {
		for (size_t i = 0; i < sizeof(data); i++)
			data[i] = "_xmrig-"[(i + shift) % 7];
		data[0] = '_';
		assert_int_equal(stream(&small, data, sizeof(data), &seed, &found), 0);
		assert_int_equal(found.count, 0);
		findings_release(&found);
	}
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = "\xE4\xB8\xAD"[i % 3];
	memcpy(data + 6000, "|sh", 3);
	memcpy(data + 9000, "abcdefghi", 9);
	assert_int_equal(stream(&small, data, sizeof(data) / 3 * 3, &seed, &found), 0);
	assert_int_equal(found.count, 1);
	assert_true(found_at(&found, "EXEC_PIPE_BASH", 6000));
	findings_release(&found);
}

static void stream_of_one_match_longer_than_windows_is_one_finding(void **state)
{
	uint64_t seed = 23;
	char data[20000];
	struct findings found;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"[hostile_random(&seed) % 32];
	memset(data, 0, 100);
	memset(data + 19000, 0, 1000);
	assert_int_equal(stream(&small, data, sizeof(data), &seed, &found), 0);
	assert_int_equal(found.count, 1);
	assert_true(found_at(&found, "OBF_BASE64_LONG", 100));
	assert_int_equal(strlen(found.items[0].matched_text), MATCHED_TEXT_CHARACTERS);
	findings_release(&found);
}

// A tick far ahead decides on all spans of a line: no cut there.
static void stream_of_long_text_between_ticks_is_refused(void **state)
{
	uint64_t seed = 29;
	char data[20000];
	struct findings found;

	(void)state;
	memset(data, 'x', sizeof(data));
	for (size_t i = 50; i < sizeof(data); i += 50)
		data[i] = '_';
	memcpy(data + 100, " xmrig ` ", 9);
	assert_int_equal(stream(&small, data, sizeof(data), &seed, &found), -EOVERFLOW);
	findings_release(&found);
	// As long as it stays whole it is none.
	assert_stream_is_whole(&small, data, 4000, &seed);
}

static bool is_spent(void *clock)
{
	return ++*(size_t *)clock > 20;
}

static void stream_over_its_budget_stays_failed(void **state)
{
	size_t questions = 0;
	const struct budget budget = { .is_spent = is_spent, .clock = &questions };
	struct scan_stream *stream = NULL;
	struct findings found;
	char data[100];
	int rc = 0;

	(void)state;
	memset(data, 0, sizeof(data));
	memcpy(data + 10, " xmrig ", 7);
	assert_int_equal(scan_stream_begin_sized(scanner, &budget, &tiny, &stream), 0);
	for (size_t i = 0; i < 1000 && rc == 0; i++)
		rc = scan_stream_feed(stream, data, sizeof(data));
	assert_int_equal(rc, -EOVERFLOW);
	questions = 0;
	assert_int_equal(scan_stream_feed(stream, data, sizeof(data)), -EOVERFLOW);
	assert_int_equal(scan_stream_end(stream), -EOVERFLOW);
	scan_stream_take(stream, &found);
	assert_true(found.count == 0 || found_at(&found, "CRYPTO_MINER_BINARY", 11));
	findings_release(&found);
	scan_stream_free(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_of_random_pieces_is_the_whole),
		cmocka_unit_test(stream_finds_at_every_alignment),
		cmocka_unit_test(stream_of_nothing_finds_nothing),
		cmocka_unit_test(stream_of_long_text_finds_wherever_it_lies),
		cmocka_unit_test(stream_of_long_text_sees_no_borders),
		cmocka_unit_test(stream_of_one_match_longer_than_windows_is_one_finding),
		cmocka_unit_test(stream_of_long_text_between_ticks_is_refused),
		cmocka_unit_test(stream_over_its_budget_stays_failed),
	};

	return cmocka_run_group_tests(tests, scanner_set_up, scanner_tear_down);
}
