// SPDX-License-Identifier: Apache-2.0
//
//   bench-scan WORK [DIR]
//
// The sections of `run.sh scan`, as Markdown on standard output. Texts come from the skills below DIR, without it from
// the generator; WORK is a folder for files that are needed on the way. run.sh pins the process to one core.
//
// Exits with 0 when everything could be measured, whatever the numbers; with 1 when fast and plain ways do not
// agree, and then without a table; with 2 when it can't run.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

int main(int argc, char **argv)
{
	struct corpus corpus;
	int rc;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: bench-scan WORK [DIR]\n");
		return 2;
	}
	rc = argc == 3 ? corpus_load(argv[2], &corpus) : corpus_generate(&corpus);
	if (rc < 0) {
		fprintf(stderr, "bench: %s: no texts: %s\n", argc == 3 ? argv[2] : "own corpus",
			strerror(-rc));
		return 2;
	}
	printf("Texts: %s, %.1f MB of Markdown in %zu texts of some 10 KB. Ratios above 1 mean faster than "
	       "what the column "
	       "names.\nOne core, CPU time, median of %d turns taken by all methods one after the other.\n\n",
	       corpus.origin, (double)corpus.size / 1e6, corpus.count, ROUNDS);
	rc = section_scan(&corpus, argv[1]);
	if (rc == 0)
		rc = section_sanitize(&corpus);
	if (rc == 0)
		rc = section_cold(&corpus, argv[1]);
	if (rc == 0)
		rc = section_hostile(&corpus);
	corpus_release(&corpus);
	if (rc < 0) {
		fprintf(stderr, "bench: %s\n", rc == -EILSEQ ? "results differ: no numbers" : strerror(-rc));
		return rc == -EILSEQ ? 1 : 2;
	}
	goals_print();
	return 0;
}
