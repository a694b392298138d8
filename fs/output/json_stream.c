// SPDX-License-Identifier: Apache-2.0
//
// Quotes within a JSON string are escaped, so a member's name with its quotes and colon can be looked for in what
// jansson wrote, whatever strangers wrote into it.
#include "fs/output/json_stream.h"

#include <errno.h>
#include <string.h>

#include "sanitize/cleanup.h"

#define NUMBER_MAX  20 // digits
#define TEXT_MEMBER "\"matchedText\":"
#define POSITION    ",\"position\":"
#define LINE        ",\"lineNumber\":"
#define OFFSET      ",\"byteOffset\":"
#define EMPTY       TEXT_MEMBER "\"\"" POSITION "0" LINE "0" OFFSET "0"
#define FINDINGS    "\"findings\":["

void json_stream_release(struct json_stream *stream)
{
	for (size_t i = 0; i < JSON_STREAM_SHAPES; i++)
		buf_release(&stream->shapes[i].text);
	json_decref(stream->matched);
	*stream = (struct json_stream){ .matched = NULL };
}

// The shape of one kind of finding, from what json_finding() makes of one without a text and a place.
static int shape_make(const struct finding *finding, unsigned kind, struct json_shape *shape)
{
	char empty[] = "", *member;
	struct finding bare = *finding;
	json_t *value;
	int rc;

	bare.matched_text = empty;
	bare.position = bare.line = bare.byte_offset = 0;
	shape->rule = NULL;
	buf_clear(&shape->text);
	value = json_finding(&bare);
	rc = json_append(&shape->text, value, false);
	json_decref(value);
	if (rc < 0)
		return rc;
	member = strstr(shape->text.data, EMPTY);
	if (member == NULL)
		return -EINVAL;
	shape->head = (size_t)(member - shape->text.data) + strlen(TEXT_MEMBER);
	// The terminator comes along.
	memmove(shape->text.data + shape->head, member + strlen(EMPTY), strlen(member + strlen(EMPTY)) + 1);
	shape->text.len -= strlen(EMPTY) - strlen(TEXT_MEMBER);
	shape->rule = finding->rule;
	shape->kind = kind;
	return 0;
}

static int shape_of(struct json_stream *stream, const struct finding *finding, const struct json_shape **ret)
{
	const unsigned kind = (unsigned)finding->severity << 16 | (unsigned)finding->stage << 12 |
			      (unsigned)finding->context << 4 | (finding->approved ? 1U : 0U);
	const uintptr_t key = (uintptr_t)finding->rule / sizeof(*finding->rule) * 31 + kind * 7;
	struct json_shape *shape = &stream->shapes[(key ^ key >> 8) % JSON_STREAM_SHAPES];
	int rc = 0;

	if (shape->rule != finding->rule || shape->kind != kind)
		rc = shape_make(finding, kind, shape);
	*ret = shape;
	return rc;
}

// The buffer has room for what follows.
static void put(struct buf *buf, const char *text, size_t len)
{
	memcpy(buf->data + buf->len, text, len);
	buf->len += len;
}

static void put_number(struct buf *buf, size_t number)
{
	char digits[NUMBER_MAX];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	put(buf, digits + at, sizeof(digits) - at);
}

static int put_text(struct json_stream *stream, struct buf *buf, const char *text, size_t len)
{
	const size_t room = 6 * len + 2; // each byte as \uXXXX, and quotes
	size_t wrote;

	if (stream->matched == NULL)
		stream->matched = json_string("");
	if (json_string_setn(stream->matched, text, len) < 0)
		return -ENOMEM;
	wrote = json_dumpb(stream->matched, buf->data + buf->len, room, JSON_FLAGS);
	if (wrote == 0 || wrote > room)
		return -ENOMEM;
	buf->len += wrote;
	return 0;
}

int json_stream_finding(struct json_stream *stream, struct buf *buf, const struct finding *finding)
{
	const size_t len = strlen(finding->matched_text), before = buf->len;
	const struct json_shape *shape;
	int rc = shape_of(stream, finding, &shape);

	if (rc == 0)
		rc = buf_reserve(buf, shape->text.len + 6 * len + 2 + sizeof(POSITION LINE OFFSET) +
					      3 * NUMBER_MAX);
	if (rc < 0)
		return rc;
	put(buf, shape->text.data, shape->head);
	rc = put_text(stream, buf, finding->matched_text, len);
	if (rc == 0) {
		put(buf, POSITION, strlen(POSITION));
		put_number(buf, finding->position);
		put(buf, LINE, strlen(LINE));
		put_number(buf, finding->line);
		put(buf, OFFSET, strlen(OFFSET));
		put_number(buf, finding->byte_offset);
		put(buf, shape->text.data + shape->head, shape->text.len - shape->head);
	} else {
		buf->len = before; // a failed call changes nothing
	}
	buf->data[buf->len] = '\0';
	return rc;
}

int json_stream_findings(struct json_stream *stream, struct writer *writer, json_t *value,
			 const struct findings *findings, bool line)
{
	CLEANUP(buf) struct buf frame = BUF_INIT;
	const char *tail;
	int rc = json_append(&frame, value, line);

	json_decref(value);
	if (rc < 0)
		return rc;
	tail = strstr(frame.data, FINDINGS "]");
	if (tail == NULL)
		return -EINVAL;
	tail += strlen(FINDINGS);
	rc = buf_append(writer->text, frame.data, (size_t)(tail - frame.data));
	for (size_t i = 0; rc == 0 && i < findings->count; i++) {
		if (i > 0)
			rc = buf_append_byte(writer->text, ',');
		if (rc == 0)
			rc = json_stream_finding(stream, writer->text, &findings->items[i]);
		if (rc == 0)
			rc = writer_step(writer);
	}
	if (rc == 0 && findings->omitted > 0)
		rc = buf_printf(writer->text, "%s{\"omitted\":%zu}", findings->count > 0 ? "," : "",
				findings->omitted);
	if (rc == 0)
		rc = buf_append_string(writer->text, tail);
	return rc == 0 ? writer_step(writer) : rc;
}
