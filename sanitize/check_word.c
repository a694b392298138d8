// SPDX-License-Identifier: Apache-2.0
#include "sanitize/check_word.h"

#include <string.h>

// Longest token walked back over, and most wrappers and flags before a shell.
#define TOKEN_MAX   64
#define WRAPPER_MAX 8
#define FLAG_MAX    16

// clang-format off
const unsigned char byte_kinds[256] = {
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x08, 0x08, 0x08, 0x08, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x18, 0x00, 0x04, 0x00, 0x02, 0x02, 0x04, 0x04, 0x04, 0x04, 0x10, 0x12, 0x04, 0x12, 0x12, 0x02,
	0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x00, 0x04, 0x04, 0x00, 0x04, 0x10,
	0x02, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
	0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x00, 0x14, 0x04, 0x00, 0x11,
	0x04, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
	0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x02, 0x34, 0x06, 0x02, 0x00,
};
// clang-format on

// Length of the Unicode blank that begins with `p`, of which `left` bytes are there.
static size_t wide_blank(const unsigned char *p, size_t left)
{
	if (left >= 2 && p[0] == 0xc2 && p[1] == 0xa0)
		return 2;
	if (left < 3)
		return 0;
	switch (p[0]) {
	case 0xe1:
		return p[1] == 0x9a && p[2] == 0x80 ? 3 : 0;
	case 0xe2:
		if (p[1] == 0x80)
			return (p[2] >= 0x80 && p[2] <= 0x8a) || p[2] == 0xa8 || p[2] == 0xa9 || p[2] == 0xaf
				       ? 3
				       : 0;
		return p[1] == 0x81 && p[2] == 0x9f ? 3 : 0;
	case 0xe3:
		return p[1] == 0x80 && p[2] == 0x80 ? 3 : 0;
	case 0xef:
		return p[1] == 0xbb && p[2] == 0xbf ? 3 : 0;
	default:
		return 0;
	}
}

size_t blank_at(const struct scan_text *text, size_t at)
{
	if (at >= text->len)
		return 0;
	if (byte_is_blank(text->data[at]))
		return 1;
	return wide_blank((const unsigned char *)text->data + at, text->len - at);
}

size_t skip_blanks(const struct scan_text *text, size_t at)
{
	for (;;) {
		size_t length = blank_at(text, at);

		if (length == 0 && at + 1 < text->len && text->data[at] == '\\') {
			if (text->data[at + 1] == '\n')
				length = 2;
			else if (at + 2 < text->len && text->data[at + 1] == '\r' &&
				 text->data[at + 2] == '\n')
				length = 3;
		}
		if (length == 0)
			return at;
		at += length;
	}
}

bool blank_before(const struct scan_text *text, size_t at)
{
	if (at == 0)
		return false;
	if (byte_is_blank(text->data[at - 1]))
		return true;
	return (at >= 2 && wide_blank((const unsigned char *)text->data + at - 2, 2) == 2) ||
	       (at >= 3 && wide_blank((const unsigned char *)text->data + at - 3, 3) == 3);
}

