// SPDX-License-Identifier: Apache-2.0
#include "figures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/read_file.h"
#include "sanitize/buf.h"
#include "sanitize/cleanup.h"
#include "sanitize/fnv.h"

#define HEAD_SIZE    96
#define BASELINE_MAX ((size_t)1 << 20)
#define BASELINE_HEAD                                                                                        \
	"# What corpus-measure counts, as agreed: a figure that gets worse fails the tests. Written by\n"    \
	"# tests/corpus.sh --update DIR. `-` marks a figure of which less is better, `+` one of which more " \
	"is.\n"

static struct figure *figure_find(struct figures *figures, const char *key)
{
	for (size_t i = 0; i < figures->count; i++) {
		if (strcmp(figures->items[i].key, key) == 0)
			return &figures->items[i];
	}
	return NULL;
}

static void figure_count(struct figures *figures, enum better better, size_t value, const char *key)
{
	struct figure *figure = figure_find(figures, key);

	if (figure == NULL) {
		if (figures->count == FIGURES_MAX)
			abort();
		figure = &figures->items[figures->count++];
		(void)snprintf(figure->key, sizeof(figure->key), "%s", key);
		figure->better = better;
	}
	figure->value += value;
}

void figures_add(struct figures *figures, enum better better, size_t value, const char *format, ...)
{
	char key[FIGURE_KEY_SIZE];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(key, sizeof(key), format, arguments);
	va_end(arguments);
	figure_count(figures, better, value, key);
}

void figures_add_file(struct figures *figures, const char *name, size_t size)
{
	figures->files++;
	// A sum does not depend on the order.
	figures->hash += fnv_add(FNV_START ^ size, name, strlen(name));
}

void figures_add_label(struct figures *figures, const char *line)
{
	figures->labels++;
	figures->hash += fnv_add(FNV_START, line, strlen(line));
}

static void show_head(const struct figures *figures, char ret[static HEAD_SIZE])
{
	(void)snprintf(ret, HEAD_SIZE, "corpus of %zu files, %zu labels, %016" PRIx64, figures->files,
		       figures->labels, figures->hash);
}

// None yet is an empty one.
static int read_baseline(const char *path, struct buf *ret)
{
	int rc = read_file(path, BASELINE_MAX, ret);

	return rc == -ENOENT ? 0 : rc;
}

// The section with this head: from it to the next one or the end. False when there is none.
static bool section_find(const struct buf *text, const char *head, size_t *ret_start, size_t *ret_end)
{
	const char *start = text->len == 0 ? NULL : strstr(text->data, head), *end;

	if (start == NULL)
		return false;
	end = strstr(start + 1, "corpus of ");
	*ret_start = (size_t)(start - text->data);
	*ret_end = end == NULL ? text->len : (size_t)(end - text->data);
	return true;
}

static bool print_difference(const struct figure *figure, size_t agreed)
{
	bool worse = figure->better == BETTER_LESS ? figure->value > agreed : figure->value < agreed;

	if (figure->value != agreed)
		printf("%s %s: %zu, was %zu\n", worse ? "WORSE " : "better", figure->key, figure->value,
		       agreed);
	return worse;
}

int figures_compare(const struct figures *figures, const char *path, enum comparison *ret)
{
	CLEANUP(buf) struct buf text = BUF_INIT;
	struct figures now = *figures;
	bool known[FIGURES_MAX] = { false };
	char head[HEAD_SIZE], *line, *rest;
	size_t start, end;
	int rc = read_baseline(path, &text);

	if (rc < 0)
		return rc;
	show_head(figures, head);
	*ret = COMPARISON_UNKNOWN;
	if (!section_find(&text, head, &start, &end))
		return 0;
	*ret = COMPARISON_SAME;
	text.data[end] = '\0';
	rest = text.data + start + strlen(head);
	while ((line = strsep(&rest, "\n")) != NULL) {
		char sign, key[FIGURE_KEY_SIZE];
		struct figure *figure;
		size_t agreed;

		if (*line == '\0')
			continue;
		if (sscanf(line, "%c %79s %zu", &sign, key, &agreed) != 3)
			return -EINVAL;
		if (figure_find(&now, key) == NULL)
			figure_count(&now, sign == '-' ? BETTER_LESS : BETTER_MORE, 0, key);
		figure = figure_find(&now, key);
		known[figure - now.items] = true;
		if (print_difference(figure, agreed))
			*ret = COMPARISON_WORSE;
		else if (figure->value != agreed && *ret == COMPARISON_SAME)
			*ret = COMPARISON_BETTER;
	}
	for (size_t i = 0; i < now.count; i++) {
		if (known[i])
			continue;
		if (print_difference(&now.items[i], 0))
			*ret = COMPARISON_WORSE;
		else if (now.items[i].value > 0 && *ret == COMPARISON_SAME)
			*ret = COMPARISON_BETTER;
	}
	return 0;
}

static int by_key(const void *left, const void *right)
{
	const struct figure *a = left, *b = right;

	return strcmp(a->key, b->key);
}

static int append_section(const struct figures *figures, struct buf *ret)
{
	struct figures sorted = *figures;
	char head[HEAD_SIZE];
	int rc;

	show_head(figures, head);
	qsort(sorted.items, sorted.count, sizeof(sorted.items[0]), by_key);
	rc = buf_printf(ret, "%s\n", head);
	for (size_t i = 0; i < sorted.count && rc == 0; i++)
		rc = buf_printf(ret, "%c %s %zu\n", sorted.items[i].better == BETTER_LESS ? '-' : '+',
				sorted.items[i].key, sorted.items[i].value);
	return rc;
}

int figures_update(const struct figures *figures, const char *path)
{
	CLEANUP(buf) struct buf old = BUF_INIT;
	CLEANUP(buf) struct buf new = BUF_INIT;
	char head[HEAD_SIZE];
	size_t start, end;
	FILE *file;
	int rc = read_baseline(path, &old);

	show_head(figures, head);
	if (rc == 0 && old.len == 0)
		rc = buf_append_string(&old, BASELINE_HEAD);
	if (rc < 0)
		return rc;
	if (!section_find(&old, head, &start, &end)) {
		start = end = old.len;
		rc = buf_append(&new, old.data, old.len);
		if (rc == 0)
			rc = buf_append_byte(&new, '\n');
	} else {
		rc = buf_append(&new, old.data, start);
	}
	if (rc == 0)
		rc = append_section(figures, &new);
	if (rc == 0 && end < old.len)
		rc = buf_append_byte(&new, '\n');
	if (rc == 0)
		rc = buf_append(&new, old.data + end, old.len - end);
	if (rc < 0)
		return rc;
	file = fopen(path, "w");
	if (file == NULL)
		return -errno;
	if (fwrite(new.data, 1, new.len, file) != new.len)
		rc = -EIO;
	return fclose(file) == 0 ? rc : -EIO;
}
