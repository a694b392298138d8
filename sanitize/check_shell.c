// SPDX-License-Identifier: Apache-2.0
//
// Dangerous binaries in command substitutions, code spans and reverse shells; miners.
#include <string.h>

#include "sanitize/check.h"
#include "sanitize/check_word.h"

// Arguments of nc looked at, those of them that are no flag nor stand behind one (host and port), the longest
// argument and the longest group of flags.
#define ARGUMENTS_MAX   12
#define POSITIONALS_MAX 2
#define ARGUMENT_MAX    256
#define GROUP_MAX       8
// How far a tick is looked for byte by byte.
#define TICK_NEAR 64
// How many bytes behind an opener are searched for a binary at first.
#define BINARY_NEAR 64
// Quoted text longer than this is none.
#define QUOTED_MAX 256

static const char *const binaries[] = { "curl", "wget", "bash", "sh", "nc", "ncat", NULL };
static const char *const subshell_binaries[] = { "curl", "wget", "bash", "sh", "nc",
						 "ncat", "zsh",  "dash", NULL };

// Whether the binary that ends at `end` is only asked for its version or help.
static bool only_asks_version(const struct scan_text *text, size_t end)
{
	size_t at = skip_blanks(text, end);

	if (at == end || !flag_asks_version(text, at, &at))
		return false;
	while (at < text->len && byte_is_space(text->data[at]))
		at++;
	if (at < text->len && byte_is_digit(text->data[at]) && at + 1 < text->len &&
	    text->data[at + 1] == '>')
		return true;
	return at >= text->len || text->data[at] == '\n' || text->data[at] == '\r' ||
	       (text->data[at] != '\0' && strchr("|;&)>\"'`", text->data[at]) != NULL);
}

// Whether the word [start, end) is one of `words` and counts as a command.
static bool counts_as_command(const struct scan_text *text, size_t start, size_t end,
			      const char *const *words)
{
	return end - start >= 2 && end - start <= 4 && word_is_one_of(text, start, end, words) &&
	       word_is_plain(text, start) && !only_asks_version(text, end);
}

// The first word in [from, end) that is one of `words` and counts as a command; `end` when there is none.
static size_t find_word(const struct scan_text *text, size_t from, size_t end, const char *const *words)
{
	size_t at = from;

	// Not in the middle of a word.
	if (at > 0 && at < end && byte_is_word(text->data[at - 1]))
		at = word_end(text, at);
	while (at < end) {
		size_t start;

		while (at < end && !byte_is_word(text->data[at]))
			at++;
		start = at;
		while (at < end && byte_is_word(text->data[at]))
			at++;
		if (word_end(text, at) == at && counts_as_command(text, start, at, words))
			return start;
	}
	return end;
}

const char check_binaries[] = "\\b(?:curl|wget|bash|sh|ncat|nc|zsh|dash)[^\\w]";

struct search {
	const struct scan_text *text;
	size_t found;
};

static int take_binary(void *arg, size_t owner, size_t start)
{
	struct search *search = arg;
	size_t end = word_end(search->text, start);

	(void)owner;
	if (!counts_as_command(search->text, start, end, subshell_binaries))
		return 0;
	search->found = start;
	return 1;
}

static size_t find_subshell_binary(const struct scan_text *text, size_t from)
{
	struct search search = { .text = text, .found = text->len };
	struct prefilter_cursor cursor = { .at = from };
	size_t limit;

	if (text->binaries == NULL)
		return find_word(text, from, text->len, subshell_binaries);
	// Little at first: most are near, and what is looked at behind the one found is looked at again.
	for (limit = BINARY_NEAR;
	     cursor.at < text->len &&
	     prefilter_run(text->binaries, text->data, text->len, limit, &cursor, take_binary, &search) == 0;)
		limit = limit < text->len ? 2 * limit : limit;
	return search.found;
}

static size_t find_close(const struct scan_text *text, size_t from)
{
	const char *close = from < text->len ? memchr(text->data + from, ')', text->len - from) : NULL;

	return close == NULL ? text->len : (size_t)(close - text->data);
}

// Whether the parenthesis at `at` groups commands; in a quoted pattern or a call it does not.
static bool opens_group(const struct scan_text *text, size_t at)
{
	char before = text->data[at - 1];

	return byte_is_blank(before) || (before != '\0' && strchr("$(<>|;&!=", before) != NULL);
}

// Behind the escaped character or the quoted text at `at`, where parentheses group nothing; `at` when there is none.
// A quote behind a word is an apostrophe, and quoted text that goes on past `end` is looked at.
static size_t skip_literal(const struct scan_text *text, size_t at, size_t end)
{
	const char *open = text->data + at, *close;
	size_t left = end - at - 1;

	if (*open == '\\')
		return left > 0 ? at + 2 : at;
	if ((*open != '"' && *open != '\'') || byte_is_word(open[-1]))
		return at;
	if (left > QUOTED_MAX)
		left = QUOTED_MAX;
	close = memchr(open + 1, *open, left);
	if (close == NULL || memchr(open, '\n', (size_t)(close - open)) != NULL)
		return at;
	return at + (size_t)(close - open) + 1;
}

