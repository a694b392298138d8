// SPDX-License-Identifier: Apache-2.0
//
// Precision and recall on a corpus of skills:
//
//   corpus-measure DIR [FRACTION]
//
// DIR/benign holds good skills: all files that would be hidden are listed with
// the findings that hide them, and the share of them among SKILL.md files and
// among text files must not exceed FRACTION (default 0.012).
// DIR/malicious/labels.jsonl names bad files, what the 18 rules should say of
// them (`seed_rules`, `readings_agree`) and what a good scanner would (`ideal`):
// those of a critical rule must be hidden unless they are ideally clean, and of
// the ideally clean ones three may be.
//
// Exits with 0 when all that holds, 1 when not, 2 when the corpus can't be read.
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sanitize/buf.h"
#include "sanitize/classify.h"
#include "sanitize/inspect.h"
#include "sanitize/rules.h"
#include "sanitize/scan.h"

#define FILE_MAX         ((size_t)64 << 20)
#define CLEAN_HIDDEN_MAX 3

static struct scanner *scanner;

static struct {
	size_t skills, skills_hidden, text, text_hidden, binary, binary_hidden;
	size_t by_rule[64];
	bool failed;
} benign;

static void __attribute__((noreturn)) cannot_read(const char *path)
{
	fprintf(stderr, "corpus-measure: %s: cannot be read\n", path);
	exit(2);
}

static void join_path(char *ret, size_t size, const char *dir, const char *name)
{
	int length = snprintf(ret, size, "%s/%s", dir, name);

	if (length < 0 || (size_t)length >= size)
		cannot_read(dir);
}

static int read_file(const char *path, struct buf *ret)
{
	FILE *file = fopen(path, "r");
	char chunk[65536];
	size_t got;
	int rc = 0;

	if (file == NULL)
		return -errno;
	while (rc == 0 && (got = fread(chunk, 1, sizeof(chunk), file)) > 0)
		rc = ret->len + got > FILE_MAX ? -EFBIG : buf_append(ret, chunk, got);
	(void)fclose(file);
	return rc;
}

static bool is_hidden(const struct report *report)
{
	size_t i;

	for (i = 0; i < report->findings.count; i++) {
		if (report->findings.items[i].severity == SEVERITY_CRITICAL)
			return true;
	}
	return report->scan_failed;
}

static void print_criticals(const char *path, const struct report *report)
{
	size_t i, j;

	printf("  %s\n", path);
	if (report->scan_failed)
		printf("    SCAN_LIMIT\n");
	for (i = 0; i < report->findings.count; i++) {
		const struct finding *finding = &report->findings.items[i];

		if (finding->severity != SEVERITY_CRITICAL)
			continue;
		printf("    %zu %s (%s): ", finding->line, finding->rule->id, context_name(finding->context));
		for (j = 0; finding->matched_text[j] != '\0'; j++)
			(void)putchar(finding->matched_text[j] == '\n' ? ' ' : finding->matched_text[j]);
		(void)putchar('\n');
	}
}

static int inspect_file(const char *path, struct report *ret)
{
	const struct inspect_options options = { .max_body_length = MAX_BODY_LENGTH_DEFAULT, .scan = true };
	const char *slash = strrchr(path, '/');
	struct buf data = BUF_INIT;
	int rc = read_file(path, &data);

	if (rc == 0)
		rc = inspect(scanner, &options, slash == NULL ? path : slash + 1, data.data, data.len, ret);
	buf_release(&data);
	return rc;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	struct report report = { 0 };
	bool hidden, skill, seen[64] = { false };
	size_t i;

	(void)st;
	if (type != FTW_F)
		return 0;
	if (inspect_file(path, &report) < 0) {
		fprintf(stderr, "corpus-measure: %s: cannot inspect\n", path);
		benign.failed = true;
		return 0;
	}
	hidden = is_hidden(&report);
	skill = classify_is_skill_md(path + walk->base);
	benign.skills += skill;
	benign.skills_hidden += skill && hidden;
	if (report.cls == CLASS_BINARY) {
		benign.binary++;
		benign.binary_hidden += hidden;
	} else {
		benign.text++;
		benign.text_hidden += hidden;
	}
	for (i = 0; i < report.findings.count; i++) {
		size_t rule;

		for (rule = 0; rule < rule_count && &rules[rule] != report.findings.items[i].rule; rule++)
			;
		if (rule < sizeof(seen) && !seen[rule]) {
			seen[rule] = true;
			benign.by_rule[rule]++;
		}
	}
	if (hidden)
		print_criticals(path, &report);
	report_release(&report);
	return 0;
}

