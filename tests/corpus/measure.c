// SPDX-License-Identifier: Apache-2.0
//
// Precision and recall on a corpus of skills:
//
//   corpus-measure [--baseline FILE] [--update] DIR
//
// DIR/benign holds good skills: each that would be hidden is listed with the findings that hide it.
// DIR/malicious/labels.jsonl names bad files, what the 18 rules should say of them (`seed_rules`,
// `readings_agree`), what a good scanner would (`ideal`: critical, warn, clean) and what they do (`attack`).
//
// A corpus that the baseline knows is judged by the figures there: none may get worse. Any other is judged by
// fixed limits: of benign SKILL.md and of benign text files at most 1.2 % are hidden, of the malicious
// ones all that a critical rule should find and that are not ideally clean, and of the ideally
// clean ones at most 3 in 62.
//
// Exits with 0 when all that holds, 1 when not, 2 when the corpus or the baseline can't be read.
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "figures.h"
#include "lib/read_file.h"
#include "sanitize/buf.h"
#include "sanitize/classify.h"
#include "sanitize/inspect.h"
#include "sanitize/rules.h"
#include "sanitize/scan.h"

#define FILE_MAX        ((size_t)64 << 20)
#define FRACTION_MAX    0.012
#define CLEAN_HIDDEN(n) ((3 * (n) + 61) / 62)
#define ATTACKS_MAX     64

static struct scanner *scanner;
static struct figures figures;

// How many there are, and how many of them were hidden or found.
struct share {
	size_t all, hit;
};

static struct {
	const char *dir;
	struct share skills, text, binary;
	size_t by_rule[64];
	bool failed;
} benign;

static struct {
	struct share by_rules, clean, critical, warn; // the last three by `ideal`
	struct share by_rule[64];
	struct {
		char name[48];
		struct share critical, warn;
	} attacks[ATTACKS_MAX];
	size_t attack_count;
} malicious;

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
	int rc = read_file(path, FILE_MAX, &data);

	if (rc == 0)
		rc = inspect(scanner, &options, slash == NULL ? path : slash + 1, data.data, data.len, ret);
	buf_release(&data);
	return rc;
}

static void count(struct share *share, bool hit)
{
	share->all++;
	share->hit += hit;
}

static void print_share(const char *what, struct share share, const char *hit)
{
	printf("%-26s %6zu %6zu %s %6.2f %%\n", what, share.all, share.hit, hit,
	       share.all == 0 ? 0 : 100.0 * (double)share.hit / (double)share.all);
}

// Whether the file has a finding of the rule.
static bool has_rule(const struct report *report, const struct rule *rule)
{
	size_t i;

	for (i = 0; i < report->findings.count; i++) {
		if (report->findings.items[i].rule == rule)
			return true;
	}
	return false;
}

// -------------------------------------------------------------------- benign

static int visit(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	struct report report = { 0 };
	bool hidden;
	size_t i;

	if (type != FTW_F)
		return 0;
	figures_add_file(&figures, path + strlen(benign.dir), (size_t)st->st_size);
	if (inspect_file(path, &report) < 0) {
		fprintf(stderr, "corpus-measure: %s: cannot inspect\n", path);
		benign.failed = true;
		return 0;
	}
	hidden = is_hidden(&report);
	if (classify_is_skill_md(path + walk->base))
		count(&benign.skills, hidden);
	count(report.cls == CLASS_BINARY ? &benign.binary : &benign.text, hidden);
	for (i = 0; i < rule_count; i++)
		benign.by_rule[i] += has_rule(&report, &rules[i]);
	if (hidden)
		print_criticals(path + strlen(benign.dir) + 1, &report);
	report_release(&report);
	return 0;
}

