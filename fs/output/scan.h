// SPDX-License-Identifier: Apache-2.0
//
// What `skillfs scan` writes, file by file: memory does not grow with the tree. One table of formats.
#pragma once

#include <stdio.h>

#include "fs/output/json_stream.h"
#include "fs/output/text.h"

struct scan_summary {
	uint64_t files;  // everything that was looked at, hidden entries too
	uint64_t skills; // SKILL.md files
	uint64_t hidden;
	uint64_t critical, warn; // findings by severity
	uint64_t *by_rule;       // one counter a rule of the scanner
	uint64_t noted;          // clean files with routine notices only
};

struct scan_writer {
	struct writer out; // of `line`, so the whole must stay where it is
	const struct scan_format *format;
	const struct scanner *scanner;
	struct text_style style;
	struct scan_summary summary;
	struct buf line;
	struct json_stream json;
};

struct scan_format {
	const char *name;
	bool needs_source; // scan_file() wants the scanned bytes of files with findings
	// NULL: this version does not write it.
	int (*file)(struct scan_writer *writer, const char *path, const struct snapshot *snapshot,
		    const char *source, size_t len);
	int (*begin)(struct scan_writer *writer); // may be NULL
	int (*end)(struct scan_writer *writer);   // may be NULL
	int (*body)(struct scan_writer *writer, const struct snapshot *snapshot, const char *source,
		    size_t len);
};

extern const struct scan_format scan_formats[];
extern const size_t scan_format_count;
const struct scan_format *scan_format_find(const char *name); // NULL when unknown

// All return 0, -ENOMEM or -EIO (errno says why).
int scan_init(struct scan_writer *writer, FILE *out, const struct scan_format *format,
	      const struct scanner *scanner, const struct text_style *style);
int scan_begin(struct scan_writer *writer);
int scan_file(struct scan_writer *writer, const char *path, const struct snapshot *snapshot,
	      const char *source, size_t len);
int scan_end(struct scan_writer *writer);
// `scan -`: one body without a path, instead of all the above but scan_init().
int scan_body(struct scan_writer *writer, const struct snapshot *snapshot, const char *source, size_t len);
void scan_release(struct scan_writer *writer);
