// SPDX-License-Identifier: Apache-2.0
//
// Command lines: what curl, wget and base64 write into, and what stands
// behind a bar.
//
// A command line ends at an unescaped line end, unless the next line begins
// with a bar. Within it an unquoted `;` divides; quotes are paired from the
// start of the line, and one without a partner is an apostrophe.
#include <stdint.h>
#include <string.h>

#include "sanitize/check.h"
#include "sanitize/check_word.h"

// An alternation longer than this is taken for a command.
#define ALTERNATION_MAX 512
// One without brackets, and how far before it is looked.
#define BARE_ALTERNATION_MAX 128
#define FETCH_NEAR           128
// Longer than any word of a shell's grammar.
#define KEYWORD_MAX 8

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

static size_t behind_bar(const struct scan_text *text, size_t bar)
{
	return bar + 1 + (bar + 1 < text->len && text->data[bar + 1] == '&');
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

static bool is_cell_border(const struct scan_text *text, size_t bar)
{
	return context_in_table(text->contexts, bar) && (bar == 0 || text->data[bar - 1] != '\\');
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

// ------------------------------------------------------------ bar into shell

// Words that stand beside a shell's name in a choice: shells, and endings of file names.
static const char *const choices[] = {
	"bash", "sh",    "zsh", "ksh", "dash", "ash",  "fish",       "csh",  "tcsh", "nu",   "elvish", "pwsh",
	"cmd",  "xonsh", "ps1", "bat", "py",   "js",   "powershell", "ts",   "rb",   "pl",   "php",    "go",
	"rs",   "java",  "md",  "txt", "json", "yaml", "yml",        "toml", "xml",  "html", "css",    "sql",
	"lua",  "tsx",   "jsx", "mjs", "cjs",  "c",    "cpp",        "h",    NULL,
};

static const char *const shell_choices[] = {
	"bash", "sh", "zsh", "ksh", "dash", "ash", "fish", "csh", "tcsh", "pwsh", "powershell", NULL,
};

static bool is_choice_byte(char c)
{
	return byte_is(c, BYTE_CHOICE);
}

// Whether each alternative of [start, end) is one of `known`, blanks around it allowed.
static bool all_known(const struct scan_text *text, size_t start, size_t end, const char *const *known)
{
	while (start <= end) {
		size_t behind = start, last;

		while (behind < end && text->data[behind] != '|')
			behind++;
		for (last = behind; last > start && text->data[last - 1] == ' '; last--)
			;
		while (start < last && text->data[start] == ' ')
			start++;
		if (!word_is_one_of(text, start, last, known))
			return false;
		start = behind + 1;
	}
	return true;
}

// Whether a shell runs what stands in the parenthesis at `group`, by what stands before.
static bool holds_commands(const struct scan_text *text, size_t group)
{
	static const char commands[] = ";&|({\"'`=!";
	static const char *const keywords[] = { "if",    "then",  "elif",   "else", "do",
						"while", "until", "coproc", "time", NULL };
	const char before = group > 0 ? text->data[group - 1] : ' ';
	size_t start = group;

	if (byte_is_blank(before) || (before != '\0' && strchr(commands, before) != NULL))
		return true;
	// The body of a function.
	if (before == ')')
		return group >= 3 && text->data[group - 2] == '(' && byte_is_word(text->data[group - 3]);
	while (start > 0 && group - start < KEYWORD_MAX && byte_is_word(text->data[start - 1]))
		start--;
	return word_is_one_of(text, start, group, keywords);
}

// Whether [start, end), which holds a bar, is a choice in brackets (`{zsh|bash|fish}`, `(bash|sh)`) and not a pipe.
// Where a shell would run what stands in parentheses, or where blanks stand around the bars, only well-known words
// make it one.
static bool is_alternation(const struct scan_text *text, size_t start, size_t end)
{
	static const char openers[] = "([{<", closers[] = ")]}>";
	size_t group;
	const char *pair;
	char before;

	if (start == 0 || end == text->len || end - start > ALTERNATION_MAX)
		return false;
	// A group of a regular expression may begin with `?:`.
	group = start - 1;
	if (text->data[group] == ':' && group >= 2 && text->data[group - 1] == '?')
		group -= 2;
	pair = text->data[group] == '\0' ? NULL : strchr(openers, text->data[group]);
	if (pair == NULL || text->data[end] != closers[pair - openers])
		return false;
	before = group > 0 ? text->data[group - 1] : ' ';
	if (*pair == '(' && (before == '$' || before == '<' || before == '>'))
		return false;
	// `<` and `>` may redirect.
	if (*pair == '<' || memchr(text->data + start, ' ', end - start) != NULL)
		return all_known(text, start, end, choices);
	if (*pair == '(' && group == start - 1 && holds_commands(text, group))
		return all_known(text, start, end, choices);
	return true;
}

// Whether a command that brings something from elsewhere stands in the line before `at`, or so long a line that this
// can't be told.
static bool line_fetches(const struct scan_text *text, size_t at)
{
	static const char *const fetchers[] = {
		"curl", "wget", "fetch", "nc", "ncat", "http", "https", NULL
	};
	const size_t first = at > FETCH_NEAR ? at - FETCH_NEAR : 0;
	size_t end = at;

	while (end > first && text->data[end - 1] != '\n') {
		size_t start = end - 1;

		if (byte_is_word(text->data[start])) {
			while (start > first && byte_is_word(text->data[start - 1]))
				start--;
			if (word_is_one_of(text, start, end, fetchers))
				return true;
		}
		end = start;
	}
	return end > 0 && end == first;
}

// Whether the byte at `at` belongs to the argument beside a quoted one.
static bool argument_goes_on(const struct scan_text *text, size_t at)
{
	return byte_is(text->data[at], BYTE_WORD | BYTE_PATH) || text->data[at] == '"' ||
	       text->data[at] == '\'';
}

// Whether what stands before a choice of shells, [start, end), leaves it one: a word of its own, in quotes, or a flag's.
static bool begins_word(const struct scan_text *text, size_t start, size_t end)
{
	size_t flag = start;
	char before;

	if (start == 0 || blank_before(text, start))
		return !line_fetches(text, start);
	before = text->data[start - 1];
	if (before == '(')
		return true;
	if (before == '"' || before == '\'' || before == '`')
		return end < text->len && text->data[end] == before &&
		       (start == 1 || !argument_goes_on(text, start - 2)) &&
		       (end + 1 == text->len || !argument_goes_on(text, end + 1));
	if (before != '=')
		return false;
	for (flag--; flag > 0 && start - flag < FETCH_NEAR; flag--)
		if (!byte_is_word(text->data[flag - 1]) && text->data[flag - 1] != '-')
			break;
	return text->data[flag] == '-' && (flag == 0 || blank_before(text, flag)) &&
	       !line_fetches(text, flag);
}

// Whether `bar` stands between shells' names and more such bars only, without a blank (`bash|zsh|fish`): as commands
// they would do no more than the first of them does alone, unless that is an argument of another command.
static bool in_bare_alternation(const struct scan_text *text, size_t bar)
{
	struct scan_memo *memo = text->memo;
	size_t start = bar, end = bar + 1;

	if (bar < memo->bare.end)
		return memo->bare.is_alternation;
	while (start > memo->bare.end && byte_is(text->data[start - 1], BYTE_WORD | BYTE_BAR))
		start--;
	while (end < text->len && byte_is(text->data[end], BYTE_WORD | BYTE_BAR))
		end++;
	memo->bare.end = end;
	memo->bare.is_alternation = end - start <= BARE_ALTERNATION_MAX &&
				    all_known(text, start, end, shell_choices) &&
				    begins_word(text, start, end);
	return memo->bare.is_alternation;
}

static bool in_alternation(const struct scan_text *text, size_t bar)
{
	struct scan_memo *memo = text->memo;
	size_t start = bar, end = bar + 1;

	if (bar < memo->choice.end)
		return memo->choice.is_alternation;
	while (start > memo->choice.end && is_choice_byte(text->data[start - 1]))
		start--;
	while (end < text->len && is_choice_byte(text->data[end]))
		end++;
	memo->choice.end = end;
	memo->choice.is_alternation = is_alternation(text, start, end);
	return memo->choice.is_alternation;
}

// Whether nothing but the shell's name stands in the cell behind `bar`.
static bool is_bare_cell(const struct scan_text *text, size_t bar, size_t name, size_t name_end)
{
	static const char decoration[] = " \t\r`*_\"'";
	size_t at;

	for (at = bar + 1; at < name; at++) {
		if (text->data[at] == '\0' || strchr(decoration, text->data[at]) == NULL)
			return false;
	}
	for (at = name_end; at < text->len && text->data[at] != '|' && text->data[at] != '\n'; at++) {
		if (text->data[at] == '\0' || strchr(decoration, text->data[at]) == NULL)
			return false;
	}
	return true;
}

// Whether one of the eight bytes is `c`.
static bool word_holds(uint64_t word, char c)
{
	const uint64_t ones = 0x0101010101010101u, same = word ^ ((unsigned char)c * ones);

	return ((same - ones) & ~same & (ones << 7)) != 0;
}

// The same by the word's length and letters, wherever it stands.
static bool may_be_command(const struct scan_text *text, size_t at)
{
	size_t end = word_end(text, at), behind = end;
	char first = at < text->len ? (char)(text->data[at] | 0x20) : '\0';

	while (behind < text->len && byte_is(text->data[behind], BYTE_WORD | BYTE_PATH)) {
		if (text->data[behind++] == '/')
			return true;
	}
	if (end - at >= 2 && (text->data[end - 1] | 0x20) == 'h' && (text->data[end - 2] | 0x20) == 's')
		return true;
	switch (end - at) {
	case 3:
		return first == 'e';
	case 4:
		return first == 's' || first == 'd' || first == 'e';
	case 5:
		return first == 'n';
	case 7:
		return first == 'c';
	default:
		return false;
	}
}

// Whether what stands behind a bar may be a shell or a wrapper. Most bars are those of tables, so the first bytes of a
// cell must do, without a branch that is hard to guess: the first two letters, when no path can follow.
bool glance_pipe(const struct scan_text *text, size_t start)
{
	// By the second letter of bash, dash; sh; zsh, ksh, ash; sudo; doas, nohup, command; exec; env.
	static const uint32_t before[32] = {
#define LETTER(c) (UINT32_C(1) << ((c)&31))
		['a' & 31] = LETTER('b') | LETTER('d'),
		['h' & 31] = LETTER('s'),
		['s' & 31] = LETTER('z') | LETTER('k') | LETTER('a'),
		['u' & 31] = LETTER('s'),
		['o' & 31] = LETTER('d') | LETTER('n') | LETTER('c'),
		['x' & 31] = LETTER('e'),
		['n' & 31] = LETTER('e'),
#undef LETTER
	};
	const char *data = text->data;
	size_t at = start + 1;
	uint64_t first, second;

	if (at < text->len && data[at] == ' ')
		at++;
	if (text->len - at >= 2 * sizeof(first) && byte_is(data[at], BYTE_WORD)) {
		memcpy(&first, data + at, sizeof(first));
		memcpy(&second, data + at + sizeof(first), sizeof(second));
		if (!word_holds(first, '/') && !word_holds(second, '/') &&
		    (word_holds(first, ' ') || word_holds(second, ' ')))
			return (before[data[at + 1] & 31] >> (data[at] & 31) & 1) != 0 &&
			       may_be_command(text, at);
	}
	return may_be_command(text, skip_blanks(text, behind_bar(text, start)));
}

// A single bar: a shell must follow.
bool check_pipe_shell(const struct scan_text *text, size_t *start, size_t *end, enum severity *severity,
		      size_t *resume)
{
	size_t name, behind;

	(void)resume;
	if (!command_is_shell(text, *end, false, &name, &behind))
		return false;
	if (is_cell_border(text, *start)) {
		if (memchr(text->data + *start, '\n', name - *start) != NULL ||
		    is_bare_cell(text, *start, name, behind))
			return false;
		*severity = SEVERITY_WARN;
	} else if (in_alternation(text, *start) || in_bare_alternation(text, *start)) {
		return false;
	}
	*end = behind;
	return true;
}