static bool measure_benign(const char *dir)
{
	size_t i;

	benign.dir = dir;
	printf("benign files that would be hidden:\n");
	if (nftw(dir, visit, 16, FTW_PHYS) < 0 || benign.text.all == 0)
		cannot_read(dir);
	printf("\nbenign\n");
	print_share("SKILL.md", benign.skills, "hidden");
	print_share("text files", benign.text, "hidden");
	print_share("binary files", benign.binary, "hidden");
	printf("\nbenign files with a finding, by rule\n");
	for (i = 0; i < rule_count; i++) {
		if (benign.by_rule[i] > 0)
			printf("%-26s %-8s %4zu\n", rules[i].id, severity_name(rules[i].severity),
			       benign.by_rule[i]);
		figures_add(&figures, BETTER_LESS, benign.by_rule[i], "benign.files_with.%s", rules[i].id);
	}
	figures_add(&figures, BETTER_LESS, benign.skills.hit, "benign.hidden.SKILL.md");
	figures_add(&figures, BETTER_LESS, benign.text.hit, "benign.hidden.text");
	figures_add(&figures, BETTER_LESS, benign.binary.hit, "benign.hidden.binary");
	return (double)benign.skills.hit <= FRACTION_MAX * (double)benign.skills.all &&
	       (double)benign.text.hit <= FRACTION_MAX * (double)benign.text.all;
}

// ----------------------------------------------------------------- malicious

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

static void count_rules(const json_t *ids, const struct report *report)
{
	size_t i;

	for (i = 0; i < json_array_size(ids); i++) {
		const struct rule *rule = rule_find(json_string_value(json_array_get(ids, i)));

		if (rule != NULL)
			count(&malicious.by_rule[rule - rules], has_rule(report, rule));
	}
}

static void count_attack(const char *name, bool critical, bool hit)
{
	size_t i;

	for (i = 0; i < malicious.attack_count && strcmp(malicious.attacks[i].name, name) != 0; i++)
		;
	if (i == ATTACKS_MAX)
		cannot_read("labels.jsonl: too many attacks");
	if (i == malicious.attack_count) {
		(void)snprintf(malicious.attacks[i].name, sizeof(malicious.attacks[i].name), "%s", name);
		malicious.attack_count++;
	}
	count(critical ? &malicious.attacks[i].critical : &malicious.attacks[i].warn, hit);
	figures_add(&figures, BETTER_MORE, hit, "malicious.found.attack.%s", name);
}

static void judge(const char *name, const json_t *label, const struct report *report)
{
	const char *ideal = json_string_value(json_object_get(label, "ideal"));
	const char *attack = json_string_value(json_object_get(label, "attack"));
	const json_t *ids = json_object_get(label, "seed_rules");
	bool hidden = is_hidden(report), seen = hidden || report->findings.count > 0;

	if (ideal == NULL || attack == NULL)
		cannot_read("labels.jsonl");
	if (strcmp(ideal, "clean") == 0) {
		count(&malicious.clean, hidden);
		if (hidden)
			print_criticals(name, report);
		return;
	}
	if (names_critical(ids) && json_is_true(json_object_get(label, "readings_agree"))) {
		count(&malicious.by_rules, hidden);
		if (!hidden)
			printf("  %s: not hidden\n", name);
	}
	count_rules(ids, report);
	if (strcmp(ideal, "critical") == 0) {
		count(&malicious.critical, hidden);
		count_attack(attack, true, hidden);
	} else {
		count(&malicious.warn, seen);
		count_attack(attack, false, seen);
	}
}

static int by_name(const void *left, const void *right)
{
	return strcmp(left, right); // the name is the first member
}

static void print_malicious(void)
{
	const struct share all = { malicious.critical.all + malicious.warn.all,
				   malicious.critical.hit + malicious.warn.hit };
	size_t i;

	printf("\nmalicious\n");
	print_share("critical by the rules", malicious.by_rules, "hidden");
	print_share("ideally clean", malicious.clean, "hidden");
	printf("\nrecall against the ideal\n");
	print_share("all", all, "found ");
	print_share("ideally critical", malicious.critical, "hidden");
	print_share("ideally warn", malicious.warn, "found ");
	printf("\nrecall by attack          critical hidden   warn  found\n");
	qsort(malicious.attacks, malicious.attack_count, sizeof(malicious.attacks[0]), by_name);
	for (i = 0; i < malicious.attack_count; i++)
		printf("%-26s %6zu %6zu %6zu %6zu\n", malicious.attacks[i].name,
		       malicious.attacks[i].critical.all, malicious.attacks[i].critical.hit,
		       malicious.attacks[i].warn.all, malicious.attacks[i].warn.hit);
	printf("\nmalicious files labelled with a rule, by rule\n");
	for (i = 0; i < rule_count; i++) {
		if (malicious.by_rule[i].all > 0)
			print_share(rules[i].id, malicious.by_rule[i], "found ");
		figures_add(&figures, BETTER_MORE, malicious.by_rule[i].hit, "malicious.found.rule.%s",
			    rules[i].id);
	}
	figures_add(&figures, BETTER_MORE, malicious.by_rules.hit, "malicious.hidden.critical_by_rules");
	figures_add(&figures, BETTER_MORE, malicious.critical.hit, "malicious.hidden.ideal_critical");
	figures_add(&figures, BETTER_MORE, malicious.warn.hit, "malicious.found.ideal_warn");
	figures_add(&figures, BETTER_LESS, malicious.clean.hit, "malicious.hidden.ideal_clean");
}

