// SPDX-License-Identifier: Apache-2.0
//
// What the kernel knows of us: nodes with their ids. A file's node stands for one snapshot and never changes; a changed
// source gets a new node, so that the kernel drops the old entry by itself. Thread-safe; nothing here does I/O.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/claims.h"
#include "fs/listing.h"
#include "fs/pool.h"
#include "fs/snapshot.h"

#define NODE_ROOT  1
#define NODE_FIRST 16 // ids below are left to the session

enum node_kind { NODE_DIRECTORY, NODE_FILE, NODE_LINK };

struct node_directory {
	int fd; // O_PATH
	struct identity identity;
	struct follow *follow; // the innermost followed link on the way to it, or NULL
	// Under the store's lock:
	struct listing *listing;         // the newest, or NULL
	uint32_t told;                   // the generation that the kernel was last told about
	struct identity counted;         // the version whose subdirectories were counted
	size_t directories;              // as counted then
	struct timespec visible_changed; // when the listing last changed, 0 before that
};

struct node_link {
	struct identity identity;
	struct stat st;
	char *target; // as shown
};

struct node {
	uint64_t id;      // never used twice
	uint64_t ino;     // shown; below 2^53
	uint64_t variant; // what else but the source's identity decides on the content: see store_claim()
	union {           // by kind
		struct node_directory *directory;
		struct snapshot *snapshot; // NODE_FILE
		struct node_link *link;
	};
	// Under the store's lock:
	uint64_t lookups; // as the kernel counts them
	char *path;       // below the root, as last looked up
	struct node *id_next, *identity_next;
	struct node *idle_prev, *idle_next; // files the kernel has forgotten, oldest first
	uint32_t refs;                      // tasks at work on it
	bool idle;
	uint8_t kind; // enum node_kind
};

struct store;

int store_new(struct pool *pool, struct store **ret);
void store_free(struct store *store);
const struct identity *node_identity(const struct node *node);

// A node by id, with a reference for a task; NULL when unknown. Give back with node_put().
struct node *store_get(struct store *store, uint64_t id);
void node_put(struct store *store, struct node *node);
// The kernel was told about a node once more. With a reference held.
void node_looked_up(struct store *store, struct node *node);
void store_forget(struct store *store, uint64_t id, uint64_t lookups);
char *node_path(struct store *store, const struct node *node); // a copy, NULL on -ENOMEM
// `path` is where the node stands now. Returns true when that is news.
bool node_moved(struct store *store, struct node *node, const char *path);

// The inode number shown for a file of that class (0 for directories and links).
uint64_t store_ino(struct store *store, const struct identity *identity, unsigned cls);
uint64_t store_directory_ino(struct store *store, const struct identity *identity,
			     const struct follow *follow);
// A directory (takes `fd` over) or a link: found by identity, else made. With a reference.
int store_root(struct store *store, int fd,
	       const struct stat *st); // borrows `fd`; its node is never forgotten
// Through each followed link it is a directory of its own: a kernel knows no directory by two names.
int store_directory(struct store *store, int fd, const struct stat *st, const char *path,
		    struct follow *follow, struct node **ret);
int store_link(struct store *store, const struct stat *st, const char *path, const char *target,
	       struct node **ret);

// The file with this identity and variant: STORE_HIT with a referenced node (its snapshot may be a hidden one);
// STORE_CLAIMED when the caller must build it and call store_publish() or store_abandon(); STORE_PARKED when another task is
// building it: `task` is then run again afterwards (STORE_BUSY instead when `task` is NULL). -ENOMEM.
enum store_claim { STORE_CLAIMED = CLAIMED, STORE_PARKED = PARKED, STORE_BUSY = BUSY, STORE_HIT };
int store_claim(struct store *store, const struct identity *identity, uint64_t variant, struct task *task,
		struct node **ret);
// Takes the snapshot over. Queues the parked tasks again.
int store_publish(struct store *store, const struct identity *claimed, uint64_t variant, const char *path,
		  struct snapshot *snapshot, struct node **ret);
void store_abandon(struct store *store, const struct identity *claimed, uint64_t variant);
// The same for a known file whose body is to be built again, so that it is built once: STORE_CLAIMED (ends by
// store_abandon() with the node's identity and variant), STORE_PARKED, -ENOMEM.
int store_claim_again(struct store *store, const struct node *node, struct task *task);

// Takes the listing over, gives it its generation, and keeps the time when what is visible changed.
void node_set_listing(struct store *store, struct node *node, struct listing *listing,
		      const struct timespec *now);
struct listing *node_listing(struct store *store, struct node *node); // with a reference, or NULL
// Whether what the kernel holds of the directory is of that generation; and that it was told so.
bool node_listing_is_told(struct store *store, const struct node *node, uint32_t generation);
void node_listing_told(struct store *store, struct node *node, uint32_t generation);

// How many visible subdirectories that version of the directory had; false when it was not counted.
bool node_directories(struct store *store, const struct node *node, const struct identity *version,
		      size_t *ret);
void node_set_directories(struct store *store, struct node *node, const struct identity *version,
			  size_t count);
struct timespec node_visible_changed(struct store *store, const struct node *node);

uint64_t store_nodes(struct store *store);
