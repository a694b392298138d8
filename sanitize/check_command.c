// SPDX-License-Identifier: Apache-2.0
//
// Command lines: what curl, wget and base64 write into.
//
// A command line ends at an unescaped line end, unless the next line begins
// with a bar. Within it an unquoted `;` divides; quotes are paired from the
// start of the line, and one without a partner is an apostrophe.
#include <string.h>

#include "sanitize/check.h"
#include "sanitize/check_word.h"

// ------------------------------------------------------------- command lines

// The end of the command line that holds `at`, without its line end.
static size_t find_line_end(const struct scan_text *text, size_t at)
{
	for (;;) {
		const char *feed = at < text->len ? memchr(text->data + at, '\n', text->len - at) : NULL;
		size_t end, slash;

		if (feed == NULL)
			return text->len;
		end = (size_t)(feed - text->data);
		at = end + 1;
		if (end > 0 && text->data[end - 1] == '\r')
			end--;
		for (slash = end; slash > 0 && text->data[slash - 1] == '\\'; slash--)
			;
		if ((end - slash) % 2 == 1)
			continue;
		end = at;
		while (end < text->len && byte_is_space(text->data[end]))
			end++;
		if (end == text->len || text->data[end] != '|')
			return (size_t)(feed - text->data);
	}
}

// Makes the line that holds `at` the one in the memo.
static void line_enter(const struct scan_text *text, size_t at)
{
	struct scan_memo *memo = text->memo;

	while (!memo->line.known || (at > memo->line.end && memo->line.end < text->len)) {
		size_t start = memo->line.known ? memo->line.end + 1 : 0;

		memset(&memo->line, 0, sizeof(memo->line));
		memo->line.known = true;
		memo->line.start = memo->line.lexed = memo->line.stop = start;
		memo->line.end = find_line_end(text, start);
	}
}

// Behind the quoted text that opens at `at`; right behind the quote when nothing closes it.
static size_t skip_quoted(const struct scan_text *text, size_t at, size_t end)
{
	struct scan_memo *memo = text->memo;
	const char *data = text->data;
	size_t close = at + 1;

	if (data[at] == '\'') {
		const char *found;

		if (memo->line.no_single || (at > memo->line.start && byte_is_word(data[at - 1])))
			return at + 1;
		found = memchr(data + at + 1, '\'', end - at - 1);
		if (found != NULL)
			return (size_t)(found - data) + 1;
		memo->line.no_single = true;
		return at + 1;
	}
	if (memo->line.no_double)
		return at + 1;
	for (; close < end && data[close] != '"'; close++) {
		if (data[close] == '\\')
			close++;
	}
	if (close < end)
		return close + 1;
	memo->line.no_double = true;
	return at + 1;
}

// Whether a command of its own begins behind `at`: `&&`, `||` or a lone `&`, but not `2>&1`, `&>` and `|&`.
static bool divides_commands(const struct scan_text *text, size_t at)
{
	char c = text->data[at];
	char before = at > 0 ? text->data[at - 1] : '\0';
	char behind = at + 1 < text->len ? text->data[at + 1] : '\0';

	if (c == '|')
		return behind == '|';
	return c == '&' &&
	       (behind == '&' || (behind != '>' && before != '>' && before != '<' && before != '|'));
}

// Where the command that holds `at` ends: at an unquoted `;`, with `strict` also at `&&`, `||` and `&`, or at the
// end of its line. `strict` is the same for all calls of one rule.
static size_t command_stop(const struct scan_text *text, size_t at, bool strict)
{
	struct scan_memo *memo = text->memo;
	size_t i, end;

	line_enter(text, at);
	end = memo->line.end;
	if (memo->line.stop >= at && memo->line.lexed > memo->line.start)
		return memo->line.stop;
	for (i = memo->line.lexed; i < end;) {
		char c = text->data[i];

		if (c == '\\') {
			i += 2;
		} else if (c == '\'' || c == '"') {
			i = skip_quoted(text, i, end);
		} else if (i >= at && (c == ';' || (strict && divides_commands(text, i)))) {
			memo->line.stop = i;
			memo->line.lexed = i + 1;
			return i;
		} else {
			i++;
		}
	}
	memo->line.stop = memo->line.lexed = end;
	return end;
}

static bool is_single_bar(const struct scan_text *text, size_t at)
{
	return text->data[at] == '|' && (at == 0 || text->data[at - 1] != '|') &&
	       (at + 1 == text->len || text->data[at + 1] != '|');
}

static size_t find_bar(const struct scan_text *text, size_t from)
{
	while (from < text->len) {
		const char *bar = memchr(text->data + from, '|', text->len - from);

		if (bar == NULL)
			break;
		from = (size_t)(bar - text->data);
		if (is_single_bar(text, from))
			return from;
		from++;
	}
	return text->len;
}

static size_t find_interpreter(const struct scan_text *text, size_t from)
{
	size_t name, end;

	for (from = find_bar(text, from); from < text->len; from = find_bar(text, from + 1)) {
		if (command_is_shell(text, behind_bar(text, from), true, &name, &end))
			return from;
	}
	return text->len;
}

// ---------------------------------------------------------------- arguments

// The next argument at or after `from` that begins with `-`.
static size_t find_flag(const struct scan_text *text, size_t from)
{
	while (from < text->len) {
		const char *dash = memchr(text->data + from, '-', text->len - from);

		if (dash == NULL)
			break;
		from = (size_t)(dash - text->data);
		if (blank_before(text, from))
			return from;
		from++;
	}
	return text->len;
}

