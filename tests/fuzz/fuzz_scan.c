// SPDX-License-Identifier: Apache-2.0
//
// Input: up to three lines `%PATTERN`, which become custom rules, then a text.
// The scanner in each of its variants against the specification, as prose, code and binary.
#include <errno.h>

#include "fuzz.h"
#include "sanitize/fnv.h"
#include "sanitize/prefilter.h"
#include "sanitize/scan.h"
#include "sanitize/scan_text.h"
#include "spec/plain_scan.h"

#define CUSTOM_MAX  3
#define PATTERN_MAX 200
// A stranger's text may not cost much, the owner's pattern may: with patterns only that much is scanned.
#define CUSTOM_TEXT_MAX 512
// One input in so many is scanned behind much other text, too.
#define FAR_EVERY 64

// How a scanner can be made; all must find the same.
static const struct variant {
	const char *name;
	bool jit;
	enum prefilter_kind prefilter;
} variants[] = {
	{ "AVX2", true, PREFILTER_AVX2 },
	{ "scalar", true, PREFILTER_SCALAR },
	{ "interpreter", false, PREFILTER_BEST },
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static int compile(const struct variant *variant, const struct custom_rule *custom, size_t count,
		   struct scanner **ret, struct error *error)
{
	int rc = scanner_compile(custom, count, variant->jit, variant->prefilter, ret, error);

	// What this processor doesn't have is tried elsewhere.
	if (rc == -ENOTSUP)
		rc = scanner_compile(custom, count, variant->jit, PREFILTER_BEST, ret, error);
	return rc;
}

struct set {
	struct scanner *scanners[VARIANTS];
	struct plain_scanner *plain;
};

static void set_release(struct set *set)
{
	for (size_t i = 0; i < VARIANTS; i++)
		scanner_free(set->scanners[i]);
	plain_scanner_free(set->plain);
}

// False when the last of the rules is a pattern that not all variants take: one of PCRE2's engines can go round in it
// where the other does not. Compiling is what costs most here.
static bool set_make(struct set *set, const struct custom_rule *custom, size_t count)
{
	size_t good = 0;
	int rc;

	*set = (struct set){ .plain = NULL };
	for (size_t i = 0; i < VARIANTS; i++) {
		struct error error = { "" };

		rc = compile(&variants[i], custom, count, &set->scanners[i], &error);
		FUZZ_CHECK(rc == 0 || (rc == -EINVAL && count > 0 && error.message[0] != '\0'), "%d: %s", rc,
			   error.message);
		good += rc == 0;
	}
	if (good < VARIANTS) {
		set_release(set);
		return false;
	}
	rc = plain_scanner_new(custom, count, &set->plain);
	FUZZ_CHECK(rc == 0, "only the specification refuses: %d", rc);
	return true;
}

static void check_same(const struct variant *variant, enum file_class cls, const struct scanner *scanner,
		       const struct matches *got, const struct matches *want)
{
	size_t both = got->count < want->count ? got->count : want->count;

	for (size_t i = 0; i < both; i++) {
		const struct match *a = &got->items[i], *b = &want->items[i];

		FUZZ_CHECK(a->rule == b->rule && a->start == b->start && a->end == b->end &&
				   a->severity == b->severity && a->context == b->context,
			   "%s, %s, match %zu: %s %zu-%zu %s in %s; the specification: %s %zu-%zu %s in %s",
			   variant->name, file_class_name(cls), i, scanner_rule(scanner, a->rule)->id,
			   a->start, a->end, severity_name(a->severity), context_name(a->context),
			   scanner_rule(scanner, b->rule)->id, b->start, b->end, severity_name(b->severity),
			   context_name(b->context));
	}
	if (got->count != want->count) {
		const struct match *odd = got->count > both ? &got->items[both] : &want->items[both];

		fuzz_fail("same matches", "%s, %s: %s finds %s %zu-%zu", variant->name, file_class_name(cls),
			  got->count > both ? "only the scanner" : "only the specification",
			  scanner_rule(scanner, odd->rule)->id, odd->start, odd->end);
	}
}

static void check_form(const struct matches *matches, const struct scanner *scanner, size_t len)
{
	for (size_t i = 0; i < matches->count; i++) {
		const struct match *match = &matches->items[i];

		FUZZ_CHECK(match->rule < scanner_rule_count(scanner) && match->start < match->end &&
				   match->end <= len && match->severity != SEVERITY_OFF,
			   "rule %zu, %zu-%zu of %zu", match->rule, match->start, match->end, len);
		FUZZ_CHECK(i == 0 || match[-1].start < match->start ||
				   (match[-1].start == match->start && match[-1].rule <= match->rule),
			   "match %zu is out of order", i);
	}
}

static void fuzz_class(const struct set *set, enum file_class cls, const char *text, size_t len, bool custom)
{
	struct matches want = { NULL, 0, 0 };
	bool known = false;

	for (size_t i = 0; i < VARIANTS; i++) {
		struct matches got = { NULL, 0, 0 };
		int rc = scanner_scan(set->scanners[i], cls, text, len, NULL, &got);

		FUZZ_CHECK(rc == 0 || (custom && rc == -EOVERFLOW), "%s, %s: %d", variants[i].name,
			   file_class_name(cls), rc);
		// A custom pattern may hit the limits; the specification has none and would take too long.
		if (rc < 0) {
			matches_release(&got);
			continue;
		}
		if (!known) {
			rc = plain_scan(set->plain, cls, text, len, &want);
			FUZZ_CHECK(rc == 0 || custom, "plain, %s: %d", file_class_name(cls), rc);
			if (rc < 0) {
				matches_release(&got);
				return;
			}
			known = true;
		}
		check_form(&got, set->scanners[i], len);
		check_same(&variants[i], cls, set->scanners[i], &got, &want);
		matches_release(&got);
	}
	matches_release(&want);
}

static uint64_t hash(const char *text, size_t len)
{
	return fnv_add(FNV_START, text, len) >> 16;
}

// The text where the scanner stops to ask for its budget, with lines before it.
static void fuzz_far(const struct set *set, const char *text, size_t len)
{
	static const char line[] = "0123456\n";
	const size_t before = BUDGET_BYTES - hash(text, len) % (len + 1);
	char *far = malloc(before + len);

	if (far == NULL)
		abort();
	for (size_t i = 0; i < before; i++)
		far[i] = line[i % (sizeof(line) - 1)];
	memcpy(far + before, text, len);
	fuzz_class(set, CLASS_PROSE, far, before + len, false);
	free(far);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const ids[CUSTOM_MAX] = { "CUSTOM_ONE", "CUSTOM_TWO", "CUSTOM_THREE" };
	static struct set builtin;
	struct piece input = fuzz_input(data, size);
	struct custom_rule custom[CUSTOM_MAX];
	char *patterns[CUSTOM_MAX] = { NULL };
	struct set own = { .plain = NULL }, next;
	size_t lines = 0, count = 0;
	char *text;

	if (builtin.plain == NULL)
		(void)set_make(&builtin, NULL, 0);
	for (; lines < CUSTOM_MAX && input.len > 0 && input.data[0] == '%'; lines++) {
		patterns[lines] = fuzz_take_line(&input, PATTERN_MAX);
		custom[count] = (struct custom_rule){ .id = ids[lines],
						      .category = "custom",
						      .severity = SEVERITY_CRITICAL,
						      .pattern = patterns[lines] + 1,
						      .description = "" };
		if (!set_make(&next, custom, count + 1))
			continue; // left out
		set_release(&own);
		own = next;
		count++;
	}
	if (count > 0 && input.len > CUSTOM_TEXT_MAX)
		input.len = CUSTOM_TEXT_MAX;
	text = fuzz_copy(input.data, input.len);
	for (int cls = CLASS_PROSE; cls <= CLASS_BINARY; cls++)
		fuzz_class(count > 0 ? &own : &builtin, (enum file_class)cls, text, input.len, count > 0);
	if (count == 0 && input.len > 0 && hash(input.data, input.len) / BUDGET_BYTES % FAR_EVERY == 0)
		fuzz_far(&builtin, text, input.len);
	free(text);
	set_release(&own);
	for (size_t i = 0; i < lines; i++)
		free(patterns[i]);
	return 0;
}
