// SPDX-License-Identifier: Apache-2.0
//
// The findings of a file as JSON, one at a time: the bytes that json_finding() dumps to, without a tree of them all.
// Strangers choose how many there are, so each must cost little: what findings of one kind share is dumped once.
#pragma once

#include "fs/output/json.h"
#include "fs/output/writer.h"

#define JSON_STREAM_SHAPES 256

// What jansson wrote for one kind of finding, before the matched text and behind the numbers.
struct json_shape {
	const struct rule *rule; // NULL: empty
	unsigned kind;
	struct buf text;
	size_t head; // length of what stands before; the rest is the tail
};

struct json_stream {
	struct json_shape shapes[JSON_STREAM_SHAPES];
	json_t *matched;
};

// Zeroed is ready. All functions return 0, -ENOMEM, or -EIO from the writer.
void json_stream_release(struct json_stream *stream);
int json_stream_finding(struct json_stream *stream, struct buf *buf, const struct finding *finding);
// Dumps `value`, an object whose member "findings" is an empty array, with these findings in it, and {"omitted": N} at
// their end when not all were kept; takes the reference.
int json_stream_findings(struct json_stream *stream, struct writer *writer, json_t *value,
			 const struct findings *findings, bool line);
