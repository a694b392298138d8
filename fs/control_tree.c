// SPDX-License-Identifier: Apache-2.0
#include "fs/control_tree.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/control_render.h"
#include "policy/profile.h"
#include "sanitize/cleanup.h"

#define AGENTS_MAX     4096 // what an inode number has room for
#define JOBS_LISTED    256
#define NAME_BYTES_MAX 255

// What stands for a `{name}` in a path.
enum variable {
	VARIABLE_NONE,
	VARIABLE_AGENT,
	VARIABLE_PROFILE,
	VARIABLE_GROUP,
	VARIABLE_SKILL,
	VARIABLE_JOB
};

struct tree_row {
	const char *path;
	enum tree_kind kind;
	enum variable variable; // of the last component
	render_function *render;
	enum job_stream stream;
};

#define ROW(name, type, ...)                                                                                 \
	{                                                                                                    \
		.path = (name), .kind = (type), ##__VA_ARGS__                                                \
	}

// The order does not matter, but for the root, which is the first.
// clang-format off
static const struct tree_row rows[] = {
	ROW("", TREE_DIRECTORY),
	ROW("README", TREE_FILE, .render = render_readme),
	ROW("status", TREE_FILE, .render = render_status),
	ROW("findings", TREE_FILE, .render = render_findings),
	ROW("quarantine", TREE_FILE, .render = render_quarantine),
	ROW("audit", TREE_FILE, .render = render_audit),
	ROW("exec", TREE_LINK, .render = render_link_exec),
	ROW("jobs", TREE_LINK, .render = render_link_jobs),
	ROW("policy", TREE_DIRECTORY),
	ROW("policy/config.yaml", TREE_FILE, .render = render_config),
	ROW("policy/rules.json", TREE_FILE, .render = render_rules),
	ROW("policy/profiles", TREE_DIRECTORY),
	ROW("policy/profiles/{profile}", TREE_FILE, .variable = VARIABLE_PROFILE, .render = render_profile),
	ROW("policy/groups", TREE_DIRECTORY),
	ROW("policy/groups/{group}", TREE_FILE, .variable = VARIABLE_GROUP, .render = render_group),
	ROW("agents", TREE_DIRECTORY),
	ROW("agents/{agent}", TREE_DIRECTORY, .variable = VARIABLE_AGENT),
	ROW("agents/{agent}/tools", TREE_FILE, .render = render_tools),
	ROW("agents/{agent}/policy.json", TREE_FILE, .render = render_policy),
	ROW("agents/{agent}/source-profiles.json", TREE_FILE, .render = render_source_profiles),
	ROW("agents/{agent}/exec", TREE_EXEC),
	ROW("agents/{agent}/skills", TREE_DIRECTORY),
	ROW("agents/{agent}/skills/{skill}", TREE_DIRECTORY, .variable = VARIABLE_SKILL),
	ROW("agents/{agent}/skills/{skill}/tools", TREE_FILE, .render = render_tools),
	ROW("agents/{agent}/skills/{skill}/policy.json", TREE_FILE, .render = render_policy),
	ROW("agents/{agent}/jobs", TREE_DIRECTORY),
	ROW("agents/{agent}/jobs/last", TREE_LINK, .render = render_link_last),
	ROW("agents/{agent}/jobs/{job}", TREE_DIRECTORY, .variable = VARIABLE_JOB),
	ROW("agents/{agent}/jobs/{job}/status", TREE_FILE, .render = render_job_status),
	ROW("agents/{agent}/jobs/{job}/wait", TREE_WAIT),
	ROW("agents/{agent}/jobs/{job}/stdout", TREE_STREAM, .stream = STREAM_STDOUT),
	ROW("agents/{agent}/jobs/{job}/stderr", TREE_STREAM, .stream = STREAM_STDERR),
	ROW("agents/{agent}/jobs/{job}/output", TREE_STREAM, .stream = STREAM_OUTPUT),
};
// clang-format on

struct tree {
	const struct daemon *daemon;
	struct jobs *jobs;
	struct strv
		skills; // every skill path ever seen; its index is its id. Bounded by what the source holds over time.
	void *skill_ids; // the same by path: a tsearch(3) tree of struct skill_entry
};

