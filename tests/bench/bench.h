// SPDX-License-Identifier: Apache-2.0
//
// What the sections of the bench share: the texts they run over, and a clock
// that is fair. All methods of a section take turns, so that whatever else the
// machine does hits all of them alike; CPU time counts, the median of the turns stands in the table.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sanitize/buf.h"

#define ROUNDS 7

struct text {
	const char *data; // NUL-terminated
	size_t len;
};

struct corpus {
	struct buf bytes; // all texts, one behind the other
	struct text *texts;
	size_t count;
	size_t size;
	const char *origin;
};

// The Markdown files below `dir` in the order of their paths, cut on line ends into texts of some 10 KB.
// -ENOENT when there are none.
int corpus_load(const char *dir, struct corpus *ret);
// As much text of our own, the same in every run, with the words, blocks and findings of a real corpus.
int corpus_generate(struct corpus *ret);
int corpus_cut(struct corpus *corpus);
void corpus_release(struct corpus *corpus);

// What one pass over the corpus found.
struct tally {
	size_t found; // matches, or changed texts
	size_t pairs; // of a text and a rule
	uint64_t hash;
};

static inline void tally_mix(struct tally *tally, uint64_t value)
{
	tally->hash = (tally->hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
	tally->hash ^= tally->hash >> 29;
}

struct method {
	const char *name;
	int (*pass)(void *state, const struct corpus *corpus, struct tally *ret); // 0 or a negative errno
	void *state;
	const char *missing; // why it is not measured; NULL when it is
	char note[200];
	size_t rounds_max;  // fewer than ROUNDS for what takes long; 0 is all
	bool is_process;    // other processes do the work: their CPU time counts
	struct tally tally; // of the first pass
	double seconds[ROUNDS];
	size_t rounds;
	double median; // seconds a pass; 0 when there is none
};

double thread_seconds(void);
double median_of(double *values, size_t count); // sorts
// Runs all methods that can be, one pass each and then in turns. A method that fails is marked as missing.
void measure(struct method *methods, size_t count, const struct corpus *corpus);
#define RATIO_SIZE 24
const char *show_ratio(double ratio, char ret[static RATIO_SIZE]);          // "-" for what was not measured
double megabytes(const struct method *method, const struct corpus *corpus); // a second
// How many times `slow` takes the time of `fast`; 0 when one of them is missing.
double times_as_fast(const struct method *fast, const struct method *slow);

// The goals of the project, in the order in which the sections check them.
struct goal {
	const char *what;
	double wanted;
	bool at_least; // else at most
	double value;  // 0: could not be measured
};
void goal_note(const char *what, double wanted, bool at_least, double value);
void goals_print(void);

// Sections print Markdown to standard output. 0, or a negative errno when there is nothing to print.
int section_scan(const struct corpus *corpus, const char *work);
int section_sanitize(const struct corpus *corpus);
int section_cold(const struct corpus *corpus, const char *work);
int section_hostile(const struct corpus *corpus);
