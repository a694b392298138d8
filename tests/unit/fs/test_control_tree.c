// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "fs/audit.h"
#include "fs/control_tree.h"
#include "sanitize/cleanup.h"

static const char configuration[] = "agents:\n"
				    "  helper:\n"
				    "    toolPolicy: {profile: minimal}\n"
				    "  locked:\n"
				    "    toolPolicy: {profile: coding, deny: [exec]}\n";

struct fixture {
	struct daemon daemon;
	struct jobs *jobs;
	struct tree *tree;
};

static void ignore_change(void *context, struct job_record *record)
{
	(void)context;
	(void)record;
}

static void ignore_check(void *context, uint32_t id, bool outside)
{
	(void)context;
	(void)id;
	(void)outside;
}

static struct snapshot *make_snapshot(enum verdict verdict, struct report *report)
{
	struct report nothing = { .verbatim = true };
	struct snapshot *snapshot;

	assert_int_equal(snapshot_of_report(verdict, report == NULL ? &nothing : report, &snapshot), 0);
	return snapshot;
}

static struct snapshot *make_skill(enum restriction_kind kind)
{
	struct snapshot *snapshot = make_snapshot(VERDICT_CLEAN, NULL);

	snapshot->skill = calloc(1, sizeof(*snapshot->skill));
	assert_non_null(snapshot->skill);
	snapshot->skill->restriction.kind = kind;
	return snapshot;
}

static void put(struct fixture *fixture, const char *path, struct snapshot *snapshot)
{
	(void)ledger_set(fixture->daemon.ledger, path, snapshot);
	snapshot_unref(snapshot);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct jobs_observer observer = { .changed = ignore_change, .checked = ignore_check };
	struct error error = { "" };

	assert_non_null(fixture);
	if (config_parse("test", configuration, strlen(configuration), &fixture->daemon.config, &error) < 0)
		fail_msg("%s", error.message);
	fixture->daemon.agent = config_agent(fixture->daemon.config, "default");
	fixture->daemon.options.agent = (char *)"default";
	assert_int_equal(scanner_new(NULL, 0, &fixture->daemon.scanner, &error), 0);
	assert_int_equal(ledger_new(&fixture->daemon.ledger), 0);
	assert_int_equal(audit_open(NULL, &fixture->daemon.audit, &error), 0);
	assert_int_equal(jobs_new(&fixture->daemon, &observer, &fixture->jobs, &error), 0);
	assert_int_equal(tree_new(&fixture->daemon, fixture->jobs, &fixture->tree), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	tree_free(fixture->tree);
	jobs_free(fixture->jobs);
	audit_close(fixture->daemon.audit);
	ledger_free(fixture->daemon.ledger);
	scanner_free(fixture->daemon.scanner);
	config_free(fixture->daemon.config);
	free(fixture);
	return 0;
}

static int walk(struct fixture *fixture, const char *path, struct tree_node *ret)
{
	struct tree_node node = tree_root();
	int rc = 0;

	while (rc == 0 && *path != '\0') {
		size_t len = strcspn(path, "/");
		CLEANUP(free) char *name = strndup(path, len);

		rc = tree_lookup(fixture->tree, &node, name, &node);
		path += len + (path[len] == '/');
	}
	*ret = node;
	return rc;
}

static void render(struct fixture *fixture, const char *path, struct buf *ret)
{
	struct tree_node node;

	if (walk(fixture, path, &node) != 0)
		fail_msg("%s: not there", path);
	assert_int_equal(tree_render(fixture->tree, &node, ret), 0);
}

static void promised_files_exist_with_their_modes(void **state)
{
	static const struct {
		const char *path;
		mode_t mode;
	} cases[] = {
		{ "", S_IFDIR | 0500 },
		{ "README", S_IFREG | 0400 },
		{ "status", S_IFREG | 0400 },
		{ "findings", S_IFREG | 0400 },
		{ "quarantine", S_IFREG | 0400 },
		{ "audit", S_IFREG | 0400 },
		{ "exec", S_IFLNK | 0777 },
		{ "jobs", S_IFLNK | 0777 },
		{ "policy/config.yaml", S_IFREG | 0400 },
		{ "policy/rules.json", S_IFREG | 0400 },
		{ "policy/profiles/coding", S_IFREG | 0400 },
		{ "policy/groups/web", S_IFREG | 0400 },
		{ "agents/helper/exec", S_IFREG | 0600 },
		{ "agents/helper/tools", S_IFREG | 0400 },
		{ "agents/helper/policy.json", S_IFREG | 0400 },
		{ "agents/helper/source-profiles.json", S_IFREG | 0400 },
		{ "agents/helper/skills", S_IFDIR | 0500 },
		{ "agents/helper/jobs", S_IFDIR | 0500 },
	};
	struct fixture *fixture = *state;
	struct tree_node node;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (walk(fixture, cases[i].path, &node) != 0)
			fail_msg("%s: not there", cases[i].path);
		assert_int_equal(tree_mode(&node), cases[i].mode);
	}
}

