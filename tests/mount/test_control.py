#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The control mount: every promised file is there, says what it should, and is the owner's alone."""
import json
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import case, equal, errno_of, eventually, find_key, json_lines, main, need_fuse, read

CODING = ["read", "edit", "write", "grep", "find", "ls", "apply_patch", "exec", "process"]


@case
def status_is_json_and_true(w):
    source, view = w.two_folders()
    status = w.status(w.control(view))
    for key in ("version", "source", "mount", "agent", "uptime", "counters", "warnings"):
        assert any(k.lower().startswith(key.lower()) for k in status), (key, list(status))
    equal((find_key(status, "source"), find_key(status, "mount"), find_key(status, "agent")), (source, view, "default"), "status")
    assert isinstance(status["warnings"], list)
    assert find_key(status, "version") in w.skillfs("--version").stdout
    assert find_key(status, "tier"), status
    assert isinstance(find_key(status, "messages"), int), status


@case
def link_leads_to_a_mount_of_its_own(w):
    _, view = w.two_folders()
    control = w.control(view)
    equal(os.lstat(f"{view}/.skillfs").st_mode & 0o170000, stat.S_IFLNK, "type")
    assert control in w.mounts() or os.path.realpath(control) in w.mounts(), (control, w.mounts())
    assert control.startswith(w.path("run")), control
    equal("status" in os.listdir(f"{view}/.skillfs/"), True, "through the link")
    equal(w.run("sh", "-c", f"grep -r uptime {view} | wc -l").stdout.strip(), "0", "grep -r does not wander into it")


@case
def everything_is_the_owner_s_alone(w):
    _, view = w.two_folders()
    control = w.control(view)
    seen = 0
    for folder, folders, names in os.walk(control):
        for name in folders + names:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            seen += 1
            if stat.S_ISLNK(st.st_mode):
                continue
            equal(st.st_mode & 0o077, 0, f"bits for others on {path}")
            equal(st.st_uid, os.geteuid(), f"owner of {path}")
            allowed = (0o500, 0o700) if stat.S_ISDIR(st.st_mode) else (0o400, 0o600, 0o200)
            assert stat.S_IMODE(st.st_mode) in allowed, (path, oct(st.st_mode))
    assert seen > 20, seen


@case(root=True)
def another_user_cannot_read_it(w):
    _, view = w.two_folders()
    control = w.control(view)
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all")
    equal(w.run(*nobody, "id", "-u").stdout, "65534\n", "it is another user")
    for path in ("status", "quarantine", "audit", "agents/default/tools", "exec"):
        for start in (control, f"{view}/.skillfs"):
            result = w.run(*nobody, "cat", f"{start}/{path}", ok=1)
            assert "Permission denied" in result.stderr, result.stderr
    w.run(*nobody, "sh", "-c", f"echo id > {control}/exec", ok=None)
    equal([e for e in json_lines(read(f"{control}/audit")) if e["event"].startswith("exec.start")], [], "no job ran")


@case
def policy_files_say_the_tables(w):
    _, view = w.two_folders()
    control = w.control(view)
    equal(sorted(os.listdir(f"{control}/policy/profiles")),
          sorted(["minimal", "coding", "messaging", "supervisor", "full", "cron-minimal", "heartbeat-minimal"]), "profiles")
    equal(read(f"{control}/policy/profiles/coding").decode().split(), CODING, "coding")
    equal(read(f"{control}/policy/profiles/minimal").decode(), "read\nwrite\n", "minimal")
    assert os.listdir(f"{control}/policy/groups")
    equal(len(json.loads(read(f"{control}/policy/rules.json"))["rules"]) if isinstance(
        json.loads(read(f"{control}/policy/rules.json")), dict) else len(json.loads(read(f"{control}/policy/rules.json"))), 18, "rules")
    with open(w.path("shown.yaml"), "wb") as file:
        file.write(read(f"{control}/policy/config.yaml"))
    w.skillfs("config", "check", w.path("shown.yaml"))


