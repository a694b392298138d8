// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"
#include "lib/read_file.h"

#define TEXT_SIZE 10240

static struct {
	char **items;
	size_t count;
	size_t cap;
} paths;

static int visit(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	size_t len = strlen(path);

	(void)st;
	(void)walk;
	if (type != FTW_F || len < 3 || strcmp(path + len - 3, ".md") != 0)
		return 0;
	if (paths.count == paths.cap) {
		size_t cap = paths.cap == 0 ? 1024 : 2 * paths.cap;
		char **items = realloc(paths.items, cap * sizeof(*items));

		if (items == NULL)
			return -1;
		paths.items = items;
		paths.cap = cap;
	}
	paths.items[paths.count] = strdup(path);
	return paths.items[paths.count++] == NULL ? -1 : 0;
}

static int by_path(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

// Ends with a line end.
static int append_file(const char *path, struct buf *ret)
{
	int rc = read_file(path, BUF_MAX, ret);

	if (rc == 0 && ret->len > 0 && ret->data[ret->len - 1] != '\n')
		rc = buf_append_byte(ret, '\n');
	return rc;
}

int corpus_load(const char *dir, struct corpus *ret)
{
	struct corpus corpus = { .origin = "real skills" };
	int rc = nftw(dir, visit, 16, FTW_PHYS) == 0 ? 0 : -ENOENT;

	if (paths.count > 0)
		qsort(paths.items, paths.count, sizeof(*paths.items), by_path);
	for (size_t i = 0; i < paths.count; i++) {
		if (rc == 0)
			rc = append_file(paths.items[i], &corpus.bytes);
		free(paths.items[i]);
	}
	free(paths.items);
	if (rc == 0)
		rc = corpus_cut(&corpus);
	if (rc < 0) {
		corpus_release(&corpus);
		return rc;
	}
	*ret = corpus;
	return 0;
}

// Each text gets memory of its own, as each file has when it is scanned.
static int add_text(struct corpus *corpus, const char *data, size_t len)
{
	char *copy = malloc(len + 1);

	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, data, len);
	copy[len] = '\0';
	corpus->texts[corpus->count++] = (struct text){ copy, len };
	corpus->size += len;
	return 0;
}

int corpus_cut(struct corpus *corpus)
{
	const char *data = corpus->bytes.data;
	size_t len = corpus->bytes.len, start, end;
	int rc = 0;

	if (len == 0)
		return -ENOENT;
	corpus->texts = calloc(len / TEXT_SIZE + 1, sizeof(*corpus->texts));
	if (corpus->texts == NULL)
		return -ENOMEM;
	for (start = 0; start < len && rc == 0; start = end) {
		const char *feed = len - start > TEXT_SIZE
					   ? memchr(data + start + TEXT_SIZE, '\n', len - start - TEXT_SIZE)
					   : NULL;

		end = feed == NULL ? len : (size_t)(feed - data) + 1;
		rc = add_text(corpus, data + start, end - start);
	}
	return rc;
}

void corpus_release(struct corpus *corpus)
{
	for (size_t i = 0; i < corpus->count; i++)
		free((char *)corpus->texts[i].data);
	free(corpus->texts);
	buf_release(&corpus->bytes);
	*corpus = (struct corpus){ .texts = NULL };
}
