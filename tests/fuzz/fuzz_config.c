// SPDX-License-Identifier: Apache-2.0
//
// Input: a skillfs.yaml. What is refused is refused with a place and a message
// for one line; what is taken prints, and reads back to the same.
#include <errno.h>
#include <unistr.h>

#include "fuzz.h"
#include "policy/config.h"

#define NAME "skillfs.yaml"

static int parse(const char *text, size_t len, struct config **ret, struct error *error)
{
	char *copy = fuzz_copy(text, len);
	int rc = config_parse(NAME, copy, len, ret, error);

	free(copy);
	return rc;
}

// As loader_fail() writes it: NAME:LINE:COLUMN: WHAT, fit for a terminal and a log.
static void check_message(const char *message, size_t lines)
{
	unsigned long line = 0, column = 0;
	int used = 0;

	FUZZ_CHECK(sscanf(message, NAME ":%lu:%lu: %n", &line, &column, &used) == 2 && used > 0 &&
			   message[used] != '\0',
		   "'%s'", message);
	// libyaml counts other line ends, too.
	FUZZ_CHECK(line >= 1 && line <= lines && column >= 1, "'%s': there are %zu lines", message, lines);
	FUZZ_CHECK(!fuzz_has_control(message), "'%s'", message);
	FUZZ_CHECK(u8_check((const uint8_t *)message, strlen(message)) == NULL, "'%s' is not UTF-8", message);
}

// All line ends of YAML 1.1; one line more for a place behind the last.
static size_t count_lines(const char *text, size_t len)
{
	size_t lines = 2;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n' || text[i] == '\r' || text[i] == '\x85' || text[i] == '\xA8' ||
			 text[i] == '\xA9';
	return lines;
}

// All values, without where they are from.
static struct buf print_values(struct config *config)
{
	const size_t origins = config->origin_count;
	struct buf text = BUF_INIT;
	int rc;

	config->origin_count = 0;
	rc = config_print(config, &text);
	config->origin_count = origins;
	FUZZ_CHECK(rc == 0, "printing: %d", rc);
	return text;
}

static struct buf print(const struct config *config)
{
	struct buf text = BUF_INIT;
	int rc = config_print(config, &text);

	FUZZ_CHECK(rc == 0, "printing: %d", rc);
	return text;
}

static bool is_same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

// What the printed form could leave out without being another text.
static void check_equal(const struct config *a, const struct config *b)
{
	FUZZ_CHECK(a->agent_count == b->agent_count && a->mount.class_count == b->mount.class_count &&
			   a->severity_count == b->severity_count &&
			   a->custom_rule_count == b->custom_rule_count,
		   "counts");
	FUZZ_CHECK(memcmp(a->has_context_cap, b->has_context_cap, sizeof(a->has_context_cap)) == 0,
		   "contexts");
	for (size_t i = 0; i < a->custom_rule_count; i++)
		FUZZ_CHECK(strcmp(a->custom_rules[i].pattern, b->custom_rules[i].pattern) == 0 &&
				   strcmp(a->custom_rules[i].id, b->custom_rules[i].id) == 0,
			   "custom rule %zu", i);
	for (size_t i = 0; i < a->agent_count; i++)
		FUZZ_CHECK(strcmp(a->agents[i].id, b->agents[i].id) == 0 &&
				   a->agents[i].sandbox.memory_max == b->agents[i].sandbox.memory_max,
			   "agent %zu", i);
	for (size_t i = 0; i < a->mount.class_count; i++)
		FUZZ_CHECK(strcmp(a->mount.classes[i].glob, b->mount.classes[i].glob) == 0, "class %zu", i);
}

static void check_printed(struct config *config)
{
	struct buf first = print(config), second, first_values = print_values(config), second_values;
	struct config *again = NULL, *thrice = NULL;
	struct error error = { "" };
	int rc = parse(first.data, first.len, &again, &error);

	FUZZ_CHECK(rc == 0, "what was printed is not read: %s\n%s", error.message, first.data);
	second_values = print_values(again);
	FUZZ_CHECK(is_same(&first_values, &second_values), "reads back as another:\n%s\n%s",
		   first_values.data, second_values.data);
	check_equal(config, again);
	// Now each value has a place, and its place is in the printed form.
	second = print(again);
	rc = parse(second.data, second.len, &thrice, &error);
	FUZZ_CHECK(rc == 0, "%s\n%s", error.message, second.data);
	buf_release(&first);
	first = print(thrice);
	FUZZ_CHECK(is_same(&first, &second), "no fixed point:\n%s\n%s", second.data, first.data);
	config_free(again);
	config_free(thrice);
	buf_release(&first);
	buf_release(&second);
	buf_release(&first_values);
	buf_release(&second_values);
}

static void check_look_ups(const struct config *config)
{
	static const char *const tools[] = { "bash", "mcp__a", "nothing" };
	enum file_class cls;

	FUZZ_CHECK(config_agent(config, DEFAULT_AGENT) == &config->agents[0], "the default agent");
	for (size_t i = 0; i < config->agent_count; i++)
		for (size_t k = 0; k < sizeof(tools) / sizeof(tools[0]); k++)
			FUZZ_CHECK(config_source_profile(&config->agents[i], tools[k]) != NULL, "%s",
				   tools[k]);
	for (size_t i = 0; i < config->origin_count; i++)
		FUZZ_CHECK(config_origin(config, config->origins[i].key) != NULL, "%s",
			   config->origins[i].key);
	(void)config_class(config, "a/b.md", &cls);
	(void)config_class(config, "[a", &cls);
}

// A pattern that does not compile is refused with a message, by whoever makes the scanner.
static void check_rules(const struct config *config)
{
	struct scanner *scanner = NULL;
	struct error error = { "" };
	int rc;

	if (config->custom_rule_count == 0)
		return;
	rc = scanner_new(config->custom_rules, config->custom_rule_count, &scanner, &error);
	FUZZ_CHECK(rc == 0 || (rc == -EINVAL && error.message[0] != '\0'), "%d: %s", rc, error.message);
	scanner_free(scanner);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct piece input = fuzz_input(data, size);
	const size_t lines = count_lines(input.data, input.len);
	struct config *config = NULL;
	struct error error = { "" };
	int rc = parse(input.data, input.len, &config, &error);

	if (rc < 0) {
		FUZZ_CHECK(rc == -EINVAL && config == NULL, "%d", rc);
		check_message(error.message, lines);
		return 0;
	}
	FUZZ_CHECK(error.message[0] == '\0', "'%s'", error.message);
	FUZZ_CHECK(config->warnings.count <= CONFIG_MAX_WARNINGS + 1, "%zu", config->warnings.count);
	for (size_t i = 0; i < config->warnings.count && i < CONFIG_MAX_WARNINGS; i++)
		check_message(config->warnings.items[i], lines);
	check_look_ups(config);
	check_rules(config);
	check_printed(config);
	config_free(config);
	return 0;
}
