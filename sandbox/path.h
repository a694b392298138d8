// SPDX-License-Identifier: Apache-2.0
//
// Where a directory really is. A bind is judged by what it is (device and inode)
// as well as by its name, since a second mount of the same folder has another name.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Absolute, without empty, "." and ".." components and without a slash at the end ("/" aside).
bool path_is_plain(const char *path);
// `path` is `dir` or lies below it, by name.
bool path_is_within(const char *path, const char *dir);

struct place {
	int fd;     // O_PATH
	char *path; // canonical, owned
	uint32_t mode;
	uint64_t dev;
	uint64_t ino;
};

#define PLACE_INIT ((struct place){ .fd = -1 })

// 0; -ELOOP when `links` is false and a component of the path is a symbolic link; else the error of openat2(2).
int place_open(const char *path, bool links, struct place *ret);
void place_release(struct place *place);

// `path` is the place or lies below it, by name or by identity. `path` itself is not touched, only the
// directories above it: it may be a mount whose server is gone.
bool place_holds(const struct place *place, const char *path);
// The place is `path` or lies below it, or below the folder of that name that a mount on `path` covers.
bool place_is_within(const struct place *place, const char *path);

static inline void cleanup_place(struct place *place)
{
	place_release(place);
}
