// SPDX-License-Identifier: Apache-2.0
//
// Everything that can look for the rules, ours and others'. Each *_new() returns the state for its pass, or NULL
// with the reason in `method->missing`; how many expressions it took stands in `method->note`.
#pragma once

#include "bench.h"
#include "expressions.h"

// SCANNER_CHOSEN is what the program takes on this machine.
enum scanner_kind { SCANNER_CHOSEN, SCANNER_AVX2, SCANNER_SCALAR };

struct scanner *make_scanner(enum scanner_kind kind); // NULL when it can't be had here
int ours_pass(void *scanner, const struct corpus *corpus, struct tally *ret);
int specification_pass(void *plain_scanner, const struct corpus *corpus, struct tally *ret);

void plain_jit_new(struct method *method); // one PCRE2-JIT scan for each expression
void hyperscan_new(struct method *all, struct method *which);
void re2_new(struct method *method); // which rules match
enum ripgrep_kind { RG_DEFAULT, RG_BYTES, RG_UNBOUNDED, RG_KINDS };
void ripgrep_new(struct method *methods, const struct corpus *corpus, const char *work); // RG_KINDS of them

int memcpy_pass(void *state, const struct corpus *corpus, struct tally *ret);
int memcpy_cached_pass(void *state, const struct corpus *corpus, struct tally *ret);
int memchr_pass(void *state, const struct corpus *corpus, struct tally *ret);
