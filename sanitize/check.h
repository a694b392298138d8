// SPDX-License-Identifier: Apache-2.0
//
// Rule checks: what a regular expression does badly in linear time. Each is
// named in the rule table and decides on one candidate (struct rule, rules.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sanitize/rules.h"
#include "sanitize/scan_text.h"

// The words that check_subshell looks for, for a prefilter of their own.
extern const char check_binaries[];

rule_locate locate_span;
rule_glance glance_pipe;
rule_check check_subshell;
rule_check check_backtick;
rule_check check_pipe_shell;
rule_check check_miner;
rule_check check_curl_pipe;
rule_check check_wget_stdout;
rule_check check_reverse_shell;
rule_check check_base64_run;
rule_check check_base64_decode;
