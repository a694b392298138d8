// SPDX-License-Identifier: Apache-2.0
//
// replay [--corpus] PATH...: gives a harness files, and all files of folders, one
// after the other, where there is no libFuzzer. With --corpus the paths have to be
// what a committed corpus may be: small, so that the ordinary test run stays short.
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "fuzz.h"
#include "sanitize/cleanup.h"

#define CORPUS_FILES       150
#define CORPUS_FILE_SIZE   ((size_t)8 << 10)
#define CORPUS_SIZE        ((size_t)200 << 10)
#define CORPUS_CPU_SECONDS 10.0
#define FILE_SIZE_MAX      ((size_t)1 << 30)

static size_t files, bytes, largest;

static bool replay_file(const char *path, size_t size)
{
	FILE *in = fopen(path, "re");
	uint8_t *data = malloc(size > 0 ? size : 1);
	bool good = in != NULL && data != NULL && fread(data, 1, size, in) == size;

	if (in != NULL)
		(void)fclose(in);
	if (!good) {
		(void)fprintf(stderr, "%s: cannot be read\n", path);
	} else {
		files++;
		bytes += size;
		if (size > largest)
			largest = size;
		// When the harness ends the process, this is the last line.
		(void)printf("%s\n", path);
		(void)fflush(stdout);
		LLVMFuzzerTestOneInput(data, size);
	}
	free(data);
	return good;
}

static bool replay_path(const char *path)
{
	struct dirent **entries = NULL;
	struct stat st;
	bool good = true;
	int count;

	if (stat(path, &st) < 0 || (size_t)st.st_size > FILE_SIZE_MAX) {
		(void)fprintf(stderr, "%s: cannot be read\n", path);
		return false;
	}
	if (!S_ISDIR(st.st_mode))
		return replay_file(path, (size_t)st.st_size);
	count = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		CLEANUP(free) char *below = NULL;

		if (entries[i]->d_name[0] != '.') {
			if (asprintf(&below, "%s/%s", path, entries[i]->d_name) < 0)
				abort();
			good = replay_path(below) && good;
		}
		free(entries[i]);
	}
	free(entries);
	return good && count >= 0;
}

static bool is_small(void)
{
	double seconds = (double)clock() / CLOCKS_PER_SEC;

	if (files > 0 && files <= CORPUS_FILES && largest <= CORPUS_FILE_SIZE && bytes <= CORPUS_SIZE &&
	    seconds <= CORPUS_CPU_SECONDS)
		return true;
	(void)fprintf(stderr,
		      "%zu files, %zu bytes, the largest %zu, %.1f s: a corpus has 1 to %d files of at most "
		      "%zu bytes, %zu bytes together, and %.0f s (tests/fuzz/minimise.sh)\n",
		      files, bytes, largest, seconds, CORPUS_FILES, CORPUS_FILE_SIZE, CORPUS_SIZE,
		      CORPUS_CPU_SECONDS);
	return false;
}

int main(int argc, char **argv)
{
	bool corpus = argc > 1 && strcmp(argv[1], "--corpus") == 0, good = true;

	if (argc < (corpus ? 3 : 2)) {
		(void)fprintf(stderr, "usage: %s [--corpus] PATH...\n", argv[0]);
		return 2;
	}
	for (int i = corpus ? 2 : 1; i < argc; i++)
		good = replay_path(argv[i]) && good;
	if (corpus)
		good = is_small() && good;
	(void)printf("%zu files, %zu bytes\n", files, bytes);
	return good ? 0 : 1;
}
