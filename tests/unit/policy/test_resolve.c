// SPDX-License-Identifier: Apache-2.0
//
// The policy vectors, and random policies against sets as slow and plain as can be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "policy/profile.h"
#include "policy/resolve.h"
#include "sanitize/cleanup.h"

static void cleanup_json(json_t **json)
{
	json_decref(*json);
}

static struct strv strings(const json_t *array)
{
	struct strv strv = { NULL, 0, 0 };

	for (size_t i = 0; i < json_array_size(array); i++)
		assert_int_equal(strv_add_len(&strv, json_string_value(json_array_get(array, i)),
					      json_string_length(json_array_get(array, i))),
				 0);
	return strv;
}

static void assert_strings(const char *id, const struct strv *found, const json_t *expected)
{
	if (found->count != json_array_size(expected))
		fail_msg("%s: %zu tools, not %zu", id, found->count, json_array_size(expected));
	for (size_t i = 0; i < found->count; i++)
		if (strcmp(found->items[i], json_string_value(json_array_get(expected, i))) != 0)
			fail_msg("%s: tool %zu is %s", id, i, found->items[i]);
}

static void assert_filtered(const char *id, const struct effective_tools *effective, const json_t *expect)
{
	const json_t *filtered = json_object_get(expect, "filtered");
	const json_t *skill_filtered = json_object_get(expect, "skill_filtered");
	size_t policy = 0, skill = 0;

	for (size_t i = 0; i < effective->excluded_count; i++) {
		const struct excluded_tool *tool = &effective->excluded[i];
		const json_t *want;
		const char *entry;

		if (tool->reason == EXCLUDED_NOT_IN_SKILL) {
			want = json_array_get(skill_filtered, skill++);
			if (want == NULL || strcmp(tool->tool, json_string_value(want)) != 0)
				fail_msg("%s: %s should not be in skill_filtered here", id, tool->tool);
			assert_null(tool->entry);
			continue;
		}
		want = json_array_get(filtered, policy++);
		if (want == NULL ||
		    strcmp(tool->tool, json_string_value(json_object_get(want, "toolName"))) != 0)
			fail_msg("%s: %s should not be filtered here", id, tool->tool);
		entry = json_string_value(json_object_get(want, "denyEntry"));
		if (entry == NULL)
			entry = json_string_value(json_object_get(want, "profile"));
		if (strcmp(exclusion_name(tool->reason), json_string_value(json_object_get(want, "kind"))) !=
			    0 ||
		    strcmp(tool->entry, entry) != 0)
			fail_msg("%s: %s: %s %s", id, tool->tool, exclusion_name(tool->reason), tool->entry);
	}
	assert_int_equal(policy, json_array_size(filtered));
	assert_int_equal(skill, json_array_size(skill_filtered));
}

static void check_vector(const json_t *vector)
{
	const char *id = json_string_value(json_object_get(vector, "id"));
	const json_t *expect = json_object_get(vector, "expect");
	struct strv known CLEANUP(strv) = strings(json_object_get(vector, "knownTools"));
	struct tool_policy policy = {
		.profile = (char *)json_string_value(json_object_get(vector, "profile")),
		.allow = strings(json_object_get(vector, "allow")),
		.deny = strings(json_object_get(vector, "deny")),
	};
	struct skill_restriction skill = { .tools = strings(json_object_get(vector, "skillAllowed")) };
	struct effective_tools plain, narrowed;

	skill.kind = skill.tools.count > 0 ? RESTRICTION_LIST : RESTRICTION_NONE;
	assert_int_equal(resolve_tools(&policy, &known, NULL, &plain), 0);
	assert_int_equal(resolve_tools(&policy, &known, &skill, &narrowed), 0);
	if (json_object_get(expect, "throws") != NULL) {
		// A profile nobody knows has no tools of its own; to throw is no decision.
		assert_int_equal(plain.tools.count, policy.allow.count);
		for (size_t i = 0; i < policy.allow.count; i++)
			assert_true(effective_tools_allow(&plain, policy.allow.items[i]));
	} else {
		assert_strings(id, &plain.tools, json_object_get(expect, "policy_effective"));
		assert_strings(id, &narrowed.tools, json_object_get(expect, "effective"));
		assert_filtered(id, &narrowed, expect);
	}
	effective_tools_release(&plain);
	effective_tools_release(&narrowed);
	strv_release(&policy.allow);
	strv_release(&policy.deny);
	strv_release(&skill.tools);
}