struct skill_entry {
	const char *path; // in `skills`
	uint32_t id;
};

int tree_new(const struct daemon *daemon, struct jobs *jobs, struct tree **ret)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	if (tree == NULL)
		return -ENOMEM;
	tree->daemon = daemon;
	tree->jobs = jobs;
	*ret = tree;
	return 0;
}

void tree_free(struct tree *tree)
{
	if (tree == NULL)
		return;
	tdestroy(tree->skill_ids, free);
	strv_release(&tree->skills);
	free(tree);
}

struct tree_node tree_root(void)
{
	return (struct tree_node){ .row = &rows[0] };
}

enum tree_kind tree_kind(const struct tree_node *node)
{
	return node->row->kind;
}

enum job_stream tree_stream(const struct tree_node *node)
{
	return node->row->stream;
}

mode_t tree_mode(const struct tree_node *node)
{
	switch (node->row->kind) {
	case TREE_DIRECTORY:
		return S_IFDIR | 0500;
	case TREE_LINK:
		return S_IFLNK | 0777;
	case TREE_EXEC:
		return S_IFREG | 0600;
	case TREE_FILE:
	case TREE_STREAM:
	case TREE_WAIT:
		return S_IFREG | 0400;
	}
	return 0;
}

uint64_t tree_ino(const struct tree_node *node)
{
	uint64_t row = (uint64_t)(node->row - rows);

	return row == 0 ? TREE_ROOT_INO : row << 44 | (uint64_t)node->agent << 32 | node->item;
}

static const struct tree_row *parent_row(const struct tree_row *row)
{
	const char *slash = strrchr(row->path, '/');
	size_t len = slash == NULL ? 0 : (size_t)(slash - row->path);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strlen(rows[i].path) == len && strncmp(rows[i].path, row->path, len) == 0)
			return &rows[i];
	}
	return &rows[0];
}

static bool below_variable(const struct tree_row *row, enum variable variable)
{
	for (; row != &rows[0]; row = parent_row(row)) {
		if (row->variable == variable)
			return true;
	}
	return false;
}

uint64_t tree_parent_ino(const struct tree_node *node)
{
	const struct tree_row *row = parent_row(node->row);
	struct tree_node parent = { .row = row };

	if (node->row == &rows[0])
		return TREE_ROOT_INO;
	if (below_variable(row, VARIABLE_AGENT))
		parent.agent = node->agent;
	if (below_variable(row, VARIABLE_SKILL) || below_variable(row, VARIABLE_JOB))
		parent.item = node->item;
	return tree_ino(&parent);
}

char *tree_name_encode(const char *path)
{
	CLEANUP(buf) struct buf name = BUF_INIT;
	int rc = 0;

	// "." is no folder's name, so that no skill can take the root's place.
	if (path[0] == '\0' || strcmp(path, ".") == 0 || strcmp(path, "..") == 0)
		rc = buf_append_string(&name, path[0] == '\0' || path[1] == '\0' ? "%2E" : "%2E%2E");
	else
		for (const char *at = path; rc == 0 && *at != '\0'; at++) {
			unsigned char c = (unsigned char)*at;

			if (c == '/' || c == '%' || c < 0x20 || c == 0x7f)
				rc = buf_printf(&name, "%%%02X", c);
			else
				rc = buf_append_byte(&name, c);
		}
	return rc < 0 ? NULL : buf_detach(&name);
}

static int compare_skills(const void *a, const void *b)
{
	return strcmp(((const struct skill_entry *)a)->path, ((const struct skill_entry *)b)->path);
}

static int skill_id(struct tree *tree, const char *path, uint32_t *ret)
{
	struct skill_entry key = { .path = path };
	struct skill_entry **found = tfind(&key, &tree->skill_ids, compare_skills);
	struct skill_entry *entry;
	int rc;

	if (found != NULL) {
		*ret = (*found)->id;
		return 0;
	}
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		return -ENOMEM;
	rc = strv_add(&tree->skills, path);
	if (rc < 0) {
		free(entry);
		return rc;
	}
	entry->id = (uint32_t)tree->skills.count - 1;
	entry->path = tree->skills.items[entry->id];
	if (tsearch(entry, &tree->skill_ids, compare_skills) == NULL) {
		free(entry);
		return -ENOMEM;
	}
	*ret = (uint32_t)tree->skills.count - 1;
	return 0;
}

