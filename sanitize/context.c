// SPDX-License-Identifier: Apache-2.0
#include "sanitize/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize/cleanup.h"
#include "sanitize/sanitize.h"

// Runs of more ticks than this never open a span.
#define TICKS_MAX 32
#define NOWHERE   SIZE_MAX

struct line {
	size_t start, end; // without the line end
	size_t next;       // start of the next line
	size_t content;    // behind indentation and block quote marks; `end` when the line is blank
};

struct builder {
	struct context_map *map;
	const char *text;
	size_t len;
	size_t open, close; // lines of one block whose ticks are not paired yet; equal when there are none
	int status;
};

static void range_add(struct builder *builder, struct text_ranges *ranges, size_t start, size_t end)
{
	if (builder->status < 0 || start >= end)
		return;
	if (ranges->count == CONTEXT_RANGES_MAX) {
		builder->status = -EOVERFLOW;
		return;
	}
	if (ranges->count == ranges->cap) {
		size_t cap = ranges->cap < 16 ? 16 : ranges->cap * 2;
		struct text_range *items = realloc(ranges->items, cap * sizeof(*items));

		if (items == NULL) {
			builder->status = -ENOMEM;
			return;
		}
		ranges->items = items;
		ranges->cap = cap;
	}
	ranges->items[ranges->count++] = (struct text_range){ (uint32_t)start, (uint32_t)end };
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static struct line line_at(const char *text, size_t start, size_t len)
{
	const char *feed = memchr(text + start, '\n', len - start);
	struct line line = { .start = start, .end = feed == NULL ? len : (size_t)(feed - text) };

	line.next = feed == NULL ? len : line.end + 1;
	if (line.end > start && text[line.end - 1] == '\r')
		line.end--;
	for (line.content = start; line.content < line.end; line.content++) {
		if (!is_space(text[line.content]) && text[line.content] != '>')
			break;
	}
	return line;
}

// ---------------------------------------------------------------- code spans

static bool is_escaped(const char *text, size_t start, size_t at)
{
	size_t first = at;

	while (first > start && text[first - 1] == '\\')
		first--;
	return (at - first) % 2 == 1;
}

// The next run of ticks in [at, end); its length is 0 at the end.
static size_t next_run(const char *text, size_t at, size_t end, size_t *ret_length)
{
	const char *tick = at < end ? memchr(text + at, '`', end - at) : NULL;
	size_t start, length = 0;

	*ret_length = 0;
	if (tick == NULL)
		return end;
	start = (size_t)(tick - text);
	while (start + length < end && text[start + length] == '`')
		length++;
	*ret_length = length;
	return start;
}

// Pairs runs of equal length in [start, end) from the left, as CommonMark does. Markdown has no escapes inside a
// span; programs do (`escapes`). Gives the last single tick that opened nothing, or NOWHERE.
static size_t pair_ticks(struct builder *builder, size_t start, size_t end, bool escapes)
{
	const char *text = builder->text;
	size_t last[TICKS_MAX + 1], at, length, i, left_over = NOWHERE;

	for (i = 0; i <= TICKS_MAX; i++)
		last[i] = NOWHERE;
	for (at = next_run(text, start, end, &length); length > 0;
	     at = next_run(text, at + length, end, &length)) {
		if (length <= TICKS_MAX && !(escapes && is_escaped(text, start, at)))
			last[length] = at;
	}
	at = next_run(text, start, end, &length);
	while (length > 0) {
		size_t close, close_length;

		if (is_escaped(text, start, at)) {
			at++;
			length--;
		}
		if (length == 0 || length > TICKS_MAX || last[length] == NOWHERE || last[length] <= at) {
			if (length == 1)
				left_over = at;
			at = next_run(text, at + length, end, &length);
			continue;
		}
		close = next_run(text, at + length, end, &close_length);
		while (close_length != length || (escapes && is_escaped(text, start, close)))
			close = next_run(text, close + close_length, end, &close_length);
		range_add(builder, length == 1 ? &builder->map->spans : &builder->map->long_spans, at,
			  close + length);
		at = next_run(text, close + length, end, &length);
	}
	return left_over;
}

static void block_flush(struct builder *builder)
{
	if (builder->open < builder->close)
		(void)pair_ticks(builder, builder->open, builder->close, false);
	builder->open = builder->close = 0;
}

static void block_add(struct builder *builder, const struct line *line)
{
	if (builder->open == builder->close)
		builder->open = line->start;
	builder->close = line->next;
}

static void block_alone(struct builder *builder, const struct line *line)
{
	block_flush(builder);
	block_add(builder, line);
	block_flush(builder);
}

// Lines that are only divided by blank ones.
static void plain_blocks(struct builder *builder, size_t start, size_t end)
{
	while (start < end) {
		struct line line = line_at(builder->text, start, end);

		if (line.content == line.end)
			block_flush(builder);
		else
			block_add(builder, &line);
		start = line.next;
	}
	block_flush(builder);
}

static size_t count_single_ticks(const char *text, size_t start, size_t end, size_t *ret_first)
{
	size_t count = 0, length, at;

	for (at = next_run(text, start, end, &length); length > 0;
	     at = next_run(text, at + length, end, &length)) {
		if (length != 1 || is_escaped(text, start, at))
			continue;
		if (count++ == 0)
			*ret_first = at;
	}
	return count;
}

// Programs pair ticks within a line. A tick left over pairs with the first one of a later line that has an odd
// number of them, when no blank line and no other tick stands between: a stray tick in a comment shifts nothing.
static void code_spans(struct builder *builder)
{
	size_t start = 0, carry = NOWHERE;

	while (start < builder->len) {
		struct line line = line_at(builder->text, start, builder->len);
		size_t from = line.start, first = 0;
		size_t count = count_single_ticks(builder->text, line.start, line.end, &first);

		if (count > 0 || line.content == line.end) {
			if (carry != NOWHERE && count % 2 == 1) {
				range_add(builder, &builder->map->spans, carry, first + 1);
				from = first + 1;
			}
			carry = NOWHERE;
		}
		if (count > 0) {
			carry = pair_ticks(builder, from, line.end, true);
		}
		start = line.next;
	}
}

// -------------------------------------------------------------------- blocks

// Behind a list marker and its blanks; `at` when there is none.
static size_t skip_list_marker(const char *text, size_t at, size_t end)
{
	size_t behind = at;

	if (behind < end && strchr("-*+", text[behind]) != NULL && text[behind] != '\0') {
		behind++;
	} else {
		while (behind < end && behind - at < 9 && text[behind] >= '0' && text[behind] <= '9')
			behind++;
		if (behind == at || behind == end || (text[behind] != '.' && text[behind] != ')'))
			return at;
		behind++;
	}
	if (behind < end && !is_space(text[behind]))
		return at;
	while (behind < end && is_space(text[behind]))
		behind++;
	return behind;
}

static size_t run_length(const char *text, size_t at, size_t end, char c)
{
	size_t start = at;

	while (at < end && text[at] == c)
		at++;
	return at - start;
}

// The number of fence characters when the line opens a fence, else 0.
static size_t fence_opens(const char *text, const struct line *line, char *ret_fence)
{
	size_t at = skip_list_marker(text, line->content, line->end), count;

	if (at >= line->end || (text[at] != '`' && text[at] != '~'))
		return 0;
	count = run_length(text, at, line->end, text[at]);
	if (count < 3)
		return 0;
	// What follows is a language; with another tick in it the run opens a span.
	if (text[at] == '`' && memchr(text + at + count, '`', line->end - at - count) != NULL)
		return 0;
	*ret_fence = text[at];
	return count;
}

static bool fence_closes(const char *text, const struct line *line, char fence, size_t opened)
{
	size_t count = run_length(text, line->content, line->end, fence), at = line->content + count;

	while (at < line->end && is_space(text[at]))
		at++;
	return count >= opened && at == line->end;
}

// Takes the fence that `open` begins; gives the start of the line behind it.
static size_t take_fence(struct builder *builder, const struct line *open, char fence, size_t count)
{
	size_t at = open->next;

	block_flush(builder);
	while (at < builder->len) {
		struct line line = line_at(builder->text, at, builder->len);

		if (fence_closes(builder->text, &line, fence, count)) {
			range_add(builder, &builder->map->fences, open->start, line.next);
			if (fence == '~')
				plain_blocks(builder, open->next, line.start);
			return line.next;
		}
		at = line.next;
	}
	range_add(builder, &builder->map->fences, open->start, builder->len);
	plain_blocks(builder, open->next, builder->len);
	return builder->len;
}

// Cells of a table row, 0 when there is no bar in it.
static size_t count_cells(const char *text, const struct line *line)
{
	size_t at, bars = 0, last = line->content, end = line->end;

	while (end > line->content && is_space(text[end - 1]))
		end--;
	for (at = line->content; at < end; at++) {
		if (text[at] == '|' && !is_escaped(text, line->content, at)) {
			bars++;
			last = at;
		}
	}
	if (bars == 0)
		return 0;
	return bars + 1 - (text[line->content] == '|') - (bars > 1 && last == end - 1);
}

// Cells when the line is the row of dashes below a table's head, else 0.
static size_t count_delimiters(const char *text, const struct line *line)
{
	size_t at, cells = 0, bars = 0;

	for (at = line->content; at < line->end;) {
		size_t dashes;

		while (at < line->end && is_space(text[at]))
			at++;
		if (at < line->end && text[at] == '|') {
			at++;
			if (++bars > cells + 1)
				return 0;
			continue;
		}
		if (at == line->end)
			break;
		if (cells > 0 && bars == 0)
			return 0;
		if (text[at] == ':')
			at++;
		dashes = run_length(text, at, line->end, '-');
		at += dashes;
		if (at < line->end && text[at] == ':')
			at++;
		if (dashes == 0 || (at < line->end && !is_space(text[at]) && text[at] != '|'))
			return 0;
		cells++;
	}
	return bars > 0 ? cells : 0;
}

// Takes the table whose head is `head`, if it is one; gives the start of the line behind it, or 0.
static size_t take_table(struct builder *builder, const struct line *head)
{
	const char *text = builder->text;
	size_t cells, at;
	struct line line;
	bool bar;

	if (head->next >= builder->len ||
	    memchr(text + head->content, '|', head->end - head->content) == NULL)
		return 0;
	line = line_at(text, head->next, builder->len);
	cells = count_delimiters(text, &line);
	if (cells == 0 || cells != count_cells(text, head))
		return 0;
	// Rows are written like the head: a line of commands below a table is none.
	bar = text[head->content] == '|';
	block_alone(builder, head);
	for (at = line.next; at < builder->len; at = line.next) {
		line = line_at(text, at, builder->len);
		if (line.content == line.end || (text[line.content] == '|') != bar ||
		    count_cells(text, &line) == 0)
			break;
		block_alone(builder, &line);
	}
	range_add(builder, &builder->map->tables, head->start, at);
	return at;
}

static void prose_blocks(struct builder *builder, size_t at)
{
	while (at < builder->len && builder->status == 0) {
		struct line line = line_at(builder->text, at, builder->len);
		char fence = '\0';
		size_t count, behind;

		at = line.next;
		if (line.content == line.end) {
			block_flush(builder);
			continue;
		}
		count = fence_opens(builder->text, &line, &fence);
		if (count > 0) {
			at = take_fence(builder, &line, fence, count);
			continue;
		}
		behind = take_table(builder, &line);
		if (behind > 0) {
			at = behind;
			continue;
		}
		if (builder->text[line.content] == '#') {
			block_alone(builder, &line);
			continue;
		}
		if (skip_list_marker(builder->text, line.content, line.end) > line.content)
			block_flush(builder);
		block_add(builder, &line);
	}
	block_flush(builder);
}

// `<!--` up to the nearest `-->` that begins behind it. By memchr: memmem under AddressSanitizer reads all of the
// text on each call.
static void find_comments(struct builder *builder)
{
	const char *text = builder->text, *end = text + builder->len, *at = text;

	while (at < end && (at = memchr(at, '<', (size_t)(end - at))) != NULL) {
		const char *close = at + 4;

		if (end - at < 7 || memcmp(at, "<!--", 4) != 0) {
			at++;
			continue;
		}
		while (close < end && (close = memchr(close, '>', (size_t)(end - close))) != NULL) {
			if (close >= at + 6 && close[-1] == '-' && close[-2] == '-')
				break;
			close++;
		}
		if (close == NULL || close >= end)
			return;
		range_add(builder, &builder->map->comments, (size_t)(at - text), (size_t)(close + 1 - text));
		at = close + 1;
	}
}

// -------------------------------------------------------------------- public

void context_map_begin(struct context_map *ret, enum file_class cls, const char *text, size_t len)
{
	*ret = (struct context_map){ .cls = cls, .text = text, .len = len };
}

int context_map_build(struct context_map *map)
{
	struct builder builder = { .map = map, .text = map->text, .len = map->len };

	if (map->built)
		return map->status;
	map->built = true;
	if (map->len > UINT32_MAX)
		builder.status = -EOVERFLOW;
	else if (map->len > 0 && map->cls == CLASS_PROSE) {
		map->front_matter = front_matter_length(map->text, map->len);
		plain_blocks(&builder, 0, map->front_matter);
		prose_blocks(&builder, map->front_matter);
		find_comments(&builder);
	} else if (map->len > 0) {
		code_spans(&builder);
	}
	map->status = builder.status;
	return map->status;
}

void context_map_release(struct context_map *map)
{
	free(map->fences.items);
	free(map->tables.items);
	free(map->spans.items);
	free(map->long_spans.items);
	free(map->comments.items);
	context_map_begin(map, map->cls, map->text, map->len);
}

// The first range that ends behind `position`, or NULL.
static const struct text_range *range_find(const struct text_ranges *ranges, size_t position)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].end <= position)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ranges->count ? &ranges->items[low] : NULL;
}