// `$(`: the match runs from the outermost opener around a binary to the first `)` behind it.
bool check_subshell(const struct scan_text *text, size_t *start, size_t *end, enum severity *severity,
		    size_t *resume)
{
	size_t binary = scan_next(text, MEMO_BINARY, find_subshell_binary, *end), close, at, depth = 1;

	(void)severity;
	close = binary < text->len ? scan_next(text, MEMO_CLOSE, find_close, binary) : text->len;
	if (close == text->len) {
		*resume = text->len;
		return false;
	}
	for (at = *end; at < binary; at++) {
		size_t behind = skip_literal(text, at, binary);

		if (behind > at) {
			at = behind - 1;
			continue;
		}
		if (text->data[at] == '(' && opens_group(text, at)) {
			depth++;
		} else if (text->data[at] == ')' && --depth == 0) {
			// All that opened inside closed before the binary, too.
			*resume = at + 1;
			return false;
		}
	}
	*end = close + 1;
	return *start < *end;
}

static size_t find_tick(const struct scan_text *text, size_t from)
{
	const char *tick = memchr(text->data + from, '`', text->len - from);

	return tick == NULL ? text->len : (size_t)(tick - text->data);
}

// Whether a blank line stands in [start, end); one that holds blanks is not looked for.
static bool has_blank_line(const struct scan_text *text, size_t start, size_t end)
{
	const char *at = text->data + start, *last = text->data + end;

	while ((at = memchr(at, '\n', (size_t)(last - at))) != NULL && last - at >= 2) {
		if (at[1] == '\n' || (at[1] == '\r' && last - at >= 3 && at[2] == '\n'))
			return true;
		at++;
	}
	return false;
}

// What stands before `at` and not before `from`: a tick that may open a span, a blank line behind it, or neither. Runs
// of ticks open none, unless a backslash takes one away.
enum before { BEFORE_NOTHING, BEFORE_TICK, BEFORE_BLANK_LINE };

static enum before look_before(const struct scan_text *text, size_t from, size_t at)
{
	const char *data = text->data;
	size_t nearest = at > from + TICK_NEAR ? at - TICK_NEAR : from, end = at;

	// Most fences open behind a blank line.
	for (; end > nearest; end--) {
		if (data[end - 1] == '`' || (data[end - 1] == '\n' && end < at && data[end] == '\n'))
			break;
	}
	if (end > nearest && data[end - 1] == '\n')
		return BEFORE_BLANK_LINE;
	while (end > from) {
		const char *tick = memrchr(data + from, '`', end - from);
		size_t last, first;

		if (tick == NULL)
			break;
		last = first = (size_t)(tick - data);
		while (first > from && data[first - 1] == '`')
			first--;
		if (first == last || (first > 0 && data[first - 1] == '\\'))
			return has_blank_line(text, last, at) ? BEFORE_BLANK_LINE : BEFORE_TICK;
		// From the fence on a blank line may be near again.
		if (first > from + 1 && data[first - 1] == '\n' && data[first - 2] == '\n')
			return BEFORE_BLANK_LINE;
		end = first;
	}
	return has_blank_line(text, from, at) ? BEFORE_BLANK_LINE : BEFORE_NOTHING;
}

// Whether a span may be open at `at`, which does not go backwards: spans don't cross a blank line.
static bool tick_is_open(const struct scan_text *text, size_t at)
{
	struct scan_memo *memo = text->memo;
	enum before before = look_before(text, memo->ticks.at, at);

	memo->ticks.at = at;
	if (before != BEFORE_NOTHING)
		memo->ticks.open = before == BEFORE_TICK;
	return memo->ticks.open;
}

// The span around a binary. To know the spans of a text costs more than all other rules together, and most binaries
// stand in fenced code: so first whether there can be one.
size_t locate_span(const struct scan_text *text, size_t found)
{
	const struct text_range *span;

	if (!tick_is_open(text, found) || scan_next(text, MEMO_TICK, find_tick, found) == text->len)
		return SIZE_MAX;
	span = context_span_at(text->contexts, found);
	return span == NULL ? SIZE_MAX : span->start;
}

// A single tick: the span that it opens must hold a binary, a blank and an argument.
bool check_backtick(const struct scan_text *text, size_t *start, size_t *end, enum severity *severity,
		    size_t *resume)
{
	const struct text_range *span = context_next_span(text->contexts, *start);
	size_t at, last;

	(void)severity;
	if (span == NULL || span->start != *start) {
		*resume = span == NULL ? text->len : span->start;
		return false;
	}
	*resume = span->end;
	last = span->end - 1;
	for (at = *end; at < last;) {
		size_t behind;

		at = find_word(text, at, last, binaries);
		if (at >= last)
			return false;
		at = word_end(text, at);
		behind = skip_blanks(text, at);
		if (behind > at && behind < last) {
			*end = span->end;
			return true;
		}
	}
	return false;
}

