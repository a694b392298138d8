// SPDX-License-Identifier: Apache-2.0
//
// What the parts of one mounted skillfs share. Filled by fs/mount.c before any
// thread starts and not changed afterwards, but for what its owner locks itself.
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "fs/ledger.h"
#include "fs/source.h"
#include "policy/config.h"
#include "sandbox/sandbox.h"
#include "sanitize/scan.h"

struct audit;
struct content;
struct control;
struct launcher;

struct daemon_options {
	char *source;          // canonical
	char *mountpoint;      // canonical; equal to source when mounted over itself
	char *agent;           // -o agent=
	char *config_path;     // NULL: the defaults
	char *state_dir;       // NULL: no audit file
	char *control_dir;     // NULL: no control mount (-o control=none)
	bool control_dir_made; // ours to remove
	bool foreground;
	bool allow_other;
	bool noexec;
	bool audit_open;
};

struct daemon {
	struct daemon_options options;
	struct config *config;
	const struct agent_config *agent;
	struct scanner *scanner;
	struct source *source;
	struct ledger *ledger;
	struct audit *audit;
	struct launcher *launcher;
	struct content *content;
	struct control *control; // NULL with control=none
	struct sandbox_support sandbox;
	struct strv warnings;    // shown in status
	struct timespec started; // CLOCK_MONOTONIC
	uid_t owner;
	int start_lock; // on the mountpoint while mounting, else -1
};

// Whether any agent's commands would run where there is no sandbox; the others' are refused then.
static inline bool daemon_may_run_open(const struct daemon *daemon)
{
	for (size_t i = 0; i < daemon->config->agent_count; i++) {
		const struct exec_sandbox *sandbox = &daemon->config->agents[i].sandbox;

		if (sandbox->enabled != SANDBOX_REQUIRED && sandbox->network != NETWORK_BROKER_ONLY &&
		    !sandbox->secure_credential_home)
			return true;
	}
	return false;
}

// What content.c counts, for status; all since start.
struct content_counters {
	uint64_t messages, lookups, reads, listings;
	uint64_t cached_bytes, spooled_bytes, nodes;
};

// From a prepared daemon (fs/mount.c) to its end: returns when it was told to end or was unmounted. Writes one NUL byte to
// `told` when the mount answers.
int daemon_run(struct daemon *daemon, int told, struct error *error);
// Says on standard error what is mounted where, and how to end it.
void daemon_announce(const struct daemon *daemon);
