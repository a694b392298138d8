// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/verdict.h"
#include "sanitize/cleanup.h"
#include "sanitize/rules.h"

static const struct rule critical_rule = { .id = "TEST_CRITICAL", .severity = SEVERITY_CRITICAL };
static const struct rule warn_rule = { .id = "TEST_WARN", .severity = SEVERITY_WARN };

// A report of up to two findings and one notice; the caller frees what is left.
struct sample {
	struct report report;
	struct finding findings[2];
	struct notice notice;
};

static struct report *sample_report(struct sample *sample, const struct rule *first, enum context context,
				    const struct rule *second)
{
	*sample = (struct sample){ .report.cls = CLASS_PROSE };
	sample->report.findings.items = sample->findings;
	if (first != NULL)
		sample->findings[sample->report.findings.count++] =
			(struct finding){ .rule = first,
					  .severity = first->severity,
					  .context = context,
					  .matched_text = strdup("x") };
	if (second != NULL)
		sample->findings[sample->report.findings.count++] =
			(struct finding){ .rule = second,
					  .severity = second->severity,
					  .context = CONTEXT_PROSE,
					  .matched_text = strdup("y") };
	return &sample->report;
}

static void sample_end(struct sample *sample)
{
	for (size_t i = 0; i < sample->report.findings.count; i++)
		free(sample->findings[i].matched_text);
}

static struct config *configuration(const char *text)
{
	struct config *config = NULL;
	struct error error = { "" };

	if (config_parse("test.yaml", text, strlen(text), &config, &error) < 0)
		fail_msg("%s", error.message);
	return config;
}

static void verdict_follows_the_worst_finding(void **state)
{
	CLEANUP(config) struct config *config = configuration("");
	struct sample sample;

	(void)state;
	assert_int_equal(verdict_decide(config, config->agents, sample_report(&sample, NULL, 0, NULL)),
			 VERDICT_CLEAN);
	sample_end(&sample);
	assert_int_equal(verdict_decide(config, config->agents,
					sample_report(&sample, &warn_rule, CONTEXT_PROSE, NULL)),
			 VERDICT_WARN);
	sample_end(&sample);
	assert_int_equal(verdict_decide(config, config->agents,
					sample_report(&sample, &critical_rule, CONTEXT_PROSE, &warn_rule)),
			 VERDICT_CRITICAL);
	sample_end(&sample);
}

static void verdict_blocking_off_is_warn(void **state)
{
	CLEANUP(config)
	struct config *config =
		configuration("agents: {default: {skills: {contentScanning: {blockOnCritical: false}}}}");
	struct sample sample;
	struct report *report = sample_report(&sample, &critical_rule, CONTEXT_PROSE, NULL);

	(void)state;
	assert_int_equal(verdict_decide(config, config->agents, report), VERDICT_WARN);
	assert_int_equal(report->findings.items[0].severity, SEVERITY_CRITICAL);
	sample_end(&sample);
}

static void verdict_failed_scan_is_error(void **state)
{
	CLEANUP(config)
	struct config *config =
		configuration("agents: {default: {skills: {contentScanning: {blockOnCritical: false}}}}");
	struct sample sample;
	struct report *report = sample_report(&sample, NULL, 0, NULL);

	(void)state;
	report->scan_failed = true;
	assert_int_equal(verdict_decide(config, config->agents, report), VERDICT_ERROR);
}

static void verdict_notices_hide_or_not(void **state)
{
	static const enum notice_code hides[] = {
		NOTICE_FS_SYMLINK_ESCAPE, NOTICE_FS_SPECIAL_FILE,          NOTICE_FS_NESTED_MOUNT,
		NOTICE_FS_TOO_LARGE,      NOTICE_FS_CHANGED_WHILE_READING, NOTICE_SCAN_LIMIT,
		NOTICE_FS_UNREADABLE,     NOTICE_FS_RESERVED_NAME,
	};
	CLEANUP(config) struct config *config = configuration("");

	(void)state;
	for (int code = NOTICE_TEXT_INVALID_UTF8; code <= NOTICE_SKILL_RESTRICTION_UNREADABLE; code++) {
		struct sample sample;
		struct report *report = sample_report(&sample, NULL, 0, NULL);
		enum verdict expected = VERDICT_CLEAN;

		for (size_t i = 0; i < ARRAY_SIZE(hides); i++)
			if ((int)hides[i] == code)
				expected = VERDICT_ERROR;
		sample.notice = (struct notice){ .code = (enum notice_code)code, .count = 1 };
		report->notices = (struct notices){ &sample.notice, 1, 1 };
		if (verdict_decide(config, config->agents, report) != expected)
			fail_msg("notice %d", code);
	}
}

