// SPDX-License-Identifier: Apache-2.0
#include "sanitize/anchor.h"

#include <limits.h>
#include <string.h>

// Groups in groups deeper than this end an anchor.
#define DEPTH_MAX 8
#define UNLIMITED UINT_MAX

struct reader {
	bool case_sensitive;
	int depth;
};

// Anchors under way, one for each combination of alternatives so far.
struct branches {
	struct anchor items[ANCHORS_MAX];
	bool open[ANCHORS_MAX]; // may grow
	size_t count;
};

static bool read_alternatives(struct reader *reader, const char *at, const char *end, struct branches *ret);

// ---------------------------------------------------------------- byte sets

static void set_add(struct byte_set *set, unsigned char byte)
{
	set->words[byte / 64] |= UINT64_C(1) << (byte % 64);
}

static void set_add_range(struct byte_set *set, unsigned int first, unsigned int last)
{
	for (; first <= last; first++)
		set_add(set, (unsigned char)first);
}

static void set_invert(struct byte_set *set)
{
	for (size_t i = 0; i < 4; i++)
		set->words[i] = ~set->words[i];
}

static void set_merge(struct byte_set *set, const struct byte_set *other)
{
	for (size_t i = 0; i < 4; i++)
		set->words[i] |= other->words[i];
}

// Letters in both cases.
static void set_fold(struct byte_set *set)
{
	for (unsigned int upper = 'A'; upper <= 'Z'; upper++) {
		unsigned char lower = (unsigned char)(upper + 'a' - 'A');

		if (byte_set_has(set, (unsigned char)upper) || byte_set_has(set, lower)) {
			set_add(set, (unsigned char)upper);
			set_add(set, lower);
		}
	}
}

static struct byte_set word_set(void)
{
	struct byte_set set = { { 0 } };

	set_add_range(&set, '0', '9');
	set_add_range(&set, 'A', 'Z');
	set_add_range(&set, 'a', 'z');
	set_add(&set, '_');
	return set;
}

static bool set_is_word(const struct byte_set *set)
{
	const struct byte_set word = word_set();

	for (size_t i = 0; i < 4; i++) {
		if ((set->words[i] & ~word.words[i]) != 0)
			return false;
	}
	return true;
}

// ------------------------------------------------------------------- syntax

// Behind the class that opens at `at`.
static const char *class_end(const char *at, const char *end)
{
	at++;
	if (at < end && *at == '^')
		at++;
	if (at < end && *at == ']')
		at++;
	while (at < end && *at != ']')
		at += *at == '\\' ? 2 : 1;
	return at < end ? at + 1 : end;
}

// The bracket that closes the group that opens at `at`.
static const char *group_end(const char *at, const char *end)
{
	size_t depth = 0;

	while (at < end) {
		if (*at == '\\') {
			at += 2;
			continue;
		}
		if (*at == '[') {
			at = class_end(at, end);
			continue;
		}
		if (*at == '(')
			depth++;
		else if (*at == ')' && --depth == 0)
			return at;
		at++;
	}
	return end;
}

