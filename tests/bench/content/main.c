// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define DAEMONS_MAX 16

static int usage_print(void)
{
	fputs("bench-content make-skills DIR COUNT | make-binary FILE BYTES | make-text FILE BYTES\n"
	      "bench-content row NAME ROOT [PID...]\n"
	      "bench-content latency SOURCE VIEW CLIENTS [LARGE]\n",
	      stderr);
	return 2;
}

static int row(int argc, char **argv)
{
	pid_t daemons[DAEMONS_MAX];
	size_t count = 0;
	double cpu, wall;
	int rc;

	for (int i = 2; i < argc && count < DAEMONS_MAX; i++)
		daemons[count++] = (pid_t)strtol(argv[i], NULL, 10);
	rc = row_measure(argv[0], argv[1], daemons, count, &cpu, &wall);
	if (rc == 0)
		printf("%.1f\t%.1f\n", cpu, wall);
	return rc;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	int rc;

	if (strcmp(verb, "make-skills") == 0 && argc == 4)
		rc = make_skills(argv[2], strtoul(argv[3], NULL, 10));
	else if (strcmp(verb, "make-binary") == 0 && argc == 4)
		rc = make_binary(argv[2], strtoul(argv[3], NULL, 10));
	else if (strcmp(verb, "make-text") == 0 && argc == 4)
		rc = make_text(argv[2], strtoul(argv[3], NULL, 10));
	else if (strcmp(verb, "row") == 0 && argc >= 4)
		rc = row(argc - 2, argv + 2);
	else if (strcmp(verb, "latency") == 0 && (argc == 5 || argc == 6))
		rc = latency_measure(argv[2], argv[3], strtoul(argv[4], NULL, 10),
				     argc == 6 ? argv[5] : NULL);
	else
		return usage_print();
	if (rc < 0)
		fprintf(stderr, "bench-content: %s %s: %s\n", verb, argv[2], strerror(-rc));
	return rc < 0 ? 1 : 0;
}