static int hex_value(char c)
{
	const char *digits = "0123456789ABCDEF";
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? -1 : (int)(at - digits);
}

// The path that a skill's folder name stands for, or NULL.
static char *decode_name(const char *name)
{
	CLEANUP(free) char *path = malloc(strlen(name) + 1);
	CLEANUP(free) char *again = NULL;
	char *to = path;

	if (path == NULL)
		return NULL;
	for (const char *at = name; *at != '\0'; at++) {
		if (*at != '%') {
			*to++ = *at;
		} else if (hex_value(at[1]) >= 0 && hex_value(at[2]) >= 0) {
			*to++ = (char)(hex_value(at[1]) << 4 | hex_value(at[2]));
			at += 2;
		} else {
			return NULL;
		}
	}
	*to = '\0';
	if (strcmp(name, "%2E") == 0)
		path[0] = '\0';
	// One path, one name.
	again = tree_name_encode(path);
	return again != NULL && strcmp(again, name) == 0 ? take(path) : NULL;
}

struct listing {
	struct tree *tree;
	const struct tree_row *row;
	struct tree_node node; // but for what the variable sets
	int (*visit)(void *context, const char *name, const struct tree_node *node);
	void *context;
};

static int give(struct listing *listing, const char *plain)
{
	CLEANUP(free) char *name = tree_name_encode(plain);

	if (name == NULL)
		return -ENOMEM;
	if (strlen(name) > NAME_BYTES_MAX)
		return 0;
	return listing->visit(listing->context, name, &listing->node);
}

static int list_agents(struct listing *listing)
{
	const struct config *config = listing->tree->daemon->config;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < config->agent_count && i < AGENTS_MAX; i++) {
		listing->node.agent = i;
		rc = give(listing, config->agents[i].id);
	}
	return rc;
}

static int list_profiles(struct listing *listing)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < tool_profile_count; i++) {
		listing->node.item = i;
		rc = give(listing, tool_profiles[i].name);
	}
	return rc;
}

static int list_groups(struct listing *listing)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < tool_group_count; i++) {
		const char *colon = strchr(tool_groups[i].name, ':');

		listing->node.item = i;
		rc = give(listing, colon == NULL ? tool_groups[i].name : colon + 1);
	}
	return rc;
}

static int list_skills(struct listing *listing)
{
	CLEANUP(strv) struct strv skills = { 0 };
	int rc = ledger_skills(listing->tree->daemon->ledger, &skills);

	for (size_t i = 0; rc == 0 && i < skills.count; i++) {
		rc = skill_id(listing->tree, skills.items[i], &listing->node.item);
		if (rc == 0)
			rc = give(listing, skills.items[i]);
	}
	return rc;
}

static int list_jobs(struct listing *listing)
{
	uint32_t numbers[JOBS_LISTED];
	const char *agent = tree_agent(listing->tree, &listing->node);
	size_t count = jobs_list(listing->tree->jobs, agent, numbers, ARRAY_SIZE(numbers));
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%u", numbers[i]);
		listing->node.item = numbers[i];
		rc = listing->visit(listing->context, name, &listing->node);
	}
	return rc;
}

static int list_plain(struct listing *listing)
{
	const char *slash = strrchr(listing->row->path, '/');

	if (listing->row->render == render_link_last &&
	    jobs_last(listing->tree->jobs, tree_agent(listing->tree, &listing->node)) == 0)
		return 0;
	return listing->visit(listing->context, slash == NULL ? listing->row->path : slash + 1,
			      &listing->node);
}

static int (*const listers[])(struct listing *listing) = {
	[VARIABLE_NONE] = list_plain,   [VARIABLE_AGENT] = list_agents, [VARIABLE_PROFILE] = list_profiles,
	[VARIABLE_GROUP] = list_groups, [VARIABLE_SKILL] = list_skills, [VARIABLE_JOB] = list_jobs,
};

