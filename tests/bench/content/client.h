// SPDX-License-Identifier: Apache-2.0
//
// One turn of one row, over one mount: operations in a loop, so that starting a process is not part of what is
// measured, and the CPU time of this process and of the daemons behind the mount.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// What has been used up: nanoseconds.
struct usage {
	int64_t cpu; // of this process and the daemons, all their threads
	int64_t wall;
};

// -ESRCH when the first daemon is gone.
int usage_now(const pid_t *daemons, size_t count, struct usage *ret);

// The paths below a folder, as a walk finds them: relative to it.
struct names {
	char **items;
	size_t count, cap;
};

struct tree {
	const char *root;
	struct names files;       // regular ones of at most 1 MiB
	struct names directories; // that hold at least ten files
	char *large;              // the one that is larger, or NULL
};

int tree_walk(const char *root, struct tree *ret);
void tree_release(struct tree *tree);
// In the order of a fixed random sequence.
void names_shuffle(struct names *names);

// Makes `count` texts of 10 KB below DIR/skills, each with the attribute user.bench; 0 or a negative errno.
int make_skills(const char *dir, size_t count);
int make_binary(const char *path, size_t size); // what no compressor or hash finds easy
int make_text(const char *path, size_t size);

// Turns of `row` over the tree at `root` until they are long enough; `ret` is one operation's share.
int row_measure(const char *row, const char *root, const pid_t *daemons, size_t count, double *ret_cpu,
		double *ret_wall);
// How long each of `clients` readers waits for small files that nobody has seen yet, all the while that somebody else
// reads `large` (NULL: nobody does). Names come from `source`, so that listing the view gives nothing away. Prints
// reads, median, 99th percentile and worst, in microseconds, and how long the large file took, in milliseconds.
int latency_measure(const char *source, const char *view, size_t clients, const char *large);
