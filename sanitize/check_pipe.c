// SPDX-License-Identifier: Apache-2.0
//
// A bar into a shell, and what looks like one: the cells of tables, choices of
// words, quoted patterns.
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
