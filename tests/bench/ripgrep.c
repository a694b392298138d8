// SPDX-License-Identifier: Apache-2.0
//
// ripgrep over the same texts as files: one whole process on one thread, start
// and compilation included, counting the lines' matches.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sanitize/cleanup.h"
#include "scanners.h"

extern char **environ;

struct ripgrep {
	enum ripgrep_kind kind;
	char patterns[4096]; // file with one a line
	char files[4096];
};

static const char *const names[RG_KINDS] = { "ripgrep", "ripgrep, best flags", "ripgrep, no bounds" };
static const char *const notes[RG_KINDS] = {
	"whole process, one thread; Unicode as by default; one run",
	"whole process, one thread; (?-u), limits of 1 GB, mmap",
	"the same with * for {0,200}: other matches, but what ripgrep likes best",
};

// Runs it without its output. 0, also when it found nothing, or a negative errno.
static int run(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	int status, rc;
	pid_t pid;

	rc = posix_spawn_file_actions_init(&actions);
	if (rc != 0)
		return -rc;
	rc = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (rc == 0)
		rc = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc != 0)
		return -rc;
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	// 1 is "nothing found".
	return WIFEXITED(status) && WEXITSTATUS(status) <= 1 ? 0 : -EINVAL;
}

static int ripgrep_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	static const char *const fast[] = { "--dfa-size-limit=1G", "--regex-size-limit=1G", "--mmap" };
	const struct ripgrep *rg = state;
	const char *argv[16] = { "rg",          "--no-config",  "--threads=1",     "--multiline",
				 "--no-ignore", "--no-heading", "--count-matches", "--file",
				 rg->patterns };
	size_t argc = 9;

	(void)corpus;
	(void)ret;
	for (size_t i = 0; i < ARRAY_SIZE(fast) && rg->kind != RG_DEFAULT; i++)
		argv[argc++] = fast[i];
	argv[argc] = rg->files;
	return run(argv);
}

static int write_file(const char *path, const char *data, size_t len)
{
	FILE *file = fopen(path, "w");
	bool good;

	if (file == NULL)
		return -errno;
	good = fwrite(data, 1, len, file) == len;
	return fclose(file) == 0 && good ? 0 : -EIO;
}

// Appends an expression, for RG_UNBOUNDED without the bounds of its gaps.
static int append_pattern(struct buf *buf, const char *pattern, enum ripgrep_kind kind)
{
	static const char bound[] = "{0,200}";
	const char *found;
	int rc = 0;

	while (rc == 0 && kind == RG_UNBOUNDED && (found = strstr(pattern, bound)) != NULL) {
		rc = buf_append(buf, pattern, (size_t)(found - pattern));
		if (rc == 0)
			rc = buf_append_byte(buf, '*');
		pattern = found + strlen(bound);
	}
	return rc < 0 ? rc : buf_append_string(buf, pattern);
}

static int prepare(struct ripgrep *rg, const char *work)
{
	CLEANUP(buf) struct buf patterns = BUF_INIT;
	int rc = 0;

	(void)snprintf(rg->files, sizeof(rg->files), "%s/texts", work);
	(void)snprintf(rg->patterns, sizeof(rg->patterns), "%s/patterns-%d", work, (int)rg->kind);
	for (size_t i = 0; i < expression_count && rc == 0; i++) {
		rc = buf_printf(&patterns, "(?%s%s:", expressions[i].case_sensitive ? "" : "i",
				rg->kind == RG_DEFAULT ? "" : "-u");
		if (rc == 0)
			rc = append_pattern(&patterns, expressions[i].pattern, rg->kind);
		if (rc == 0)
			rc = buf_append_string(&patterns, ")\n");
	}
	return rc < 0 ? rc : write_file(rg->patterns, patterns.data, patterns.len);
}

static int write_texts(const char *dir, const struct corpus *corpus)
{
	CLEANUP(buf) struct buf path = BUF_INIT;
	int rc = mkdir(dir, 0755) < 0 && errno != EEXIST ? -errno : 0;

	for (size_t i = 0; i < corpus->count && rc == 0; i++) {
		buf_clear(&path);
		rc = buf_printf(&path, "%s/%05zu.md", dir, i);
		if (rc == 0)
			rc = write_file(path.data, corpus->texts[i].data, corpus->texts[i].len);
	}
	return rc;
}

void ripgrep_new(struct method *methods, const struct corpus *corpus, const char *work)
{
	static const char *const version[] = { "rg", "--version", NULL };
	static struct ripgrep states[RG_KINDS];
	int rc = run(version);

	for (int kind = 0; kind < RG_KINDS; kind++) {
		states[kind].kind = (enum ripgrep_kind)kind;
		if (rc == 0)
			rc = prepare(&states[kind], work);
		if (rc == 0 && kind == 0)
			rc = write_texts(states[kind].files, corpus);
		methods[kind] = (struct method){ .name = names[kind],
						 .missing = rc == -ENOENT ? "ripgrep is not here"
							    : rc < 0      ? strerror(-rc)
									  : NULL,
						 .pass = ripgrep_pass,
						 .state = &states[kind],
						 .is_process = true,
						 // By default it takes as long as all others together.
						 .rounds_max = kind == RG_DEFAULT ? 1 : 3 };
		(void)snprintf(methods[kind].note, sizeof(methods[kind].note), "%s", notes[kind]);
	}
}