bool argument_ends(const struct scan_text *text, size_t at)
{
	return at >= text->len || byte_is(text->data[at], BYTE_ENDS) || blank_at(text, at) > 0;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool text_has(const struct scan_text *text, size_t at, const char *what)
{
	for (; *what != '\0'; what++, at++) {
		if (at >= text->len || lower(text->data[at]) != *what)
			return false;
	}
	return true;
}

size_t word_end(const struct scan_text *text, size_t at)
{
	while (at < text->len && byte_is_word(text->data[at]))
		at++;
	return at;
}

bool word_is_one_of(const struct scan_text *text, size_t start, size_t end, const char *const *words)
{
	char first = start < end ? lower(text->data[start]) : '\0';

	for (; *words != NULL; words++) {
		if (**words == first && text_has(text, start, *words) && strlen(*words) == end - start)
			return true;
	}
	return false;
}

bool word_is_plain(const struct scan_text *text, size_t start)
{
	size_t first = start;

	if (start == 0)
		return true;
	if (text->data[start - 1] == '.')
		return false;
	while (first > 0 && start - first < TOKEN_MAX &&
	       (byte_is_word(text->data[first - 1]) || text->data[first - 1] == '-'))
		first--;
	return first == start || text->data[first] != '-';
}

bool flag_asks_version(const struct scan_text *text, size_t at, size_t *ret_end)
{
	static const char *const flags[] = { "--version", "--help", "-help" };
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (text_has(text, at, flags[i]) && argument_ends(text, at + strlen(flags[i]))) {
			*ret_end = at + strlen(flags[i]);
			return true;
		}
	}
	if (at + 1 < text->len && text->data[at] == '-' &&
	    (text->data[at + 1] == 'V' || text->data[at + 1] == 'h') && argument_ends(text, at + 2)) {
		*ret_end = at + 2;
		return true;
	}
	return false;
}

static const char *const sudo_options[] = {
	"user", "other-user", "group", "prompt", "close-from",      "chdir",
	"host", "role",       "type",  "chroot", "command-timeout", NULL
};
static const char *const env_options[] = { "unset", "chdir", NULL };
static const char *const no_options[] = { NULL };

// Commands that run the command behind their flags, and the flags of theirs that take an argument.
static const struct wrapper {
	const char *name;
	const char *with_argument;
	const char *const *options; // long ones
	char command;               // this flag's argument is the command line
	bool assignments;
} wrappers[] = {
	{ "sudo", "uUgpCDhrtTR", sudo_options, '\0', true },
	{ "doas", "uCa", no_options, '\0', false },
	{ "env", "uCP", env_options, 'S', true },
	{ "exec", "a", no_options, '\0', false },
	{ "nohup", "", no_options, '\0', false },
	{ "command", "", no_options, '\0', false },
};

static const struct wrapper *wrapper_find(const struct scan_text *text, size_t start, size_t end)
{
	size_t i;

	for (i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
		const char *const name[] = { wrappers[i].name, NULL };

		if (word_is_one_of(text, start, end, name))
			return &wrappers[i];
	}
	return NULL;
}

// Behind the argument at `at`; quotes hold it together.
static size_t skip_argument(const struct scan_text *text, size_t at)
{
	size_t start = at;

	while (at < text->len && at - start < 4 * TOKEN_MAX) {
		char c = text->data[at];

		if (c == '"' || c == '\'') {
			size_t left = text->len - at - 1;
			const char *close =
				memchr(text->data + at + 1, c, left < 4 * TOKEN_MAX ? left : 4 * TOKEN_MAX);

			if (close == NULL)
				return at;
			at = (size_t)(close - text->data) + 1;
			continue;
		}
		if (argument_ends(text, at))
			return at;
		at++;
	}
	return at;
}

// Whether the next argument belongs to the flag [start, end).
static bool flag_takes_next(const struct scan_text *text, size_t start, size_t end,
			    const struct wrapper *wrapper)
{
	const char *const *option;

	if (text_has(text, start, "--")) {
		for (option = wrapper->options; *option != NULL; option++) {
			if (strlen(*option) == end - start - 2 && text_has(text, start + 2, *option))
				return true;
		}
		return false;
	}
	// In a group the first letter that takes an argument takes the rest of the group, if there is any.
	for (start++; start < end && byte_is_letter(text->data[start]); start++) {
		if (strchr(wrapper->with_argument, text->data[start]) != NULL)
			return start + 1 == end;
	}
	return false;
}

