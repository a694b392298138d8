// SPDX-License-Identifier: Apache-2.0
//
// A file that comes in pieces has the report of the file given whole, whatever class it turns out to be.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fake_clock.h"
#include "lib/scanner.h"
#include "sanitize/inspect.h"

#define WHOLE 1000

static int inspect_pieces(const struct inspect_options *options, const char *name, bool keep,
			  const char *data, size_t len, size_t piece, struct report *ret,
			  struct buf *ret_source)
{
	struct inspector *inspector;
	int rc = 0;

	assert_int_equal(inspector_begin(scanner, options, name, keep, &inspector), 0);
	inspector_set_whole(inspector, WHOLE);
	for (size_t at = 0; at < len && rc == 0; at += piece)
		rc = inspector_feed(inspector, data + at, piece < len - at ? piece : len - at);
	assert_true(rc == 0 || rc == -EOVERFLOW);
	rc = inspector_end(inspector, ret, ret_source);
	inspector_free(inspector);
	return rc;
}

static void assert_same(const struct report *a, const struct report *b)
{
	assert_int_equal(a->cls, b->cls);
	assert_int_equal(a->scan_failed, b->scan_failed);
	assert_int_equal(a->verbatim, b->verbatim);
	assert_int_equal(a->body.len, b->body.len);
	assert_int_equal(a->stats.size, b->stats.size);
	assert_int_equal(a->stats.source_size, b->stats.source_size);
	assert_int_equal(a->notices.count, b->notices.count);
	for (size_t i = 0; i < a->notices.count; i++)
		assert_int_equal(a->notices.items[i].code, b->notices.items[i].code);
	assert_int_equal(a->findings.count, b->findings.count);
	for (size_t i = 0; i < a->findings.count; i++) {
		assert_ptr_equal(a->findings.items[i].rule, b->findings.items[i].rule);
		assert_int_equal(a->findings.items[i].byte_offset, b->findings.items[i].byte_offset);
		assert_int_equal(a->findings.items[i].position, b->findings.items[i].position);
		assert_int_equal(a->findings.items[i].line, b->findings.items[i].line);
	}
}

struct kind {
	const char *begin; // of the file
	size_t begin_len;
	const char *fill;
	size_t fill_len;
	bool streamed; // under a name that says nothing
};

#define TEXT(text) text, sizeof(text) - 1

static const struct kind kinds[] = {
	{ TEXT("\x7F"
	       "ELF\x02\x01"),
	  TEXT("\0\xFF\xFE\x01 words "), true },
	{ TEXT("PK\x03\x04"), TEXT("\xFF\x80\x01"), true },
	{ TEXT("plain"), TEXT("\xFF\x80\x02 x\n\0"), true },
	{ TEXT("plain"), TEXT("some words\n"), false },
	{ TEXT("#!/bin/sh\n"), TEXT("\0\xFF\x01\x02"), false },
	{ TEXT("\xFF\xFE"), TEXT("w\0o\0r\0d\0 \0"), false },
	{ TEXT("plain"), TEXT("\xFF\xE0\xE1 x"), false }, // binary for its invalid bytes only
};

static void pieces_have_the_report_of_the_whole(void **state)
{
	static const char *const names[] = { "blob", "blob.png", "notes.md", "x.py", "a.tar" };
	static const char planted[] = "\n xmrig \n";
	char data[6000];

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			for (size_t given = 0; given < 3; given++) {
				const struct inspect_options options = { .max_body_length = 4000,
									 .scan = given < 2,
									 .has_class = given == 1,
									 .cls = CLASS_BINARY };
				struct report whole, pieces;
				struct buf source = BUF_INIT;

				for (size_t i = 0; i < sizeof(data); i++)
					data[i] = kinds[k].fill[i % kinds[k].fill_len];
				memcpy(data, kinds[k].begin, kinds[k].begin_len);
				memcpy(data + 5500, planted, sizeof(planted) - 1);
				assert_int_equal(
					inspect(scanner, &options, names[n], data, sizeof(data), &whole), 0);
				for (size_t piece = 100; piece <= 6000; piece += 1180) {
					assert_int_equal(inspect_pieces(&options, names[n], false, data,
									sizeof(data), piece, &pieces,
									&source),
							 0);
					assert_same(&pieces, &whole);
					if (source.len > 0)
						assert_true(source.len == sizeof(data) && pieces.verbatim);
					if (kinds[k].streamed && n < 2)
						assert_int_equal(source.len, 0);
					report_release(&pieces);
					buf_release(&source);
				}
				report_release(&whole);
			}
}

static void pieces_are_kept_when_the_source_is_wanted(void **state)
{
	const struct inspect_options options = { .max_body_length = 4000, .scan = true };
	struct report report;
	struct buf source = BUF_INIT;
	char data[6000];

	(void)state;
	memset(data, 1, sizeof(data));
	memcpy(data, "\0asm", 4);
	assert_int_equal(inspect_pieces(&options, "a", true, data, sizeof(data), 700, &report, &source), 0);
	assert_true(report.verbatim);
	assert_int_equal(source.len, sizeof(data));
	assert_memory_equal(source.data, data, sizeof(data));
	report_release(&report);
	buf_release(&source);
}

// A NUL far behind makes a file binary that looked like a text.
static void pieces_turn_binary_at_a_late_nul(void **state)
{
	const struct inspect_options options = { .max_body_length = 4000, .scan = true };
	struct report whole, pieces;
	struct buf source = BUF_INIT;
	char data[6000];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = "\xE0\xE1 xmrig \n"[i % 11];
	data[3500] = '\0';
	assert_int_equal(inspect(scanner, &options, "a", data, sizeof(data), &whole), 0);
	assert_int_equal(inspect_pieces(&options, "a", false, data, sizeof(data), 250, &pieces, &source), 0);
	assert_same(&pieces, &whole);
	assert_int_equal(pieces.cls, CLASS_BINARY);
	assert_int_equal(source.len, 0);
	report_release(&whole);
	report_release(&pieces);
}

static void pieces_over_the_budget_are_an_error_at_every_stage(void **state)
{
	static const char *const names[] = { "blob", "notes.md" };
	char data[6000];

	(void)state;
	memset(data, 2, sizeof(data));
	memcpy(data, "\0asm xmrig ", 11);
	for (size_t n = 0; n < 2; n++) {
		size_t allowed = 0;

		for (bool passed = false; !passed; allowed++) {
			struct fake_clock clock = { 0, allowed };
			const struct budget budget = fake_clock_budget(&clock);
			const struct inspect_options options = { .max_body_length = 4000,
								 .scan = true,
								 .budget = &budget,
								 .budget_text = "7 ms" };
			struct report report;
			struct buf source = BUF_INIT;

			assert_int_equal(inspect_pieces(&options, names[n], false, data, sizeof(data), 500,
							&report, &source),
					 0);
			passed = clock.asked <= allowed;
			assert_int_equal(report.scan_failed, !passed);
			if (!passed) {
				assert_false(report.verbatim);
				assert_int_equal(report.body.len + source.len, 0);
				assert_string_equal(notices_find(&report.notices, NOTICE_SCAN_LIMIT)->detail,
						    "7 ms");
			}
			report_release(&report);
			buf_release(&source);
		}
		assert_true(allowed > 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_have_the_report_of_the_whole),
		cmocka_unit_test(pieces_are_kept_when_the_source_is_wanted),
		cmocka_unit_test(pieces_turn_binary_at_a_late_nul),
		cmocka_unit_test(pieces_over_the_budget_are_an_error_at_every_stage),
	};

	return cmocka_run_group_tests(tests, scanner_set_up, scanner_tear_down);
}
