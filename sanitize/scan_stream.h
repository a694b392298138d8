// SPDX-License-Identifier: Apache-2.0
//
// A binary file of any size, scanned piece by piece in bounded memory. Pure: the caller reads.
//
// The findings are those of scanning the whole, as long as no stretch of printable characters is longer than
// SCAN_STREAM_STRETCH: each is then scanned in one piece. A longer one is cut into windows that overlap:
// - a match of up to half of SCAN_STREAM_OVERLAP bytes is found wherever it lies, and told once;
// - of a longer one that may go on and on (base64) at least the beginning is found, and told once;
// - a longer one that needs its end (a parenthesis, a shell behind a pipe) may be missed, and a match too many may be
//   told near a cut.
// Whether a tick opens or closes a code span depends on all ticks before it up to a blank line. A stretch that leaves
// no cut between ticks where that is known cannot be scanned in pieces: it is a limit that was hit.
#pragma once

#include "sanitize/budget.h"
#include "sanitize/findings.h"
#include "sanitize/scan.h"

#define SCAN_STREAM_WINDOW  ((size_t)1 << 20)
#define SCAN_STREAM_STRETCH ((size_t)8 << 20)
#define SCAN_STREAM_OVERLAP ((size_t)128 << 10)

struct scan_stream;

// The scanner and the budget (NULL: none) are borrowed. 0 or -ENOMEM.
int scan_stream_begin(const struct scanner *scanner, const struct budget *budget, struct scan_stream **ret);
// 0; -EOVERFLOW when a limit was hit, as scanner_scan(); -ENOMEM. After an error all further calls give it again.
int scan_stream_feed(struct scan_stream *stream, const char *data, size_t len);
int scan_stream_end(struct scan_stream *stream);
// What was found, sorted, even when a limit was hit; and which it was.
void scan_stream_take(struct scan_stream *stream, struct findings *ret);
const char *scan_stream_limit(const struct scan_stream *stream);
void scan_stream_free(struct scan_stream *stream); // NULL is allowed

// For tests, which want borders everywhere: window >= 8, stretch >= 2 * window, 4 * overlap <= window.
struct scan_stream_sizes {
	size_t window, stretch, overlap;
};
int scan_stream_begin_sized(const struct scanner *scanner, const struct budget *budget,
			    const struct scan_stream_sizes *sizes, struct scan_stream **ret);
