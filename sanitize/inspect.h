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
