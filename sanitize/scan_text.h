// SPDX-License-Identifier: Apache-2.0
//
// The text a rule check looks at, and what it remembers between candidates.
// Private to the scanner: scan.c makes one for each text, check_*.c read it.
//
// Checks get their candidates from left to right, so "the next X at or after
// here" is searched once and remembered: whatever the number of candidates,
// a rule's checks read each byte a fixed number of times.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sanitize/context.h"
#include "sanitize/prefilter.h"
#include "sanitize/rules.h"
#include "sanitize/scan.h"

// What can be remembered. Each is a property of a position alone, never of the candidate that asks.
enum memo {
	MEMO_BINARY,         // a BIN word that counts
	MEMO_CLOSE,          // a closing parenthesis
	MEMO_PIPE,           // a single bar
	MEMO_INTERPRETER,    // a single bar that leads into a shell or an interpreter
	MEMO_STDOUT,         // an option that sends wget's output to standard output
	MEMO_DECODE,         // a flag that makes base64 decode
	MEMO_OPENSSL_BASE64, // a flag that makes openssl speak base64
	MEMO_TICK,           // a single tick
	MEMO_COUNT,
};

struct scan_memo {
	struct {
		bool known;
		size_t at; // found here; the length of the text when there is none
	} next[MEMO_COUNT];
	struct {
		bool known;
		size_t start, end;         // the command line, without its line end
		size_t lexed;              // read up to here,
		size_t stop;               // and this is the last place found where a command ends
		bool no_single, no_double; // no such quote is left in it
	} line;
	struct {
		size_t end; // of the words and bars looked at last
		bool is_alternation;
	} choice;
	struct {
		size_t end; // of the words and bars without a blank looked at last
		bool is_alternation;
	} bare;
	struct {
		size_t at; // looked at up to here
		bool open; // a single tick stands between here and the last blank line
	} ticks;
};

struct scan_text {
	const char *data;
	size_t len;
	struct context_map *contexts;
	const struct prefilter *binaries; // finds the words of check_binaries; NULL: look at each word
	struct scan_memo *memo;           // each rule has its own
};

// The first position at or after `from` that `find` gives, remembered under `memo`; text->len when there is none.
// `from` must not go backwards between calls for one rule.
typedef size_t scan_finder(const struct scan_text *text, size_t from);
size_t scan_next(const struct scan_text *text, enum memo memo, scan_finder *find, size_t from);

// As scanner_new(); `jit` false keeps PCRE2 to its interpreter, as on a machine without executable mappings.
int scanner_compile(const struct custom_rule *custom, size_t custom_count, bool jit, enum prefilter_kind kind,
		    struct scanner **ret, struct error *error);
