// SPDX-License-Identifier: Apache-2.0
//
// A hash table from path to snapshot. Everything known stands in it, so that the
// counters are right; what is shown is filtered on the way out.
#include "fs/ledger.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "fs/hash.h"
#include "sanitize/cleanup.h"

struct entry {
	struct entry *next;
	struct snapshot *snapshot;
	uint64_t key;
	char path[];
};

struct ledger {
	pthread_mutex_t lock; // all below
	struct entry **slots;
	size_t slot_count; // a power of two
	size_t used;
	uint64_t secret;
	struct ledger_counts counts;
};

int ledger_new(struct ledger **ret)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger));

	if (ledger == NULL)
		return -ENOMEM;
	ledger->slot_count = 1024;
	ledger->slots = calloc(ledger->slot_count, sizeof(struct entry *));
	if (ledger->slots == NULL || getrandom(&ledger->secret, sizeof(ledger->secret), 0) < 0) {
		free(ledger->slots);
		free(ledger);
		return -ENOMEM;
	}
	pthread_mutex_init(&ledger->lock, NULL);
	*ret = ledger;
	return 0;
}

static void entry_free(struct entry *entry)
{
	snapshot_unref(entry->snapshot);
	free(entry);
}

void ledger_free(struct ledger *ledger)
{
	if (ledger == NULL)
		return;
	for (size_t i = 0; i < ledger->slot_count; i++) {
		struct entry *next;

		for (struct entry *entry = ledger->slots[i]; entry != NULL; entry = next) {
			next = entry->next;
			entry_free(entry);
		}
	}
	free(ledger->slots);
	pthread_mutex_destroy(&ledger->lock);
	free(ledger);
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

// Only the exact name is a manifest; skill.md beside it is just prose.
static bool is_skill(const char *path, const struct snapshot *snapshot)
{
	return snapshot->skill != NULL && strcmp(last_component(path), SKILL_MANIFEST) == 0;
}

static bool has_something_to_tell(const struct snapshot *snapshot)
{
	return snapshot_findings(snapshot)->count > 0 || snapshot_notices(snapshot)->count > 0 ||
	       verdict_hides(snapshot->verdict);
}

// Adds (+1) or takes away (-1) what an entry counts for.
static void count(struct ledger_counts *counts, const struct entry *entry, uint64_t by)
{
	const struct snapshot *snapshot = entry->snapshot;
	const struct findings *findings = snapshot_findings(snapshot);

	if (!snapshot->special)
		counts->files += by;
	if (verdict_hides(snapshot->verdict))
		counts->hidden += by;
	else if (findings->count > 0)
		counts->warned += by;
	if (is_skill(entry->path, snapshot))
		counts->skills += by;
	counts->findings += by * (findings->count + findings->omitted);
}

static void grow(struct ledger *ledger)
{
	size_t slot_count = ledger->slot_count * 2;
	struct entry **slots = calloc(slot_count, sizeof(struct entry *));

	if (slots == NULL)
		return; // longer chains, nothing lost
	for (size_t i = 0; i < ledger->slot_count; i++) {
		struct entry *next;

		for (struct entry *entry = ledger->slots[i]; entry != NULL; entry = next) {
			struct entry **slot = &slots[entry->key & (slot_count - 1)];

			next = entry->next;
			entry->next = *slot;
			*slot = entry;
		}
	}
	free(ledger->slots);
	ledger->slots = slots;
	ledger->slot_count = slot_count;
}

static struct entry **find(struct ledger *ledger, const char *path, uint64_t key)
{
	struct entry **slot = &ledger->slots[key & (ledger->slot_count - 1)];

	while (*slot != NULL && ((*slot)->key != key || strcmp((*slot)->path, path) != 0))
		slot = &(*slot)->next;
	return slot;
}

static struct entry *detach(struct ledger *ledger, struct entry **slot)
{
	struct entry *entry = *slot;

	*slot = entry->next;
	entry->next = NULL;
	count(&ledger->counts, entry, (uint64_t)-1);
	ledger->used--;
	return entry;
}

bool ledger_set(struct ledger *ledger, const char *path, struct snapshot *snapshot)
{
	size_t len = strlen(path);
	uint64_t key = hash_key(path, len, ledger->secret);
	struct entry *entry = NULL;
	struct entry *old = NULL;
	struct entry **slot;

	if (snapshot != NULL) {
		entry = malloc(sizeof(*entry) + len + 1);
		if (entry == NULL)
			return false;
		entry->key = key;
		memcpy(entry->path, path, len + 1);
	}
	pthread_mutex_lock(&ledger->lock);
	slot = find(ledger, path, key);
	if (*slot != NULL && (*slot)->snapshot == snapshot) {
		pthread_mutex_unlock(&ledger->lock);
		free(entry);
		return false;
	}
	if (*slot != NULL)
		old = detach(ledger, slot);
	if (entry != NULL) {
		if (ledger->used >= ledger->slot_count)
			grow(ledger);
		slot = &ledger->slots[key & (ledger->slot_count - 1)];
		entry->snapshot = snapshot_ref(snapshot);
		entry->next = *slot;
		*slot = entry;
		ledger->used++;
		count(&ledger->counts, entry, 1);
	}
	pthread_mutex_unlock(&ledger->lock);
	if (old != NULL)
		entry_free(old);
	return entry != NULL;
}

bool ledger_holds(struct ledger *ledger, const char *path, const struct identity *identity)
{
	struct entry *entry;
	bool holds;

	pthread_mutex_lock(&ledger->lock);
	entry = *find(ledger, path, hash_key(path, strlen(path), ledger->secret));
	holds = entry != NULL && identity_equal(&entry->snapshot->identity, identity);
	pthread_mutex_unlock(&ledger->lock);
	return holds;
}

bool ledger_has(struct ledger *ledger, const char *path)
{
	bool has;

	pthread_mutex_lock(&ledger->lock);
	has = *find(ledger, path, hash_key(path, strlen(path), ledger->secret)) != NULL;
	pthread_mutex_unlock(&ledger->lock);
	return has;
}

void ledger_forget_below(struct ledger *ledger, const char *path)
{
	struct entry *gone = NULL;
	size_t len = strlen(path);

	pthread_mutex_lock(&ledger->lock);
	for (size_t i = 0; i < ledger->slot_count; i++) {
		struct entry **slot = &ledger->slots[i];

		while (*slot != NULL) {
			if (strncmp((*slot)->path, path, len) == 0 && (*slot)->path[len] == '/') {
				struct entry *entry = detach(ledger, slot);

				entry->next = gone;
				gone = entry;
			} else {
				slot = &(*slot)->next;
			}
		}
	}
	pthread_mutex_unlock(&ledger->lock);
	while (gone != NULL) {
		struct entry *next = gone->next;

		entry_free(gone);
		gone = next;
	}
}

void ledger_count_scan(struct ledger *ledger)
{
	pthread_mutex_lock(&ledger->lock);
	ledger->counts.scans++;
	pthread_mutex_unlock(&ledger->lock);
}

void ledger_set_indexed(struct ledger *ledger)
{
	pthread_mutex_lock(&ledger->lock);
	ledger->counts.indexed = true;
	pthread_mutex_unlock(&ledger->lock);
}

void ledger_counts(struct ledger *ledger, struct ledger_counts *ret)
{
	pthread_mutex_lock(&ledger->lock);
	*ret = ledger->counts;
	pthread_mutex_unlock(&ledger->lock);
}

struct shown {
	char *path;
	struct snapshot *snapshot;
};

static int compare_shown(const void *a, const void *b)
{
	return strcmp(((const struct shown *)a)->path, ((const struct shown *)b)->path);
}

static void shown_free(struct shown *shown, size_t shown_count)
{
	for (size_t i = 0; i < shown_count; i++) {
		free(shown[i].path);
		snapshot_unref(shown[i].snapshot);
	}
	free(shown);
}

// Copies of all entries that `want` takes, sorted by path.
static int collect(struct ledger *ledger, bool (*want)(const char *, const struct snapshot *),
		   struct shown **ret, size_t *ret_count)
{
	struct shown *shown;
	size_t shown_count = 0;
	int rc = 0;

	pthread_mutex_lock(&ledger->lock);
	shown = calloc(ledger->used + 1, sizeof(*shown));
	if (shown == NULL)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < ledger->slot_count; i++) {
		for (struct entry *entry = ledger->slots[i]; rc == 0 && entry != NULL; entry = entry->next) {
			if (!want(entry->path, entry->snapshot))
				continue;
			shown[shown_count].path = strdup(entry->path);
			if (shown[shown_count].path == NULL) {
				rc = -ENOMEM;
				break;
			}
			shown[shown_count++].snapshot = snapshot_ref(entry->snapshot);
		}
	}
	pthread_mutex_unlock(&ledger->lock);
	if (rc < 0) {
		if (shown != NULL)
			shown_free(shown, shown_count);
		return rc;
	}
	qsort(shown, shown_count, sizeof(*shown), compare_shown);
	*ret = shown;
	*ret_count = shown_count;
	return 0;
}

