// SPDX-License-Identifier: Apache-2.0
//
// Random texts of the pieces that rules are made of, the same in every run.
#pragma once

#include <stdint.h>
#include <string.h>

#include "sanitize/buf.h"

// clang-format off
static const char *const scan_tokens[] = {
	"$(", ")", "(", "`", "``", "```", "\n", "\r\n", "\n\n", " ", " ", "\t", "|", "||", "|&", "\\", "\"",
	"'", ";", "&", "&&", "curl", "wget", "bash", "sh", "nc", "ncat", "zsh", "dash", "python3",
	"sudo", "env", "exec", "-i", "-O", "-", "-qO-", "--output-document=", "/dev/stdout", "-d",
	"--decode", "base64", "openssl enc", "-a", "-base64", "--version", "-V", "eval", "printenv",
	"/proc/", "self", "/environ", "$PID", "*", "//", "grep", "export -p", "declare -x", "stratum",
	"+tcp", "://", "xmrig", "T-Rex", "t-rex", "pool.", "ntp.org", "aa.bb", "/dev/tcp/", "-lvp", "<",
	"</", ">", "/>", "skill", "system", "available_skills", "<!--", "-->", "---\n", "a: b\n",
	"|-|-|\n", "|a|b|\n", "# ", "- ", "> ", "1. ", "~~~\n", "```sh\n", "x", "1", ".", "=",
	"\xc2\xa0", "\xe2\x80\x80", "\xef\xbb\xbf", "\xff", "\xc2", "\xe2\x80", "\x00", "\x1b", "{",
	"}", "[", "]", "\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41\\x41",
	"aB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9kaB3dE6gH9k", "==", "é", "/usr/bin/", "-u",
	"A=1",
};
// clang-format on

#define SCAN_TOKENS (sizeof(scan_tokens) / sizeof(scan_tokens[0]))

static inline uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 8;
}

// Fewer than `max` tokens.
static inline void make_hostile(uint64_t *seed, size_t max, struct buf *ret)
{
	size_t count = random_next(seed) % max, i;

	buf_clear(ret);
	for (i = 0; i < count; i++) {
		const char *token = scan_tokens[random_next(seed) % SCAN_TOKENS];

		assert_int_equal(buf_append(ret, token, token[0] == '\0' ? 1 : strlen(token)), 0);
	}
}
