// SPDX-License-Identifier: Apache-2.0
//
// The rule table, in the order in which findings at one place are listed.
//
// Patterns are PCRE2 in byte mode, ASCII case-insensitive unless said
// otherwise, and linear on any text: class runs are possessive, repetitions
// don't nest, and what would need more stands in a check (check.h), for which
// the pattern only names the candidates.
#include "sanitize/rules.h"

#include <string.h>

#include "sanitize/check.h"

// One blank that is not ASCII; any blanks; at least one.
#define WIDE                                                                                                 \
	"(?:\\xc2\\xa0|\\xe1\\x9a\\x80|\\xe2(?:\\x80[\\x80-\\x8a\\xa8\\xa9\\xaf]|\\x81\\x9f)|"               \
	"\\xe3\\x80\\x80|\\xef\\xbb\\xbf)"
#define ASCII  "[\\t-\\r ]"
#define BLANKS ASCII "*+(?:" WIDE ASCII "*+)*+"
#define BLANK1 "(?:" ASCII "|" WIDE ")" BLANKS
// The same between the words of a command, where an escaped line end is a blank, too.
#define LINE_END "\\\\\\r?\\n"
#define GAP      BLANKS "(?:" LINE_END BLANKS ")*+"
#define GAP1     "(?:" ASCII "|" WIDE "|" LINE_END ")" GAP
// One element of a path below /proc: self, a number, a glob, a variable, a placeholder.
#define VARIABLE "\\$(?:\\w{1,64}+|\\{[^}\\s]{1,64}+\\}|[$!?]|\\([^)\\r\\n]{1,64}+\\))|`[^`\\r\\n]{1,64}+`"
#define PROC_ID                                                                                              \
	"[\"']?(?:(?:thread-)?self|[0-9*?\\[\\]-]{1,32}+|" VARIABLE                                          \
	"|#?\\{[^{}/\\s]{0,64}+\\}|<\\w{1,64}+>|"                                                            \
	"\\[\\w{1,64}+\\]|%[ds])[\"']?"
#define SLASHES "/(?:\\.?/)*+"
// Attributes, some of them quoted with angle brackets inside.
#define UNQUOTED          "[^<>\"']{0,64}+"
#define QUOTED_ATTRIBUTES "(?:" UNQUOTED "(?:\"[^\"]{0,64}+\"|'[^']{0,64}+')){1,4}+" UNQUOTED
// In anchors: the first byte of a blank, also of an escaped line end, and what may stand at the next place.
#define A_BLANK          "[\\s\\xc2\\xe1-\\xe3\\xef]"
#define A_GAP            "[\\s\\\\\\xc2\\xe1-\\xe3\\xef]"
#define A_BLANK_OR(more) "[" more "\\s\\x80-\\xff]"
#define A_GAP_OR(more)   "[" more "\\s\\\\\\x80-\\xff]"