static bool measure_malicious(const char *dir)
{
	struct buf labels = BUF_INIT;
	char path[4096], *line, *rest;

	join_path(path, sizeof(path), dir, "labels.jsonl");
	if (read_file(path, FILE_MAX, &labels) < 0)
		cannot_read(path);
	printf("\nmalicious files that are not as labelled:\n");
	for (rest = labels.data; (line = strsep(&rest, "\n")) != NULL;) {
		json_t *label = *line == '\0' ? NULL : json_loads(line, 0, NULL);
		const char *name = json_string_value(json_object_get(label, "path"));
		struct report report = { 0 };

		if (*line == '\0')
			continue;
		if (name == NULL)
			cannot_read("labels.jsonl");
		figures_add_label(&figures, line);
		join_path(path, sizeof(path), dir, name);
		if (inspect_file(path, &report) < 0)
			cannot_read(path);
		judge(name, label, &report);
		report_release(&report);
		json_decref(label);
	}
	buf_release(&labels);
	print_malicious();
	return malicious.by_rules.all > 0 && malicious.by_rules.hit == malicious.by_rules.all &&
	       malicious.clean.hit <= CLEAN_HIDDEN(malicious.clean.all);
}

// ----------------------------------------------------------------------- all

static bool is_as_agreed(const char *baseline, bool within_limits)
{
	enum comparison comparison = COMPARISON_UNKNOWN;

	printf("\n");
	if (baseline != NULL && figures_compare(&figures, baseline, &comparison) < 0)
		cannot_read(baseline);
	switch (comparison) {
	case COMPARISON_UNKNOWN:
		printf("%s (a corpus without a baseline is judged by the limits)\n",
		       within_limits ? "as required" : "NOT AS REQUIRED");
		return within_limits;
	case COMPARISON_SAME:
		printf("as in the baseline\n");
		return true;
	case COMPARISON_BETTER:
		printf("better than the baseline: tests/corpus.sh --update DIR takes the new figures over\n");
		return true;
	case COMPARISON_WORSE:
		break;
	}
	printf("WORSE THAN THE BASELINE\n");
	return false;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "baseline", required_argument, NULL, 'b' },
		{ "update", no_argument, NULL, 'u' },
		{ NULL, 0, NULL, 0 },
	};
	const char *baseline = NULL;
	struct error error = { "" };
	bool update = false, good;
	char path[4096];
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'b')
			baseline = optarg;
		update = update || option == 'u';
		if (option == '?')
			return 2;
	}
	if (optind + 1 != argc || (update && baseline == NULL)) {
		fprintf(stderr, "usage: corpus-measure [--baseline FILE] [--update] DIR\n");
		return 2;
	}
	if (scanner_new(NULL, 0, &scanner, &error) < 0) {
		fprintf(stderr, "corpus-measure: %s\n", error.message);
		return 2;
	}
	join_path(path, sizeof(path), argv[optind], "benign");
	good = measure_benign(path);
	join_path(path, sizeof(path), argv[optind], "malicious");
	good = measure_malicious(path) && good;
	scanner_free(scanner);
	good = is_as_agreed(baseline, good) && !benign.failed;
	if (!update || benign.failed)
		return good ? 0 : 1;
	if (figures_update(&figures, baseline) < 0) {
		fprintf(stderr, "corpus-measure: %s: cannot be written\n", baseline);
		return 2;
	}
	printf("the baseline has these figures now\n");
	return 0;
}
