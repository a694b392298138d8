// SPDX-License-Identifier: Apache-2.0
#include "expressions.h"

#define BLANK                                                                                                \
	"(?:[\\t-\\r ]|\\xc2\\xa0|\\xe1\\x9a\\x80|\\xe2\\x80[\\x80-\\x8a\\xa8\\xa9\\xaf]|\\xe2\\x81\\x9f|"   \
	"\\xe3\\x80\\x80|\\xef\\xbb\\xbf)"
#define BLANKS BLANK "*"
#define BLANK1 BLANK "+"
#define GAP    "[^;\\n]{0,200}"
#define BIN    "(?:curl|wget|bash|sh|nc|ncat)"
#define SHELL  "(?:bash|zsh|ksh|dash|ash|sh)"
#define WRAPPER                                                                                              \
	"(?:(?:sudo|doas|env|exec|nohup|command)" BLANK1 "(?:-[\\w-]{1,32}" BLANK1 ")?)?"                    \
	"(?:[\\w.~$-]{0,32}/){0,6}(?:env" BLANK1 ")?"
#define RUN "[A-Za-z0-9+/]"

const struct expression expressions[] = {
	{ "EXEC_SUBSHELL",
	  "\\$\\((?:[^)]{0,200}[^\\w.)-])?(?:curl|wget|bash|zsh|dash|sh|nc|ncat)\\b[^)]{0,200}\\)", false },
	{ "EXEC_BACKTICK", "`(?:[^`]{0,200}[^\\w.`-])?" BIN BLANK "[^`]{1,200}`", false },
	{ "EXEC_EVAL", "\\beval" BLANKS "\\(" BLANKS "[\"'`]", false },
	{ "EXEC_PIPE_BASH", "\\|&?" BLANKS WRAPPER SHELL "\\b", false },
	{ "ENV_PRINTENV", "\\bprintenv\\b", false },
	{ "ENV_PROC_ENVIRON",
	  "/proc/{1,8}(?:self|thread-self|[0-9]{1,10}|\\*|\\$\\w{1,32}|\\$\\{\\w{1,32}\\})/{1,8}environ",
	  false },
	{ "ENV_MASS_DUMP",
	  "\\b(?:env|export" BLANK1 "-p|declare" BLANK1 "-x)" BLANKS "\\|&?" BLANKS
	  "(?:grep|sort|tee|curl|nc|base64)\\b",
	  false },
	{ "CRYPTO_STRATUM", "\\bstratum\\+?(?:tcp|ssl)?://", false },
	{ "CRYPTO_MINER_BINARY", "\\b(?:xmrig|cgminer|bfgminer|ethminer|nbminer|phoenixminer|t-rex)\\b",
	  false },
	{ "CRYPTO_POOL_DOMAIN", "\\b(?:mining|pool|hashrate)\\.[a-z]{2,63}\\.[a-z]{2,63}", false },
	{ "NET_CURL_PIPE",
	  "\\bcurl\\b" GAP "(?:\\\\\\r?\\n" GAP "|\\n[\\t ]{0,16}){0,3}\\|&?" BLANKS WRAPPER
	  "(?:bash|zsh|ksh|dash|ash|sh|python[0-9.]{0,8}|perl[0-9.]{0,8}|ruby[0-9.]{0,8}|node[0-9.]{0,8}|"
	  "php[0-9.]{0,8})\\b",
	  false },
	{ "NET_WGET_EXEC",
	  "\\bwget" BLANK GAP "(?:-[a-z]{0,8}o|--output-document=?)" BLANKS "(?:-|/dev/stdout)"
	  "(?:" BLANK GAP ")?\\|",
	  false },
	{ "NET_REVERSE_SHELL",
	  "\\b(?:bash|sh)" BLANK1 "-[a-z]{0,3}i\\b|/dev/(?:tcp|udp)/[\"']?[\\w$<{\\[]"
	  "|\\b(?:nc|ncat)" BLANK1 "(?:[^\\s|;&()<>`]{1,64}" BLANK1
	  "){0,6}-[46]?[a-z]{0,7}[elp][a-z]{0,7}\\b",
	  false },
	{ "OBF_BASE64_LONG",
	  RUN "{60}(?:" RUN "{20,}={0,2}|" RUN "{0,19}\\r?\\n[\\t ]{0,16}" RUN
	      "{60,79}\\r?\\n[\\t ]{0,16}" RUN "{60,79})",
	  true },
	{ "OBF_HEX_LONG", "(?:\\\\x[0-9A-Fa-f]{2}){20,}", true },
	{ "OBF_BASE64_DECODE_PIPE",
	  "\\b(?:base64|openssl" BLANK1 "enc)(?:" BLANK "[^|;&\\n]{0,200})?" BLANK
	  "(?:-[ia]{0,2}d[ia]{0,2}|--dec(?:ode)?)(?:" BLANK "[^|;&\\n]{0,200})?\\|[^|]",
	  false },
	{ "XML_SKILL_CLOSE", "<" BLANKS "/" BLANKS "(?:available_skills|skill_invocation|skill)" BLANKS ">",
	  false },
	{ "XML_SYSTEM_TAG",
	  "<" BLANKS "/?" BLANKS "(?:system|tool_result|function_call)(?:" BLANK "[^<>]{0,200})?/?>", false },
};
const size_t expression_count = sizeof(expressions) / sizeof(expressions[0]);
