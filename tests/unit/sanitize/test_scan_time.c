// SPDX-License-Identifier: Apache-2.0
//
// Scanning is linear on any text: for each hostile family, twice the text
// costs at most 2.5 times the CPU time, with and without PCRE2's JIT, and a
// hostile text at most 50 times a benign one of the same size.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "sanitize/scan.h"
#include "sanitize/scan_text.h"

#define SIZE_JIT   ((size_t)128 << 10)
#define SIZE_PLAIN ((size_t)32 << 10)
#define GROWTH_MAX 2.5
#define BENIGN_MAX 50.0
// Below this a clock tick decides, not the text.
#define NOISE 0.002
#define TRIES 9

struct family {
	const char *name;
	const char *head, *unit, *tail;
};

static const struct family families[] = {
	{ "unclosed substitutions", "", "$(", "" },
	{ "unclosed substitutions, a binary at the end", "", "$(a ", "curl" },
	{ "unclosed substitutions around binaries", "", "$(sh ", "" },
	{ "nested substitutions that close before a binary", "", "$(a $(b )", ") sh )" },
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

static const char benign[] = "## Reading a report\n\nOpen the file, look at its columns and write down what "
			     "each of them holds. Numbers are "
			     "rounded to two digits; dates follow ISO 8601. See `docs/columns.md` for the "
			     "list.\n\n- Keep the order of the "
			     "rows.\n- Ask before a row is dropped.\n\n```python\nrows = [parse(line) for "
			     "line in open(name)]\nprint(len(rows))\n"
			     "```\n\n| column | meaning |\n| --- | --- |\n| id | number of the row |\n| when "
			     "| date of the entry |\n\n";

static char *make_text(const struct family *family, size_t size)
{
	size_t head = strlen(family->head), unit = strlen(family->unit), tail = strlen(family->tail), at;
	char *text = malloc(size + 1);

	assert_non_null(text);
	memcpy(text, family->head, head);
	for (at = head; at < size - tail; at++)
		// Whole units, so that no character is cut in two.
		text[at] =
			at - (at - head) % unit + unit > size - tail ? ' ' : family->unit[(at - head) % unit];
	memcpy(text + size - tail, family->tail, tail);
	text[size] = '\0';
	return text;
}

static double now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double scan_seconds(const struct scanner *scanner, enum file_class cls, const char *text, size_t len)
{
	struct matches matches = { NULL, 0, 0 };
	double start = now();

	assert_int_equal(scanner_scan(scanner, cls, text, len, NULL, &matches), 0);
	matches_release(&matches);
	return now() - start;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

// Whether twice the text costs at most GROWTH_MAX times, and a text at most `enough` seconds. The least of a few
// runs counts, and more of them are made as long as that looks too much.
static bool is_linear(const struct scanner *scanner, enum file_class cls, const struct family *family,
		      size_t size, double enough, double *ret_seconds)
{
	char *small = make_text(family, size), *large = make_text(family, 2 * size);
	double least_small = 1e9, least_large = 1e9;
	bool good = false;
	int i;

	for (i = 0; i < TRIES && !good; i++) {
		least_small = smaller(least_small, scan_seconds(scanner, cls, small, size));
		least_large = smaller(least_large, scan_seconds(scanner, cls, large, 2 * size));
		good = least_large <= enough &&
		       (least_large < NOISE || least_large <= GROWTH_MAX * least_small);
	}
	free(small);
	free(large);
	*ret_seconds = least_large;
	if (!good)
		print_error("%s, %s: %.2f ms, twice the text %.2f ms\n", family->name, file_class_name(cls),
			    1e3 * least_small, 1e3 * least_large);
	return good;
}

static void check_families(bool jit, size_t size)
{
	static const enum file_class classes[] = { CLASS_PROSE, CLASS_CODE, CLASS_BINARY };
	const struct family good_text = { "benign", "", benign, "" };
	struct scanner *scanner;
	double good_seconds;
	int wrong = 0;
	size_t i;

	assert_int_equal(scanner_compile(NULL, 0, jit, PREFILTER_BEST, &scanner, NULL), 0);
	assert_true(is_linear(scanner, CLASS_PROSE, &good_text, size, 1e9, &good_seconds));
	// Without JIT the classes differ in nothing that is not seen with it.
	for (i = 0; i < (jit ? 3 : 1) * sizeof(families) / sizeof(families[0]); i++) {
		const struct family *family = &families[i / (jit ? 3 : 1)];
		enum file_class cls = jit ? classes[i % 3] : CLASS_PROSE;
		double seconds;

		wrong += !is_linear(scanner, cls, family, size, BENIGN_MAX * good_seconds, &seconds);
		if (getenv("SCAN_TIME_PRINT") != NULL)
			print_message("%6.1f x benign: %s, %s\n", seconds / good_seconds, family->name,
				      file_class_name(cls));
	}
	scanner_free(scanner);
	assert_int_equal(wrong, 0);
}

static void scan_hostile_families_grows_linearly(void **state)
{
	(void)state;
	check_families(true, SIZE_JIT);
}

static void scan_without_jit_grows_linearly(void **state)
{
	(void)state;
	check_families(false, SIZE_PLAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scan_hostile_families_grows_linearly),
		cmocka_unit_test(scan_without_jit_grows_linearly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