const struct rule rules[] = {
	{
		.id = "EXEC_SUBSHELL",
		.category = "exec_injection",
		.severity = SEVERITY_CRITICAL,
		.description = "Subshell command injection: $(command) with dangerous binary",
		.pattern = "\\$\\(",
		.check = check_subshell,
	},
	{
		.id = "EXEC_BACKTICK",
		.category = "exec_injection",
		.severity = SEVERITY_CRITICAL,
		.description = "Backtick command injection with dangerous binary",
		.pattern = "`",
		.anchors = "\\b(?:curl|wget|bash|sh|ncat|nc)" A_GAP,
		.locate = locate_span,
		.check = check_backtick,
	},
	{
		.id = "EXEC_EVAL",
		.category = "exec_injection",
		.severity = SEVERITY_CRITICAL,
		.description = "eval() with string argument",
		.pattern = "\\beval" BLANKS "\\(" BLANKS "[\"'`]",
		.anchors = "\\beval[(\\s\\xc2\\xe1-\\xe3\\xef]",
	},
	{
		.id = "EXEC_PIPE_BASH",
		.category = "exec_injection",
		.severity = SEVERITY_CRITICAL,
		.description = "Pipe to shell interpreter",
		// The label of a diagram's arrow (`-->|sh|`) is none; to a shell `>|` is a redirection.
		.pattern = "(?<!\\|)(?<![=-]>)\\|(?!\\|)&?",
		.anchors = "\\|[^|]",
		.glance = glance_pipe,
		.check = check_pipe_shell,
	},
	{
		.id = "ENV_PRINTENV",
		.category = "env_harvesting",
		.severity = SEVERITY_WARN,
		.description = "printenv command dumps all environment variables",
		.pattern = "\\bprintenv\\b",
	},
	{
		.id = "ENV_PROC_ENVIRON",
		.category = "env_harvesting",
		.severity = SEVERITY_WARN,
		.description = "Direct read of process environment via /proc",
		.pattern = "/proc" SLASHES PROC_ID SLASHES "(?:task" SLASHES PROC_ID SLASHES ")?environ",
	},
	{
		.id = "ENV_MASS_DUMP",
		.category = "env_harvesting",
		.severity = SEVERITY_WARN,
		.description = "Environment dump piped to exfiltration or encoding",
		.pattern = "\\b(?:env|export" GAP1 "-p|declare" GAP1 "-x)\\b" GAP "\\|(?!\\|)"
			   "&?" GAP "(?:grep|sort|tee|curl|nc|base64)\\b",
		.anchors = "\\benv(?:\\||" A_GAP A_GAP_OR("|") ")|\\b(?:export|declare)" A_GAP A_GAP_OR("-"),
	},
	{
		.id = "CRYPTO_STRATUM",
		.category = "crypto_mining",
		.severity = SEVERITY_CRITICAL,
		.description = "Mining pool protocol (stratum://)",
		.pattern = "\\bstratum\\+?(?:tcp|ssl)?://",
	},
	{
		.id = "CRYPTO_MINER_BINARY",
		.category = "crypto_mining",
		.severity = SEVERITY_CRITICAL,
		.description = "Known cryptocurrency miner binary",
		.pattern = "\\b(?:xmrig|cgminer|bfgminer|ethminer|nbminer|phoenixminer|t-rex)\\b",
		.check = check_miner,
	},
	{
		.id = "CRYPTO_POOL_DOMAIN",
		.category = "crypto_mining",
		.severity = SEVERITY_WARN,
		.description = "Mining pool domain pattern",
		// pool.ntp.org sets clocks.
		.pattern =
			"\\b(?:mining|pool|hashrate)\\.(?!ntp\\.org(?![\\w-]|\\.\\w))[a-z]{2,}+\\.[a-z]{2,}+",
	},
	{
		.id = "NET_CURL_PIPE",
		.category = "network_exfiltration",
		.severity = SEVERITY_WARN,
		.description = "curl output piped to interpreter",
		.pattern = "\\bcurl\\b",
		.anchors = "\\bcurl[^\\w]",
		.check = check_curl_pipe,
	},
	{
		.id = "NET_WGET_EXEC",
		.category = "network_exfiltration",
		.severity = SEVERITY_WARN,
		.description = "wget output to stdout piped elsewhere",
		.pattern = "\\bwget\\b",
		.anchors = "\\bwget[^\\w]",
		.check = check_wget_stdout,
	},
	{
		.id = "NET_REVERSE_SHELL",
		.category = "network_exfiltration",
		.severity = SEVERITY_CRITICAL,
		.description = "Reverse shell pattern",
		.pattern = "\\b(?:bash|sh)" GAP1 "(?:--[a-z-]{1,20}+" GAP1 "){0,4}+-[a-z]{0,3}i\\b"
			   "|/dev/(?:tcp|udp)/(?=[\"']?[\\w$]|[{<\\[%*\\\\])"
			   "|\\bnc(?:at)?(?=" ASCII "|" WIDE ")",
		.anchors = "\\b(?:bash|sh)" A_GAP A_GAP_OR("-") "|/dev/(?:tcp|udp)|\\bnc" A_BLANK
								"|\\bncat" A_BLANK,
		.check = check_reverse_shell,
	},
	{
		.id = "OBF_BASE64_LONG",
		.category = "obfuscated_encoding",
		.severity = SEVERITY_WARN,
		.description = "Long base64-encoded string (80+ chars)",
		.pattern = "(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{60,}+={0,2}",
		.case_sensitive = true,
		.check = check_base64_run,
	},
	{
		.id = "OBF_HEX_LONG",
		.category = "obfuscated_encoding",
		.severity = SEVERITY_WARN,
		.description = "Long hex-escaped string (20+ sequences)",
		// 500 sequences are one finding.
		.pattern = "(?:\\\\x[0-9A-Fa-f]{2}){20,500}+",
		.case_sensitive = true,
	},
	{
		.id = "OBF_BASE64_DECODE_PIPE",
		.category = "obfuscated_encoding",
		.severity = SEVERITY_CRITICAL,
		.description = "base64 decode piped to another command",
		.pattern = "\\b(?:base64(?=" ASCII "|" WIDE "|\\\\\\r?\\n)|openssl" GAP1 "enc\\b)",
		.anchors = "\\bbase64" A_GAP "|\\bopenssl" A_GAP,
		.check = check_base64_decode,
	},
	{
		.id = "XML_SKILL_CLOSE",
		.category = "xml_breakout",
		.severity = SEVERITY_CRITICAL,
		.description = "Closing tag for skill XML structure (breakout attempt)",
		.pattern = "<" BLANKS "/" BLANKS "(?:available_skills|skill_invocation|skill)" BLANKS ">",
		.anchors = "</(?:sk|av|" A_BLANK A_BLANK_OR("as") ")|<" A_BLANK A_BLANK_OR("/"),
	},
	{
		.id = "XML_SYSTEM_TAG",
		.category = "xml_breakout",
		.severity = SEVERITY_CRITICAL,
		.description = "System-level message tag (breakout attempt)",
		.pattern = "<" BLANKS "/?" BLANKS "(?:system|tool_result|function_call)"
			   "(?:(?=" ASCII "|" WIDE ")(?:[^<>]*+|" QUOTED_ATTRIBUTES ")|" BLANKS "/?)"
			   ">",
		.anchors = "<(?:sy|to|fu)|</(?:sy|to|fu)|</" A_BLANK A_BLANK_OR(
			"stf") "|<" A_BLANK A_BLANK_OR("/stf"),
	},
};
const size_t rule_count = sizeof(rules) / sizeof(rules[0]);

const struct rule *rule_find(const char *id)
{
	size_t i;

	for (i = 0; i < rule_count; i++) {
		if (strcmp(rules[i].id, id) == 0)
			return &rules[i];
	}
	return NULL;
}