static void vectors_all_match(void **state)
{
	FILE *file = fopen(TEST_DATA "/vectors/policy.jsonl", "re");
	CLEANUP(free) char *line = NULL;
	size_t cap = 0, count = 0;

	(void)state;
	assert_non_null(file);
	while (getline(&line, &cap, file) > 0) {
		CLEANUP(json) json_t *vector = json_loads(line, 0, NULL);

		assert_non_null(vector);
		check_vector(vector);
		count++;
	}
	(void)fclose(file);
	assert_int_equal(count, 64);
}

// A small generator of its own, so that a failure can be repeated.
static uint64_t random_state;

static uint32_t random_below(uint32_t bound)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % bound;
}

static const char *random_name(const struct strv *known)
{
	static const char *const odd[] = { "group:nope", "*", "", "Exec", "group:", "full", "coding", "x" };

	switch (random_below(4)) {
	case 0:
		return tool_groups[random_below((uint32_t)tool_group_count)].name;
	case 1:
		return odd[random_below(ARRAY_SIZE(odd))];
	default:
		return known->items[random_below((uint32_t)known->count)];
	}
}

static struct strv random_names(const struct strv *known, uint32_t most)
{
	struct strv strv = { NULL, 0, 0 };

	for (uint32_t i = random_below(most + 1); i > 0; i--)
		assert_int_equal(strv_add(&strv, random_name(known)), 0);
	return strv;
}

static bool lists(const struct tool_list *list, const char *tool)
{
	for (size_t i = 0; list != NULL && list->tools[i] != NULL; i++)
		if (strcmp(list->tools[i], tool) == 0)
			return true;
	return false;
}

// The last entry that is the tool or a group with it; -1 when there is none.
static int covers(const struct strv *entries, const char *tool)
{
	int last = -1;

	for (size_t i = 0; i < entries->count; i++) {
		const struct tool_list *group = tool_group_find(entries->items[i]);

		if (group != NULL ? lists(group, tool) : strcmp(entries->items[i], tool) == 0)
			last = (int)i;
	}
	return last;
}

static void check_random(const struct strv *known, const struct tool_policy *policy,
			 const struct skill_restriction *skill)
{
	const struct tool_list *profile = tool_profile_find(policy->profile);
	struct effective_tools effective;
	size_t in = 0, out = 0;

	assert_int_equal(resolve_tools(policy, known, skill, &effective), 0);
	assert_int_equal(effective.tools.count + effective.excluded_count, known->count);
	for (size_t i = 0; i < known->count; i++) {
		const char *tool = known->items[i];
		bool member = strcmp(policy->profile, "full") == 0 || lists(profile, tool) ||
			      covers(&policy->allow, tool) >= 0;
		int deny = covers(&policy->deny, tool);
		bool in_skill = skill->kind == RESTRICTION_NONE ||
				(skill->kind == RESTRICTION_LIST && strv_contains(&skill->tools, tool));

		if (member && deny < 0 && in_skill) {
			assert_string_equal(effective.tools.items[in++], tool);
			continue;
		}
		assert_string_equal(effective.excluded[out].tool, tool);
		if (deny >= 0) {
			assert_int_equal(effective.excluded[out].reason, EXCLUDED_EXPLICIT_DENY);
			assert_ptr_equal(effective.excluded[out].entry, policy->deny.items[deny]);
		} else if (!member) {
			assert_int_equal(effective.excluded[out].reason, EXCLUDED_NOT_IN_PROFILE);
			assert_string_equal(effective.excluded[out].entry, policy->profile);
		} else {
			assert_int_equal(effective.excluded[out].reason, EXCLUDED_NOT_IN_SKILL);
		}
		out++;
	}
	effective_tools_release(&effective);
}

