// SPDX-License-Identifier: Apache-2.0
//
// A file that comes in pieces: whole while it may be text, streamed once it is known to be binary.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/classify.h"
#include "sanitize/cleanup.h"
#include "sanitize/inspect.h"
#include "sanitize/scan_stream.h"

struct inspector {
	const struct scanner *scanner;
	const struct inspect_options *options;
	const char *name;
	size_t whole;
	bool keep;
	bool may_be_binary;       // by name and first bytes: a NUL further on makes it so
	bool settled;             // read whole, whatever comes
	bool streaming;           // as a binary
	struct buf source;        // while it is not streamed, or kept
	struct scan_stream *scan; // NULL when scanning is off
	size_t size;
	struct notices notices;
	int status;
};

int inspector_begin(const struct scanner *scanner, const struct inspect_options *options, const char *name,
		    bool keep, struct inspector **ret)
{
	struct inspector *inspector = calloc(1, sizeof(*inspector));

	if (inspector == NULL)
		return -ENOMEM;
	*inspector = (struct inspector){
		.scanner = scanner, .options = options, .name = name, .whole = INSPECT_WHOLE, .keep = keep
	};
	*ret = inspector;
	return 0;
}

void inspector_set_whole(struct inspector *inspector, size_t whole)
{
	inspector->whole = whole;
}

void inspector_free(struct inspector *inspector)
{
	if (inspector == NULL)
		return;
	scan_stream_free(inspector->scan);
	notices_release(&inspector->notices);
	buf_release(&inspector->source);
	free(inspector);
}

// Whether the file is known to be binary now that `source` is longer than what is read whole in any case. `piece` bytes
// of it are new.
static bool is_binary(struct inspector *inspector, size_t piece)
{
	const struct inspect_options *options = inspector->options;
	const struct buf *source = &inspector->source;
	bool first = source->len - piece <= inspector->whole;

	if (options->has_class)
		return options->cls == CLASS_BINARY;
	if (first) {
		inspector->may_be_binary = classify_name(inspector->name) == NAME_SAYS_NOTHING &&
					   (source->data[0] != '#' || source->data[1] != '!');
		return classify_is_binary_already(inspector->name, source->data, source->len);
	}
	return inspector->may_be_binary && memchr(source->data + source->len - piece, '\0', piece) != NULL;
}

static int start_streaming(struct inspector *inspector)
{
	struct buf *source = &inspector->source;
	int rc = 0;

	// Its sanitized copy has to be scanned too, and that is made of the whole.
	if (classify_hides_text(source->data, source->len)) {
		inspector->settled = true;
		return 0;
	}
	inspector->streaming = true;
	if (classify_is_archive(inspector->name, source->data, source->len))
		rc = notices_add(&inspector->notices, NOTICE_FS_ARCHIVE_NOT_SCANNED, 1, 0, NULL);
	if (rc == 0 && inspector->options->scan) {
		rc = scan_stream_begin(inspector->scanner, inspector->options->budget, &inspector->scan);
		if (rc == 0)
			rc = scan_stream_feed(inspector->scan, source->data, source->len);
	}
	if (!inspector->keep)
		buf_release(source);
	return rc;
}

int inspector_feed(struct inspector *inspector, const char *data, size_t len)
{
	int rc = inspector->status;

	if (rc < 0 || len == 0)
		return rc;
	inspector->size += len;
	if (inspector->keep || !inspector->streaming)
		rc = buf_append(&inspector->source, data, len);
	if (rc == 0 && inspector->streaming && inspector->scan != NULL)
		rc = scan_stream_feed(inspector->scan, data, len);
	else if (rc == 0 && !inspector->streaming && !inspector->settled &&
		 inspector->size > inspector->whole && is_binary(inspector, len))
		rc = start_streaming(inspector);
	if (rc == 0 && budget_is_spent(inspector->options->budget))
		rc = -EOVERFLOW;
	inspector->status = rc;
	return rc;
}

// What was scanned as it came; the same fields as inspect_binary() fills.
static int end_streaming(struct inspector *inspector, struct report *report)
{
	int rc = inspector->status;

	*report = (struct report){ .cls = CLASS_BINARY, .verbatim = true, .notices = inspector->notices };
	inspector->notices = (struct notices){ NULL, 0, 0 };
	report->stats.source_size = report->stats.size = inspector->size;
	if (rc == 0 && inspector->scan != NULL)
		rc = scan_stream_end(inspector->scan);
	if (rc < 0 && rc != -EOVERFLOW)
		return rc;
	if (inspector->scan != NULL)
		scan_stream_take(inspector->scan, &report->findings);
	if (rc == 0)
		return 0;
	report->scan_failed = true;
	report->verbatim = false;
	while (report->findings.count > FINDINGS_GIVEN_UP)
		free(report->findings.items[--report->findings.count].matched_text);
	return report_note_limit(report, inspector->options,
				 inspector->scan != NULL ? scan_stream_limit(inspector->scan) : "size");
}

int inspector_end(struct inspector *inspector, struct report *ret, struct buf *ret_source)
{
	struct report report;
	int rc;

	if (inspector->streaming) {
		rc = end_streaming(inspector, &report);
		if (rc < 0) {
			report_release(&report);
			return rc;
		}
	} else {
		// A budget that is spent is noticed there.
		if (inspector->status < 0 && inspector->status != -EOVERFLOW)
			return inspector->status;
		rc = inspect(inspector->scanner, inspector->options, inspector->name, inspector->source.data,
			     inspector->source.len, &report);
		if (rc < 0)
			return rc;
	}
	if (report.verbatim) {
		*ret_source = inspector->source;
		inspector->source = BUF_INIT;
	}
	*ret = report;
	return 0;
}