static void unlisted_names_do_not_exist(void **state)
{
	static const char *const paths[] = {
		"nothing",          "policy/profiles/none",      "agents/nobody",
		"agents/default/x", "agents/default/jobs/1",     "agents/default/jobs/last",
		"agents/{agent}",   "policy/profiles/{profile}", "agents/default/skills/none"
	};
	struct fixture *fixture = *state;
	struct tree_node node;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (walk(fixture, paths[i], &node) != -ENOENT)
			fail_msg("%s: there", paths[i]);
	}
	assert_int_equal(walk(fixture, "status/x", &node), -ENOTDIR);
}

struct numbers {
	struct tree *tree;
	uint64_t seen[1024];
	size_t count;
};

static int visit_number(void *context, const char *name, const struct tree_node *node)
{
	struct numbers *numbers = context;
	uint64_t ino = tree_ino(node);
	struct tree_node again;

	assert_true(ino > TREE_ROOT_INO && ino < (uint64_t)1 << 53);
	for (size_t i = 0; i < numbers->count; i++) {
		if (numbers->seen[i] == ino)
			fail_msg("%s: number %llu a second time", name, (unsigned long long)ino);
	}
	numbers->seen[numbers->count++] = ino;
	assert_true(tree_find(numbers->tree, ino, &again));
	assert_ptr_equal(again.row, node->row);
	assert_int_equal(again.agent, node->agent);
	assert_int_equal(again.item, node->item);
	if (tree_kind(node) == TREE_DIRECTORY)
		return tree_list(numbers->tree, node, visit_number, numbers);
	return 0;
}

static void inode_numbers_are_unique_and_lead_back(void **state)
{
	struct fixture *fixture = *state;
	struct numbers numbers = { .tree = fixture->tree };
	const struct job_caller caller = { 0 };
	struct tree_node root = tree_root();
	struct job_record *record;

	put(fixture, "a/SKILL.md", make_skill(RESTRICTION_NONE));
	put(fixture, "a/b/SKILL.md", make_skill(RESTRICTION_NONE));
	put(fixture, "SKILL.md", make_skill(RESTRICTION_NONE));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(jobs_submit(fixture->jobs, "helper", &caller, "ls", 2, &record), 0);
		job_record_unref(fixture->jobs, record);
	}
	assert_int_equal(tree_list(fixture->tree, &root, visit_number, &numbers), 0);
	assert_true(numbers.count > 80);
}

static void stale_numbers_are_not_found(void **state)
{
	struct fixture *fixture = *state;
	struct tree_node node;
	uint64_t ino;

	put(fixture, "a/SKILL.md", make_skill(RESTRICTION_NONE));
	assert_int_equal(walk(fixture, "agents/default/skills/a/tools", &node), 0);
	ino = tree_ino(&node);
	assert_true(tree_find(fixture->tree, ino, &node));
	(void)ledger_set(fixture->daemon.ledger, "a/SKILL.md", NULL);
	assert_false(tree_find(fixture->tree, ino, &node));
	assert_false(tree_find(fixture->tree, 0, &node));
	assert_false(tree_find(fixture->tree, 2, &node));
	assert_false(tree_find(fixture->tree, UINT64_MAX, &node));
	assert_false(tree_find(fixture->tree, (uint64_t)255 << 44, &node));
}

static void nested_skill_is_one_name(void **state)
{
	struct fixture *fixture = *state;
	struct tree_node node;

	put(fixture, "a/b%c/SKILL.md", make_skill(RESTRICTION_NONE));
	put(fixture, "SKILL.md", make_skill(RESTRICTION_NONE));
	assert_int_equal(walk(fixture, "agents/default/skills/a%2Fb%25c/tools", &node), 0);
	assert_int_equal(walk(fixture, "agents/default/skills/%2E/tools", &node), 0);
	assert_int_equal(walk(fixture, "agents/default/skills/a%2fb%25c", &node), -ENOENT);
	assert_int_equal(walk(fixture, "agents/default/skills/a%2Fb%c", &node), -ENOENT);
	assert_int_equal(walk(fixture, "agents/default/skills/%61%2Fb%25c", &node), -ENOENT);
	assert_int_equal(walk(fixture, "agents/default/skills/%", &node), -ENOENT);
}

