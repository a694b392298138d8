// SPDX-License-Identifier: Apache-2.0
//
// What the kernel knows of us: nodes with their ids, and the bodies that are
// held in memory. A file's node stands for one snapshot and never changes; a
// changed source gets a new node, so that the kernel drops the old entry by itself.
// Thread-safe; nothing here does I/O.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/cache.h"
#include "fs/listing.h"
#include "fs/pool.h"
#include "fs/snapshot.h"
#include "sanitize/buf.h"

#define NODE_ROOT  1
#define NODE_FIRST 16 // ids below are left to the session

enum node_kind { NODE_DIRECTORY, NODE_FILE, NODE_LINK };

struct node {
	uint64_t id;  // never used twice
	uint64_t ino; // shown; below 2^53
	enum node_kind kind;
	unsigned variant; // what else but the source's identity decides on the content: see store_claim()
	struct identity identity;
	struct snapshot *snapshot; // NODE_FILE
	char *target;              // NODE_LINK
	struct stat st;            // NODE_LINK
	int fd;                    // NODE_DIRECTORY: O_PATH
	// Under the store's lock:
	uint64_t lookups; // as the kernel counts them
	size_t refs;      // tasks at work on it
	char *path;       // below the root, as last looked up
	struct body *body;
	struct listing *listing;         // NODE_DIRECTORY: the newest, or NULL
	struct identity counted;         // NODE_DIRECTORY: the version whose subdirectories were counted
	size_t directories;              // as counted then
	struct timespec visible_changed; // NODE_DIRECTORY: when the listing last changed, 0 before that
	struct node *id_next, *identity_next;
	bool idle;
	struct node *idle_prev, *idle_next; // files the kernel has forgotten, oldest first
	struct node *body_prev, *body_next; // nodes with a body, oldest first
};

struct store;

// Bodies of prose and code are held up to `cache_size` bytes, those of binary files up to `spool_size`.
int store_new(struct pool *pool, uint64_t cache_size, uint64_t spool_size, struct store **ret);
void store_free(struct store *store);

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
// A directory (takes `fd` over) or a link: found by identity, else made. With a reference.
int store_root(struct store *store, int fd,
	       const struct stat *st); // borrows `fd`; its node is never forgotten
int store_directory(struct store *store, int fd, const struct stat *st, const char *path, struct node **ret);
int store_link(struct store *store, const struct stat *st, const char *path, const char *target,
	       struct node **ret);

// The file with this identity and variant: STORE_HIT with a referenced node (its snapshot may be a hidden one);
// STORE_CLAIMED when the caller must build it and call store_publish() or store_abandon(); STORE_PARKED when another task is
// building it: `task` is then run again afterwards (STORE_BUSY instead when `task` is NULL). -ENOMEM.
enum store_claim { STORE_HIT, STORE_CLAIMED, STORE_PARKED, STORE_BUSY };
int store_claim(struct store *store, const struct identity *identity, unsigned variant, struct task *task,
		struct node **ret);
// Takes the snapshot and the body over. Queues the parked tasks again.
int store_publish(struct store *store, const struct identity *claimed, unsigned variant, const char *path,
		  struct snapshot *snapshot, struct buf *body, struct node **ret);
void store_abandon(struct store *store, const struct identity *claimed, unsigned variant);

// The body of a file node with a reference, or NULL when it was dropped.
struct body *node_body(struct store *store, struct node *node);
// Puts a rebuilt body back; takes `data` over. Returns it with a reference.
struct body *node_set_body(struct store *store, struct node *node, struct buf *data);
// Takes the listing over; keeps the time of change. Returns true when what is visible differs from the one before
// (or there was none).
bool node_set_listing(struct store *store, struct node *node, struct listing *listing,
		      const struct timespec *now);
struct listing *node_listing(struct store *store, struct node *node); // with a reference, or NULL

// How many visible subdirectories that version of the directory had; false when it was not counted.
bool node_directories(struct store *store, const struct node *node, const struct identity *version,
		      size_t *ret);
void node_set_directories(struct store *store, struct node *node, const struct identity *version,
			  size_t count);
struct timespec node_visible_changed(struct store *store, const struct node *node);

void store_stat(struct store *store, uint64_t *ret_nodes, uint64_t *ret_cached_bytes);
