// SPDX-License-Identifier: Apache-2.0
//
// One file's bytes in, one report out: class, what is served, findings of the
// raw and the sanitized stage as one list, notices. The mount, `skillfs scan` and
// `skillfs sanitize` all answer from this one function.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sanitize/buf.h"
#include "sanitize/findings.h"
#include "sanitize/sanitize.h"
#include "sanitize/scan.h"

struct inspect_options {
	size_t max_body_length;      // characters of prose behind the front matter
	bool scan;                   // contentScanning.enabled
	const struct budget *budget; // of time; NULL is none. Once spent it must stay so
	const char *budget_text;     // what the budget is, for the notice; may be NULL
	bool has_class;              // `cls` was given by the configuration or --class, else the file decides
	enum file_class cls;
};

struct report {
	enum file_class cls;
	bool scan_failed; // a limit was hit, and SCAN_LIMIT says which: the verdict must be an error, nothing is served
	bool verbatim;   // the served bytes are the source's: `body` is empty
	struct buf body; // served bytes otherwise
	struct sanitize_stats stats;
	struct findings findings;
	struct notices notices;
};

// `name` as for classify(). 0, or -ENOMEM, when `ret` is untouched and the file must not be served.
int inspect(const struct scanner *scanner, const struct inspect_options *options, const char *name,
	    const char *data, size_t len, struct report *ret);
void report_release(struct report *report);

// Notes the limit that was hit: the budget when it is spent, else `what`. 0 or -ENOMEM.
int report_note_limit(struct report *report, const struct inspect_options *options, const char *what);
// Findings told of a file that hit a limit: it has had its share of time.
#define FINDINGS_GIVEN_UP 1000

// A file that comes in pieces. Up to INSPECT_WHOLE bytes it is kept and inspected as above; so is a larger one as long
// as it may be text. A binary one is scanned as it comes (scan_stream.h) and not kept: memory does not grow with it.
// The reports are the same, but for what scan_stream.h says of very long stretches of text.
#define INSPECT_WHOLE ((size_t)8 << 20)

struct inspector;

// The scanner, `options` and `name` are borrowed. `keep`: the source is wanted at the end in any case. 0 or -ENOMEM.
int inspector_begin(const struct scanner *scanner, const struct inspect_options *options, const char *name,
		    bool keep, struct inspector **ret);
// 0; -EOVERFLOW when a limit was hit, so that what follows need not be read; -EFBIG, -ENOMEM.
int inspector_feed(struct inspector *inspector, const char *data, size_t len);
// As inspect(). `ret_source` receives the bytes when the report is verbatim and they were kept, else nothing.
int inspector_end(struct inspector *inspector, struct report *ret, struct buf *ret_source);
void inspector_free(struct inspector *inspector); // NULL is allowed
// For tests: another size for INSPECT_WHOLE.
void inspector_set_whole(struct inspector *inspector, size_t whole);

static inline void cleanup_inspector(struct inspector **inspector)
{
	inspector_free(*inspector);
}