int tree_list(struct tree *tree, const struct tree_node *parent,
	      int (*visit)(void *context, const char *name, const struct tree_node *node), void *context)
{
	int rc = 0;

	if (parent->row->kind != TREE_DIRECTORY)
		return -ENOTDIR;
	for (size_t i = 1; rc == 0 && i < ARRAY_SIZE(rows); i++) {
		struct listing listing = {
			.tree = tree,
			.row = &rows[i],
			.node = { .row = &rows[i], .agent = parent->agent, .item = parent->item },
			.visit = visit,
			.context = context,
		};

		if (parent_row(&rows[i]) == parent->row)
			rc = listers[rows[i].variable](&listing);
	}
	return rc;
}

struct search {
	const char *name;
	struct tree_node found;
};

static int compare(void *context, const char *name, const struct tree_node *node)
{
	struct search *search = context;

	if (strcmp(name, search->name) != 0)
		return 0;
	search->found = *node;
	return -EEXIST;
}

static bool skill_visible(const struct tree *tree, uint32_t id)
{
	struct snapshot *snapshot = ledger_skill(tree->daemon->ledger, tree->skills.items[id]);

	snapshot_unref(snapshot);
	return snapshot != NULL;
}

static int lookup_skill(struct tree *tree, const struct tree_node *parent, const char *name,
			struct tree_node *ret)
{
	CLEANUP(free) char *path = decode_name(name);
	CLEANUP(snapshot)
	struct snapshot *snapshot = path == NULL ? NULL : ledger_skill(tree->daemon->ledger, path);
	struct tree_node node = { .agent = parent->agent };
	int rc;

	if (snapshot == NULL)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].variable == VARIABLE_SKILL)
			node.row = &rows[i];
	}
	rc = skill_id(tree, path, &node.item);
	if (rc == 0)
		*ret = node;
	return rc;
}

int tree_lookup(struct tree *tree, const struct tree_node *parent, const char *name, struct tree_node *ret)
{
	struct search search = { .name = name };
	int rc;

	// Not by listing: there may be thousands.
	if (strcmp(parent->row->path, "agents/{agent}/skills") == 0)
		return lookup_skill(tree, parent, name, ret);
	rc = tree_list(tree, parent, compare, &search);
	if (rc == 0)
		return -ENOENT;
	if (rc != -EEXIST)
		return rc;
	*ret = search.found;
	return 0;
}

bool tree_find(struct tree *tree, uint64_t ino, struct tree_node *ret)
{
	uint64_t row = ino >> 44;
	struct tree_node node = { .agent = (uint32_t)(ino >> 32) & (AGENTS_MAX - 1), .item = (uint32_t)ino };

	if (ino == TREE_ROOT_INO) {
		*ret = tree_root();
		return true;
	}
	if (row == 0 || row >= ARRAY_SIZE(rows))
		return false;
	node.row = &rows[row];
	if (node.agent >= tree->daemon->config->agent_count)
		return false;
	if (below_variable(node.row, VARIABLE_SKILL) &&
	    (node.item >= tree->skills.count || !skill_visible(tree, node.item)))
		return false;
	if ((node.row->variable == VARIABLE_PROFILE && node.item >= tool_profile_count) ||
	    (node.row->variable == VARIABLE_GROUP && node.item >= tool_group_count))
		return false;
	if (below_variable(node.row, VARIABLE_JOB)) {
		struct job_record *record = tree_job(tree, &node);

		if (record == NULL)
			return false;
		job_record_unref(tree->jobs, record);
	}
	*ret = node;
	return true;
}

const char *tree_agent(const struct tree *tree, const struct tree_node *node)
{
	return tree->daemon->config->agents[node->agent].id;
}

struct job_record *tree_job(struct tree *tree, const struct tree_node *node)
{
	return jobs_find(tree->jobs, tree_agent(tree, node), node->item);
}

int tree_render(struct tree *tree, const struct tree_node *node, struct buf *ret)
{
	struct render_context context = { .daemon = tree->daemon, .jobs = tree->jobs, .item = node->item };

	if (node->row->render == NULL)
		return -EINVAL;
	if (below_variable(node->row, VARIABLE_AGENT))
		context.agent = &tree->daemon->config->agents[node->agent];
	if (below_variable(node->row, VARIABLE_SKILL))
		context.skill = tree->skills.items[node->item];
	return node->row->render(&context, ret);
}
