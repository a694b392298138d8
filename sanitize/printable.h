// SPDX-License-Identifier: Apache-2.0
//
// What counts as text in a binary file: the stretches of such characters are scanned, each as a text of its own.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sanitize/utf8.h"

static inline bool printable_ascii(char c)
{
	return (c >= ' ' && c <= '~') || c == '\t' || c == '\n' || c == '\r';
}

// Length of the printable character at `data`, 0 when there is none.
static inline size_t printable_length(const char *data, size_t len)
{
	uint32_t character;
	size_t width;

	if ((unsigned char)*data < 0x80)
		return printable_ascii(*data);
	width = utf8_decode(data, len, &character);
	return character != UTF8_INVALID && character >= 0xA0 ? width : 0;
}