// The end of an argument that names standard output, 0 when it is another one.
static size_t stdout_end(const struct scan_text *text, size_t at)
{
	static const char *const names[] = { "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1" };
	size_t i;

	if (at < text->len && (text->data[at] == '"' || text->data[at] == '\''))
		at++;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (text_has(text, at, names[i]) && argument_ends(text, at + strlen(names[i])))
			return at + strlen(names[i]);
	}
	return 0;
}

// The end of wget's output option at `flag` when it means standard output, else 0.
static size_t stdout_option_end(const struct scan_text *text, size_t flag)
{
	static const char option[] = "--output-document";
	size_t at = flag + 1;

	if (text_has(text, flag, option)) {
		at = flag + strlen(option);
		if (at < text->len && text->data[at] == '=')
			return stdout_end(text, at + 1);
		return blank_at(text, at) > 0 ? stdout_end(text, skip_blanks(text, at)) : 0;
	}
	while (at < text->len && byte_is_letter(text->data[at]))
		at++;
	if (at == flag + 1 || (text->data[at - 1] != 'O' && text->data[at - 1] != 'o'))
		return 0;
	return stdout_end(text, skip_blanks(text, at));
}

static size_t find_stdout_option(const struct scan_text *text, size_t from)
{
	for (from = find_flag(text, from); from < text->len; from = find_flag(text, from + 1)) {
		if (stdout_option_end(text, from) > 0)
			return from;
	}
	return text->len;
}

// The bar behind such an option. None stands in the option itself, so all options before a bar have it in common.
static size_t find_bar_behind_option(const struct scan_text *text, size_t option)
{
	return find_bar(text, stdout_option_end(text, option));
}

// `--decode` or one of GNU's short forms of it, or a group of letters with a d (`-d`, `-D`, `-di`).
static bool is_decode_flag(const struct scan_text *text, size_t flag)
{
	static const char option[] = "--decode";
	size_t at = flag;
	bool decodes = false;

	while (at - flag < strlen(option) && at < text->len &&
	       (text->data[at] | (at > flag + 1 ? 0x20 : 0)) == option[at - flag])
		at++;
	if (at - flag >= 3)
		return argument_ends(text, at);
	for (at = flag + 1; at < text->len && at - flag <= 4; at++) {
		char c = text->data[at];

		if (c == 'd' || c == 'D')
			decodes = true;
		else if (c == '\0' || strchr("iIaA", c) == NULL)
			break;
	}
	return decodes && argument_ends(text, at);
}

static size_t find_decode_flag(const struct scan_text *text, size_t from)
{
	for (from = find_flag(text, from); from < text->len; from = find_flag(text, from + 1)) {
		if (is_decode_flag(text, from))
			return from;
	}
	return text->len;
}

static bool is_short_base64_flag(const struct scan_text *text, size_t flag)
{
	return flag + 1 < text->len && text->data[flag + 1] == 'a' && argument_ends(text, flag + 2);
}

static size_t find_openssl_base64(const struct scan_text *text, size_t from)
{
	for (from = find_flag(text, from); from < text->len; from = find_flag(text, from + 1)) {
		if (is_short_base64_flag(text, from) ||
		    (text_has(text, from, "-base64") && argument_ends(text, from + strlen("-base64"))))
			return from;
	}
	return text->len;
}

// -------------------------------------------------------------------- checks

// curl: a bar into an interpreter, possibly behind other bars.
bool check_curl_pipe(const struct scan_text *text, size_t *start, size_t *end, enum severity *severity,
		     size_t *resume)
{
	size_t bar = scan_next(text, MEMO_INTERPRETER, find_interpreter, *end), name;

	(void)start;
	(void)severity;
	if (bar == text->len) {
		*resume = text->len;
		return false;
	}
	return bar < command_stop(text, *end, false) &&
	       command_is_shell(text, behind_bar(text, bar), true, &name, end);
}

// wget: an option that sends the output to standard output, then a bar.
bool check_wget_stdout(const struct scan_text *text, size_t *start, size_t *end, enum severity *severity,
		       size_t *resume)
{
	size_t option = scan_next(text, MEMO_STDOUT, find_stdout_option, *end), stop, bar;

	(void)start;
	(void)severity;
	if (option == text->len) {
		*resume = text->len;
		return false;
	}
	stop = command_stop(text, *end, false);
	if (option >= stop)
		return false;
	bar = scan_next(text, MEMO_PIPE, find_bar_behind_option, option);
	if (bar >= stop)
		return false;
	*end = bar + 1;
	return true;
}

// base64, or `openssl enc` with its flags in front: a flag to decode, then a bar.
bool check_base64_decode(const struct scan_text *text, size_t *start, size_t *end, enum severity *severity,
			 size_t *resume)
{
	size_t flag = scan_next(text, MEMO_DECODE, find_decode_flag, *end), bar;

	if (flag == text->len) {
		*resume = text->len;
		return false;
	}
	bar = scan_next(text, MEMO_PIPE, find_bar, *end);
	if (flag > bar || bar >= command_stop(text, *end, true))
		return false;
	if (text_has(text, *start, "openssl")) {
		size_t base64 = scan_next(text, MEMO_OPENSSL_BASE64, find_openssl_base64, *end);

		// The word base64 is a candidate of its own for the flags behind it.
		if (base64 > bar || (flag > base64 && !is_short_base64_flag(text, base64)))
			return false;
	}
	if (is_cell_border(text, bar))
		*severity = SEVERITY_WARN;
	*end = bar + 1;
	return true;
}
