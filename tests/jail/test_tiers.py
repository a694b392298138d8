#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""With a jail, without one, and when one is required; policy at the door; and `skillfs exec`."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import SKILLFS, case, equal, eventually, find_key, json_lines, main, need_bwrap, need_fuse, processes_with, read

NO_BWRAP = {"SKILLFS_BWRAP": "/nonexistent/bwrap"}


def with_mode(mode):
    return f"agents:\n  default:\n    skills:\n      execSandbox: {{enabled: {mode}}}\n"


@case
def jail_is_there_and_named(w):
    _, view = w.two_folders()
    status = w.status(w.control(view))
    assert find_key(status, "tier").startswith("bwrap"), status
    _, result = w.door(w.control(view), "true\n")
    equal((result["tier"], result["warnings"]), (find_key(status, "tier"), []), "the result")


@case
def jail_is_there_for_a_starter_that_ignores_its_children(w):
    source, view = w.sample("source"), w.path("view")
    os.mkdir(view)
    ignoring = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    started = w.run(sys.executable, "-c", ignoring, SKILLFS, "mount", source, view)
    assert "WITHOUT" not in started.stderr, started.stderr
    control = w.control(view)
    output, result = w.door(control, "sleep 1 & echo jail-$((40 + 2)); exit 7\n")
    equal((output, result["state"], result["exitCode"]), (b"jail-42\n", "exited", 7), "the answer")
    assert result["tier"].startswith("bwrap"), result


@case
def missing_bwrap_warns_everywhere_and_runs(w):
    source, view = w.sample("source"), w.path("view")
    mounted = w.mount(source, view, env=NO_BWRAP)
    said = mounted.stdout + mounted.stderr
    assert "WARN" in said.upper() and "bubblewrap" in said, said
    status = w.status(w.control(view))
    equal(find_key(status, "tier"), "none", "status")
    assert any("bubblewrap" in warning or "bwrap" in warning for warning in status["warnings"]), status["warnings"]
    output, result = w.door(w.control(view), "echo it-runs-$((1 + 1))\n")
    equal((output.strip(), result["tier"], result["exitCode"]), (b"it-runs-2", "none", 0), "the job")
    assert result["warnings"], result
    doctor = w.skillfs("doctor", env=NO_BWRAP, ok=None)
    assert "bubblewrap" in doctor.stdout + doctor.stderr, doctor.stdout


@case
def required_refuses_without_a_jail(w):
    result = w.skillfs("mount", "-c", w.config(with_mode("required")), w.sample("told"), env=NO_BWRAP)
    assert "refuses all commands" in result.stderr and "WITHOUT" not in result.stderr, result.stderr
    _, view = w.two_folders(config=with_mode("required"), env=NO_BWRAP)
    control = w.control(view)
    assert any("refuses all commands" in text for text in w.status(control)["warnings"]), w.status(control)
    _, result = w.refused(control, f"echo it-ran > {w.path('home')}/ran; echo it-ran\n".encode())
    equal(result["reason"], "config", "the reason")
    assert "required" in result["message"], result
    equal(os.path.exists(w.path("home", "ran")), False, "it ran")


@case
def required_runs_with_a_jail(w):
    _, view = w.two_folders(config=with_mode("required"))
    output, result = w.door(w.control(view), "echo fine\n")
    equal((output, result["tier"].startswith("bwrap")), (b"fine\n", True), "the job")


@case
def never_runs_without_a_jail_and_says_so(w):
    _, view = w.two_folders(config=with_mode("never"))
    _, result = w.door(w.control(view), "true\n")
    equal((result["tier"], result["exitCode"]), ("none", 0), "the result")


@case
def without_the_tool_there_is_no_exec(w):
    _, view = w.two_folders(config="agents:\n  default:\n    toolPolicy: {profile: coding, deny: [exec]}\n")
    control = w.control(view)
    failed, result = w.refused(control, b"id\n")
    equal((failed, result["reason"]), ("EACCES", "policy"), "the refusal")
    events = eventually(lambda: [e for e in json_lines(read(f"{control}/audit")) if e["event"].startswith("exec.")], what="the log")
    equal([(e["event"], e["reason"]) for e in events], [("exec.refused", "policy")], "the log")


