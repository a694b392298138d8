// SPDX-License-Identifier: Apache-2.0
//
// skillfs audit: what a mount found and hid, from its control directory. Only its owner can read that.
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <sys/stat.h>

#include "fs/commands/command.h"
#include "fs/commands/door.h"
#include "fs/output/json.h"
#include "fs/output/text.h"
#include "sanitize/cleanup.h"

#define OPEN_FOLDERS      32
#define MATCH_CHARACTERS  60
#define DETAIL_CHARACTERS 100

// Listing a folder makes the mount scan what is in it; the listing itself is of no interest.
static int visit(const char *path, const struct stat *st, int flag, struct FTW *place)
{
	(void)path;
	(void)st;
	(void)flag;
	(void)place;
	return 0;
}

static int look_at_all(const struct door *door, struct error *error)
{
	CLEANUP(buf) struct buf path = BUF_INIT;
	struct stat st;
	int rc = buf_printf(&path, "%s/%s", door->mountpoint, door->below);

	if (rc < 0)
		return rc;
	if (lstat(path.data, &st) < 0) // hidden, or not there: the quarantine says which
		return errno == ENOENT ? 0 : error_set(error, -errno, "%s: %s", path.data, strerror(errno));
	if (S_ISDIR(st.st_mode) && nftw(path.data, visit, OPEN_FOLDERS, FTW_PHYS | FTW_MOUNT) < 0)
		return error_set(error, -errno, "%s: cannot list: %s", path.data, strerror(errno));
	return 0;
}

static const char *string_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text == NULL ? "" : text;
}

static bool concerns(const json_t *file, const char *below)
{
	const char *path = string_of(file, "path");
	size_t len = strlen(below);

	return len == 0 || (strncmp(path, below, len) == 0 && (path[len] == '\0' || path[len] == '/'));
}

static bool hidden(const json_t *file)
{
	const char *verdict = string_of(file, "verdict");

	return strcmp(verdict, "critical") == 0 || strcmp(verdict, "error") == 0;
}

// The JSON lines of one control file that concern `below`, into `array`; of `findings` those that are not hidden.
static int read_lines(const struct door *door, const char *name, bool want_hidden, json_t *array,
		      struct error *error)
{
	CLEANUP(buf) struct buf path = BUF_INIT;
	CLEANUP(free) char *line = NULL;
	size_t cap = 0, number = 0;
	FILE *file;
	ssize_t len;
	int rc = buf_printf(&path, "%s/%s", door->control, name);

	if (rc < 0)
		return rc;
	file = fopen(path.data, "re");
	if (file == NULL)
		return error_set(error, -errno, "%s: %s", path.data,
				 errno == EACCES ? "only the mount's owner may read it" : strerror(errno));
	while (rc == 0 && (len = getline(&line, &cap, file)) > 0) {
		json_t *value = json_loadb(line, (size_t)len, 0, NULL);

		number++;
		if (value == NULL)
			rc = error_set(error, -EBADMSG, "%s:%zu: not JSON", path.data, number);
		else if (hidden(value) == want_hidden && concerns(value, door->below) &&
			 json_array_append(array, value) < 0)
			rc = -ENOMEM;
		json_decref(value);
	}
	if (rc == 0 && ferror(file))
		rc = error_set(error, -EIO, "%s: %s", path.data, strerror(errno));
	(void)fclose(file);
	return rc;
}

static int put_row(struct buf *buf, const json_t *file, const char *rule, const char *level, json_int_t line,
		   const char *detail, size_t max)
{
	const char *path = string_of(file, "path");
	int rc = buf_printf(buf, "%-8s  %-8s  %-28s ", string_of(file, "verdict"), level, rule);

	if (rc == 0)
		rc = line > 0 ? buf_printf(buf, "%6" JSON_INTEGER_FORMAT "  ", line)
			      : buf_printf(buf, "%6s  ", "-");
	if (rc == 0)
		rc = text_escape(buf, path, strlen(path), TEXT_NO_LIMIT);
	if (rc == 0 && *detail != '\0') {
		rc = buf_append_string(buf, ": ");
		if (rc == 0)
			rc = text_escape(buf, detail, strlen(detail), max);
	}
	return rc < 0 ? rc : buf_append_byte(buf, '\n');
}

