// SPDX-License-Identifier: Apache-2.0
#include "fs/output/text.h"

#include "sanitize/cleanup.h"
#include "sanitize/rules.h"
#include "sanitize/utf8.h"

// How much of a long line stands before, in and behind a match.
#define BEFORE_CHARACTERS 60
#define MATCH_CHARACTERS  100
#define AFTER_CHARACTERS  40
#define DETAIL_CHARACTERS 200

#define COLOUR_CRITICAL "\033[1;31m"
#define COLOUR_WARN     "\033[33m"
#define COLOUR_PATH     "\033[1m"
#define COLOUR_OFF      "\033[0m"

bool text_character_hidden(uint32_t character)
{
	// Unicode's Cc, Cf, Zl, Zp, Default_Ignorable_Code_Point, noncharacters at the end of the first plane, and blanks that
	// pass for nothing. Sorted.
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x0000, 0x001F },   { 0x007F, 0x009F },   { 0x00AD, 0x00AD },    { 0x034F, 0x034F },
		{ 0x0600, 0x0605 },   { 0x061C, 0x061C },   { 0x06DD, 0x06DD },    { 0x070F, 0x070F },
		{ 0x08E2, 0x08E2 },   { 0x115F, 0x1160 },   { 0x17B4, 0x17B5 },    { 0x180B, 0x180F },
		{ 0x200B, 0x200F },   { 0x2028, 0x202E },   { 0x2060, 0x206F },    { 0x2800, 0x2800 },
		{ 0x3164, 0x3164 },   { 0xE000, 0xF8FF },   { 0xFE00, 0xFE0F },    { 0xFEFF, 0xFEFF },
		{ 0xFFA0, 0xFFA0 },   { 0xFFF0, 0xFFFB },   { 0xFFFE, 0xFFFF },    { 0x110BD, 0x110BD },
		{ 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A }, { 0xE0000, 0x10FFFF },
	};
	size_t low = 0, high = ARRAY_SIZE(ranges);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (character > ranges[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ARRAY_SIZE(ranges) && character >= ranges[low].first;
}

// A hostile line has hundreds of these, which is too many for printf.
static int put_code(struct buf *buf, char kind, uint32_t code, size_t least)
{
	char text[16];
	size_t at = sizeof(text);

	text[--at] = '}';
	for (size_t digits = 0; code > 0 || digits < least; digits++, code >>= 4)
		text[--at] = "0123456789abcdef"[code & 15];
	text[--at] = '{';
	text[--at] = kind;
	text[--at] = '\\';
	return buf_append(buf, text + at, sizeof(text) - at);
}

static int put_escaped(struct buf *buf, const char *text, size_t size, uint32_t character)
{
	int rc = 0;

	if (character == '\t')
		return buf_append_byte(buf, ' ');
	if (character != UTF8_INVALID)
		return put_code(buf, 'u', character, 1);
	for (size_t i = 0; rc == 0 && i < size; i++)
		rc = put_code(buf, 'x', (unsigned char)text[i], 2);
	return rc;
}

int text_escape(struct buf *buf, const char *text, size_t len, size_t max)
{
	size_t at = 0, plain = 0, count = 0;
	int rc = 0;

	// Runs of plain characters are copied at once.
	while (rc == 0 && at < len && count < max) {
		uint32_t character;
		size_t size;

		// Printable ASCII, mostly.
		if ((unsigned char)text[at] - 0x20U < 0x5F) {
			at++;
			count++;
			continue;
		}
		size = utf8_decode(text + at, len - at, &character);
		if (character == UTF8_INVALID || text_character_hidden(character)) {
			rc = buf_append(buf, text + plain, at - plain);
			if (rc == 0)
				rc = put_escaped(buf, text + at, size, character);
			plain = at + size;
		}
		at += size;
		count++;
	}
	if (rc == 0 && at > plain)
		rc = buf_append(buf, text + plain, at - plain);
	if (rc == 0 && at < len)
		rc = buf_append_string(buf, "…");
	return rc;
}

struct notice_meaning {
	const char *text;
	bool routine; // happens to honest files all day: shown with -v, or beside something worse
};

static const struct notice_meaning meanings[] = {
	[NOTICE_TEXT_INVALID_UTF8] = { "bytes that are no UTF-8", true },
	[NOTICE_TEXT_NUL] = { "NUL bytes in a text", false },
	[NOTICE_TEXT_TRUNCATED] = { "cut to maxBodyLength", true },
	[NOTICE_HTML_COMMENT] = { "HTML comments removed", true },
	[NOTICE_TAG_BLOCK] = { "hidden text in tag characters", false },
	[NOTICE_INVISIBLE_CHARACTER] = { "invisible characters removed", true },
	[NOTICE_BIDI_CONTROL] = { "bidirectional controls removed", false },
	[NOTICE_FS_SYMLINK_ESCAPE] = { "a symbolic link that leaves the skills folder", false },
	[NOTICE_FS_SPECIAL_FILE] = { "neither a file nor a folder", false },
	[NOTICE_FS_NESTED_MOUNT] = { "on another file system", false },
	[NOTICE_FS_TOO_LARGE] = { "larger than mount.maxFileSize", false },
	[NOTICE_FS_CHANGED_WHILE_READING] = { "kept changing while it was read", false },
	[NOTICE_FS_ARCHIVE_NOT_SCANNED] = { "an archive: what is packed in it is not scanned", true },
	[NOTICE_SCAN_LIMIT] = { "scanning hit a limit", false },
	[NOTICE_FS_UNREADABLE] = { "could not be read", false },
	[NOTICE_FS_RESERVED_NAME] = { "the name .skillfs is reserved", false },
	[NOTICE_SKILL_RESTRICTION_UNREADABLE] = { "tool restriction could not be read: no tools", false },
};

static const struct notice_meaning *meaning_of(enum notice_code code)
{
	static const struct notice_meaning unknown = { "see skillfs(1)", false };

	if ((size_t)code >= ARRAY_SIZE(meanings) || meanings[code].text == NULL)
		return &unknown;
	return &meanings[code];
}

const char *text_notice(enum notice_code code)
{
	return meaning_of(code)->text;
}

bool text_notice_routine(enum notice_code code)
{
	return meaning_of(code)->routine;
}

static int put_coloured(struct buf *buf, const struct text_style *style, const char *colour, const char *text)
{
	return style->colour ? buf_printf(buf, "%s%s" COLOUR_OFF, colour, text)
			     : buf_append_string(buf, text);
}

// A place in the source, moved forward only, so that all findings of a file cost one pass.
struct cursor {
	const char *text;
	size_t len;
	size_t at;
	size_t line_start;
	size_t column; // characters since line_start
};

static void cursor_advance(struct cursor *cursor, size_t to)
{
	if (to > cursor->len)
		to = cursor->len;
	while (cursor->at < to) {
		uint32_t character;
		size_t size = utf8_decode(cursor->text + cursor->at, cursor->len - cursor->at, &character);

		cursor->at += size;
		cursor->column++;
		if (character == '\n') {
			cursor->line_start = cursor->at;
			cursor->column = 0;
		}
	}
}

// `count` characters back from `at`, not before `floor`.
static size_t step_back(const char *text, size_t at, size_t floor, size_t count)
{
	while (at > floor && count > 0) {
		at--;
		if (!utf8_is_continuation(text[at]))
			count--;
	}
	return at;
}

static size_t line_end(const char *text, size_t len, size_t from, size_t most)
{
	const char *newline;

	if (len - from > most)
		len = from + most;
	newline = memchr(text + from, '\n', len - from);
	return newline == NULL ? len : (size_t)(newline - text);
}

// The line that holds the finding, clipped around it, the match marked where there is colour.
static int put_line(struct buf *buf, const struct text_style *style, const struct finding *finding,
		    const struct cursor *cursor)
{
	const char *text = cursor->text;
	size_t start, end, match_end, matched = strlen(finding->matched_text);
	const char *colour = finding->severity == SEVERITY_CRITICAL ? COLOUR_CRITICAL : COLOUR_WARN;
	int rc = buf_append_string(buf, "    ");

	start = step_back(text, cursor->at, cursor->line_start, BEFORE_CHARACTERS);
	if (rc == 0 && start > cursor->line_start)
		rc = buf_append_string(buf, "…");
	if (rc == 0)
		rc = text_escape(buf, text + start, cursor->at - start, TEXT_NO_LIMIT);
	// A few times more bytes than can be shown is enough to look at: a line may be as long as the file.
	end = line_end(text, cursor->len, cursor->at, 4 * (MATCH_CHARACTERS + AFTER_CHARACTERS) + 4);
	// The match is marked only where it stands in the source as it was matched.
	match_end = cursor->at;
	if (end - cursor->at >= matched && memcmp(text + cursor->at, finding->matched_text, matched) == 0)
		match_end += matched;
	if (rc == 0 && style->colour)
		rc = buf_append_string(buf, colour);
	if (rc == 0)
		rc = text_escape(buf, text + cursor->at, match_end - cursor->at, MATCH_CHARACTERS);
	if (rc == 0 && style->colour)
		rc = buf_append_string(buf, COLOUR_OFF);
	if (rc == 0)
		rc = text_escape(buf, text + match_end, end - match_end,
				 match_end > cursor->at ? AFTER_CHARACTERS
							: MATCH_CHARACTERS + AFTER_CHARACTERS);
	if (rc == 0)
		rc = buf_append_byte(buf, '\n');
	return rc;
}

static int put_finding(struct buf *buf, const struct text_style *style, const char *path,
		       const struct finding *finding, struct cursor *cursor)
{
	int rc = put_coloured(buf, style, COLOUR_PATH, path);

	if (cursor->text != NULL)
		cursor_advance(cursor, finding->byte_offset);
	if (rc == 0)
		rc = cursor->text == NULL ? buf_printf(buf, ":%zu: ", finding->line)
					  : buf_printf(buf, ":%zu:%zu: ", finding->line, cursor->column + 1);
	if (rc == 0)
		rc = text_escape(buf, finding->rule->id, strlen(finding->rule->id), DETAIL_CHARACTERS);
	if (rc == 0)
		rc = buf_append_byte(buf, ' ');
	if (rc == 0)
		rc = put_coloured(buf, style,
				  finding->severity == SEVERITY_CRITICAL ? COLOUR_CRITICAL : COLOUR_WARN,
				  severity_name(finding->severity));
	if (rc == 0)
		rc = buf_append_string(buf, finding->approved ? " (approved): " : ": ");
	if (rc == 0)
		rc = text_escape(buf, finding->rule->description, strlen(finding->rule->description),
				 DETAIL_CHARACTERS);
	if (rc == 0)
		rc = buf_append_byte(buf, '\n');
	if (rc == 0 && cursor->text != NULL)
		rc = put_line(buf, style, finding, cursor);
	else if (rc == 0) {
		rc = buf_append_string(buf, "    ");
		if (rc == 0)
			rc = text_escape(buf, finding->matched_text, strlen(finding->matched_text),
					 MATCH_CHARACTERS);
		if (rc == 0)
			rc = buf_append_byte(buf, '\n');
	}
	return rc;
}

static int put_notice(struct buf *buf, const struct text_style *style, const char *path,
		      const struct notice *notice, bool hides)
{
	int rc = put_coloured(buf, style, COLOUR_PATH, path);

	if (rc == 0 && notice->line > 0)
		rc = buf_printf(buf, ":%zu", notice->line);
	if (rc == 0)
		rc = buf_printf(buf, ": %s ", notice_name(notice->code));
	if (rc == 0)
		rc = put_coloured(buf, style, hides ? COLOUR_CRITICAL : COLOUR_WARN,
				  hides ? "hidden" : "notice");
	if (rc == 0)
		rc = buf_printf(buf, ": %s", text_notice(notice->code));
	if (rc == 0 && notice->count > 1)
		rc = buf_printf(buf, " (%zu)", notice->count);
	if (rc == 0 && notice->detail != NULL && notice->detail[0] != '\0') {
		rc = buf_append_string(buf, ": ");
		if (rc == 0)
			rc = text_escape(buf, notice->detail, strlen(notice->detail), DETAIL_CHARACTERS);
	}
	if (rc == 0)
		rc = buf_append_byte(buf, '\n');
	return rc;
}

int text_file(struct writer *writer, const struct text_style *style, const char *path,
	      const struct report *report, enum verdict verdict, const char *source, size_t len)
{
	CLEANUP(buf) struct buf shown = BUF_INIT;
	struct buf *buf = writer->text;
	struct cursor cursor = { .text = source, .len = len };
	int rc = text_escape(&shown, path, strlen(path), TEXT_NO_LIMIT);

	for (size_t i = 0; rc == 0 && i < report->findings.count; i++) {
		rc = put_finding(buf, style, shown.data, &report->findings.items[i], &cursor);
		if (rc == 0)
			rc = writer_step(writer);
	}
	for (size_t i = 0; rc == 0 && i < report->notices.count; i++) {
		const struct notice *notice = &report->notices.items[i];
		bool routine = text_notice_routine(notice->code);

		if (!routine || style->verbose || verdict != VERDICT_CLEAN)
			rc = put_notice(buf, style, shown.data, notice, verdict == VERDICT_ERROR && !routine);
	}
	// An error must not go without a word, whatever the report says.
	if (rc == 0 && verdict == VERDICT_ERROR && report->notices.count == 0)
		rc = buf_printf(buf, "%s: hidden: could not be scanned to the end\n", shown.data);
	return rc;
}
