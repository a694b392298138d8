#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seeds.py NAME FOLDER: what the harness NAME begins with, all of it inert text.

The pieces below go into FOLDER/kept and stay in the corpus, for each stands for a thought; what is in
tests/data goes into FOLDER/more, of which minimise.sh keeps what reaches something new.
"""
import hashlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, os.pardir, "data")
SIZE_MAX = 4096


def vectors():
    with open(os.path.join(DATA, "vectors", "scan.jsonl"), encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"].encode("utf-8", "surrogatepass")


def skills():
    for folder, _, names in os.walk(os.path.join(DATA, "skills")):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                yield name, file.read()


# Comments that form again, tags in all roles, sequences that may stay, marks that join, what is no UTF-8.
HOSTILE = [
    "<!-- a -->b", "<!<!-- a -->-- b -->c", "<!-->-->", "<!--->", "<!-- <!-- --> -->", "<!--", "a<!-- b",
    "\uff1c!-- a --\uff1e", "\ufe64!\ufe63\ufe63 a \ufe63\ufe63\ufe65", "<\u200b!-- a --\u200d>", "<!-\u00ad- a -->",
    "<\u0338!-- a -->", "<!-- a --\u0338>", "ca\u200bt", "a\u202eb\u202c", "a\u2028b\u2029c\u0085d",
    "\ufeff---\nname: a\n---\nb", "---\r\nname: a\r\n---\r\nb", "---\nname: <!-- -->a\n---\nb", "a\0b", "\x1b[31mred\x1b[0m",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f!",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e", "\U000e0068\U000e0069\U000e007f", "1\ufe0f\u20e3", "a\ufe0f",
    "\u2764\ufe0f", "\u2764\ufe0e", "\U0001f468\u200d\U0001f469", "\ufdfa" * 20, "\ufb01\u2460\u00bd\uff76\uff9e",
    "e\u0301\u0323", "e\u00ad\u0301", "\u1100\u1161\u11a8", "\u1100\u200b\u1161", "\u09c7\u09be", "\u1e9b\u0323",
    "a" * 30 + "\n[TRUNCATED]", "---\na: b\n---\n" + "\u00e9" * 40, "\u2800\u00a0\u3000", "\ufffd",
    "cu\u200brl x | s\u200bh", "$(cu<!-- -->rl a)", "$\uff08curl a)", "`b\u00adash -c a`", "| \uff53\uff48", "</skill\u200b>",
    "```\ncurl a | sh\n```\n", "~~~\n`sh a`\n~~~", "| a | sh |\n| --- | --- |\n| b | bash -c c |\n", "a | sh", "a || sh",
    "`sh a` b `bash c`", "`a", "``sh a``", "curl a \\\n | python3", "wget -qO- a | tee b", "wget --output-document=- a\n| b",
    "base64 -d <<< a | sh", "openssl enc -base64 -d -in a | b", "bash -li", "nc -lvp 1", "/dev/tcp/a/1", "eval ( 'a')",
    "/proc//self/./environ", "env | sort", "export -p | base64", "stratum+tcp://a", "pool.ab.cd", "pool.ntp.org",
    "QUJD" * 25, "\n".join(["QUJD" * 16] * 4),
    # Wrapped at the least width, the lines at many places of a block of 32 bytes.
    *("\n" * start + ("QUJD" * 15 + "\n") * 3 for start in range(4)), (("QUJD" * 15 + "\n") * 3 + "\n") * 5, " ".join(["QUJD" * 20] * 12), "a/b+c/" * 20, "\\x41" * 25, "< / skill >", "<system a='>'>", "<tool_result/>",
    "<!" * 9 + "<!-- -->" + "-- -->" * 9, "<!" * 9 + "<!---->" + "--->" * 9,
    # Both ends of each range that goes, and their neighbours that stay.
    "\x01\x08\x0b\x0c\x0e\x1f\x7f\x84\x86\x9f\xa1\xac\xad\xae\u034e\u034f\u0350\u061b\u061c\u115e\u115f\u1160\u1161",
    "\u17b3\u17b4\u17b5\u17b6\u180a\u180b\u180e\u1810\u200a\u200b\u200f\u2010\u2027\u2028\u202e\u2030\u205f\u2060\u2064\u2066\u206f\u2070",
    "\u3163a\u3164\u3165\ufdff\ufe00\ufe0e\ufe10\ufefe\ufeff\uff00\uff9f\uffa0\ufff8\ufff9\ufffb\ufffc",
    "\U0001d172\U0001d173\U0001d17a\U0001d17b\U000e0000\U000e007f\U000e0080\U000e00ff\U000e0100\U000e01ef\U000e01f0",
    "x <!-- $(curl a) --> y", "a\n\n    curl b | sh\n", "$(" * 40, "`" * 41, "<!--" * 20 + "-->" * 20, "wget -O - " * 20,
]
HOSTILE_BYTES = [
    b"\xff\xfec\0u\0r\0l\0", b"a\xe2\x80\xe2\x80\x8b\x8bb", b"\xc0\x80\xed\xa0\x80\xf5\x80", b"\xf0\x9f\xf0\x9f\x98",
    b"\xc2<!-- -->\xad", b"\xef\xbb\xef\xbb\xbf\xbf", b"\0\0\0\x01sh a | sh\0\0eval('a')\0", b"\x7fELF\x02\x01\0\0curl a | sh\0",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR| sh\xff", b"caf\xe9 | sh", b"\x80| sh\x80", b"\0\0sh\xc2\xa0-li\0", b"\x01| bash -c a\x02",
]


def data():
    yield from vectors()
    yield from (content for _, content in skills())


def pieces():
    yield from (text.encode() for text in HOSTILE)
    yield from HOSTILE_BYTES


CLASSIFY = [
    b"SKILL.md\na", b"skill.MD\n\0", b"a.py\n\0", b"a\n#!/bin/sh\n", b"a.png\n\x89PNG\r\n\x1a\n", b"a.png\ntext", b"Makefile\nall:",
    b"a.zip\nPK\x03\x04", b"a.zip\ntext", b"a.tar.gz\n\x1f\x8b\x08\0", b"a\nBZh91AY&SY", b"a\nBZh is text", b"a\nRIFF\0\0\0\0WEBP",
    b"a\nMZ" + b"\0" * 80, b"a\nMZ" + b" " * 80, b"a\n\0\0\0\x18ftyp", b"a\n" + b"\0" * 257 + b"ustar", b"a\n%PDF-1", b"a\n\xff\xfea\0b\0",
    b"a\n" + b"a\0b\0" * 20, b"a\n" + bytes(range(256)), b"a\ncaf\xe9", b"\n", b"", b".\n", b"a.tar.\n\xfd7zXZ\0", b".bashrc\nx", b"LICENSE\nx",
    b"a.html\n<html>", b"a.svg\n<svg>", b"a.bin\ntext", b"a.PY\n\xff\xff\xff", b"\xff\xfe.md\n\xff", b"a\n!<arch>\n", b"a\nwOF2\0",
]
FRONT_MATTER = [
    "---\nname: a\ndescription: b\n---\nc", "---\nallowed-tools: Read, Bash(git:*)\n---\n", "---\nallowed-tools: [Read, 'Bash(ls)']\n---\n",
    "---\nallowedTools: []\n---\n", "---\nallowedTools: [exec, read]\n---\n", "---\nallowed-tools: [Bash, Read]\n---\n",
    "---\nname: a\n...\n---\n", "---\nname: a\n---x\nb: c\n---\n", "---\nname: a\n--- x\n---", "---\nallowedTools:\n  - exec\nallowed-tools: Bash(git:*) Read\n---\n", "---\nallowed-tools:\n---\n",
    "---\nallowed-tools: {a: b}\n---\n", "---\nallowed-tools: *a\n---\n", "---\n<<: {allowed-tools: a}\n---\n", "---\n&a name: *a\n---\n",
    "---\n? allowed-tools\n: Read\n---\n", "---\n\"allowed-tools\": !!str Read\n---\n", "---\nallowed-tools: Read\nallowed-tools: Write\n---\n",
    "---\nallowed-tools: Bash(a)\nallowed-tools: Bash(b)\nallowed-tools: Bash(c)\n---\n",
    "---\nallowed-tools: Bash(git:*), Bash(ls:*)\nallowedTools: ['Bash(ls:*)', Bash]\n---\n", "---\nallowed-tools: Bash(a (b) c)\n---\n",
    "---\nallowed-tools: Bash(\n---\n", "---\nallowed-tools: )\n---\n", "---\nallowed-tools: |\n  Read\n  Write\n---\n", "---\n---\n", "---\n- a\n---\n",
    "---\nname: \"\\0\"\n---\n", "---\nname: |\n  a\n  b\ndescription: >-\n  c\n---\n", "--- \t\nname: a\n---", "---\r\nname: a\r\n---\r\n", "\ufeff---\na: b\n---\n",
    "---\nname: a\n", "---", "----\n---\n", "---\n[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n---\n", "---\n%YAML 1.1\n--- a\n...\n---\n", "---\na: 'b\n---\n", "---\nnull\n---\n",
    "---\nname: ~\ndescription: 5\nmetadata: {a: [b, {c: d}]}\n---\n", "---\nallowed-tools: true\n---\n", "---\nallowed-tools: 'true'\n---\n", "---\n# a\n---\n",
]
CONFIG = [
    "", "null\n", "agents:\n  default:\n    toolPolicy: {profile: minimal, allow: ['group:web', my_tool], deny: [browser]}\n",
    "agents:\n  default:\n    knownTools: [my_tool, \"other\\u00e9\"]\n    workspace: /srv/work space\n",
    "agents:\n  default:\n    sourceProfiles:\n      bash: {maxResponseBytes: 64KiB, maxChars: 1000, extractionStrategy: raw}\n      mcp__x: {maxChars: 200}\n",
    "agents:\n  a:\n    skills:\n      execSandbox: {enabled: required, readOnlyAllowPaths: [/opt/tools, \"/opt/\\u2028x\"], timeoutMs: 5000}\n",
    "agents:\n  a:\n    skills:\n      execSandbox: {network: {mode: broker-only, brokerSocketPath: /run/b.sock}, secureCredentialHome: true}\n",
    "agents:\n  a:\n    skills:\n      execSandbox: {memoryMax: 512 MB, pidsMax: 64, fileSizeMax: 10M, tmpSizeMax: 65537, enabled: never}\n",
    "agents:\n  default:\n    skills:\n      contentScanning: {enabled: false, blockOnCritical: false}\n      promptSkills: {maxBodyLength: 30000}\n",
    "mount:\n  maxFileSize: 1MB\n  cacheSize: 1G\n  spoolSize: \"2GiB\"\n  entryTimeoutMs: 0\n  quarantine: file\n",
    "mount:\n  classes: {'*.tpl': prose, 'docs/*.txt': code, 'a: \"#\\b': binary}\n", "mount: {quarantine: skill}\n", "mount: {followSymlinks: true}\n",
    "rules:\n  severity: {EXEC_EVAL: off, ACME_T: warn, ENV_PRINTENV: critical}\n  custom: [{id: ACME_T, severity: warn, pattern: 'a+'}]\n",
    "rules:\n  contexts: {table: warn, fenced_code: warn}\n", "rules:\n  custom:\n    - id: ACME_B\n      category: acme\n      severity: critical\n      pattern: \"a\\nb\\x01\\U0001F600\"\n",
    "rules:\n  custom: [{id: ACME_B, severity: warn, pattern: '('}]\n", "rules: {custom: [{id: EXEC_EVAL, severity: warn, pattern: a}]}\n", "security: {permission: a}\n",
    "mout: 1\n", "agents: [a]\n", "agents: {default: &a {}, b: *a}\n", "agents: !!map {}\n", "agents:\n  '-x': {}\n", "mount:\n  cacheSize: -1\n", "mount: {cacheSize: 1, cacheSize: 2}\n",
    "mount: {entryTimeoutMs: 1.5}\n", "mount: {maxFileSize: 99999999999999999999}\n", "a\n---\nb\n", "mount:\n\tx: 1\n", "\"\\0\": 1\n", "agents: {default: {toolPolicy: {profile: codin}}}\n",
    "agents: {default: {toolPolicy: {profile: 'true'}, knownTools: ['null', '1', 'no', '~', \"a\\\\b\", 'é']}}\n", "mount: {\"\u00e9\u00e9\u00e9" + "\u00e9" * 40 + "\": 1}\n",
    "agents: {default: {toolPolicy: {allow: [browsr, 'group:wb', \"\\x85\"]}}}\n", "agents: {default: {workspace: ../a}}\n", "agents: {default: {workspace: null, knownTools: 'a'}}\n",
]
REQUEST = [
    "ls -l", "ls\n", "", " \n", "\0", "{\"command\":\"a\"}", "{\"argv\":[\"a\",\"b c\"]}", "{\"argv\":[]}", "{\"argv\":[\"\"]}", "{\"command\":5}", "{", "{}", "{}}",
    "{\"command\":\"a\",\"cwd\":\"/x\",\"env\":{\"LANG\":\"C\",\"TZ\":\"\"},\"stdin\":\"a\\u0001b\",\"timeoutMs\":2000,\"skill\":\"pdf\",\"tool\":\"bash\"}\n",
    "{\"argv\":[\"a\"],\"limits\":{\"memoryMax\":50,\"pidsMax\":20,\"fileSizeMax\":1,\"tmpSizeMax\":9223372036854775807}}", "{\"argv\":[\"a\"],\"timeoutMs\":0}",
    "{\"argv\":[\"a\"],\"env\":{\"PATH\":\"/x\"}}", "{\"argv\":[\"a\"],\"env\":{\"A=B\":\"x\"}}", "{\"argv\":[\"a\"],\"env\":{\"\":\"x\"}}", "{\"argv\":[\"a\",1]}",
    "{\"command\":\"a\",\"command\":\"b\"}", "{\"command\":\"a\\u0000b\"}", "{\"a\\u0007\\u001b[1m\":1}", "{\"argv\":[\"a\"],\"limits\":{\"x\\ny\":1}}", "{\"command\":\"\u00e9\"} x",
    "{\"command\":\"a}", "{\"argv\":[\"\\ud83d\\ude00\",\"\\ud83d\"]}", "{\"limits\":{}", "{\"timeoutMs\":4294967296,\"command\":\"a\"}", "{\"" + "\u00e9" * 60 + "\":1}", "{\"stdin\":\"\\u0000\",\"command\":\"a\"}",
    "ech \u00e9\u00e9\u00e9", "echo \u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", "a\tb\x7f\x01", "{\"command\":\"a\"}  \t\r\n",
]
CUSTOM = [
    "%acme_[0-9]+\nacme_1 x acme_22", "%a|b\n%b|c\nabc", "%(a)(?=b)\nab ac ab", "%\\Ka\naa", "%a\\Kb\nab", "%(?<=x)y\nxy y xy", "%^a$\na\nb\na", "%(?m)^a$\na\nb\na",
    "%(a+)+$\n" + "a" * 24 + "b", "%(\nx", "%(*UTF)a\na", "%(?i)A\naA", "%\nab", "%a*\nbab", "%[\\x80-\\xff]+\n\u00e9a\u00e9", "%(?s).*\na\nb", "%\\bword\\b\n%wor\nword words",
    "%\\Aa\naa", "%a\\z\nba", "%(?:curl|wget) \ncurl a | sh\nwget b", "%x{3,5}\nxxxxxxxx", "%(?R)?a\naaa", "%(?|a(b)|c(d))\\1\nabb cdd", "%.\n\0\x01abcdef",
]
# What only a file as a whole can get wrong.
INSPECT = [
    # Cut at 40 characters a word ends that was none, and a table that a comment makes is none when it is gone.
    b"SKILL.md\n" + b"x" * 32 + b" bash -interactive and more", b"SKILL.md\n<!--\n| a | b |\n| --- | --- |\n-->\n| c | sh -c x |\n",
    b"SKILL.md\n" + "\u00e9\u200b".encode() * 30 + b"| sh", b"a.py\n" + "\u00e9".encode() + b"\xe2\x80 | s\xe2\x80\x8bh -c a",
    # What is taken out joins bytes.
    b"a.py\n| \xef\x1f\xbd\x93\xef\xbd\x88",
]
NAMES = [b"SKILL.md", b"a.py", b"a.bin"]


def named(texts):
    for number, text in enumerate(texts):
        yield NAMES[number % 3] + b"\n" + text


def encoded(texts):
    return [text.encode() for text in texts]


def nothing():
    return []


# What is kept, and what more there is.
HARNESSES = {
    "classify": (lambda: CLASSIFY, nothing),
    "sanitize": (pieces, data),
    "scan": (lambda: [*pieces(), *encoded(CUSTOM)], data),
    "inspect": (lambda: [*named(pieces()), *INSPECT], lambda: [*named(data()), *CLASSIFY]),
    "front_matter": (lambda: encoded(FRONT_MATTER), lambda: [text for name, text in skills() if name == "SKILL.md"]),
    "config": (lambda: encoded(CONFIG), nothing),
    "request": (lambda: [*encoded(REQUEST), b"\xff\xfe", b"{\"argv\":[\"\xff\"]}"], nothing),
}


def write(folder, seeds):
    os.makedirs(folder, exist_ok=True)
    for seed in seeds:
        seed = seed[:SIZE_MAX]
        with open(os.path.join(folder, hashlib.sha1(seed).hexdigest()), "wb") as file:
            file.write(seed)


def main():
    name, folder = sys.argv[1:]
    if name not in HARNESSES:
        sys.exit(f"seeds.py: no harness '{name}'")
    kept, more = HARNESSES[name]
    write(os.path.join(folder, "kept"), kept())
    write(os.path.join(folder, "more"), more())


if __name__ == "__main__":
    main()
