// SPDX-License-Identifier: Apache-2.0
//
// What a name means now: the source, seen through the verdicts. Everything
// here may touch the source and scan, so it runs on workers; only view_attributes() and
// view_find() are quick. Knows nothing of FUSE.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "fs/audit.h"
#include "fs/cache.h"
#include "fs/ledger.h"
#include "fs/pool.h"
#include "fs/snapshot.h"
#include "fs/source.h"
#include "fs/store.h"

struct view {
	struct snapshot_context context;
	struct store *store;
	struct cache *cache;
	struct pool *pool;
	struct ledger *ledger;
	struct audit *audit;
	atomic_bool ending; // workers drop bulk work
};

// The task was parked behind another one that scans the same file, or has spread its work: it is run again later.
#define VIEW_PARKED 1

// `ret_node` gets the node with a reference, or NULL when the name is not there (or hidden: that is the same).
// 0, VIEW_PARKED or a negative errno. Records news in ledger and audit.
int view_lookup(struct view *view, struct node *dir, const char *name, struct task *task,
		struct node **ret_node);
// The same without scanning and without waiting: -EAGAIN when it would have to.
int view_find(struct view *view, struct node *dir, const char *name, struct node **ret_node);

// A listing in the making; zero it, keep it between two runs of the task, release it at the end.
struct view_listing {
	bool spread;           // the files' scans were handed out
	atomic_size_t pending; // of them, plus one while handing out
	struct task *task;
};
// 0 with a reference to the newest listing, VIEW_PARKED, or a negative errno.
int view_list(struct view *view, struct node *dir, struct view_listing *state, struct task *task,
	      struct listing **ret);

// Tells the owner that a folder could not be listed (`code`: a negative errno). view_list() does so itself.
int view_record_unlisted(struct view *view, const char *path, int code);

// As shown; for a directory this looks at the source.
int view_attributes(struct view *view, struct node *node, struct stat *ret);

// The served bytes with a reference; NULL when they were dropped.
struct body *view_find_body(struct view *view, const struct node *node);
// The same; rebuilt from the source, once for all who ask, when they were dropped. VIEW_PARKED;
// -ESTALE when the source is no longer the same; -EIO when there is no room for them.
int view_body(struct view *view, struct node *node, struct task *task, struct body **ret);

// Walks the whole source behind all other work, so that the owner sees what is hidden. Ends by ledger_set_indexed().
int view_index(struct view *view);
