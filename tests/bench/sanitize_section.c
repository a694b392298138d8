// SPDX-License-Identifier: Apache-2.0
//
// Sanitizing as inspect() does it, against plain NFKC of everything.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uninorm.h>

#ifdef BENCH_ICU
#include "engines.h"
#endif
#include "sanitize/sanitize.h"
#include "scanners.h"

enum { OURS, UNISTRING, ICU, MEMCPY_CACHED, MEMCPY, METHODS };

static int ours_sanitize_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	int rc = 0;

	(void)state;
	for (size_t i = 0; i < corpus->count && rc == 0; i++) {
		const struct text *text = &corpus->texts[i];
		struct cleaned cleaned = { .unchanged = true };
		struct sanitize_stats stats = { .size = 0 };
		struct notices notices = { NULL, 0, 0 };

		rc = sanitize_text(text->data, text->len, NULL, &cleaned, &stats, &notices);
		if (rc == 0) {
			const char *data = cleaned.unchanged ? text->data : cleaned.text.data;
			size_t len = cleaned.unchanged ? text->len : cleaned.text.len;

			ret->found += !cleaned.unchanged;
			tally_mix(ret, sanitize_cut(data, len, MAX_BODY_LENGTH_DEFAULT));
		}
		cleaned_release(&cleaned);
		notices_release(&notices);
	}
	return rc;
}

static int unistring_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	(void)state;
	for (size_t i = 0; i < corpus->count; i++) {
		const struct text *text = &corpus->texts[i];
		size_t len;
		uint8_t *normal =
			u8_normalize(UNINORM_NFKC, (const uint8_t *)text->data, text->len, NULL, &len);

		if (normal == NULL)
			return -errno;
		ret->found += len != text->len || memcmp(normal, text->data, len) != 0;
		free(normal);
	}
	return 0;
}

#ifdef BENCH_ICU
static int icu_pass(void *state, const struct corpus *corpus, struct tally *ret)
{
	for (size_t i = 0; i < corpus->count; i++) {
		const struct text *text = &corpus->texts[i];
		const char *normal;
		size_t len;

		if (icu_nfkc_normalize(state, text->data, text->len, &normal, &len) < 0)
			return -EINVAL;
		ret->found += len != text->len || memcmp(normal, text->data, len) != 0;
	}
	return 0;
}
#endif

// Where no comment and no invisible character went, the result must be that of NFKC alone.
static int check_results(const struct corpus *corpus)
{
	int rc = 0;

	for (size_t i = 0; i < corpus->count && rc == 0; i++) {
		const struct text *text = &corpus->texts[i];
		struct cleaned cleaned = { .unchanged = true };
		struct sanitize_stats stats = { .size = 0 };
		struct notices notices = { NULL, 0, 0 };
		const char *data = text->data;
		uint8_t *normal = NULL;
		size_t len = text->len, normal_len;

		rc = sanitize_text(text->data, text->len, NULL, &cleaned, &stats, &notices);
		if (rc == 0 && stats.html_comments_stripped == 0 && stats.invisible_stripped == 0) {
			if (!cleaned.unchanged) {
				data = cleaned.text.data;
				len = cleaned.text.len;
			}
			normal = u8_normalize(UNINORM_NFKC, (const uint8_t *)text->data, text->len, NULL,
					      &normal_len);
			if (normal != NULL && (normal_len != len || memcmp(normal, data, len) != 0))
				rc = -EILSEQ;
		}
		free(normal);
		cleaned_release(&cleaned);
		notices_release(&notices);
		if (rc < 0)
			fprintf(stderr, "bench: text %zu: sanitizing is not what NFKC gives (%s)\n", i,
				strerror(-rc));
	}
	return rc;
}

int section_sanitize(const struct corpus *corpus)
{
	struct method methods[METHODS] = {
		[OURS] = { .name = "ours",
			   .pass = ours_sanitize_pass,
			   .note = "comments, NFKC, invisible characters, cut" },
		[UNISTRING] = { .name = "u8_normalize",
				.pass = unistring_pass,
				.note = "NFKC of everything, nothing more" },
		[ICU] = { .name = "ICU normalizeUTF8",
			  .missing = "libicu-dev or g++ is not here",
			  .note = "NFKC of everything, nothing more" },
		[MEMCPY_CACHED] = { .name = "memcpy, to one place", .pass = memcpy_cached_pass },
		[MEMCPY] = { .name = "memcpy", .pass = memcpy_pass, .note = "a copy of all texts" },
	};
	int rc = check_results(corpus);

	if (rc < 0)
		return rc;
#ifdef BENCH_ICU
	methods[ICU].pass = icu_pass;
	methods[ICU].state = icu_nfkc_new();
	methods[ICU].missing = methods[ICU].state == NULL ? "ICU has no NFKC data" : NULL;
#endif
	measure(methods, METHODS, corpus);
	printf("## Sanitize\n\n| method | x u8_normalize | x memcpy | texts changed | MB/s | note |\n");
	printf("| --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < METHODS; i++) {
		const struct method *method = &methods[i];
		char plain[RATIO_SIZE], copy[RATIO_SIZE];

		if (method->missing != NULL)
			printf("| %s | - | - | - | - | %s |\n", method->name, method->missing);
		else
			printf("| %s | %s | %s | %zu | %.0f | %s |\n", method->name,
			       show_ratio(times_as_fast(method, &methods[UNISTRING]), plain),
			       show_ratio(times_as_fast(method, &methods[MEMCPY]), copy), method->tally.found,
			       megabytes(method, corpus), method->note);
	}
	printf("\n");
	goal_note("sanitize: times plain normalization", 100, true,
		  times_as_fast(&methods[OURS], &methods[UNISTRING]));
	goal_note("sanitize: of memcpy's speed", 1.0 / 3, true,
		  times_as_fast(&methods[OURS], &methods[MEMCPY]));
	goal_note("the same, memcpy to one place", 1.0 / 3, true,
		  times_as_fast(&methods[OURS], &methods[MEMCPY_CACHED]));
	return 0;
}
