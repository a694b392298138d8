// SPDX-License-Identifier: Apache-2.0
#include "sanitize/error.h"

#include <stdio.h>
#include <string.h>

int error_set(struct error *error, int code, const char *format, ...)
{
	va_list args;

	if (error == NULL)
		return code;
	va_start(args, format);
	(void)vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
	return code;
}

int error_prefix(struct error *error, int code, const char *format, ...)
{
	char prefix[512];
	char rest[sizeof(error->message)];
	va_list args;

	if (error == NULL)
		return code;
	va_start(args, format);
	(void)vsnprintf(prefix, sizeof(prefix), format, args);
	va_end(args);
	(void)snprintf(rest, sizeof(rest), "%s", error_text(error, code));
	// Clipping a message that is too long is what is wanted here.
	(void)snprintf(error->message, sizeof(error->message), "%.400s: %.600s", prefix, rest);
	return code;
}

const char *error_text(const struct error *error, int code)
{
	if (error != NULL && error->message[0] != '\0')
		return error->message;
	return strerror(code < 0 ? -code : code);
}
