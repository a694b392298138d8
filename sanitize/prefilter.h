// SPDX-License-Identifier: Apache-2.0
//
// Finds in one pass over a text all places where a match of some rule can
// begin. Four neighbouring bytes are looked up at once: each byte's two halves
// name the groups of anchors that allow it there, and where the answers of all four have
// a group in common its anchors are compared. With AVX2 that is done for 32 places at a time.
//
// A prefilter is built once, immutable afterwards and safe to share between threads.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sanitize/anchor.h"

// Four for each bit that an anchor of a bucket can have: the two smallest of nine groups then always fit into one.
#define PREFILTER_ANCHORS_MAX 128
#define PREFILTER_RUNS_MAX    4

enum prefilter_kind { PREFILTER_BEST, PREFILTER_SCALAR, PREFILTER_AVX2 };

struct prefilter;

struct prefilter_builder {
	struct {
		struct anchor anchor;
		size_t owner;
	} items[PREFILTER_ANCHORS_MAX];
	size_t count, runs;
};

// The expected number of places in a MiB of ordinary text where one of these anchors fits.
double anchors_frequency(const struct anchor *anchors, size_t count);
// Adds an owner's anchors; false when there are too many, and none was added. All of one owner's come together.
bool prefilter_add(struct prefilter_builder *builder, size_t owner, const struct anchor *anchors,
		   size_t count);
// PREFILTER_AVX2 is refused (-ENOTSUP) where the processor has none. 0 or -ENOMEM.
int prefilter_build(const struct prefilter_builder *builder, enum prefilter_kind kind,
		    struct prefilter **ret);
void prefilter_free(struct prefilter *prefilter); // NULL is allowed
enum prefilter_kind prefilter_kind(const struct prefilter *prefilter);

// How far a text has been looked at; begin with zeroes.
struct prefilter_cursor {
	size_t at;
	size_t run_end[PREFILTER_RUNS_MAX]; // of the runs of bytes looked at last
};

// Called for each candidate: one owner's come in order. Not 0 ends the pass.
typedef int prefilter_found(void *arg, size_t owner, size_t start);

// Goes on for about `limit` bytes; cursor->at is `len` when the text is through. 0, or what `found` gave.
int prefilter_run(const struct prefilter *prefilter, const char *text, size_t len, size_t limit,
		  struct prefilter_cursor *cursor, prefilter_found *found, void *arg);
