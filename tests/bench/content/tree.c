// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "bench.h"
#include "client.h"

#define TEXT_SIZE       10240
#define SKILL_FILES     20 // in a folder: SKILL.md and 19 others
#define SMALL_MAX       (1 << 20)
#define LISTED_AT_LEAST 10

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545F4914F6CDD1D);
}

static int names_add(struct names *names, const char *name)
{
	if (names->count == names->cap) {
		size_t cap = names->cap == 0 ? 1024 : 2 * names->cap;
		char **items = realloc(names->items, cap * sizeof(*items));

		if (items == NULL)
			return -1;
		names->items = items;
		names->cap = cap;
	}
	names->items[names->count] = strdup(name);
	return names->items[names->count++] == NULL ? -1 : 0;
}

static void names_release(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

void names_shuffle(struct names *names)
{
	uint64_t state = UINT64_C(0x5EED5EED5EED5EED);

	for (size_t i = names->count; i > 1; i--) {
		size_t other = (size_t)(next_random(&state) >> 33) % i;
		char *swap = names->items[i - 1];

		names->items[i - 1] = names->items[other];
		names->items[other] = swap;
	}
}

// nftw() passes no context.
static struct tree *walked;
static size_t in_directory;

static int visit(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	const char *name = path + strlen(walked->root);

	name += *name == '/';
	(void)walk;
	if (type == FTW_DP) {
		size_t files = in_directory;

		in_directory = 0;
		return files < LISTED_AT_LEAST ? 0 : names_add(&walked->directories, name);
	}
	if (type != FTW_F)
		return 0;
	in_directory++;
	if (st->st_size <= SMALL_MAX)
		return names_add(&walked->files, name);
	free(walked->large);
	walked->large = strdup(name);
	return walked->large == NULL ? -1 : 0;
}

int tree_walk(const char *root, struct tree *ret)
{
	*ret = (struct tree){ .root = root };
	walked = ret;
	in_directory = 0;
	if (nftw(root, visit, 16, FTW_PHYS | FTW_DEPTH) != 0) {
		tree_release(ret);
		return errno != 0 ? -errno : -EIO;
	}
	return 0;
}

void tree_release(struct tree *tree)
{
	names_release(&tree->files);
	names_release(&tree->directories);
	free(tree->large);
}

static int write_file(const char *path, const char *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t done = fd < 0 ? -1 : write(fd, data, size);
	int rc = done == (ssize_t)size ? 0 : done < 0 ? -errno : -EIO;

	if (fd >= 0 && close(fd) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

// 10 KB of the corpus from `offset` on; what is left of a character at the ends becomes spaces.
static void cut(const struct corpus *corpus, size_t offset, char ret[static TEXT_SIZE])
{
	size_t last = TEXT_SIZE;

	offset %= corpus->bytes.len - TEXT_SIZE;
	memcpy(ret, corpus->bytes.data + offset, TEXT_SIZE);
	for (size_t i = 0; i < TEXT_SIZE && (ret[i] & 0xC0) == 0x80; i++)
		ret[i] = ' ';
	while (last > 0 && (ret[last - 1] & 0x80) != 0)
		ret[--last] = ' ';
	ret[TEXT_SIZE - 1] = '\n';
}

static int make_folder(const char *format, const char *dir, size_t number)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), format, dir, number);
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static int make_skill_file(const char *dir, size_t i, char text[static TEXT_SIZE])
{
	static const char matter[] = "---\nname: bench\ndescription: A skill that the bench made.\n---\n\n";
	size_t skill = i / SKILL_FILES, number = i % SKILL_FILES;
	char path[4096];
	int rc = 0;

	if (number == 0) {
		rc = make_folder("%s/skills/skill-%03zu", dir, skill);
		memcpy(text, matter, sizeof(matter) - 1);
		(void)snprintf(path, sizeof(path), "%s/skills/skill-%03zu/SKILL.md", dir, skill);
	} else {
		(void)snprintf(path, sizeof(path), "%s/skills/skill-%03zu/topic-%02zu.md", dir, skill,
			       number);
	}
	if (rc == 0)
		rc = write_file(path, text, TEXT_SIZE);
	if (rc == 0 && setxattr(path, "user.bench", "CLEAN", 5, 0) < 0)
		rc = -errno;
	return rc;
}

int make_skills(const char *dir, size_t count)
{
	struct corpus corpus;
	char text[TEXT_SIZE];
	int rc = corpus_generate(&corpus);

	if (rc < 0)
		return rc;
	rc = make_folder("%s/skills", dir, 0);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		cut(&corpus, i * TEXT_SIZE, text);
		rc = make_skill_file(dir, i, text);
	}
	corpus_release(&corpus);
	return rc;
}

// Bytes by chance hold `|sh` every 16 MiB, which is a finding: so no `|`.
static void fill_block(unsigned char *block, size_t size, uint64_t *state)
{
	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint64_t value = next_random(state);

		memcpy(block + i, &value, 8);
	}
	for (size_t i = 0; i < size; i++)
		if (block[i] == '|')
			block[i] = 0;
}

int make_binary(const char *path, size_t size)
{
	FILE *file = fopen(path, "wbe");
	uint64_t state = UINT64_C(0x5EED5EED5EED5EED);
	unsigned char block[65536];

	if (file == NULL)
		return -errno;
	for (size_t done = 0; done < size; done += sizeof(block)) {
		fill_block(block, sizeof(block), &state);
		(void)fwrite(block, sizeof(block), 1, file);
	}
	return fclose(file) != 0 ? -errno : 0;
}

int make_text(const char *path, size_t size)
{
	struct corpus corpus;
	FILE *file;
	int rc = corpus_generate(&corpus);

	if (rc < 0)
		return rc;
	file = fopen(path, "wbe");
	rc = file == NULL ? -errno : 0;
	for (size_t left = size; rc == 0 && left > 0;) {
		size_t len = corpus.bytes.len < left ? corpus.bytes.len : left;

		(void)fwrite(corpus.bytes.data, len, 1, file);
		left -= len;
	}
	if (file != NULL && fclose(file) != 0)
		rc = -errno;
	corpus_release(&corpus);
	return rc;
}
