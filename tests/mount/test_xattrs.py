#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The extended attributes: every promised name, well-formed, true, and nothing else."""
import errno
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import case, equal, errno_of, json_lines, main, need_fuse, read, write

FILE_NAMES = {f"user.skillfs.{name}" for name in ("verdict", "class", "rules", "findings", "notices", "sanitize", "hash", "ruleset")}
FINDING = {"ruleId", "category", "severity", "description", "matchedText", "position", "lineNumber", "byteOffset", "stage",
           "context", "approved"}
SANITIZE = {"htmlCommentsStripped", "truncated", "tagBlockDetected", "invisibleStripped", "normalized", "sourceSize", "size"}


def attribute(path, name):
    return os.getxattr(path, f"user.skillfs.{name}").decode()


@case
def every_file_has_every_name(w):
    source, view = w.two_folders()
    rulesets = set()
    for folder, _, names in os.walk(view):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                continue
            expected = FILE_NAMES | ({"user.skillfs.tools"} if name == "SKILL.md" else set())
            equal(set(os.listxattr(path)), expected, f"names on {path}")
            assert attribute(path, "verdict") in ("clean", "warn"), path
            assert attribute(path, "class") in ("prose", "code", "binary"), path
            findings = json.loads(attribute(path, "findings"))
            for finding in findings:
                equal(set(finding), FINDING, f"fields of a finding on {path}")
            equal(set(filter(None, attribute(path, "rules").split(","))), {f["ruleId"] for f in findings}, f"rules on {path}")
            for notice in json.loads(attribute(path, "notices")):
                assert notice["code"] and notice["count"] >= 1, notice
            stats = json.loads(attribute(path, "sanitize"))
            equal(set(stats), SANITIZE, f"sanitize on {path}")
            equal(stats["size"], len(read(path)), f"size on {path}")
            equal(stats["sourceSize"], os.stat(os.path.join(source, os.path.relpath(path, view))).st_size, "sourceSize")
            assert re.fullmatch(r"xxh3:[0-9a-f]{32}", attribute(path, "hash")), attribute(path, "hash")
            rulesets.add(attribute(path, "ruleset"))
    equal(len(rulesets), 1, "one rule set")


@case
def values_say_what_happened(w):
    source, view = w.two_folders()
    path = f"{view}/release-notes/SKILL.md"
    stats = json.loads(attribute(path, "sanitize"))
    equal((stats["htmlCommentsStripped"], stats["truncated"], stats["tagBlockDetected"], stats["normalized"]),
          (1, False, True, True), "sanitize")
    assert stats["invisibleStripped"] >= 20 and stats["size"] < stats["sourceSize"], stats
    equal(json.loads(w.skillfs("sanitize", "--report", f"{source}/release-notes/SKILL.md").stderr), stats, "the report")
    path = f"{view}/env-report/SKILL.md"
    equal(attribute(path, "verdict"), "warn", "verdict")
    equal(attribute(path, "class"), "prose", "class")
    by_rule = {f["ruleId"]: f for f in json.loads(attribute(path, "findings"))}
    equal({f["severity"] for f in by_rule.values()}, {"WARN"}, "severities")
    source_text = read(f"{source}/env-report/SKILL.md")
    for rule, word in (("ENV_PRINTENV", b"printenv"), ("NET_CURL_PIPE", b"curl")):
        offset = by_rule[rule]["byteOffset"]
        equal(source_text[offset:offset + len(word)], word, f"offset of {rule}")
        equal(by_rule[rule]["lineNumber"], source_text[:offset].count(b"\n") + 1, f"line of {rule}")
    equal(by_rule["NET_CURL_PIPE"]["context"], "fenced_code", "context")
    equal(attribute(f"{view}/pdf-notes/SKILL.md", "verdict"), "clean", "verdict")
    equal(attribute(f"{view}/pdf-notes/scripts/outline.py", "class"), "code", "class")


@case
def equal_bodies_have_equal_hashes(w):
    source = w.sample("source")
    write(f"{source}/a.md", "same text\n")
    write(f"{source}/b.md", "same text\n")
    write(f"{source}/c.md", "other text\n")
    _, view = w.two_folders(source=source)
    a, b, c = (attribute(f"{view}/{name}.md", "hash") for name in "abc")
    assert a == b != c, (a, b, c)


@case
def tools_are_narrowed_by_the_skill(w):
    _, view = w.two_folders()
    tools = attribute(f"{view}/release-notes/SKILL.md", "tools").split(",")
    assert {"read", "write", "exec"} <= set(tools), tools
    equal(set(attribute(f"{view}/pdf-notes/SKILL.md", "tools").split(",")), {"read", "write", "exec"}, "a skill with a list")


@case
def directories_count_what_is_hidden(w):
    _, view = w.two_folders()
    for folder, _, _ in os.walk(view):
        os.listdir(folder)
    equal(attribute(f"{view}/quick-install/scripts", "hidden"), "1", "hidden")
    equal(attribute(f"{view}/quick-install", "hidden"), "0", "hidden, directly in it")
    equal(attribute(f"{view}/shell-starter", "hidden"), "1", "hidden")
    for folder, _, _ in os.walk(view):
        equal(set(os.listxattr(folder)), {"user.skillfs.hidden", "user.skillfs.summary"}, f"names on {folder}")
        assert isinstance(json.loads(attribute(folder, "summary")), dict)
    equal(json.loads(attribute(view, "summary"))["hidden"], 2, "hidden in the tree")


@case
def other_names_do_not_exist(w):
    source = w.sample("source")
    os.setxattr(f"{source}/pdf-notes/SKILL.md", "user.mine", b"x")
    _, view = w.two_folders(source=source)
    path = f"{view}/pdf-notes/SKILL.md"
    for name in ("user.mine", "user.skillfs.nothing", "user.skillfs.", "user.skillfs.verdict2", "security.capability",
                 "system.posix_acl_access", "trusted.x", "user.skillfs.hidden"):
        got = errno_of(os.getxattr, path, name)
        assert got in ("ENODATA", "EOPNOTSUPP") if name.startswith(("system.", "trusted.")) else got == "ENODATA", (name, got)
    equal(errno_of(os.getxattr, view, "user.skillfs.verdict"), "ENODATA", "a file's name on a directory")
    out = w.run("getfattr", "--absolute-names", "-d", path).stdout
    assert 'user.skillfs.verdict="clean"' in out and "mine" not in out, out


@case
def long_lists_are_cut_at_a_whole_finding(w):
    source = w.path("source")
    write(f"{source}/many.sh", "#!/bin/sh\n" + "printenv | sort\n" * 5000)
    _, view = w.two_folders(source=source)
    value = attribute(f"{view}/many.sh", "findings")
    assert len(value) <= 64 * 1024, len(value)
    findings = json.loads(value)
    equal(list(findings[-1]), ["omitted"], "the last element")
    equal(len(findings) - 1 + findings[-1]["omitted"], 5000, "all are counted")
    told = json_lines(read(os.path.join(w.control(view), "findings")))[0]["findings"]
    assert len(findings) < len(told) < 2000, f"the owner sees more, but not all is held: {len(told)}"
    equal(len(told) - 1 + told[-1]["omitted"], 5000, "all are counted there as well")
    out = w.skillfs("audit", view).stdout
    assert f"{told[-1]['omitted']} more; skillfs scan shows all" in out, out[-500:]
    equal(errno.errorcode[errno.ERANGE], "ERANGE")


main(need_fuse)