static bool range_holds(const struct text_ranges *ranges, size_t position)
{
	const struct text_range *range = range_find(ranges, position);

	return range != NULL && range->start <= position;
}

enum context context_at(struct context_map *map, size_t position)
{
	if (map->cls == CLASS_CODE)
		return CONTEXT_CODE;
	if (map->cls == CLASS_BINARY)
		return CONTEXT_BINARY;
	(void)context_map_build(map);
	if (range_holds(&map->comments, position))
		return CONTEXT_HTML_COMMENT;
	if (position < map->front_matter)
		return CONTEXT_FRONT_MATTER;
	if (range_holds(&map->fences, position))
		return CONTEXT_FENCED_CODE;
	if (range_holds(&map->spans, position) || range_holds(&map->long_spans, position))
		return CONTEXT_INLINE_CODE;
	return range_holds(&map->tables, position) ? CONTEXT_TABLE : CONTEXT_PROSE;
}

bool context_in_table(struct context_map *map, size_t position)
{
	if (map->cls != CLASS_PROSE)
		return false;
	(void)context_map_build(map);
	return range_holds(&map->tables, position);
}

const struct text_range *context_span_at(struct context_map *map, size_t position)
{
	const struct text_range *range;

	(void)context_map_build(map);
	range = range_find(&map->spans, position);
	return range != NULL && range->start <= position ? range : NULL;
}

const struct text_range *context_next_span(struct context_map *map, size_t position)
{
	const struct text_range *range;

	(void)context_map_build(map);
	range = range_find(&map->spans, position);
	if (range != NULL && range->start < position)
		range = range + 1 < map->spans.items + map->spans.count ? range + 1 : NULL;
	return range;
}
