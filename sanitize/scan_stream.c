// SPDX-License-Identifier: Apache-2.0
//
// A buffer is filled, scanned up to where no stretch of text is cut, and what is left moves to its front. A stretch
// that fills the buffer makes it grow, up to a limit; only then it is cut.
//
// All parsing of bytes into characters agrees from any byte on that continues none, so it does not matter where a
// piece begins as long as it is such a byte or follows ASCII.
#include "sanitize/scan_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/cleanup.h"
#include "sanitize/place.h"
#include "sanitize/printable.h"

#define FINDINGS_MAX  ((size_t)1 << 16) // as many as one text may hold
#define CHARACTER_MAX 4                 // bytes

struct scan_stream {
	const struct scanner *scanner;
	const struct budget *budget;
	struct scan_stream_sizes sizes;
	char *data; // a terminator behind `len`
	size_t len, cap;
	size_t want;        // looked at when there is so much
	size_t base;        // where in the file the buffer begins
	struct place place; // of the buffer's beginning; `at` is 0
	// In a stretch that was cut before the buffer's beginning:
	bool inside;
	size_t known;  // printable up to here
	size_t owned;  // of the file: what ends before was the last window's to tell
	size_t *reach; // by rule, of the file: how far the last one told goes
	struct findings findings;
	const char *limit;
	int status;
};

static void cleanup_matches(struct matches *matches)
{
	matches_release(matches);
}

int scan_stream_begin_sized(const struct scanner *scanner, const struct budget *budget,
			    const struct scan_stream_sizes *sizes, struct scan_stream **ret)
{
	struct scan_stream *stream = calloc(1, sizeof(*stream));

	if (stream == NULL)
		return -ENOMEM;
	*stream = (struct scan_stream){ .scanner = scanner,
					.budget = budget,
					.sizes = *sizes,
					.cap = sizes->window,
					.want = sizes->window,
					.place = { .line = 1 },
					.limit = "matches, or steps of one rule" };
	stream->data = malloc(stream->cap + 1);
	stream->reach = calloc(scanner_rule_count(scanner) + 1, sizeof(*stream->reach));
	if (stream->data == NULL || stream->reach == NULL) {
		scan_stream_free(stream);
		return -ENOMEM;
	}
	*ret = stream;
	return 0;
}

int scan_stream_begin(const struct scanner *scanner, const struct budget *budget, struct scan_stream **ret)
{
	static const struct scan_stream_sizes sizes = { SCAN_STREAM_WINDOW, SCAN_STREAM_STRETCH,
							SCAN_STREAM_OVERLAP };

	return scan_stream_begin_sized(scanner, budget, &sizes, ret);
}

void scan_stream_free(struct scan_stream *stream)
{
	if (stream == NULL)
		return;
	findings_release(&stream->findings);
	free(stream->reach);
	free(stream->data);
	free(stream);
}

const char *scan_stream_limit(const struct scan_stream *stream)
{
	return stream->limit;
}

void scan_stream_take(struct scan_stream *stream, struct findings *ret)
{
	findings_sort(&stream->findings);
	*ret = stream->findings;
	stream->findings = (struct findings){ NULL, 0, 0, 0 };
}

// Scans the first `end` bytes. `next` is where in the file the next window's own matches begin, SIZE_MAX when this one
// tells them all.
static int scan_piece(struct scan_stream *stream, enum file_class cls, size_t end, size_t next)
{
	CLEANUP(matches) struct matches matches = { NULL, 0, 0 };
	struct place place = stream->place;
	int rc = scanner_scan(stream->scanner, cls, stream->data, end, stream->budget, &matches);
	const bool limited = rc == -EOVERFLOW;

	// What was found up to a limit is told.
	if (limited)
		rc = 0;
	for (size_t i = 0; rc == 0 && i < matches.count; i++) {
		const struct match *match = &matches.items[i];
		const size_t from = stream->base + match->start, to = stream->base + match->end;
		size_t *reach = &stream->reach[match->rule];
		bool is_told;
		struct finding finding = {
			.rule = scanner_rule(stream->scanner, match->rule),
			.severity = match->severity,
			.byte_offset = from,
			.context = CONTEXT_BINARY,
		};

		if (from >= next)
			break;
		is_told = stream->inside && (to <= stream->owned || from < *reach);
		// One that goes on from window to window is told once.
		if (*reach < to && (!is_told || from < *reach))
			*reach = to;
		if (is_told)
			continue;
		if (stream->findings.count == FINDINGS_MAX)
			return -EOVERFLOW;
		place_move(&place, stream->data, stream->len, match->start);
		finding.position = place.position;
		finding.line = place.line;
		rc = findings_add(&stream->findings, &finding, stream->data + match->start,
				  match->end - match->start);
	}
	return rc == 0 && limited ? -EOVERFLOW : rc;
}

static void drop(struct scan_stream *stream, size_t count)
{
	place_move(&stream->place, stream->data, stream->len, count);
	stream->place.at = 0;
	stream->len -= count;
	stream->base += count;
	memmove(stream->data, stream->data + count, stream->len);
	stream->data[stream->len] = '\0';
	stream->known = stream->known > count ? stream->known - count : 0;
}

// Whether the character at `at` can be told, though more may follow the buffer.
static bool is_decided(const struct scan_stream *stream, size_t at, bool last)
{
	return last || stream->len - at >= CHARACTER_MAX || (unsigned char)stream->data[at] < 0x80;
}

// Behind the printable characters from `at` on; true when something else stands there.
static bool skip_printable(const struct scan_stream *stream, bool last, size_t *at)
{
	while (*at < stream->len && is_decided(stream, *at, last)) {
		size_t width = printable_length(stream->data + *at, stream->len - *at);

		if (width == 0)
			return true;
		*at += width;
	}
	return false;
}

