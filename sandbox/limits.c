// SPDX-License-Identifier: Apache-2.0
#include "sandbox/limits.h"

#include <errno.h>
#include <sys/resource.h>

#include "sanitize/cleanup.h"

#define OPEN_FILES      4096  // what a program starts with
#define OPEN_FILES_HARD 65536 // what it may raise that to

static int lower(__rlimit_resource_t resource, rlim_t soft, rlim_t hard)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return -errno;
	// RLIM_INFINITY is the largest value, so this never raises.
	if (hard < limit.rlim_max)
		limit.rlim_max = hard;
	if (soft > limit.rlim_max)
		soft = limit.rlim_max;
	if (resource == RLIMIT_NOFILE || soft < limit.rlim_cur)
		limit.rlim_cur = soft;
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

int limits_apply(const struct exec_sandbox *sandbox)
{
	const struct {
		__rlimit_resource_t resource;
		rlim_t soft;
		rlim_t hard;
	} table[] = {
		{ RLIMIT_CORE, 0, 0 },
		{ RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES_HARD },
		{ RLIMIT_FSIZE, sandbox->file_size_max, sandbox->file_size_max },
		{ RLIMIT_DATA, sandbox->memory_max, sandbox->memory_max },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		int rc;

		// 0 in the configuration: no limit of ours.
		if (table[i].soft == 0 && table[i].resource != RLIMIT_CORE)
			continue;
		rc = lower(table[i].resource, table[i].soft, table[i].hard);
		if (rc < 0)
			return rc;
	}
	return 0;
}
