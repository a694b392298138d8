// SPDX-License-Identifier: Apache-2.0
#include "fs/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sanitize/cleanup.h"

#define SEALS        (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)
#define MEMORY_SHARE 4 // one part in so many of the room may be memory

// How long to wait for room, in steps: first for copies that are in use, then for what others are just making.
#define STEP_MS       20
#define STEPS_GENTLE  100
#define STEPS_AT_MOST 250

struct spool {
	uint64_t max;
	int dir_fd;
	struct spool_room room;
	pthread_mutex_t lock;
	pthread_cond_t given_back;
	atomic_bool ended;
	atomic_uint_least64_t used;
	atomic_uint_least64_t in_memory; // of it
};

int spool_new(uint64_t max, int dir_fd, struct spool **ret)
{
	struct spool *spool = calloc(1, sizeof(*spool));

	if (spool == NULL) {
		if (dir_fd >= 0)
			(void)close(dir_fd);
		return -ENOMEM;
	}
	spool->max = max;
	spool->dir_fd = dir_fd;
	pthread_mutex_init(&spool->lock, NULL);
	pthread_cond_init(&spool->given_back, NULL);
	*ret = spool;
	return 0;
}

void spool_set_room(struct spool *spool, const struct spool_room *room)
{
	spool->room = *room;
}

void spool_free(struct spool *spool)
{
	if (spool == NULL)
		return;
	if (spool->dir_fd >= 0)
		(void)close(spool->dir_fd);
	pthread_cond_destroy(&spool->given_back);
	pthread_mutex_destroy(&spool->lock);
	free(spool);
}

void spool_end(struct spool *spool)
{
	if (spool == NULL)
		return;
	atomic_store(&spool->ended, true);
	pthread_cond_broadcast(&spool->given_back);
}

uint64_t spool_max(const struct spool *spool)
{
	return spool->max;
}

uint64_t spool_used(const struct spool *spool)
{
	return atomic_load(&spool->used);
}

static bool make_room(const struct spool *spool, bool force)
{
	return spool->room.make != NULL && spool->room.make(spool->room.context, force);
}

static bool take_room(struct spool *spool, uint64_t size)
{
	uint64_t used = atomic_load(&spool->used);

	while (used <= spool->max - size)
		if (atomic_compare_exchange_weak(&spool->used, &used, used + size))
			return true;
	return false;
}

// Until something was given back, or for a step.
static void wait_a_step(struct spool *spool)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += STEP_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	pthread_mutex_lock(&spool->lock);
	(void)pthread_cond_timedwait(&spool->given_back, &spool->lock, &until);
	pthread_mutex_unlock(&spool->lock);
}

static int reserve(struct spool *spool, uint64_t size, bool push)
{
	int steps = 0;

	if (size > spool->max)
		return -EFBIG;
	while (!take_room(spool, size)) {
		if (!push || atomic_load(&spool->ended))
			return -ENOSPC;
		if (make_room(spool, steps >= STEPS_GENTLE))
			continue;
		if (steps++ == STEPS_AT_MOST)
			return -ENOSPC;
		wait_a_step(spool);
	}
	return 0;
}

void spool_give_back(struct spool *spool, uint64_t size, bool in_memory)
{
	atomic_fetch_sub(&spool->used, size);
	if (in_memory)
		atomic_fetch_sub(&spool->in_memory, size);
	pthread_cond_broadcast(&spool->given_back);
}

static bool memory_has_room(struct spool *spool, uint64_t size)
{
	return atomic_load(&spool->in_memory) + size <= spool->max / MEMORY_SHARE;
}

static int open_in_memory(struct copy *copy)
{
	copy->fd = memfd_create("skillfs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (copy->fd < 0)
		return -errno;
	copy->in_memory = true;
	atomic_fetch_add(&copy->spool->in_memory, copy->reserved);
	return 0;
}

static int open_file(struct copy *copy)
{
	copy->fd = openat(copy->spool->dir_fd, ".", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	if (copy->fd >= 0)
		return 0;
	// Not every file system has files without a name.
	return errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT ? open_in_memory(copy) : -errno;
}

int copy_begin(struct spool *spool, uint64_t expected, bool push, struct copy *ret)
{
	struct copy copy = { .spool = spool, .fd = -1, .push = push };
	int rc = reserve(spool, expected, push);

	if (rc < 0)
		return rc;
	copy.reserved = expected;
	do {
		rc = spool->dir_fd < 0 || memory_has_room(spool, expected) ? open_in_memory(&copy)
									   : open_file(&copy);
		// A copy that nobody reads holds a descriptor as well.
	} while ((rc == -EMFILE || rc == -ENFILE) && push && make_room(spool, true));
	if (rc < 0) {
		spool_give_back(spool, copy.reserved, false);
		return rc;
	}
	*ret = copy;
	return 0;
}

// To what the copy holds, or is going to.
static int reserve_up_to(struct copy *copy, uint64_t size)
{
	uint64_t more = size - copy->reserved;
	int rc;

	if (size <= copy->reserved)
		return 0;
	rc = size > copy->spool->max ? -EFBIG : reserve(copy->spool, more, copy->push);
	if (rc < 0)
		return rc;
	copy->reserved = size;
	if (copy->in_memory)
		atomic_fetch_add(&copy->spool->in_memory, more);
	return 0;
}

int copy_append(struct copy *copy, const char *data, size_t len)
{
	int rc = reserve_up_to(copy, (uint64_t)copy->size + len);

	while (rc == 0 && len > 0) {
		ssize_t put = write(copy->fd, data, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		data += put;
		len -= (size_t)put;
		copy->size += (size_t)put;
	}
	return rc;
}

int copy_finish(struct copy *copy, const struct digest *digest, struct body **ret)
{
	struct body *body;

	if (copy->in_memory && fcntl(copy->fd, F_ADD_SEALS, SEALS) < 0)
		return -errno;
	body = calloc(1, sizeof(*body));
	if (body == NULL)
		return -ENOMEM;
	atomic_init(&body->refs, 1);
	body->digest = *digest;
	body->size = copy->size;
	body->fd = take_fd(copy->fd);
	body->spool = copy->spool;
	body->in_memory = copy->in_memory;
	spool_give_back(copy->spool, copy->reserved - copy->size, copy->in_memory);
	*copy = (struct copy){ .fd = -1 };
	*ret = body;
	return 0;
}

void copy_discard(struct copy *copy)
{
	if (copy->spool == NULL)
		return;
	(void)close(copy->fd);
	spool_give_back(copy->spool, copy->reserved, copy->in_memory);
	*copy = (struct copy){ .fd = -1 };
}
