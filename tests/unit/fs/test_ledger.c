// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fs/ledger.h"
#include "sanitize/cleanup.h"

static struct snapshot *make(const char *path, enum entry_kind kind, enum verdict verdict)
{
	struct stat st = { .st_ino = 7 };
	struct snapshot *snapshot;

	assert_int_equal(snapshot_build_hidden(kind, &st, NULL, &snapshot), 0);
	snapshot->special = kind != ENTRY_FILE;
	snapshot->verdict = (uint8_t)verdict;
	if (verdict == VERDICT_CLEAN)
		notices_release(&snapshot->report->notices);
	if (!verdict_hides(verdict) && strstr(path, SKILL_MANIFEST) != NULL)
		snapshot->skill = calloc(1, sizeof(*snapshot->skill));
	return snapshot;
}

static void put(struct ledger *ledger, const char *path, enum verdict verdict)
{
	struct snapshot *snapshot = make(path, ENTRY_FILE, verdict);

	assert_true(ledger_set(ledger, path, snapshot));
	assert_false(ledger_set(ledger, path, snapshot));
	snapshot_unref(snapshot);
}

static int setup(void **state)
{
	return ledger_new((struct ledger **)state);
}

static int teardown(void **state)
{
	ledger_free(*state);
	return 0;
}

static void counts_follow_what_stands_at_each_path(void **state)
{
	struct ledger *ledger = *state;
	struct ledger_counts counts;

	put(ledger, "a/SKILL.md", VERDICT_CLEAN);
	put(ledger, "a/x.sh", VERDICT_CRITICAL);
	put(ledger, "b/SKILL.md", VERDICT_ERROR);
	ledger_counts(ledger, &counts);
	assert_int_equal(counts.files, 3);
	assert_int_equal(counts.hidden, 2);
	assert_int_equal(counts.skills, 1);
	put(ledger, "a/x.sh", VERDICT_CLEAN);
	assert_false(ledger_set(ledger, "b/SKILL.md", NULL));
	ledger_counts(ledger, &counts);
	assert_int_equal(counts.files, 2);
	assert_int_equal(counts.hidden, 0);
}

static int collect(const char *path, const struct snapshot *snapshot, void *context)
{
	(void)snapshot;
	return buf_printf(context, "%s\n", path);
}

static void each_tells_only_what_there_is_to_tell_sorted(void **state)
{
	struct ledger *ledger = *state;
	CLEANUP(buf) struct buf seen = BUF_INIT;

	put(ledger, "z.sh", VERDICT_CRITICAL);
	put(ledger, "clean.md", VERDICT_CLEAN);
	put(ledger, "a.sh", VERDICT_ERROR);
	assert_int_equal(ledger_each(ledger, collect, &seen), 0);
	assert_string_equal(seen.data, "a.sh\nz.sh\n");
}

static void forget_below_takes_a_whole_folder(void **state)
{
	struct ledger *ledger = *state;
	struct ledger_counts counts;

	put(ledger, "d/x", VERDICT_CRITICAL);
	put(ledger, "d/e/y", VERDICT_CLEAN);
	put(ledger, "dd", VERDICT_CLEAN);
	put(ledger, "d", VERDICT_CLEAN);
	ledger_summary(ledger, "d", &counts);
	assert_int_equal(counts.files, 2);
	ledger_forget_below(ledger, "d");
	ledger_counts(ledger, &counts);
	assert_int_equal(counts.files, 2);
	assert_int_equal(counts.hidden, 0);
}

static void skills_are_folders_with_a_visible_manifest(void **state)
{
	struct ledger *ledger = *state;
	CLEANUP(strv) struct strv skills = { 0 };
	CLEANUP(snapshot) struct snapshot *snapshot = NULL;

	put(ledger, "SKILL.md", VERDICT_CLEAN);
	put(ledger, "one/SKILL.md", VERDICT_WARN);
	put(ledger, "deep/two/SKILL.md", VERDICT_CLEAN);
	put(ledger, "hidden/SKILL.md", VERDICT_CRITICAL);
	put(ledger, "lower/skill.md", VERDICT_CLEAN);
	assert_int_equal(ledger_skills(ledger, &skills), 0);
	assert_int_equal(skills.count, 3);
	assert_string_equal(skills.items[0], "");
	assert_string_equal(skills.items[1], "deep/two");
	assert_string_equal(skills.items[2], "one");
	snapshot = ledger_skill(ledger, "deep/two");
	assert_non_null(snapshot);
	assert_null(ledger_skill(ledger, "hidden"));
	assert_null(ledger_skill(ledger, "lower"));
}

static void thousands_of_paths_are_all_found(void **state)
{
	struct ledger *ledger = *state;
	struct ledger_counts counts;
	char path[32];

	for (int i = 0; i < 5000; i++) {
		(void)snprintf(path, sizeof(path), "dir/%d", i);
		put(ledger, path, VERDICT_CLEAN);
	}
	ledger_counts(ledger, &counts);
	assert_int_equal(counts.files, 5000);
	for (int i = 0; i < 5000; i++) {
		struct identity other = { .ino = 8 }, same = { .ino = 7 };

		(void)snprintf(path, sizeof(path), "dir/%d", i);
		assert_true(ledger_holds(ledger, path, &same));
		assert_false(ledger_holds(ledger, path, &other));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counts_follow_what_stands_at_each_path),
		TEST(each_tells_only_what_there_is_to_tell_sorted),
		TEST(forget_below_takes_a_whole_folder),
		TEST(skills_are_folders_with_a_visible_manifest),
		TEST(thousands_of_paths_are_all_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
