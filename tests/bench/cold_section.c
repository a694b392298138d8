// SPDX-License-Identifier: Apache-2.0
//
// A file that nobody has looked at yet: from open to verdict with the program's
// own function, against opening, reading and hashing the same file.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "fs/snapshot.h"
#include "sanitize/cleanup.h"
#include "scanners.h"

#define FILES 200

enum { COLD, READ, METHODS };

struct cold {
	struct snapshot_context context;
	int dir_fd;
	char names[FILES][16];
	size_t count;
};

static int cold_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	const struct cold *cold = state;

	(void)corpus;
	for (size_t i = 0; i < cold->count; i++) {
		CLEANUP(snapshot) struct snapshot *snapshot = NULL;
		struct body_request body = { .wanted = BODY_WANTED };
		int rc = snapshot_build(&cold->context, cold->dir_fd, cold->names[i], cold->names[i],
					&snapshot, &body);

		body_unref(body.body);
		if (rc < 0)
			return rc;
		if (snapshot->verdict == VERDICT_ERROR)
			return -EIO;
		ret->found += verdict_hides(snapshot->verdict);
	}
	return 0;
}

static int read_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	static char data[1 << 20];
	const struct cold *cold = state;

	(void)corpus;
	for (size_t i = 0; i < cold->count; i++) {
		CLEANUP(fd) int fd = openat(cold->dir_fd, cold->names[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		size_t len = 0;
		struct stat st;
		ssize_t got;

		if (fd < 0 || fstat(fd, &st) < 0)
			return -errno;
		while ((got = read(fd, data + len, sizeof(data) - len)) > 0)
			len += (size_t)got;
		if (got < 0 || len != (size_t)st.st_size)
			return -EIO;
		tally_mix(ret, XXH3_128bits(data, len).low64);
	}
	return 0;
}

static int write_files(struct cold *cold, const struct corpus *corpus)
{
	// From all parts of the corpus, whole ones only.
	size_t step = corpus->count / FILES > 0 ? corpus->count / FILES : 1;

	for (size_t i = 0; i + 1 < corpus->count && cold->count < FILES; i += step) {
		char *name = cold->names[cold->count];
		CLEANUP(fd) int fd = -1;

		(void)snprintf(name, sizeof(cold->names[0]), "%05zu.md", i);
		fd = openat(cold->dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0)
			return -errno;
		if (write(fd, corpus->texts[i].data, corpus->texts[i].len) != (ssize_t)corpus->texts[i].len)
			return -EIO;
		cold->count++;
	}
	return 0;
}

int section_cold(const struct corpus *corpus, const char *work)
{
	static struct cold cold;
	struct method methods[METHODS] = {
		[COLD] = { .name = "snapshot_build()",
			   .pass = cold_pass,
			   .state = &cold,
			   .note = "open, fstat, read, inspect, verdict, hash" },
		[READ] = { .name = "open, fstat, read, XXH3", .pass = read_pass, .state = &cold },
	};
	CLEANUP(config) struct config *config = NULL;
	struct scanner *scanner = make_scanner(SCANNER_CHOSEN);
	struct source *source = NULL;
	char dir[4096];
	int rc = 0;

	(void)snprintf(dir, sizeof(dir), "%s/cold", work);
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		rc = -errno;
	if (rc == 0 && scanner == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = config_default(&config);
	if (rc == 0)
		rc = source_open(dir, &source, NULL);
	if (rc == 0) {
		cold.dir_fd = source->root_fd;
		cold.context = (struct snapshot_context){
			.source = source,
			.scanner = scanner,
			.config = config,
			.agent = &config->agents[0],
		};
		rc = write_files(&cold, corpus);
	}
	if (rc == 0) {
		measure(methods, METHODS, corpus);
		printf("## A file of 10 KB, from open to verdict\n\n%zu files in the page cache; %zu of them "
		       "hidden.\n\n",
		       cold.count, methods[COLD].tally.found);
		printf("| method | us a file | times | note |\n| --- | --- | --- | --- |\n");
		for (size_t i = 0; i < METHODS; i++) {
			char ratio[RATIO_SIZE];

			if (methods[i].missing != NULL)
				printf("| %s | - | - | %s |\n", methods[i].name, methods[i].missing);
			else
				printf("| %s | %.1f | %s | %s |\n", methods[i].name,
				       1e6 * methods[i].median / (double)cold.count,
				       show_ratio(times_as_fast(&methods[READ], &methods[i]), ratio),
				       methods[i].note);
		}
		printf("\n");
		goal_note("10 KB file, open to verdict: times open, fstat, read, XXH3", 3, false,
			  times_as_fast(&methods[READ], &methods[COLD]));
	}
	source_close(source);
	scanner_free(scanner);
	return rc;
}