// What would change the meaning of what stands behind it, or of "here".
static bool is_beyond_us(const char *expression)
{
	for (const char *at = expression; *at != '\0'; at++) {
		if (*at == '\\') {
			at++;
			if (*at == '\0' || strchr("QEKGc", *at) != NULL)
				return true;
		} else if (*at == '[' && at[1] != '\0' && strchr(":.=", at[1]) != NULL) {
			return true;
		} else if (*at == '(' && at[1] == '*') {
			return true;
		} else if (*at == '(' && at[1] == '?') {
			if (at[2] == '<' ? at[3] != '=' && at[3] != '!'
					 : at[2] == '\0' || strchr(":>=!", at[2]) == NULL)
				return true;
		}
	}
	return false;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// One escape that stands for a byte or a set; false for all others.
static bool read_escape(const char **at, const char *end, struct byte_set *set, bool *ret_single)
{
	const char *here = *at + 1;
	char c = here < end ? *here : '\0';
	struct byte_set some = { { 0 } };

	*at = here + 1;
	*ret_single = true;
	switch (c) {
	case 'n':
		set_add(set, '\n');
		return true;
	case 't':
		set_add(set, '\t');
		return true;
	case 'r':
		set_add(set, '\r');
		return true;
	case 'f':
		set_add(set, '\f');
		return true;
	case 'x':
		if (end - here < 3 || hex_value(here[1]) < 0 || hex_value(here[2]) < 0)
			return false;
		set_add(set, (unsigned char)(hex_value(here[1]) * 16 + hex_value(here[2])));
		*at = here + 3;
		return true;
	case 'd':
	case 'D':
		set_add_range(&some, '0', '9');
		break;
	case 'w':
	case 'W':
		some = word_set();
		break;
	case 's':
	case 'S':
		set_add_range(&some, '\t', '\r');
		set_add(&some, ' ');
		break;
	default:
		if (c == '\0' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
			return false;
		set_add(set, (unsigned char)c);
		return true;
	}
	*ret_single = false;
	if (c < 'a')
		set_invert(&some);
	set_merge(set, &some);
	return true;
}

static bool read_class(const char **at, const char *end, bool case_sensitive, struct byte_set *ret)
{
	const char *close = class_end(*at, end), *here = *at + 1;
	bool negated = here < close && *here == '^';
	struct byte_set set = { { 0 } };

	if (close == end && (end == *at || end[-1] != ']'))
		return false;
	here += negated;
	while (here < close - 1) {
		struct byte_set one = { { 0 } };
		bool single = true;

		if (*here == '\\') {
			if (!read_escape(&here, close - 1, &one, &single))
				return false;
		} else {
			set_add(&one, (unsigned char)*here++);
		}
		if (here + 1 < close - 1 && *here == '-') {
			struct byte_set last = { { 0 } };
			unsigned int low = 0, high = 0;

			here++;
			if (*here == '\\') {
				bool last_single;

				if (!read_escape(&here, close - 1, &last, &last_single) || !last_single)
					return false;
			} else {
				set_add(&last, (unsigned char)*here++);
			}
			if (!single)
				return false;
			while (!byte_set_has(&one, (unsigned char)low))
				low++;
			while (!byte_set_has(&last, (unsigned char)high))
				high++;
			set_add_range(&one, low, high);
		}
		set_merge(&set, &one);
	}
	if (!case_sensitive)
		set_fold(&set);
	if (negated)
		set_invert(&set);
	*at = close;
	*ret = set;
	return true;
}

// One place of a match; false when it is none that we know.
static bool read_set(const struct reader *reader, const char **at, const char *end, struct byte_set *ret)
{
	struct byte_set set = { { 0 } };
	bool single;

	switch (**at) {
	case '*':
	case '+':
	case '?':
	case '{':
	case ')':
	case '|':
		return false;
	case '.':
		(*at)++;
		set_invert(&set);
		break;
	case '[':
		if (!read_class(at, end, reader->case_sensitive, &set))
			return false;
		break;
	case '\\':
		if (!read_escape(at, end, &set, &single))
			return false;
		break;
	default:
		set_add(&set, (unsigned char)**at);
		(*at)++;
	}
	if (!reader->case_sensitive)
		set_fold(&set);
	*ret = set;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *read_number(const char *at, const char *end, unsigned int *ret)
{
	for (*ret = 0; at < end && is_digit(*at); at++)
		*ret = *ret < 10000 ? *ret * 10 + (unsigned int)(*at - '0') : *ret;
	return at;
}

// How often what stands before `at` is repeated, and the place behind that; 0 to unlimited, and `at`, where a brace may
// be one that stands for itself.
static const char *read_repetition(const char *at, const char *end, unsigned int *ret_min,
				   unsigned int *ret_max)
{
	unsigned int min = 1, max = 1;

	if (at < end && *at == '{') {
		const char *here = read_number(at + 1, end, &min);

		max = min;
		if (here < end && *here == ',') {
			const char *digits = ++here;

			here = read_number(here, end, &max);
			if (here == digits)
				max = UNLIMITED;
		}
		// Not a repetition, or one of a later PCRE2.
		if (at + 1 == end || !is_digit(at[1]) || here == end || *here != '}') {
			*ret_min = 0;
			*ret_max = UNLIMITED;
			return at;
		}
		at = here + 1;
	} else if (at < end && strchr("*+?", *at) != NULL) {
		min = *at == '+';
		max = UNLIMITED;
		at++;
	} else {
		*ret_min = *ret_max = 1;
		return at;
	}
	if (at < end && (*at == '+' || *at == '?'))
		at++;
	*ret_min = min;
	*ret_max = max;
	return at;
}

// ----------------------------------------------------------------- branches

static void branches_close(struct branches *branches)
{
	memset(branches->open, 0, sizeof(branches->open));
}

static bool branches_grow(const struct branches *branches)
{
	for (size_t i = 0; i < branches->count; i++) {
		if (branches->open[i])
			return true;
	}
	return false;
}

static void branches_append(struct branches *branches, const struct byte_set *set)
{
	for (size_t i = 0; i < branches->count; i++) {
		struct anchor *anchor = &branches->items[i];

		if (!branches->open[i])
			continue;
		anchor->sets[anchor->len++] = *set;
		branches->open[i] = anchor->len < ANCHOR_SETS;
	}
}

// Each open branch goes on with each of `more`. False when that would be too many.
static bool branches_multiply(struct branches *branches, const struct branches *more)
{
	struct branches result = { .count = 0 };

	for (size_t i = 0; i < branches->count; i++) {
		size_t times = branches->open[i] ? more->count : 1;

		for (size_t j = 0; j < times; j++) {
			struct anchor *anchor = &result.items[result.count];

			if (result.count == ANCHORS_MAX)
				return false;
			*anchor = branches->items[i];
			if (branches->open[i]) {
				const struct anchor *tail = &more->items[j];
				size_t room = ANCHOR_SETS - anchor->len;
				size_t taken = tail->len < room ? tail->len : room;

				if (anchor->len == 0)
					anchor->at_word_start |= tail->at_word_start;
				memcpy(anchor->sets + anchor->len, tail->sets, taken * sizeof(*tail->sets));
				anchor->len += taken;
				result.open[result.count] = more->open[j] && anchor->len < ANCHOR_SETS;
			}
			result.count++;
		}
	}
	*branches = result;
	return true;
}

// The group at `*at`; false when no branch can go on behind it.
static bool read_group(struct reader *reader, const char **at, const char *end, struct branches *branches)
{
	const char *close = group_end(*at, end), *body = *at + 1, *behind;
	unsigned int min, max;
	struct branches inside = { .count = 0 };

	if (close == end)
		return false;
	behind = read_repetition(close + 1, end, &min, &max);
	if (*body == '?') {
		if (body[1] != ':' && body[1] != '>') {
			*at = behind; // an assertion takes no place
			return behind == end || *behind != '{';
		}
		body += 2;
	}
	if (min == 0 || !read_alternatives(reader, body, close, &inside) ||
	    !branches_multiply(branches, &inside))
		return false;
	*at = behind;
	return min == 1 && max == 1;
}

static void read_sequence(struct reader *reader, const char *at, const char *end, struct branches *branches)
{
	bool stopped = false;

	*branches = (struct branches){ .count = 1, .open = { true } };
	while (at < end && branches_grow(branches)) {
		struct byte_set set = { { 0 } };
		unsigned int min, max;

		if (*at == '^' || *at == '$') {
			at++;
			continue;
		}
		if (*at == '\\' && at + 1 < end && strchr("bBAzZ", at[1]) != NULL) {
			if (at[1] == 'b' && branches->items[0].len == 0)
				branches->items[0].at_word_start = true;
			at += 2;
			continue;
		}
		if (*at == '(') {
			if (!read_group(reader, &at, end, branches)) {
				stopped = true;
				break;
			}
			continue;
		}
		if (!read_set(reader, &at, end, &set)) {
			stopped = true;
			break;
		}
		at = read_repetition(at, end, &min, &max);
		for (unsigned int i = 0; i < min && i < ANCHOR_SETS; i++)
			branches_append(branches, &set);
		if (min == 0 || min != max) {
			stopped = true;
			break;
		}
	}
	if (stopped)
		branches_close(branches);
}

static bool read_alternatives(struct reader *reader, const char *at, const char *end, struct branches *ret)
{
	ret->count = 0;
	if (++reader->depth > DEPTH_MAX)
		return false;
	for (;;) {
		const char *bar = at;
		struct branches one;

		while (bar < end && *bar != '|') {
			if (*bar == '\\')
				bar += 2;
			else if (*bar == '[')
				bar = class_end(bar, end);
			else if (*bar == '(')
				bar = group_end(bar, end) < end ? group_end(bar, end) + 1 : end;
			else
				bar++;
		}
		if (bar > end)
			bar = end;
		read_sequence(reader, at, bar, &one);
		if (one.count > ANCHORS_MAX - ret->count)
			return false;
		memcpy(ret->items + ret->count, one.items, one.count * sizeof(*one.items));
		memcpy(ret->open + ret->count, one.open, one.count * sizeof(*one.open));
		ret->count += one.count;
		if (bar == end)
			break;
		at = bar + 1;
	}
	reader->depth--;
	return true;
}

// `(?<![x])[x]{n,}`: a run begins where the class does.
static bool read_run(const char *expression, bool case_sensitive, struct anchor *ret)
{
	static const char behind[] = "(?<!";
	const char *end = expression + strlen(expression), *open = expression + strlen(behind), *close,
		   *again;
	struct anchor anchor = { .len = 1 };
	unsigned int min, max;

	if (strncmp(expression, behind, strlen(behind)) != 0 || *open != '[')
		return false;
	close = class_end(open, end);
	if (close == end || *close != ')' || strncmp(open, close + 1, (size_t)(close - open)) != 0)
		return false;
	again = close + 1 + (close - open);
	again = read_repetition(again, end, &min, &max);
	// Another alternative would begin elsewhere.
	if (min < 2 || max != UNLIMITED || strchr(again, '|') != NULL ||
	    !read_class(&open, end, case_sensitive, &anchor.sets[0]))
		return false;
	anchor.run = min;
	*ret = anchor;
	return true;
}

size_t anchors_read(const char *expression, bool case_sensitive, struct anchor ret[ANCHORS_MAX])
{
	struct reader reader = { .case_sensitive = case_sensitive };
	struct branches branches;

	if (is_beyond_us(expression))
		return 0;
	if (read_run(expression, case_sensitive, &ret[0]))
		return 1;
	if (!read_alternatives(&reader, expression, expression + strlen(expression), &branches))
		return 0;
	for (size_t i = 0; i < branches.count; i++) {
		struct anchor *anchor = &branches.items[i];

		if (anchor->len == 0)
			return 0;
		anchor->at_word_start = anchor->at_word_start && set_is_word(&anchor->sets[0]);
	}
	memcpy(ret, branches.items, branches.count * sizeof(*ret));
	return branches.count;
}