@case
def skill_s_restriction_narrows_the_door(w):
    _, view = w.two_folders()
    control = w.control(view)
    output, _ = w.door(control, {"command": "echo allowed", "skill": "pdf-notes"})
    equal(output, b"allowed\n", "a skill with Bash")
    source = w.path("source")
    with open(f"{source}/release-notes/SKILL.md", "r+b") as file:
        text = file.read().replace(b"name: release-notes\n", b"name: release-notes\nallowed-tools: Read\n")
        file.seek(0)
        file.write(text)

    eventually(lambda: os.getxattr(f"{view}/release-notes/SKILL.md", "user.skillfs.tools") == b"read", what="the new tools")
    failed, result = w.refused(control, {"command": "echo allowed", "skill": "release-notes"})
    equal((failed, result["reason"]), ("EACCES", "policy"), "a skill that only reads")


@case
def command_line_exits_with_the_command_s_code(w):
    _, view = w.two_folders()
    for code in (0, 1, 42, 255):
        result = w.skillfs("exec", "-m", view, "--", "sh", "-c", f"echo out; echo err >&2; exit {code}", ok=code)
        equal((result.stdout, result.stderr), ("out\n", "err\n"), "both streams, apart")
    w.skillfs("exec", "-m", view, "--", "no-such-command-at-all", ok=127)
    w.skillfs("exec", "-m", view, "--", "/etc/passwd", ok=126)
    result = w.skillfs("exec", "-m", view, "--cwd-does-not-exist", "--", "true", ok=None)
    assert result.returncode in (2, 125), result
    w.skillfs("exec", "-m", w.path("home"), "--", "true", ok=125)
    assert w.path("home") in w.skillfs("audit", w.path("home", "missing"), ok=2).stderr
    for stream, name in (("1", "standard output"), ("2", "standard error")):
        whole = w.skillfs("exec", "-m", view, "--", "sh", "-c", f"head -c 400000 /dev/zero | tr '\\0' x >&{stream}")
        cut = w.skillfs("exec", "-m", view, "--", "sh", "-c", f"head -c 600000 /dev/zero | tr '\\0' x >&{stream}")
        assert "was cut" not in whole.stderr, whole.stderr[-200:]
        assert f"{name} was cut: 500000 of 600000 bytes were kept" in cut.stderr, cut.stderr[-200:]
    result = w.skillfs("exec", "-m", view, "--timeout", "1", "--", "sleep", "20", ok=None)
    assert result.returncode in (124, 125), result
    report = json.loads(w.skillfs("exec", "-m", view, "--json", "--", "sh", "-c", "exit 5", ok=None).stdout.strip().splitlines()[-1])
    equal(find_key(report, "exitCode"), 5, "--json")


@case
def command_line_works_over_itself_and_from_inside(w):
    source = w.sample()
    w.mount(source)
    result = w.run(SKILLFS, "exec", "-m", ".", "--", "cat", f"{source}/pdf-notes/SKILL.md", cwd=source)
    assert result.stdout.startswith("---"), result.stdout
    assert "\n" in w.skillfs("exec", "-m", source, "--", "printf", "%s\\n", "a  b", "c").stdout


@case
def interrupt_ends_the_job(w):
    _, view = w.two_folders()
    seconds = f"9{os.getpid()}.25"
    with subprocess.Popen([SKILLFS, "exec", "-m", view, "--", "sleep", seconds], env=w.env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as command:
        eventually(lambda: len(processes_with(seconds)) > 1, what="the job beside the command")
        command.send_signal(signal.SIGINT)
        assert command.wait(15) in (-signal.SIGINT, 128 + signal.SIGINT), command.returncode
    eventually(lambda: not processes_with(seconds), what="the job's death")


main(need_fuse, need_bwrap)