static void severity_override_applies_and_off_removes(void **state)
{
	static const char custom[] = "rules:\n"
				     "  custom:\n"
				     "    - {id: TEST_CRITICAL, severity: critical, pattern: x}\n"
				     "    - {id: TEST_WARN, severity: warn, pattern: y}\n"
				     "  severity:\n";
	char text[512];
	struct sample sample;
	struct config *config;
	struct report *report;

	(void)state;
	(void)snprintf(text, sizeof(text), "%s    TEST_WARN: critical\n    TEST_CRITICAL: off\n", custom);
	config = configuration(text);
	report = sample_report(&sample, &critical_rule, CONTEXT_PROSE, &warn_rule);
	assert_int_equal(verdict_decide(config, config->agents, report), VERDICT_CRITICAL);
	assert_int_equal(report->findings.count, 1);
	assert_ptr_equal(report->findings.items[0].rule, &warn_rule);
	assert_int_equal(report->findings.items[0].severity, SEVERITY_CRITICAL);
	sample_end(&sample);
	config_free(config);

	(void)snprintf(text, sizeof(text), "%s    TEST_CRITICAL: warn\n    TEST_WARN: off\n", custom);
	config = configuration(text);
	report = sample_report(&sample, &critical_rule, CONTEXT_PROSE, &warn_rule);
	assert_int_equal(verdict_decide(config, config->agents, report), VERDICT_WARN);
	assert_int_equal(report->findings.count, 1);
	sample_end(&sample);
	config_free(config);
}

static void context_cap_lowers_in_that_context_only(void **state)
{
	CLEANUP(config) struct config *config = configuration("rules: {contexts: {fenced_code: warn}}");
	struct sample sample;
	struct report *report = sample_report(&sample, &critical_rule, CONTEXT_FENCED_CODE, &warn_rule);

	(void)state;
	assert_int_equal(verdict_decide(config, config->agents, report), VERDICT_WARN);
	assert_int_equal(report->findings.items[0].severity, SEVERITY_WARN);
	sample_end(&sample);
	report = sample_report(&sample, &critical_rule, CONTEXT_INLINE_CODE, NULL);
	assert_int_equal(verdict_decide(config, config->agents, report), VERDICT_CRITICAL);
	sample_end(&sample);
}

static void names_and_hiding_are_the_contract(void **state)
{
	(void)state;
	assert_string_equal(verdict_name(VERDICT_CLEAN), "clean");
	assert_string_equal(verdict_name(VERDICT_WARN), "warn");
	assert_string_equal(verdict_name(VERDICT_APPROVED), "approved");
	assert_string_equal(verdict_name(VERDICT_CRITICAL), "critical");
	assert_string_equal(verdict_name(VERDICT_ERROR), "error");
	assert_false(verdict_hides(VERDICT_CLEAN) || verdict_hides(VERDICT_WARN) ||
		     verdict_hides(VERDICT_APPROVED));
	assert_true(verdict_hides(VERDICT_CRITICAL) && verdict_hides(VERDICT_ERROR));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdict_follows_the_worst_finding),
		cmocka_unit_test(verdict_blocking_off_is_warn),
		cmocka_unit_test(verdict_failed_scan_is_error),
		cmocka_unit_test(verdict_notices_hide_or_not),
		cmocka_unit_test(severity_override_applies_and_off_removes),
		cmocka_unit_test(context_cap_lowers_in_that_context_only),
		cmocka_unit_test(names_and_hiding_are_the_contract),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