static void tools_follow_policy_and_skill(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(buf) struct buf agent = BUF_INIT;
	CLEANUP(buf) struct buf locked = BUF_INIT;
	CLEANUP(buf) struct buf skill = BUF_INIT;
	CLEANUP(buf) struct buf unreadable = BUF_INIT;
	struct snapshot *snapshot = make_skill(RESTRICTION_LIST);

	assert_int_equal(strv_add(&snapshot->skill->restriction.tools, "read"), 0);
	assert_int_equal(strv_add(&snapshot->skill->restriction.tools, "exec"), 0);
	put(fixture, "a/SKILL.md", snapshot);
	put(fixture, "b/SKILL.md", make_skill(RESTRICTION_UNREADABLE));
	render(fixture, "agents/helper/tools", &agent);
	render(fixture, "agents/locked/tools", &locked);
	render(fixture, "agents/helper/skills/a/tools", &skill);
	render(fixture, "agents/helper/skills/b/tools", &unreadable);
	assert_string_equal(agent.data, "read\nwrite\n");
	assert_null(strstr(locked.data, "exec"));
	assert_string_equal(skill.data, "read\n");
	assert_int_equal(unreadable.len, 0);
}

static void quarantine_says_why(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(buf) struct buf text = BUF_INIT;
	struct report evil = { .cls = CLASS_PROSE }, huge = { .cls = CLASS_BINARY };
	struct finding finding = { .rule = &rules[0], .severity = SEVERITY_CRITICAL, .line = 7 };
	json_t *value;

	assert_int_equal(findings_add(&evil.findings, &finding, "x", 1), 0);
	put(fixture, "a/evil.md", make_snapshot(VERDICT_CRITICAL, &evil));
	assert_int_equal(notices_add(&huge.notices, NOTICE_FS_TOO_LARGE, 1, 0, NULL), 0);
	put(fixture, "a/huge.bin", make_snapshot(VERDICT_ERROR, &huge));
	put(fixture, "a/fine.md", make_snapshot(VERDICT_CLEAN, NULL));
	render(fixture, "quarantine", &text);
	value = json_loadb(text.data, strcspn(text.data, "\n"), 0, NULL);
	assert_non_null(strstr(json_string_value(json_object_get(value, "reason")), rules[0].id));
	assert_non_null(strstr(json_string_value(json_object_get(value, "reason")), "line 7"));
	json_decref(value);
	assert_non_null(strstr(text.data, "FS_TOO_LARGE"));
	assert_null(strstr(text.data, "fine.md"));
}

static void status_is_json_with_warnings(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(buf) struct buf text = BUF_INIT;
	json_t *value;

	fixture->daemon.sandbox.hint = (char *)"apt install bubblewrap";
	render(fixture, "status", &text);
	value = json_loadb(text.data, text.len, 0, NULL);
	assert_non_null(value);
	assert_string_equal(json_string_value(json_object_get(json_object_get(value, "sandbox"), "tier")),
			    "none");
	assert_non_null(strstr(json_string_value(json_array_get(json_object_get(value, "warnings"), 0)),
			       "apt install"));
	assert_true(json_is_object(json_object_get(value, "counters")));
	json_decref(value);
}

static void links_lead_to_the_agent_and_the_newest_job(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(buf) struct buf exec = BUF_INIT;
	CLEANUP(buf) struct buf last = BUF_INIT;
	CLEANUP(buf) struct buf result = BUF_INIT;
	const struct job_caller caller = { 0 };
	struct job_record *record;

	render(fixture, "exec", &exec);
	assert_string_equal(exec.data, "agents/default/exec");
	// There is no launcher: it is refused, and the refusal is a result like others.
	assert_int_equal(jobs_submit(fixture->jobs, "helper", &caller, "ls", 2, &record), 0);
	job_record_unref(fixture->jobs, record);
	render(fixture, "agents/helper/jobs/last", &last);
	assert_string_equal(last.data, "1");
	render(fixture, "agents/helper/jobs/1/status", &result);
	assert_non_null(strstr(result.data, "\"state\":\"refused\""));
	assert_non_null(strstr(result.data, "\"reason\":\"config\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(promised_files_exist_with_their_modes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unlisted_names_do_not_exist, set_up, tear_down),
		cmocka_unit_test_setup_teardown(inode_numbers_are_unique_and_lead_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stale_numbers_are_not_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nested_skill_is_one_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tools_follow_policy_and_skill, set_up, tear_down),
		cmocka_unit_test_setup_teardown(quarantine_says_why, set_up, tear_down),
		cmocka_unit_test_setup_teardown(status_is_json_with_warnings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(links_lead_to_the_agent_and_the_newest_job, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