// Where the command line begins that the flag [start, end) of a wrapper is given (`env -S "bash -e"`), else 0.
static size_t flag_command(const struct scan_text *text, size_t start, size_t end,
			   const struct wrapper *wrapper)
{
	static const char option[] = "--split-string";
	size_t at = start + 1;

	if (wrapper->command == '\0')
		return 0;
	if (text_has(text, start, option)) {
		at = start + strlen(option);
		at += at < end && text->data[at] == '=';
	} else {
		while (at < end && byte_is_letter(text->data[at]) && text->data[at] != wrapper->command)
			at++;
		if (at == end || text->data[at] != wrapper->command)
			return 0;
		at++;
	}
	at = skip_blanks(text, at);
	return at < text->len && (text->data[at] == '"' || text->data[at] == '\'') ? at + 1 : at;
}

// Behind the flags (and assignments) of a wrapper and the blanks that follow.
static size_t skip_flags(const struct scan_text *text, size_t at, const struct wrapper *wrapper)
{
	bool inside = false; // the argument of a flag that is a command line
	int count;

	for (count = 0; count < FLAG_MAX; count++) {
		size_t start = skip_blanks(text, at), end;

		if (start >= text->len || (start == at && !inside))
			return start;
		inside = false;
		if (text->data[start] == '-') {
			at = skip_argument(text, start);
			end = flag_command(text, start, at, wrapper);
			if (end > 0) {
				inside = true;
				at = end;
				continue;
			}
			if (flag_takes_next(text, start, at, wrapper))
				at = skip_argument(text, skip_blanks(text, at));
			continue;
		}
		end = word_end(text, start);
		if (!wrapper->assignments || end == start || end >= text->len || text->data[end] != '=')
			return start;
		at = skip_argument(text, start);
	}
	return skip_blanks(text, at);
}

// Behind the directories of a path; `at` when there are none.
static size_t skip_directories(const struct scan_text *text, size_t at)
{
	size_t name = at, end = at;

	while (end < text->len && end - at < PATH_LENGTH_MAX) {
		char c = text->data[end];

		if (c == '/')
			name = end + 1;
		else if (!byte_is(c, BYTE_WORD | BYTE_PATH))
			break;
		end++;
	}
	return name;
}

static const char *const shells[] = { "bash", "sh", "zsh", "ksh", "dash", "ash", NULL };
static const char *const interpreter_names[] = { "python", "perl", "ruby", "node", "php", NULL };

// The end of an interpreter's name with an optional version, 0 when it is none.
static size_t interpreter_end(const struct scan_text *text, size_t start)
{
	size_t end = start, last;

	while (end < text->len && byte_is_letter(text->data[end]))
		end++;
	if (!word_is_one_of(text, start, end, interpreter_names))
		return 0;
	for (last = end; end < text->len && (byte_is_digit(text->data[end]) || text->data[end] == '.');
	     end++) {
		if (byte_is_digit(text->data[end]))
			last = end + 1;
	}
	return last < text->len && byte_is_word(text->data[last]) ? 0 : last;
}

bool command_is_shell(const struct scan_text *text, size_t at, bool interpreters, size_t *ret_name,
		      size_t *ret_end)
{
	int count;

	at = skip_blanks(text, at);
	for (count = 0; count < WRAPPER_MAX; count++) {
		size_t start = skip_directories(text, at), end = word_end(text, start);
		const struct wrapper *wrapper;

		if (word_is_one_of(text, start, end, shells)) {
			*ret_name = start;
			*ret_end = end;
			return true;
		}
		if (interpreters) {
			size_t behind = interpreter_end(text, start);

			if (behind > 0) {
				*ret_name = start;
				*ret_end = behind;
				return true;
			}
		}
		wrapper = wrapper_find(text, start, end);
		if (wrapper == NULL || blank_at(text, end) == 0)
			return false;
		at = skip_flags(text, end, wrapper);
	}
	return false;
}

size_t behind_bar(const struct scan_text *text, size_t bar)
{
	return bar + 1 + (bar + 1 < text->len && text->data[bar + 1] == '&');
}

bool is_cell_border(const struct scan_text *text, size_t bar)
{
	return context_in_table(text->contexts, bar) && (bar == 0 || text->data[bar - 1] != '\\');
}