static void random_policies_match_plain_sets(void **state)
{
	static const char *const profiles[] = { "minimal", "coding", "messaging",    "supervisor",
						"full",    "Full",   "cron-minimal", "heartbeat-minimal",
						"",        "nosuch" };
	struct agent_config agent = { .id = NULL };
	struct strv known CLEANUP(strv) = { NULL, 0, 0 };

	(void)state;
	random_state = 20240601;
	assert_int_equal(strv_add(&agent.known_tools, "my_tool"), 0);
	assert_int_equal(known_tools(&agent, &known), 0);
	for (int round = 0; round < 5000; round++) {
		struct tool_policy policy = {
			.profile = (char *)profiles[random_below(ARRAY_SIZE(profiles))],
			.allow = random_names(&known, 6),
			.deny = random_names(&known, 6),
		};
		struct skill_restriction skill = {
			.kind = (enum restriction_kind)random_below(3),
			.tools = random_names(&known, 10),
		};
		struct strv some CLEANUP(strv) = random_names(&known, 60);

		check_random(round % 2 == 0 ? &known : &some, &policy, &skill);
		strv_release(&policy.allow);
		strv_release(&policy.deny);
		strv_release(&skill.tools);
	}
	strv_release(&agent.known_tools);
}

static void known_tools_has_each_once_own_last(void **state)
{
	struct agent_config agent = { .id = NULL };
	struct strv known CLEANUP(strv) = { NULL, 0, 0 };
	static const char *const own[] = { "zeta", "read", "alpha", "zeta", "ctx_expand", "alpha" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		assert_int_equal(strv_add(&agent.known_tools, own[i]), 0);
	assert_int_equal(known_tools(&agent, &known), 0);
	assert_string_equal(known.items[0], "read");
	assert_string_equal(known.items[1], "write");
	assert_string_equal(known.items[known.count - 2], "zeta");
	assert_string_equal(known.items[known.count - 1], "alpha");
	for (size_t i = 0; i < known.count; i++)
		for (size_t j = i + 1; j < known.count; j++)
			assert_string_not_equal(known.items[i], known.items[j]);
	for (size_t i = 0; i < tool_group_count; i++)
		for (size_t j = 0; tool_groups[i].tools[j] != NULL; j++)
			assert_true(strv_contains(&known, tool_groups[i].tools[j]));
	strv_release(&agent.known_tools);
}

static void tables_have_seven_profiles_eleven_groups(void **state)
{
	(void)state;
	assert_int_equal(tool_profile_count, 7);
	assert_int_equal(tool_group_count, 11);
	assert_null(tool_profile_find("full")->tools[0]);
	assert_null(tool_profile_find("Coding"));
	assert_null(tool_profile_find("constructor"));
	assert_null(tool_group_find("coding"));
}

static void restriction_unreadable_leaves_no_tool(void **state)
{
	struct agent_config agent = { .id = NULL };
	struct strv known CLEANUP(strv) = { NULL, 0, 0 };
	struct tool_policy policy = { .profile = (char *)"full" };
	struct skill_restriction skill = { .kind = RESTRICTION_UNREADABLE };
	struct effective_tools effective;

	(void)state;
	assert_int_equal(known_tools(&agent, &known), 0);
	assert_int_equal(resolve_tools(&policy, &known, &skill, &effective), 0);
	assert_int_equal(effective.tools.count, 0);
	assert_int_equal(effective.excluded_count, known.count);
	assert_false(effective_tools_allow(&effective, "exec"));
	effective_tools_release(&effective);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_all_match),
		cmocka_unit_test(random_policies_match_plain_sets),
		cmocka_unit_test(known_tools_has_each_once_own_last),
		cmocka_unit_test(tables_have_seven_profiles_eleven_groups),
		cmocka_unit_test(restriction_unreadable_leaves_no_tool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