// The end of the flag group at `at` (`-lvp`, `-4l`, `-p4444`) when e, l or p is in it, else 0.
static size_t listening_flag_end(const struct scan_text *text, size_t at)
{
	size_t first = at + 1, letters;
	bool found = false;

	while (first < text->len && (text->data[first] == '4' || text->data[first] == '6'))
		first++;
	for (letters = first; letters < text->len && byte_is_letter(text->data[letters]); letters++) {
		if (letters - first < GROUP_MAX && strchr("elpELP", text->data[letters]) != NULL)
			found = true;
	}
	if (letters - first > GROUP_MAX || text_has(text, at, "-help"))
		return 0;
	while (letters < text->len && byte_is_digit(text->data[letters]))
		letters++;
	return found && (letters == text->len || !byte_is_word(text->data[letters])) ? letters : 0;
}

// Behind a placeholder such as `<ip>`; `at` when there is none.
static size_t skip_placeholder(const struct scan_text *text, size_t at)
{
	size_t end = at + 1;

	if (at >= text->len || text->data[at] != '<')
		return at;
	while (end < text->len && end - at < QUOTED_MAX &&
	       (byte_is_word(text->data[end]) || text->data[end] == '-'))
		end++;
	return end > at + 1 && end < text->len && text->data[end] == '>' ? end + 1 : at;
}

static const char *const netcats[] = { "nc", "ncat", NULL };

// Whether the argument [start, end) is a path of netcat: what follows are the arguments of that.
static bool ends_with_netcat(const struct scan_text *text, size_t start, size_t end)
{
	size_t word = end;

	while (word > start && end - word <= 4 && byte_is_word(text->data[word - 1]))
		word--;
	return word_is_one_of(text, word, end, netcats) && word_is_plain(text, word);
}

// nc or ncat: the flags among the arguments on its line; one group must hold e, l or p.
static bool netcat_listens(const struct scan_text *text, size_t at, size_t *ret_end)
{
	int count, positionals = 0;
	bool behind_flag = false;

	at = skip_blanks(text, at);
	for (count = 0; count < ARGUMENTS_MAX; count++) {
		size_t start = at, flag_end;

		if (at >= text->len)
			return false;
		if (text->data[at] == '-') {
			flag_end = listening_flag_end(text, at);
			if (flag_end > 0) {
				*ret_end = flag_end;
				return true;
			}
			behind_flag = true;
		} else {
			// A sentence about nc, or the next nc.
			if (word_is_one_of(text, at, word_end(text, at), netcats) ||
			    (!behind_flag && ++positionals > POSITIONALS_MAX))
				return false;
			behind_flag = false;
		}
		at = skip_placeholder(text, at);
		while (at < text->len && at - start < ARGUMENT_MAX && blank_at(text, at) == 0 &&
		       (text->data[at] == '\0' || strchr("|;&()<>`", text->data[at]) == NULL))
			at++;
		if (ends_with_netcat(text, start, at))
			return false;
		start = at;
		while (at < text->len && (byte_is_space(text->data[at]) || blank_at(text, at) > 1))
			at += blank_at(text, at);
		if (at == start && !(at + 1 < text->len && text->data[at] == '\\'))
			return false;
		at = skip_blanks(text, at) > at && text->data[at] == '\\' ? skip_blanks(text, at) : at;
	}
	return false;
}

// bash and sh with an interactive flag and /dev/tcp are complete candidates; nc brings its arguments.
bool check_reverse_shell(const struct scan_text *text, size_t *start, size_t *end, enum severity *severity,
			 size_t *resume)
{
	(void)severity;
	(void)resume;
	if (text->data[*start] == '/')
		return true;
	if (!word_is_plain(text, *start))
		return false;
	if (!text_has(text, *start, "nc"))
		return true;
	return netcat_listens(text, word_end(text, *start), end);
}

// The miner t-rex is written in small letters or in a command; in a sentence "T-Rex" is a dinosaur more often.
bool check_miner(const struct scan_text *text, size_t *start, size_t *end, enum severity *severity,
		 size_t *resume)
{
	enum context context = context_at(text->contexts, *start);
	size_t behind = skip_blanks(text, *end);

	(void)resume;
	if (memcmp(text->data + *start, "T-", 2) != 0 || text->data[*start + 3] != 'e' ||
	    (context != CONTEXT_PROSE && context != CONTEXT_TABLE))
		return true;
	if (*start > 0 && strchr("/.\\", text->data[*start - 1]) != NULL && text->data[*start - 1] != '\0')
		return true;
	if (behind + 1 < text->len && text->data[behind] == '-' && !byte_is_blank(text->data[behind + 1]))
		return true;
	if (*end + 1 < text->len && strchr("./\\", text->data[*end]) != NULL &&
	    byte_is_word(text->data[*end + 1]))
		return true;
	*severity = SEVERITY_WARN;
	return true;
}
