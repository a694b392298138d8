// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean": the candidate nearest to a mistyped word. Private to policy/.
#pragma once

#include <stddef.h>

struct nearest {
	const char *word;
	const char *best; // borrowed from the candidates; NULL when none is near
	size_t distance;  // of `best`
};

void nearest_start(struct nearest *nearest, const char *word);
void nearest_offer(struct nearest *nearest, const char *candidate); // of equally near ones the first stays