// The beginning of the last stretch, which may go on behind the buffer.
static size_t last_stretch(const struct scan_stream *stream)
{
	size_t at = stream->len, start;
	uint32_t character;

	// A control character belongs to no other and ends any stretch; mostly there is one near.
	while (at > stream->len / 2) {
		const unsigned char byte = (unsigned char)stream->data[--at];

		if (byte < 0x80 && !printable_ascii((char)byte))
			return at + 1;
	}
	for (at = 0;;) {
		start = at;
		if (!skip_printable(stream, false, &at))
			return start;
		at += utf8_decode(stream->data + at, stream->len - at, &character);
	}
}

// ------------------------------------------------------------- long stretches

static bool is_blank_line(const char *data, size_t start, size_t end)
{
	if (end > start && data[end - 1] == '\r')
		end--;
	while (start < end && (data[start] == ' ' || data[start] == '\t' || data[start] == '>'))
		start++;
	return start == end;
}

// Where to cut in [low, high]: behind a blank line, else behind a line, else behind a space, else anywhere.
static size_t find_cut(const char *data, size_t low, size_t high)
{
	size_t line = 0, space = 0, at;

	for (at = high; at > low; at--) {
		const char *before;

		if (data[at - 1] == ' ' && space == 0)
			space = at;
		if (data[at - 1] != '\n')
			continue;
		if (line == 0)
			line = at;
		before = memrchr(data + low, '\n', at - 1 - low);
		if (before != NULL && is_blank_line(data, (size_t)(before + 1 - data), at - 1))
			return at;
	}
	if (line > 0)
		return line;
	if (space > 0)
		return space;
	for (at = high; at > low && utf8_is_continuation(data[at]); at--)
		;
	return at;
}

// Whether no tick before the cut can pair with one behind it.
static bool is_safe_cut(const char *data, size_t cut)
{
	const char *tick = memrchr(data, '`', cut), *end = data + cut, *line, *feed;

	if (tick == NULL)
		return true;
	line = memchr(tick, '\n', (size_t)(end - tick));
	for (; line != NULL; line = feed) {
		feed = memchr(line + 1, '\n', (size_t)(end - line - 1));
		if (feed != NULL && is_blank_line(data, (size_t)(line + 1 - data), (size_t)(feed - data)))
			return true;
	}
	return false;
}

// The buffer, printable up to `known`, is the beginning or the middle of a stretch that is too long.
static int cut_stretch(struct scan_stream *stream)
{
	const size_t end = stream->known, overlap = stream->sizes.overlap;
	const size_t cut = find_cut(stream->data, end - 2 * overlap, end - overlap);
	const size_t owned = stream->base + cut + overlap / 2;
	int rc;

	if (!is_safe_cut(stream->data, cut)) {
		stream->limit = "text without a blank line in a binary file";
		return -EOVERFLOW;
	}
	// As code, which is the same but that all of it is text; chance makes no window this long.
	rc = scan_piece(stream, CLASS_CODE, end, owned);
	if (rc < 0)
		return rc;
	drop(stream, cut);
	stream->inside = true;
	stream->owned = owned;
	return 0;
}

// ---------------------------------------------------------------------- pieces

// The rest of a stretch that was cut, when its end is in the buffer.
static int end_stretch(struct scan_stream *stream, bool last)
{
	const bool ends = skip_printable(stream, last, &stream->known);
	int rc;

	if (!ends && !last)
		return cut_stretch(stream);
	rc = scan_piece(stream, CLASS_CODE, stream->known, SIZE_MAX);
	if (rc < 0)
		return rc;
	drop(stream, stream->known);
	stream->inside = false;
	return 0;
}

static int look(struct scan_stream *stream, bool last)
{
	size_t end;
	int rc;

	if (stream->inside) {
		rc = end_stretch(stream, last);
		if (rc < 0 || stream->inside)
			return rc;
	}
	end = last ? stream->len : last_stretch(stream);
	if (end > 0) {
		rc = scan_piece(stream, CLASS_BINARY, end, SIZE_MAX);
		if (rc < 0)
			return rc;
		drop(stream, end);
	}
	if (!last && stream->len >= stream->sizes.stretch) {
		stream->known = 0;
		(void)skip_printable(stream, false, &stream->known);
		return cut_stretch(stream);
	}
	return 0;
}

static int look_and_go_on(struct scan_stream *stream)
{
	int rc = look(stream, false);

	if (rc < 0)
		return rc;
	// Twice what is left, so that a stretch is not looked at again and again.
	stream->want = 2 * stream->len > stream->sizes.window ? 2 * stream->len : stream->sizes.window;
	if (stream->want > stream->sizes.stretch)
		stream->want = stream->sizes.stretch;
	if (stream->want > stream->cap) {
		char *grown = realloc(stream->data, stream->want + 1);

		if (grown == NULL)
			return -ENOMEM;
		stream->data = grown;
		stream->cap = stream->want;
	}
	return 0;
}

int scan_stream_feed(struct scan_stream *stream, const char *data, size_t len)
{
	while (stream->status == 0 && len > 0) {
		size_t part = stream->want - stream->len;

		if (part > len)
			part = len;
		memcpy(stream->data + stream->len, data, part);
		stream->len += part;
		stream->data[stream->len] = '\0';
		data += part;
		len -= part;
		if (stream->len == stream->want)
			stream->status = look_and_go_on(stream);
	}
	return stream->status;
}

int scan_stream_end(struct scan_stream *stream)
{
	if (stream->status == 0)
		stream->status = look(stream, true);
	return stream->status;
}
