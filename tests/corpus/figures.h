// SPDX-License-Identifier: Apache-2.0
//
// The figures of one corpus, and what they were when somebody last agreed to
// them: tests/corpus/baseline.txt has a section for each corpus that it knows. A corpus is known by
// the number of its files and labels and by a hash over their names, sizes and labels.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIGURE_KEY_SIZE 80
#define FIGURES_MAX     256

enum better { BETTER_LESS, BETTER_MORE };

struct figure {
	char key[FIGURE_KEY_SIZE];
	enum better better;
	size_t value;
};

struct figures {
	struct figure items[FIGURES_MAX];
	size_t count;
	size_t files, labels;
	uint64_t hash;
};

// Adds `value` to the figure, which begins at 0. Keys have no blanks.
void figures_add(struct figures *figures, enum better better, size_t value, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
// `names` are NUL-terminated; the order in which files come does not matter.
void figures_add_file(struct figures *figures, const char *name, size_t size);
void figures_add_label(struct figures *figures, const char *line);

enum comparison { COMPARISON_UNKNOWN, COMPARISON_SAME, COMPARISON_BETTER, COMPARISON_WORSE };

// Prints what differs from the section of this corpus in the file at `path`; UNKNOWN when it has none. A figure that is
// missing on one side counts as 0 there. 0 or a negative errno.
int figures_compare(const struct figures *figures, const char *path, enum comparison *ret);
// Writes the section of this corpus anew and leaves all others as they are.
int figures_update(const struct figures *figures, const char *path);
