// SPDX-License-Identifier: Apache-2.0
//
// What the harnesses share. Each defines LLVMFuzzerTestOneInput() and ends the
// process with a message when a property does not hold. Linked with libFuzzer
// it is a fuzzer, with replay.c a test of the committed corpus.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

__attribute__((format(printf, 2, 3), noreturn)) static inline void fuzz_fail(const char *property,
									     const char *format, ...)
{
	va_list args;

	(void)fprintf(stderr, "broken property: %s: ", property);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fputc('\n', stderr);
	abort();
}

#define FUZZ_CHECK(condition, ...)                                                                           \
	do {                                                                                                 \
		if (!(condition))                                                                            \
			fuzz_fail(#condition, __VA_ARGS__);                                                  \
	} while (0)

struct piece {
	const char *data; // never NULL
	size_t len;
};

static inline struct piece fuzz_input(const uint8_t *data, size_t size)
{
	return (struct piece){ size > 0 ? (const char *)data : "", size };
}

// Takes the first line from `input`, without its line feed, as a string; what stands behind a NUL or `max`
// bytes is lost. The caller frees.
static inline char *fuzz_take_line(struct piece *input, size_t max)
{
	const char *end = memchr(input->data, '\n', input->len);
	size_t len = end != NULL ? (size_t)(end - input->data) : input->len;
	char *line = strndup(input->data, len < max ? len : max);

	if (line == NULL)
		abort();
	if (end != NULL)
		len++;
	input->data += len;
	input->len -= len;
	return line;
}

// A copy with nothing behind it, so that AddressSanitizer sees a read past the end. The caller frees.
static inline char *fuzz_copy(const char *data, size_t len)
{
	char *copy = calloc(len > 0 ? len : 1, 1);

	if (copy == NULL)
		abort();
	if (len > 0)
		memcpy(copy, data, len);
	return copy;
}

static inline size_t fuzz_line_of(const char *data, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset; i++)
		line += data[i] == '\n';
	return line;
}

static inline bool fuzz_has_control(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}