static void print_share(const char *what, size_t hidden, size_t all)
{
	printf("%-22s %6zu %6zu hidden %6.2f %%\n", what, all, hidden,
	       all == 0 ? 0 : 100.0 * (double)hidden / (double)all);
}

static bool measure_benign(const char *dir, double fraction)
{
	size_t i;

	printf("benign files that would be hidden:\n");
	if (nftw(dir, visit, 16, FTW_PHYS) < 0 || benign.text == 0)
		cannot_read(dir);
	printf("\nbenign\n");
	print_share("SKILL.md", benign.skills_hidden, benign.skills);
	print_share("text files", benign.text_hidden, benign.text);
	print_share("binary files", benign.binary_hidden, benign.binary);
	printf("\nbenign files with a finding, by rule\n");
	for (i = 0; i < rule_count; i++) {
		if (benign.by_rule[i] > 0)
			printf("%-24s %-8s %4zu\n", rules[i].id, severity_name(rules[i].severity),
			       benign.by_rule[i]);
	}
	return !benign.failed && (double)benign.skills_hidden <= fraction * (double)benign.skills &&
	       (double)benign.text_hidden <= fraction * (double)benign.text;
}

static bool names_critical(const json_t *ids)
{
	size_t i;

	for (i = 0; i < json_array_size(ids); i++) {
		const struct rule *rule = rule_find(json_string_value(json_array_get(ids, i)));

		if (rule != NULL && rule->severity == SEVERITY_CRITICAL)
			return true;
	}
	return false;
}

static bool measure_malicious(const char *dir)
{
	size_t agreed = 0, agreed_hidden = 0, clean = 0, clean_hidden = 0, critical = 0, critical_hidden = 0;
	struct buf labels = BUF_INIT;
	char path[4096], *line, *rest;

	join_path(path, sizeof(path), dir, "labels.jsonl");
	if (read_file(path, &labels) < 0)
		cannot_read(path);
	printf("\nmalicious files that are not as labelled:\n");
	for (rest = labels.data; (line = strsep(&rest, "\n")) != NULL;) {
		json_t *label = json_loads(line, 0, NULL);
		const char *name, *ideal;
		struct report report = { 0 };
		bool hidden, must;

		if (label == NULL)
			continue;
		name = json_string_value(json_object_get(label, "path"));
		ideal = json_string_value(json_object_get(label, "ideal"));
		if (name == NULL || ideal == NULL)
			cannot_read("labels.jsonl");
		join_path(path, sizeof(path), dir, name);
		if (inspect_file(path, &report) < 0)
			cannot_read(path);
		hidden = is_hidden(&report);
		must = names_critical(json_object_get(label, "seed_rules")) &&
		       json_is_true(json_object_get(label, "readings_agree")) && strcmp(ideal, "clean") != 0;
		agreed += must;
		agreed_hidden += must && hidden;
		if (must && !hidden)
			printf("  %s: not hidden\n", name);
		critical += strcmp(ideal, "critical") == 0;
		critical_hidden += strcmp(ideal, "critical") == 0 && hidden;
		if (strcmp(ideal, "clean") == 0) {
			clean++;
			clean_hidden += hidden;
			if (hidden)
				print_criticals(path, &report);
		}
		report_release(&report);
		json_decref(label);
	}
	buf_release(&labels);
	printf("\nmalicious\n");
	print_share("critical by the rules", agreed_hidden, agreed);
	print_share("ideally critical", critical_hidden, critical);
	print_share("ideally clean", clean_hidden, clean);
	return agreed > 0 && agreed_hidden == agreed && clean_hidden <= CLEAN_HIDDEN_MAX;
}

int main(int argc, char **argv)
{
	double fraction = argc > 2 ? strtod(argv[2], NULL) : 0.012;
	struct error error = { "" };
	char path[4096];
	bool good;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: corpus-measure DIR [FRACTION]\n");
		return 2;
	}
	if (scanner_new(NULL, 0, &scanner, &error) < 0) {
		fprintf(stderr, "corpus-measure: %s\n", error.message);
		return 2;
	}
	join_path(path, sizeof(path), argv[1], "benign");
	good = measure_benign(path, fraction);
	join_path(path, sizeof(path), argv[1], "malicious");
	good = measure_malicious(path) && good;
	scanner_free(scanner);
	printf("\n%s\n", good ? "as required" : "NOT AS REQUIRED");
	return good ? 0 : 1;
}