// A row a finding, and a row a notice where no finding says why.
static int put_file(struct buf *buf, const json_t *file)
{
	const json_t *findings = json_object_get(file, "findings"),
		     *notices = json_object_get(file, "notices");
	const json_t *item;
	size_t index;
	int rc = 0;

	json_array_foreach(findings, index, item)
	{
		const json_t *omitted = json_object_get(item, "omitted");
		char detail[64];

		(void)snprintf(detail, sizeof(detail),
			       "%" JSON_INTEGER_FORMAT " more; skillfs scan shows all",
			       json_integer_value(omitted));
		if (rc == 0 && omitted != NULL)
			rc = put_row(buf, file, "-", "-", 0, detail, DETAIL_CHARACTERS);
		else if (rc == 0)
			rc = put_row(buf, file, string_of(item, "ruleId"), string_of(item, "severity"),
				     json_integer_value(json_object_get(item, "lineNumber")),
				     string_of(item, "matchedText"), MATCH_CHARACTERS);
	}
	json_array_foreach(notices, index, item)
	{
		if (rc == 0)
			rc = put_row(buf, file, string_of(item, "code"), "notice",
				     json_integer_value(json_object_get(item, "line")),
				     string_of(item, "detail"), DETAIL_CHARACTERS);
	}
	return rc;
}

static int print_table(const struct door *door, const json_t *quarantine, const json_t *findings)
{
	CLEANUP(buf) struct buf out = BUF_INIT;
	const json_t *file;
	size_t index;
	int rc = 0;

	if (json_array_size(quarantine) + json_array_size(findings) > 0)
		rc = buf_printf(&out, "%-8s  %-8s  %-28s %6s  %s\n", "VERDICT", "LEVEL", "RULE", "LINE",
				"PATH");
	json_array_foreach(quarantine, index, file)
	{
		if (rc == 0)
			rc = put_file(&out, file);
	}
	json_array_foreach(findings, index, file)
	{
		if (rc == 0)
			rc = put_file(&out, file);
	}
	if (rc == 0)
		rc = text_escape(&out, door->mountpoint, strlen(door->mountpoint), TEXT_NO_LIMIT);
	if (rc == 0 && *door->below != '\0') {
		rc = buf_append_byte(&out, '/');
		if (rc == 0)
			rc = text_escape(&out, door->below, strlen(door->below), TEXT_NO_LIMIT);
	}
	if (rc == 0)
		rc = buf_printf(&out, ": %zu hidden, %zu visible with findings or notices\n",
				json_array_size(quarantine), json_array_size(findings));
	if (rc == 0)
		(void)fwrite(out.data, 1, out.len, stdout);
	return rc;
}

static int print_json(const struct door *door, json_t *quarantine, json_t *findings)
{
	CLEANUP(buf) struct buf out = BUF_INIT;
	json_t *value = json_pack("{s:o, s:o, s:O, s:O}", "mountpoint", json_text(door->mountpoint), "path",
				  json_text(door->below), "hidden", quarantine, "findings", findings);
	int rc = json_append(&out, value, true);

	json_decref(value);
	if (rc == 0)
		(void)fwrite(out.data, 1, out.len, stdout);
	return rc;
}

static int run_audit(const char *path, bool json)
{
	CLEANUP(door) struct door door = { NULL, NULL, NULL };
	struct error error = { "" };
	json_t *quarantine = json_array(), *findings = json_array();
	int rc = quarantine == NULL || findings == NULL ? -ENOMEM : door_open(path, &door, &error);

	if (rc == 0)
		rc = look_at_all(&door, &error);
	if (rc == 0)
		rc = read_lines(&door, "quarantine", true, quarantine, &error);
	if (rc == 0)
		rc = read_lines(&door, "findings", false, findings, &error);
	if (rc == 0)
		rc = json ? print_json(&door, quarantine, findings)
			  : print_table(&door, quarantine, findings);
	if (rc < 0)
		command_error("audit", error_text(&error, rc));
	json_decref(quarantine);
	json_decref(findings);
	return rc < 0 ? EXIT_USAGE : EXIT_OK;
}

int command_audit(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool json = false;
	int answer;

	while ((answer = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
		if (answer != 'j')
			return command_bad_option("audit", argv, answer);
		json = true;
	}
	if (argc - optind != 1)
		return command_usage("audit", "give one mountpoint, or a path below one");
	return run_audit(argv[optind], json);
}