@case
def agents_have_tools_and_reasons(w):
    _, view = w.two_folders(config="""
agents:
  default:
    toolPolicy: {profile: coding, deny: [exec, process]}
  helper:
    toolPolicy: {profile: minimal, allow: [web_search]}
""")
    control = w.control(view)
    equal(sorted(os.listdir(f"{control}/agents")), ["default", "helper"], "agents")
    equal(set(read(f"{control}/agents/default/tools").decode().split()), set(CODING[:-2]), "tools")
    equal(sorted(read(f"{control}/agents/helper/tools").decode().split()), ["read", "web_search", "write"], "tools")
    policy = json.loads(read(f"{control}/agents/default/policy.json"))
    equal(set(policy) >= {"agent", "profile", "tools", "excluded"}, True, "policy.json")
    reasons = {e["tool"]: e["reason"] for e in policy["excluded"]}
    equal((reasons["exec"], reasons["web_search"]), ("explicit_deny", "not_in_profile"), "reasons")
    equal(json.loads(w.skillfs("policy", "--json", "-c", w.path("config", "test.yaml"), ok=None).stdout or "{}").get("tools", policy["tools"]),
          policy["tools"], "skillfs policy")


@case
def skills_have_their_own_tools(w):
    _, view = w.two_folders()
    skills = f"{w.control(view)}/agents/default/skills"
    # shell-starter's SKILL.md is hidden, so there is no such skill.
    eventually(lambda: sorted(os.listdir(skills)) == ["env-report", "pdf-notes", "quick-install", "release-notes"], what="skills")
    equal(set(read(f"{skills}/pdf-notes/tools").decode().split()), {"read", "write", "exec"}, "a skill with a list")
    equal(set(read(f"{skills}/release-notes/tools").decode().split()), set(CODING), "a skill without")
    reasons = {e["tool"]: e["reason"] for e in json.loads(read(f"{skills}/pdf-notes/policy.json"))["excluded"]}
    equal((reasons["edit"], reasons["web_search"]), ("not_in_skill", "not_in_profile"), "reasons")


@case
def agent_option_chooses_the_exec_link(w):
    _, view = w.two_folders("agent=helper", config="agents:\n  helper:\n    toolPolicy: {profile: minimal}\n")
    control = w.control(view)
    equal(os.readlink(f"{control}/exec"), "agents/helper/exec", "exec")
    equal(find_key(w.status(control), "agent"), "helper", "status")
    tools = os.getxattr(f"{view}/release-notes/SKILL.md", "user.skillfs.tools")
    equal(tools, b"read,write", "tools on SKILL.md")


@case
def readme_is_short_and_reading_starts_nothing(w):
    _, view = w.two_folders()
    control = w.control(view)
    lines = read(f"{control}/README").decode().splitlines()
    assert 5 <= len(lines) <= 30, len(lines)
    for folder, _, names in os.walk(control):
        for name in names:
            path = os.path.join(folder, name)
            if stat.S_ISREG(os.lstat(path).st_mode) and name != "wait" and os.access(path, os.R_OK):
                read(path)
    events = [e["event"] for e in json_lines(read(f"{control}/audit"))]
    equal([e for e in events if e.startswith("exec")], [], "jobs")
    equal(errno_of(os.open, f"{control}/status", os.O_WRONLY) in ("EACCES", "EPERM", "EROFS") or os.geteuid() == 0, True, "status is not for writing")


@case
def audit_command_and_file_agree(w):
    _, view = w.two_folders()
    for folder, _, _ in os.walk(view):
        os.listdir(folder)
    table = w.skillfs("audit", view, ok=None).stdout
    for word in ("quick-install/scripts/install.sh", "EXEC_PIPE_BASH", "env-report/SKILL.md", "ENV_PRINTENV"):
        assert word in table, table
    events = json_lines(read(f"{w.control(view)}/audit"))
    assert all("time" in e and "event" in e for e in events), events
    names = {e["event"] for e in events}
    assert {"mount.start", "skill.scan", "skill.scan.reject", "skill.prompt.load"} <= names, names
    notes = next(e for e in events if e["event"] == "skill.prompt.load" and e["path"].startswith("release-notes"))
    equal((notes["htmlCommentsStripped"], notes["truncated"], notes["tagBlockDetected"]), (1, False, True), "the event")


@case
def sizes_serve_tools_that_trust_them(w):
    """cp, tail and editors read what stat promises; control files must not come out empty or cut."""
    _, view = w.two_folders()
    control = w.control(view)
    for name in ("status", "quarantine", "agents/default/tools", "policy/rules.json"):
        with subprocess.Popen(["cat", f"{control}/{name}"], stdout=subprocess.PIPE) as cat:
            whole = cat.stdout.read()
        assert len(whole) > 1, name
        w.run("cp", "--no-preserve=mode", f"{control}/{name}", w.path("copy"))
        if name != "status":
            equal(read(w.path("copy")), whole, f"cp of {name}")
        os.unlink(w.path("copy"))
        assert w.run("head", "-c", "20", f"{control}/{name}").stdout


main(need_fuse)
