// SPDX-License-Identifier: Apache-2.0
//
// The scanner with the rules of the table alone, for all cases of a test program.
#pragma once

#include "sanitize/scan.h"

static struct scanner *scanner;

static inline int scanner_set_up(void **state)
{
	(void)state;
	return scanner_new(NULL, 0, &scanner, NULL);
}

static inline int scanner_tear_down(void **state)
{
	(void)state;
	scanner_free(scanner);
	return 0;
}
