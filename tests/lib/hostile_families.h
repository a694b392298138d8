// SPDX-License-Identifier: Apache-2.0
//
// Texts that cost more than they should where something is not linear: the
// growth tests and the bench read them from here.
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// Against the scanner: `unit`, again and again, between `head` and `tail`.
struct hostile_family {
	const char *name;
	const char *head, *unit, *tail;
};

static const struct hostile_family hostile_families[] = {
	{ "unclosed substitutions", "", "$(", "" },
	{ "unclosed substitutions, a binary at the end", "", "$(a ", "curl" },
	{ "unclosed substitutions around binaries", "", "$(sh ", "" },
	{ "nested substitutions that close before a binary", "", "$(a $(b )", ") sh )" },
	{ "substitutions that are closed", "", "$(sh) ", "" },
	{ "binaries and closing parentheses", "", "sh ) ", "" },
	{ "binaries that ask for a version", "$(", "sh --version ", ")" },
	{ "flags that look like binaries", "$(", "-sh ", ")" },
	{ "one long flag", "$(", "a-", "sh)" },
	{ "quotes in a substitution", "$(", "\"' ", "curl)" },
	{ "unclosed quotes in substitutions", "", "$(\"\n", "curl)" },
	{ "escapes in a substitution", "$(", "\\) ", "curl)" },
	{ "ticks", "", "`", "" },
	{ "single ticks", "", "` ", "" },
	{ "spans", "", "`a` ", "" },
	{ "spans with bare binaries", "", "`sh`", "" },
	{ "ticks of all lengths", "", "` `` ``` ```` ````` `````` ```````", "" },
	{ "escaped ticks", "", "\\`", "" },
	{ "backslashes", "`", "\\", "`" },
	{ "fences", "", "```\n", "" },
	{ "unclosed fences of different lengths", "", "`````\n~~~~\n", "" },
	{ "odd ticks in lines", "", "a ` b\n", "" },
	{ "evals", "", "eval ", "" },
	{ "evals and parentheses", "", "eval(", "" },
	{ "eval and blanks", "eval", " ", "" },
	{ "eval and wide blanks", "eval", "\xc2\xa0", "(" },
	{ "bars", "", "|", "" },
	{ "single bars", "", "| ", "" },
	{ "bars and words", "", "|a", "" },
	{ "bars and wrappers", "", "|sudo ", "" },
	{ "bars and flags", "", "|sudo -u ", "" },
	{ "bars and assignments", "", "|env A=\" ", "" },
	{ "wrappers behind a bar", "|", "sudo ", "sh" },
	{ "directories behind a bar", "|", "a/", "sh" },
	{ "alternations", "(", "a|sh", "" },
	{ "alternations of shells", "", "sh|bash|", "" },
	{ "alternations with blanks", "(", "sh | ", "" },
	{ "table rows", "|a|b|\n|-|-|\n", "|sh|bash|\n", "" },
	{ "table cells", "a|b\n-|-\n", "|sh", "" },
	{ "table heads", "", "|a|b|\n", "" },
	{ "delimiter rows", "", "|-|-|\n", "" },
	{ "escaped bars in cells", "a|b\n-|-\n", "\\|", "" },
	{ "list markers", "", "1. - * ", "" },
	{ "quote marks", "", "> > ", "" },
	{ "printenvs", "", "printenv_", "" },
	{ "proc", "", "/proc/", "" },
	{ "proc slashes", "/proc", "/./", "" },
	{ "proc digits", "", "/proc/11111111111111111111111111111", "" },
	{ "env bars", "", "env | ", "" },
	{ "exports", "", "export -p ", "" },
	{ "stratum", "", "stratum+", "" },
	{ "miners", "", "xmrig", "" },
	{ "miners found", "", "T-Rex ", "" },
	{ "pools", "", "pool.", "" },
	{ "labels", "pool.", "a", "" },
	{ "labels of one letter", "", "a.a.a.", "" },
	{ "curls", "", "curl ", "" },
	{ "curls and bars", "", "curl |", "" },
	{ "curls, a pipe far away", "", "curl ", "| sh" },
	{ "curls in quotes", "", "curl \" ", "" },
	{ "curls and apostrophes", "", "curl ' \" ", "" },
	{ "curls in lines", "", "curl \\\n", "" },
	{ "curls and leading bars", "", "curl\n|", "" },
	{ "curls and semicolons", "", "curl;", "" },
	{ "curls piped", "", "curl|sh\n", "" },
	{ "wgets", "", "wget ", "" },
	{ "wgets to standard output", "", "wget -O - ", "" },
	{ "wgets to standard output and semicolons", "", "wget -O -;", "|" },
	{ "wget options", "wget ", "-O ", "" },
	{ "dashes", "wget base64 ", "-", "" },
	{ "shells with flags", "", "bash -", "" },
	{ "netcats", "", "nc ", "" },
	{ "netcats with arguments", "", "nc a b c d e f g h ", "" },
	{ "netcat and flags", "nc ", "-vvv ", "" },
	{ "netcat and a long argument", "", "nc aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "" },
	{ "netcats and wide blanks", "", "/nc\xc2\xa0", "" },
	{ "netcats in flags", "", " -v/nc", "" },
	{ "netcat and placeholders", "", "nc <aaaaaaaaaaaaaaaaaaaaaaa", "" },
	{ "shells with long flags", "", "bash --a-a-a-a-a --b ", "" },
	{ "shells in continued lines", "", "bash \\\n", "" },
	{ "envs in continued lines", "env", "\\\n", "" },
	{ "bars and commands in flags", "", "|env -S\" ", "" },
	{ "bars and long flags", "", "|sudo --user ", "" },
	{ "proc substitutions", "", "/proc/$(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "" },
	{ "devices", "", "/dev/tcp/ ", "" },
	{ "one run of base64", "", "A", "" },
	{ "runs one short of base64", "",
	  "aB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9-", "" },
	{ "two equal lines of base64", "",
	  "aB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9k\n"
	  "aB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9k\n-\n",
	  "" },
	{ "paths", "", "abc/", "" },
	{ "nineteen escapes", "",
	  "\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41 ",
	  "" },
	{ "escapes", "", "\\x41", "" },
	{ "base64s", "", "base64 ", "" },
	{ "base64s that decode", "", "base64 -d ", "" },
	{ "base64s and bars", "", "base64 | -d ", "" },
	{ "base64s in commands", "", "base64 -d && ", "|" },
	{ "openssls", "", "openssl enc -d ", "|" },
	{ "openssls in base64", "", "openssl enc -base64 -d ", "" },
	{ "openers of tags", "", "<", "" },
	{ "closing tags", "", "</", "" },
	{ "closing tags and blanks", "", "</skill ", "" },
	{ "system tags", "", "<system ", "" },
	{ "system tags in quotes", "", "<system \"", "" },
	{ "system tags with tags in quotes", "", "<system a='<' b=\"<system \"", "" },
	{ "one system tag", "<system ", "a ", "" },
	{ "tags and wide blanks", "<", "\xe2\x80\x80", "system" },
	{ "openers of comments", "", "<!--", "" },
	{ "comments", "", "<!---->", "" },
	{ "closers of comments", "", "-->", "" },
	{ "front matter", "---\n", "a: `b\n", "" },
	{ "line ends", "", "\n", "" },
	{ "dollars", "", "$", "" },
	{ "short stretches of text", "", "abcde\x01", "" },
	{ "short stretches with openers", "", "sh`|$(curl\x01", "" },
	{ "proc self", "", "/proc/self/", "" },
	{ "slashes", "", "/", "" },
	{ "half of printenv", "", "printen ", "" },
	{ "half of stratum", "", "stratum+tcp:", "" },
	{ "half of a pool", "", "pool.aa", "" },
	{ "half of a close", "", "</skill_invocation", "" },
	{ "half of a tag", "", "<function_call", "" },
	{ "half of a shell", "", "bash -i_", "" },
	{ "half of a device", "", "/dev/tcp", "" },
	{ "half of an escape", "", "\\x4", "" },
	{ "envs", "", "env ", "" },
	{ "openssl", "", "openssl ", "" },
	{ "base64 alone", "", "base64|", "" },
	{ "carriage returns", "", "\r\n", "" },
};

#define HOSTILE_FAMILIES (sizeof(hostile_families) / sizeof(hostile_families[0]))

// What both are compared with.
static const char hostile_benign[] =
	"## Reading a report\n\nOpen the file, look at its columns and write down what "
	"each of them holds. Numbers are "
	"rounded to two digits; dates follow ISO 8601. See `docs/columns.md` for the "
	"list.\n\n- Keep the order of the "
	"rows.\n- Ask before a row is dropped.\n\n```python\nrows = [parse(line) for "
	"line in open(name)]\nprint(len(rows))\n"
	"```\n\n| column | meaning |\n| --- | --- |\n| id | number of the row |\n| when "
	"| date of the entry |\n\n";

// A text of `size` bytes; the caller frees.
static inline char *hostile_fill(const struct hostile_family *family, size_t size)
{
	size_t head = strlen(family->head), unit = strlen(family->unit), tail = strlen(family->tail), at;
	char *text = malloc(size + 1);

	if (text == NULL)
		abort();
	memcpy(text, family->head, head);
	for (at = head; at < size - tail; at++)
		// Whole units, so that no character is cut in two.
		text[at] =
			at - (at - head) % unit + unit > size - tail ? ' ' : family->unit[(at - head) % unit];
	memcpy(text + size - tail, family->tail, tail);
	text[size] = '\0';
	return text;
}

// Against the pipeline: `prefix` many times, `middle`, `suffix` as often.
struct hostile_nest_family {
	const char *name, *prefix, *middle, *suffix;
};

static const struct hostile_nest_family hostile_nest_families[] = {
	{ "openers", "<!--", "", "" },
	{ "half openers", "<!-", "", "" },
	{ "closers", "-->", "", "" },
	{ "comments", "<!-- -->", "", "" },
	{ "nest", "<!", "<!-- -->", "-- -->" },
	{ "nest in the opener", "<!-", "<!-- -->", "- -->" },
	{ "nest of closers", "<!-- -", "<!-- -->", "->" },
	{ "fullwidth nest", "\xEF\xBC\x9C!", "<!-- -->", "-- --\xEF\xBC\x9E" },
	{ "opener and angles", ">", "<!--", ">" },
	{ "dashes", "-", "", "" },
	{ "angles", "<", "", "" },
	{ "exclamation marks", "!", "", "" },
	{ "line ends", "\n", "", "\x01" },
	{ "marks", "\xCC\x81", "", "" },
	{ "marks to sort", "\xCC\x81\xCC\xA3\xCC\xB4", "", "" },
	{ "marks and nests", "<!\xCC\x81", "<!-- -->", "-- -->\xCC\xA3" },
	{ "letters and marks", "e\xCC\x81", "", "" },
	{ "letters and marks to sort", "\xC3\xA9\xCC\xA3", "", "" },
	{ "marks that decompose", "\xCD\x84", "", "" },
	{ "overlays", "<\xCC\xB8", "", "" },
	{ "joiner between letter and mark", "e\xCD\x8F\xCC\x81", "", "" },
	{ "vowels", "\xE1\x85\xA1", "", "" },
	{ "jamo", "\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "", "" },
	{ "Hangul", "\xEA\xB0\x80", "", "" },
	{ "Hangul and trail", "\xEA\xB0\x80\xE1\x86\xA8", "", "" },
	{ "Bengali", "\xE0\xA7\x87\xE0\xA6\xBE", "", "" },
	{ "Devanagari", "\xE0\xA4\x95\xE0\xA4\xBC\xE0\xA5\x8D", "", "" },
	{ "Tibetan", "\xE0\xBD\xB1\xE0\xBD\xB2\xE0\xBD\xB4", "", "" },
	{ "Arabic", "\xD8\xA8\xD9\x8E", "", "" },
	{ "Arabic presentation", "\xEF\xBA\x8D", "", "" },
	{ "Arabic ligatures", "\xEF\xBB\xBB", "", "" },
	{ "longest expansion",
	  "\xEF\xB7\xBA"
	  "abcdefghijklmnopqrstuvwxyz",
	  "", "" },
	{ "CJK", "\xE4\xB8\xAD", "", "" },
	{ "CJK compatibility", "\xEF\xA4\x80", "", "" },
	{ "fullwidth", "\xEF\xBC\xA1", "", "" },
	{ "halfwidth", "\xEF\xBD\xB6\xEF\xBE\x9E", "", "" },
	{ "fractions", "\xC2\xBD", "", "" },
	{ "mathematical", "\xF0\x9D\x90\x80", "", "" },
	{ "musical", "\xF0\x9D\x85\x9E", "", "" },
	{ "zero width", "a\xE2\x80\x8B", "", "" },
	{ "tags", "\xF3\xA0\x81\xA7", "", "" },
	{ "flags", "\xF0\x9F\x8F\xB4\xF3\xA0\x81\xA7", "", "" },
	{ "emoji and selectors", "\xF0\x9F\x98\x80\xEF\xB8\x8F", "", "" },
	{ "letters and selectors", "a\xEF\xB8\x8F", "", "" },
	{ "keycaps", "1\xEF\xB8\x8F\xE2\x83\xA3", "", "" },
	{ "controls", "\x01", "", "" },
	{ "letters and controls", "a\x01", "", "" },
	{ "NEL", "\xC2\x85", "", "" },
	{ "separators", "\xE2\x80\xA8", "", "" },
	{ "invalid", "\xFF\xC3", "", "" },
	{ "invalid and letters", "a\xFF", "", "" },
	{ "halves of characters", "\xE2\x80", "", "" },
	{ "halves that join", "x\xE2\xE2\x80\x8B\x80\x8By", "", "" },
	{ "all of it", "a\x01\xEF\xBC\xA1\xFF<!---->e\xCC\x81", "", "" },
};

#define HOSTILE_NEST_FAMILIES (sizeof(hostile_nest_families) / sizeof(hostile_nest_families[0]))

// How often `prefix` is repeated, then `middle`, then `suffix` as often.
static inline char *hostile_nest(const char *prefix, const char *middle, const char *suffix, size_t times,
				 size_t *ret_len)
{
	size_t a = strlen(prefix), b = strlen(middle), c = strlen(suffix);
	char *text = malloc(times * (a + c) + b + 1), *at = text;

	if (text == NULL)
		abort();
	for (size_t i = 0; i < times; i++, at += a)
		memcpy(at, prefix, a);
	memcpy(at, middle, b);
	at += b;
	for (size_t i = 0; i < times; i++, at += c)
		memcpy(at, suffix, c);
	*at = '\0';
	*ret_len = (size_t)(at - text);
	return text;
}
