// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define CLIENTS_MAX 16
#define READS_MAX   16384
#define PAUSE_NS    3000000 // between two reads: somebody looks at what came
#define IDLE_NS     2000000000

// In memory that the processes share.
struct shared {
	atomic_bool ended;
	atomic_size_t count;
	int64_t large_ns;
	int64_t ns[READS_MAX];
};

static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_ns(long ns)
{
	struct timespec time = { .tv_nsec = ns };

	(void)nanosleep(&time, NULL);
}

static void read_file(const char *folder, const char *name)
{
	char path[4096], data[65536];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) // hidden, perhaps: that answer took its time as well
		return;
	while (read(fd, data, sizeof(data)) > 0)
		;
	(void)close(fd);
}

static void client(struct shared *shared, const struct tree *tree, const char *view, size_t first,
		   size_t step)
{
	for (size_t i = first; i < tree->files.count && !atomic_load(&shared->ended); i += step) {
		int64_t start = now_ns();
		size_t slot;

		read_file(view, tree->files.items[i]);
		slot = atomic_fetch_add(&shared->count, 1);
		if (slot < READS_MAX)
			shared->ns[slot] = now_ns() - start;
		pause_ns(PAUSE_NS);
	}
}

static void large_reader(struct shared *shared, const char *view, const char *large)
{
	int64_t start = now_ns();

	if (large != NULL)
		read_file(view, large);
	while (large == NULL && now_ns() - start < IDLE_NS)
		pause_ns(PAUSE_NS);
	shared->large_ns = now_ns() - start;
	atomic_store(&shared->ended, true);
}

static int by_value(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int print(struct shared *shared)
{
	size_t count = atomic_load(&shared->count);

	if (count > READS_MAX)
		count = READS_MAX;
	if (count == 0)
		return -ENODATA;
	qsort(shared->ns, count, sizeof(shared->ns[0]), by_value);
	printf("%zu\t%.0f\t%.0f\t%.0f\t%.0f\n", count, (double)shared->ns[count / 2] / 1e3,
	       (double)shared->ns[count * 99 / 100] / 1e3, (double)shared->ns[count - 1] / 1e3,
	       (double)shared->large_ns / 1e6);
	return 0;
}

int latency_measure(const char *source, const char *view, size_t clients, const char *large)
{
	struct shared *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tree tree;
	int rc;

	if (shared == MAP_FAILED)
		return -errno;
	rc = tree_walk(source, &tree);
	if (rc < 0)
		return rc;
	names_shuffle(&tree.files);
	if (fork() == 0) {
		large_reader(shared, view, large);
		_exit(0);
	}
	pause_ns(20000000); // it has begun
	for (size_t i = 0; i < clients && i < CLIENTS_MAX; i++)
		if (fork() == 0) {
			client(shared, &tree, view, i, clients);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	rc = print(shared);
	tree_release(&tree);
	return rc;
}