static bool want_telling(const char *path, const struct snapshot *snapshot)
{
	(void)path;
	return has_something_to_tell(snapshot);
}

int ledger_each(struct ledger *ledger, int (*visit)(const char *, const struct snapshot *, void *),
		void *context)
{
	struct shown *shown;
	size_t shown_count;
	int rc;

	rc = collect(ledger, want_telling, &shown, &shown_count);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc >= 0 && i < shown_count; i++)
		rc = visit(shown[i].path, shown[i].snapshot, context);
	shown_free(shown, shown_count);
	return rc < 0 ? rc : 0;
}

int ledger_skills(struct ledger *ledger, struct strv *ret)
{
	struct shown *shown;
	size_t shown_count;
	int rc;

	rc = collect(ledger, is_skill, &shown, &shown_count);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < shown_count; i++) {
		const char *name = last_component(shown[i].path);
		size_t len = (size_t)(name - shown[i].path);

		rc = strv_add_len(ret, shown[i].path, len == 0 ? 0 : len - 1);
	}
	shown_free(shown, shown_count);
	return rc;
}

struct snapshot *ledger_skill(struct ledger *ledger, const char *skill_path)
{
	CLEANUP(free) char *path = NULL;
	struct snapshot *snapshot = NULL;
	struct entry *entry;

	if (asprintf(&path, "%s%s" SKILL_MANIFEST, skill_path, skill_path[0] == '\0' ? "" : "/") < 0)
		return NULL;
	pthread_mutex_lock(&ledger->lock);
	entry = *find(ledger, path, hash_key(path, strlen(path), ledger->secret));
	if (entry != NULL && is_skill(path, entry->snapshot))
		snapshot = snapshot_ref(entry->snapshot);
	pthread_mutex_unlock(&ledger->lock);
	return snapshot;
}

void ledger_summary(struct ledger *ledger, const char *path, struct ledger_counts *ret)
{
	size_t len = strlen(path);

	*ret = (struct ledger_counts){ 0 };
	pthread_mutex_lock(&ledger->lock);
	ret->indexed = ledger->counts.indexed;
	for (size_t i = 0; i < ledger->slot_count; i++)
		for (struct entry *entry = ledger->slots[i]; entry != NULL; entry = entry->next)
			if (len == 0 || (strncmp(entry->path, path, len) == 0 && entry->path[len] == '/'))
				count(ret, entry, 1);
	pthread_mutex_unlock(&ledger->lock);
}
