// SPDX-License-Identifier: Apache-2.0
//
// No jail: the command with a clean environment, limits, no descriptors of ours and a
// process group of its own. What asks for more than that is refused, never run open.
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/bind_audit.h"
#include "sandbox/environment.h"
#include "sandbox/provider.h"
#include "sanitize/cleanup.h"

static int plan(const struct sandbox_support *support, const struct job_spec *spec, struct launch *ret,
		struct error *error)
{
	const char *home = spec->home == NULL ? "/" : spec->home;
	CLEANUP(place) struct place workspace = PLACE_INIT;
	int rc;

	(void)support;
	if (spec->sandbox->network == NETWORK_BROKER_ONLY)
		return error_set(error, -EOPNOTSUPP,
				 "network mode broker-only needs a jail, and there is none");
	if (spec->sandbox->secure_credential_home)
		return error_set(error, -EOPNOTSUPP, "secureCredentialHome needs a jail, and there is none");
	// What is refused with a jail is a mistake in the configuration without one too.
	if (spec->workspace != NULL) {
		rc = audit_workspace(spec, home, &workspace, error);
		if (rc < 0)
			return rc;
	}
	rc = environment_build(spec, home, false, &ret->env, error);
	if (rc < 0)
		return rc;
	rc = strv_copy(&ret->argv, &spec->argv);
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	ret->program = NULL;
	ret->cwd = spec->cwd;
	ret->tier = TIER_NONE;
	return 0;
}

static void end(const struct job *job, const siginfo_t *how, struct job_result *ret)
{
	// Not reaped yet, so that the number still names its group. A command that made another session has left it.
	(void)kill(-job->pid, SIGKILL);
	if (how->si_code == CLD_EXITED)
		*ret = (struct job_result){ .end = JOB_EXITED, .exit_code = how->si_status };
	else
		*ret = (struct job_result){ .end = JOB_SIGNALED, .signal = how->si_status };
}

const struct provider provider_none = {
	.name = "none",
	.plan = plan,
	.end = end,
};
