// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "fs/audit.h"
#include "sanitize/cleanup.h"

static char directory[] = "/tmp/skillfs-audit-XXXXXX";
static char file[64];

static int make_directory(void **state)
{
	(void)state;
	memcpy(directory + sizeof(directory) - 7, "XXXXXX", 6);
	if (mkdtemp(directory) == NULL)
		return -1;
	(void)snprintf(file, sizeof(file), "%s/audit.jsonl", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	(void)unlink(file);
	return rmdir(directory);
}

static void write_file(const char *text)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void read_file(struct buf *ret)
{
	char data[4096];
	int fd = open(file, O_RDONLY);
	ssize_t len;

	assert_true(fd >= 0);
	while ((len = read(fd, data, sizeof(data))) > 0)
		assert_int_equal(buf_append(ret, data, (size_t)len), 0);
	(void)close(fd);
}

// The n-th line as an object.
static json_t *line(const struct buf *text, size_t n)
{
	const char *at = text->data;
	json_t *value;

	for (; n > 0; n--) {
		at = strchr(at, '\n');
		assert_non_null(at);
		at++;
	}
	value = json_loadb(at, strcspn(at, "\n"), 0, NULL);
	assert_non_null(value);
	return value;
}

static size_t count_lines(const struct buf *text)
{
	size_t count = 0;

	for (size_t i = 0; i < text->len; i++)
		count += text->data[i] == '\n';
	return count;
}

static void event_is_one_line_with_time_and_fields(void **state)
{
	CLEANUP(buf) struct buf tail = BUF_INIT;
	struct audit *audit;
	json_t *value;
	const char *time;

	(void)state;
	assert_int_equal(audit_open(NULL, &audit, NULL), 0);
	audit_event(audit, "exec.start", json_pack("{s:i, s:s}", "job", 7, "command", "a\nb"));
	audit_event(audit, "mount.stop", NULL);
	assert_int_equal(audit_tail(audit, &tail), 0);
	assert_int_equal(count_lines(&tail), 2);
	value = line(&tail, 0);
	time = json_string_value(json_object_get(value, "time"));
	assert_int_equal(strlen(time), strlen("2026-01-02T03:04:05.678Z"));
	assert_int_equal(time[10], 'T');
	assert_int_equal(time[19], '.');
	assert_int_equal(time[23], 'Z');
	assert_string_equal(json_string_value(json_object_get(value, "event")), "exec.start");
	assert_int_equal(json_integer_value(json_object_get(value, "job")), 7);
	assert_string_equal(json_string_value(json_object_get(value, "command")), "a\nb");
	json_decref(value);
	assert_int_equal(audit_lost(audit), 0);
	audit_close(audit);
}

static void memory_keeps_the_newest_lines(void **state)
{
	CLEANUP(buf) struct buf tail = BUF_INIT;
	struct audit *audit;
	json_t *value;

	(void)state;
	assert_int_equal(audit_open(NULL, &audit, NULL), 0);
	for (int i = 0; i < AUDIT_KEPT + 10; i++)
		audit_event(audit, "x", json_pack("{s:i}", "n", i));
	assert_int_equal(audit_tail(audit, &tail), 0);
	assert_int_equal(count_lines(&tail), AUDIT_KEPT);
	value = line(&tail, 0);
	assert_int_equal(json_integer_value(json_object_get(value, "n")), 10);
	json_decref(value);
	value = line(&tail, AUDIT_KEPT - 1);
	assert_int_equal(json_integer_value(json_object_get(value, "n")), AUDIT_KEPT + 9);
	json_decref(value);
	audit_close(audit);
}

static void huge_event_is_cut_to_its_name(void **state)
{
	CLEANUP(buf) struct buf tail = BUF_INIT;
	CLEANUP(free) char *huge = malloc(200001);
	struct audit *audit;
	json_t *value;

	(void)state;
	memset(huge, 'a', 200000);
	huge[200000] = '\0';
	assert_int_equal(audit_open(NULL, &audit, NULL), 0);
	audit_event(audit, "x", json_pack("{s:s}", "text", huge));
	assert_int_equal(audit_tail(audit, &tail), 0);
	assert_true(tail.len < 200);
	value = line(&tail, 0);
	assert_true(json_is_true(json_object_get(value, "omitted")));
	json_decref(value);
	audit_close(audit);
}

static void file_is_private_and_appended(void **state)
{
	CLEANUP(buf) struct buf text = BUF_INIT;
	struct audit *audit;
	struct stat st;

	(void)state;
	write_file("{\"old\":1}\n");
	assert_int_equal(audit_open(directory, &audit, NULL), 0);
	audit_event(audit, "a", NULL);
	audit_close(audit);
	assert_int_equal(audit_open(directory, &audit, NULL), 0);
	audit_event(audit, "b", NULL);
	audit_close(audit);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	read_file(&text);
	assert_int_equal(count_lines(&text), 3);
	assert_memory_equal(text.data, "{\"old\":1}\n", 10);
}

static void torn_line_spoils_itself_only(void **state)
{
	CLEANUP(buf) struct buf text = BUF_INIT;
	struct audit *audit;
	json_t *value;

	(void)state;
	write_file("{\"event\":\"half");
	assert_int_equal(audit_open(directory, &audit, NULL), 0);
	audit_event(audit, "whole", NULL);
	audit_close(audit);
	read_file(&text);
	assert_int_equal(count_lines(&text), 2);
	value = line(&text, 1);
	assert_string_equal(json_string_value(json_object_get(value, "event")), "whole");
	json_decref(value);
}

static void link_in_place_of_the_file_is_refused(void **state)
{
	struct audit *audit;
	struct error error = { "" };

	(void)state;
	assert_int_equal(symlink("/dev/null", file), 0);
	assert_int_equal(audit_open(directory, &audit, &error), -ELOOP);
	assert_non_null(strstr(error.message, "audit.jsonl"));
	assert_int_equal(audit_open("/nonexistent/folder", &audit, &error), -ENOENT);
}

static void snapshot_gives_scan_reject_and_load(void **state)
{
	CLEANUP(buf) struct buf tail = BUF_INIT;
	static const char *const events[] = { "skill.scan", "skill.prompt.load", "skill.scan.reject",
					      "skill.scan" };
	struct report report = { .stats = { .html_comments_stripped = 2 } };
	struct snapshot snapshot = { .verdict = VERDICT_CLEAN, .size = 12, .report = &report };
	struct audit *audit;
	json_t *value;

	(void)state;
	assert_int_equal(audit_open(NULL, &audit, NULL), 0);
	audit_snapshot(audit, "a/SKILL.md", &snapshot);
	snapshot.verdict = VERDICT_CRITICAL;
	audit_snapshot(audit, "a/SKILL.md", &snapshot);
	snapshot.verdict = VERDICT_WARN;
	audit_snapshot(audit, "a/notes.md", &snapshot);
	assert_int_equal(audit_tail(audit, &tail), 0);
	assert_int_equal(count_lines(&tail), ARRAY_SIZE(events));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		value = line(&tail, i);
		assert_string_equal(json_string_value(json_object_get(value, "event")), events[i]);
		if (i == 1) {
			assert_int_equal(json_integer_value(json_object_get(value, "htmlCommentsStripped")),
					 2);
			assert_true(json_is_false(json_object_get(value, "truncated")));
			assert_int_equal(json_integer_value(json_object_get(value, "bodyLength")), 12);
		}
		json_decref(value);
	}
	audit_close(audit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_is_one_line_with_time_and_fields),
		cmocka_unit_test(memory_keeps_the_newest_lines),
		cmocka_unit_test(huge_event_is_cut_to_its_name),
		cmocka_unit_test_setup_teardown(file_is_private_and_appended, make_directory,
						remove_directory),
		cmocka_unit_test_setup_teardown(torn_line_spoils_itself_only, make_directory,
						remove_directory),
		cmocka_unit_test_setup_teardown(link_in_place_of_the_file_is_refused, make_directory,
						remove_directory),
		cmocka_unit_test(snapshot_gives_scan_reject_and_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
