// SPDX-License-Identifier: Apache-2.0
//
// The shapes stand here and nowhere else. Output is ASCII: everything beyond it goes out as \uXXXX, so that a terminal
// or a log viewer cannot be steered by what a skill's author wrote.
#include "fs/output/json.h"

#include <errno.h>

#include "sanitize/cleanup.h"
#include "sanitize/rules.h"
#include "sanitize/utf8.h"

// Adds `value`, whose reference is taken in any case; false when it or the object is missing, or memory is.
static bool put(json_t *object, const char *key, json_t *value)
{
	if (object == NULL) {
		json_decref(value);
		return false;
	}
	return json_object_set_new(object, key, value) == 0;
}

static json_t *finish(json_t *object, bool complete)
{
	if (complete)
		return object;
	json_decref(object);
	return NULL;
}

json_t *json_text(const char *text)
{
	CLEANUP(buf) struct buf valid = BUF_INIT;
	size_t len = strlen(text), at = 0, plain = 0;
	json_t *value = json_stringn(text, len);

	if (value != NULL)
		return value;
	while (at < len) {
		uint32_t character;
		size_t size = utf8_decode(text + at, len - at, &character);

		if (character == UTF8_INVALID) {
			if (buf_append(&valid, text + plain, at - plain) < 0 ||
			    buf_append_string(&valid, UTF8_REPLACEMENT) < 0)
				return NULL;
			plain = at + size;
		}
		at += size;
	}
	if (buf_append(&valid, text + plain, at - plain) < 0)
		return NULL;
	return json_stringn(valid.data, valid.len);
}

static json_t *text_or_null(const char *text)
{
	return text == NULL ? json_null() : json_text(text);
}

static json_t *size_value(size_t size)
{
	return json_integer((json_int_t)size);
}

json_t *json_finding(const struct finding *finding)
{
	json_t *object = json_object();

	return finish(object, put(object, "ruleId", json_text(finding->rule->id)) &&
				      put(object, "category", json_text(finding->rule->category)) &&
				      put(object, "severity", json_text(severity_name(finding->severity))) &&
				      put(object, "description", json_text(finding->rule->description)) &&
				      put(object, "matchedText", json_text(finding->matched_text)) &&
				      put(object, "position", size_value(finding->position)) &&
				      put(object, "lineNumber", size_value(finding->line)) &&
				      put(object, "byteOffset", size_value(finding->byte_offset)) &&
				      put(object, "stage", json_text(stage_name(finding->stage))) &&
				      put(object, "context", json_text(context_name(finding->context))) &&
				      put(object, "approved", json_boolean(finding->approved)));
}

static json_t *json_notice(const struct notice *notice)
{
	json_t *object = json_object();

	return finish(object, put(object, "code", json_text(notice_name(notice->code))) &&
				      put(object, "count", size_value(notice->count)) &&
				      put(object, "line",
					  notice->line == 0 ? json_null() : size_value(notice->line)) &&
				      put(object, "detail", text_or_null(notice->detail)));
}

json_t *json_notices(const struct notices *notices)
{
	json_t *array = json_array();
	bool complete = array != NULL;

	for (size_t i = 0; complete && i < notices->count; i++)
		complete = json_array_append_new(array, json_notice(&notices->items[i])) == 0;
	return finish(array, complete);
}

json_t *json_sanitize(const struct sanitize_stats *stats)
{
	json_t *object = json_object();

	return finish(object,
		      put(object, "htmlCommentsStripped", size_value(stats->html_comments_stripped)) &&
			      put(object, "truncated", json_boolean(stats->truncated)) &&
			      put(object, "tagBlockDetected", json_boolean(stats->tag_block_detected)) &&
			      put(object, "invisibleStripped", size_value(stats->invisible_stripped)) &&
			      put(object, "normalized", json_boolean(stats->normalized)) &&
			      put(object, "sourceSize", size_value(stats->source_size)) &&
			      put(object, "size", size_value(stats->size)));
}

static bool is_utf8(const char *text)
{
	json_t *value = json_string(text);

	json_decref(value);
	return value != NULL;
}

static json_t *hex_value(const char *text)
{
	CLEANUP(buf) struct buf hex = BUF_INIT;

	for (; *text != '\0'; text++)
		if (buf_printf(&hex, "%02x", (unsigned)(unsigned char)*text) < 0)
			return NULL;
	return json_string(hex.data == NULL ? "" : hex.data);
}

json_t *json_file(const char *path, const struct snapshot *snapshot)
{
	const struct report report = snapshot_report(snapshot);
	json_t *object = json_object();

	return finish(object, put(object, "path", json_text(path)) &&
				      (is_utf8(path) || put(object, "pathBytes", hex_value(path))) &&
				      put(object, "class", json_text(file_class_name(report.cls))) &&
				      put(object, "verdict",
					  json_text(verdict_name((enum verdict)snapshot->verdict))) &&
				      put(object, "findings", json_array()) &&
				      put(object, "notices", json_notices(&report.notices)) &&
				      put(object, "sanitize", json_sanitize(&report.stats)));
}

static json_t *json_excluded(const struct excluded_tool *excluded)
{
	json_t *object = json_object();

	return finish(object, put(object, "tool", json_text(excluded->tool)) &&
				      put(object, "reason", json_text(exclusion_name(excluded->reason))) &&
				      put(object, "entry", text_or_null(excluded->entry)));
}

json_t *json_policy(const char *agent, const char *skill, const char *profile,
		    const struct effective_tools *effective)
{
	json_t *tools = json_array(), *excluded = json_array(), *object;
	bool complete = tools != NULL && excluded != NULL;

	for (size_t i = 0; complete && i < effective->tools.count; i++)
		complete = json_array_append_new(tools, json_text(effective->tools.items[i])) == 0;
	for (size_t i = 0; complete && i < effective->excluded_count; i++)
		complete = json_array_append_new(excluded, json_excluded(&effective->excluded[i])) == 0;
	if (!complete) {
		json_decref(tools);
		json_decref(excluded);
		return NULL;
	}
	object = json_object();
	complete = put(object, "agent", json_text(agent));
	complete = put(object, "skill", text_or_null(skill)) && complete;
	complete = put(object, "profile", text_or_null(profile)) && complete;
	// Handed over even when something above failed, so that nothing leaks.
	complete = put(object, "tools", tools) && complete;
	complete = put(object, "excluded", excluded) && complete;
	return finish(object, complete);
}

static int append_chunk(const char *data, size_t len, void *context)
{
	return buf_append(context, data, len) < 0 ? -1 : 0;
}

int json_append(struct buf *buf, const json_t *value, bool line)
{
	size_t before = buf->len;
	int rc;

	if (value == NULL)
		return -ENOMEM;
	rc = json_dump_callback(value, append_chunk, buf, JSON_FLAGS);
	if (rc == 0 && line)
		rc = buf_append_byte(buf, '\n');
	if (rc == 0)
		return 0;
	// A failed call changes nothing.
	buf->len = before;
	if (buf->data != NULL)
		buf->data[before] = '\0';
	return -ENOMEM;
}
