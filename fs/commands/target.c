// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/target.h"

#include <errno.h>

#include "sanitize/cleanup.h"

#define TRIES 4 // for an entry that changes while it is looked at

int target_open(const char *path, struct target *ret, struct error *error)
{
	CLEANUP(free) char *real = realpath(path, NULL);
	struct target target = { NULL, NULL };
	struct stat st;
	char *slash;
	int rc;

	if (real == NULL || stat(real, &st) < 0) {
		rc = -errno;
		return error_set(error, rc, "%s: %s", path,
				 rc == -ENOENT ? "no such file or folder" : strerror(-rc));
	}
	if (!S_ISDIR(st.st_mode)) {
		slash = strrchr(real, '/');
		target.name = strdup(slash + 1);
		if (target.name == NULL)
			return -ENOMEM;
		slash[slash == real] = '\0';
	}
	rc = source_open(real, &target.source, error);
	if (rc < 0) {
		free(target.name);
		return error_prefix(error, rc, "%s", path);
	}
	*ret = target;
	return 0;
}

void target_close(struct target *target)
{
	source_close(target->source);
	free(target->name);
	*target = (struct target){ NULL, NULL };
}

int target_snapshot(const struct snapshot_context *context, const struct source_entry *entry,
		    struct snapshot **ret, struct body **ret_body)
{
	struct body_request body = { .wanted = ret_body == NULL ? BODY_NONE : BODY_WANTED };
	int rc;

	*ret = NULL;
	if (entry->kind != ENTRY_FILE)
		return entry_kind_hidden(entry->kind)
			       ? snapshot_build_hidden(entry->kind, entry->st, entry->target, ret)
			       : 0;
	rc = snapshot_build(context, entry->dir_fd, entry->name, entry->path, ret, &body);
	if (rc == 0 && ret_body != NULL)
		*ret_body = body.body;
	return rc < 0 ? rc : body.error;
}

int target_walk(const struct target *target, int (*visit)(const struct source_entry *entry, void *context),
		void *context, struct error *error)
{
	const struct place dir = { .fd = target->source->root_fd, .path = "" };
	struct source_entry entry = { .path = target->name, .name = target->name };
	CLEANUP(found) struct found found = FOUND_INIT;
	int rc = 0;

	if (target->name == NULL) {
		rc = source_walk(target->source, visit, context);
		return rc < 0 ? error_set(error, rc, "%s: cannot walk the folder: %s", target->source->path,
					  strerror(-rc))
			      : 0;
	}
	for (int tries = 0; tries < TRIES; tries++) {
		rc = source_examine(target->source, &dir, target->name, &found);
		if (rc != -EAGAIN)
			break;
	}
	if (rc == 0 && found.kind == ENTRY_MISSING)
		rc = -ENOENT;
	if (rc < 0)
		return error_set(error, rc, "%s/%s: %s", target->source->path, target->name, strerror(-rc));
	entry.dir_fd = target->source->root_fd;
	entry.kind = found.kind;
	entry.st = &found.st;
	entry.target = found.target;
	return visit(&entry, context);
}
