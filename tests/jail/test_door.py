#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simple door: one open is one job, from any shell and language, with output, result and limits."""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import case, equal, errno_of, eventually, json_lines, main, need_bwrap, need_fuse, processes_with, read, split_result

RESULT = {"job", "state", "exitCode", "signal", "tier", "network", "durationMs", "stdoutBytes", "stderrBytes", "keptBytes",
          "truncated", "limit", "warnings", "policyHash", "boundBinary"}


def start(w, *options, **arguments):
    _, view = w.two_folders(*options, **arguments)
    control = w.control(view)
    output, result = w.door(control, "echo jail-$((40 + 2))\n")
    equal((output.strip(), result["state"], result["exitCode"]), (b"jail-42", "exited", 0), "the positive control")
    assert result["tier"].startswith("bwrap"), result
    return view, control


@case
def result_has_every_field(w):
    _, control = start(w)
    output, result = w.door(control, "echo out; echo err >&2; exit 3\n")
    assert RESULT <= set(result), RESULT - set(result)
    equal((result["state"], result["exitCode"], result["signal"]), ("exited", 3, None), "how it ended")
    equal((result["stdoutBytes"], result["stderrBytes"], result["truncated"]), (4, 4, False), "bytes")
    assert b"out\n" in output and b"err\n" in output, output
    equal(result["network"], "open", "network")
    assert isinstance(result["durationMs"], int) and isinstance(result["warnings"], list), result


@case
def signals_and_missing_commands_are_told_apart(w):
    _, control = start(w)
    _, result = w.door(control, "kill -9 $$\n")
    assert (result["state"], result["signal"]) in (("signaled", "KILL"), ("signaled", "SIGKILL"), ("signaled", 9)) or \
        result["exitCode"] == 137, result
    _, result = w.door(control, "no-such-command-at-all\n")
    equal((result["state"], result["exitCode"]), ("exited", 127), "a missing command")


@case
def json_request_takes_argv_cwd_env_and_stdin(w):
    view, control = start(w)
    output, _ = w.door(control, {"argv": ["printf", "%s|", "a b", "$HOME", "*"]})
    equal(output.strip(), b"a b|$HOME|*|", "argv is not a shell line")
    output, _ = w.door(control, {"command": "pwd", "cwd": f"{view}/pdf-notes"})
    equal(output.strip(), f"{view}/pdf-notes".encode(), "cwd")
    output, _ = w.door(control, {"command": "echo $LC_ALL; cat", "env": {"LC_ALL": "C"}, "stdin": "given\n"})
    equal(output, b"C\ngiven\n", "env and stdin")
    output, result = w.door(control, {"command": "cat | wc -c"})
    equal((output.strip(), result["exitCode"]), (b"0", 0), "stdin is empty without one")


@case
def bad_requests_are_refused_without_a_job(w):
    _, control = start(w)
    for request in (b'{"command": ', b'{"comand": "id"}\n', b'{"command": "id", "argv": ["id"]}\n', b'{"command": 5}\n', b"{}\n",
                    b'{"command": "id", "cwd": "/etc"}\n', b'{"command": "id", "cwd": "relative"}\n',
                    b'{"command": "id", "env": {"LD_PRELOAD": "/x"}}\n', b'{"command": "id", "env": {"PATH": "/x"}}\n', b"a\0b\n"):
        failed, result = w.refused(control, request)
        assert failed in ("EINVAL", None) and result["message"], (request, failed, result)
    started = [e for e in json_lines(read(f"{control}/audit")) if e["event"] == "exec.start"]
    equal(len(started), 1, "jobs started (the positive control)")


@case
def reading_without_writing_gives_help_and_starts_nothing(w):
    _, control = start(w)
    text = w.run("cat", f"{control}/exec").stdout
    assert "echo" in text or "Write" in text or "write" in text, text
    w.run("sh", "-c", f": > {control}/exec", ok=None)
    started = [e for e in json_lines(read(f"{control}/audit")) if e["event"] == "exec.start"]
    equal(len(started), 1, "jobs (the positive control)")


@case
def shell_uses_it(w):
    _, control = start(w)
    for shell in ("sh", "bash"):
        out = w.run(shell, "-c", f"exec 3<>{control}/exec; echo 'echo from-$((1+1))-the-jail; exit 4' >&3; cat <&3").stdout
        assert "from-2-the-jail" in out, out
        equal(json.loads(out.strip().splitlines()[-1])["skillfs"]["exitCode"], 4, shell)
    w.run("sh", "-c", f"echo 'echo written-only; exit 6' > {control}/exec")
    last = f"{control}/jobs/last"
    eventually(lambda: json.loads(read(f"{last}/status"))["exitCode"] == 6, what="the job's end in jobs/last/status")
    assert b"written-only" in read(f"{last}/stdout"), os.listdir(last)


@case
def python_and_node_use_it(w):
    _, control = start(w)
    script = ("import json,os,sys\nfd=os.open(sys.argv[1],os.O_RDWR)\nos.write(fd,json.dumps({'command':'echo via-python'}).encode())\n"
              "sys.stdout.write(open(fd).read())\n")
    out = w.run("python3", "-c", script, f"{control}/exec").stdout
    assert "via-python" in out and '"skillfs"' in out, out
    if shutil.which("node"):
        script = ("const fs=require('fs');const fd=fs.openSync(process.argv[1],'r+');fs.writeSync(fd,'echo via-node\\n');"
                  "process.stdout.write(fs.readFileSync(fd,'utf8'));")
        out = w.run("node", "-e", script, f"{control}/exec").stdout
        assert "via-node" in out and '"skillfs"' in out, out


@case
def request_in_pieces_is_one_job(w):
    _, control = start(w)
    fd = os.open(f"{control}/exec", os.O_RDWR)
    for piece in (b"echo one ", b"piece; ", b"echo two\n"):
        os.write(fd, piece)
    output, result = b"", None
    while True:
        part = os.read(fd, 10)
        if not part:
            break
        output += part
    os.close(fd)
    output, result = split_result(output)
    equal((output, result["exitCode"]), (b"one piece\ntwo\n", 0), "the job")


@case
def two_handles_are_two_jobs(w):
    _, control = start(w)
    one, two = (os.open(f"{control}/exec", os.O_RDWR) for _ in range(2))
    os.write(one, b"sleep 1; echo first\n")
    os.write(two, b"echo second\n")
    began = time.monotonic()
    equal(os.read(two, 100).startswith(b"second"), True, "the quick one does not wait for the slow one")
    assert time.monotonic() - began < 60
    equal(os.read(one, 100).startswith(b"first"), True, "the slow one")
    os.close(one)
    os.close(two)


@case
def long_output_keeps_its_tail(w):
    _, control = start(w)
    output, result = w.door(control, "i=0; while [ $i -lt 40000 ]; do echo line-$i; i=$((i+1)); done; echo the-very-end\n")
    equal(result["truncated"], True, "truncated")
    assert result["stdoutBytes"] > 380000, result
    assert output.rstrip().endswith(b"the-very-end"), output[-80:]
    assert b"line-0\n" not in output and len(output.decode()) <= 50000 + 200, len(output)
    output, result = w.door(control, "yes x | head -c 30000000; echo; echo the-very-end\n")
    assert result["exitCode"] == 0 and output.rstrip().endswith(b"the-very-end"), (result, output[-50:])


@case
def output_of_any_bytes_comes_through(w):
    _, control = start(w)
    output, result = w.door(control, "printf 'a\\377\\376b\\000c\\n'\n")
    equal(result["exitCode"], 0, "exit code")
    assert b"a" in output and b"c\n" in output, output
    output, _ = w.door(control, "printf 'no end of line'\n")
    equal(output.rstrip(b"\n"), b"no end of line", "without a line end")


@case
def time_out_kills_the_whole_tree(w):
    _, control = start(w)
    marker = f"{os.getpid()}.4321"
    _, result = w.door(control, {"command": f"trap '' TERM; (trap '' TERM; setsid sleep 9{marker} & sleep 9{marker}) & sleep 9{marker}",
                                 "timeoutMs": 700})
    equal(result["state"], "timeout", "state")
    eventually(lambda: not processes_with(f"9{marker}"), what="the tree's death")


@case
def background_children_end_with_the_job(w):
    _, control = start(w)
    marker = f"{os.getpid()}.1234"
    _, result = w.door(control, f"(setsid sleep 8{marker} >/dev/null 2>&1 &) ; (sleep 8{marker} &) ; echo main-done\n")
    equal((result["state"], result["exitCode"]), ("exited", 0), "the job")
    eventually(lambda: not processes_with(f"8{marker}"), what="the children's death")


def long_job(w, control, seconds):
    """A client that waits for a job which sleeps for `seconds` (a number that nobody else uses)."""
    client = subprocess.Popen(["sh", "-c", f"exec 3<>{control}/exec; echo 'sleep {seconds}' >&3; exec cat <&3"], env=w.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: set(processes_with(seconds)) - {client.pid}, what="the job")
    return client


@case
def unmounting_kills_the_job(w):
    view, control = start(w)
    seconds = f"7{os.getpid()}.7777"
    with long_job(w, control, seconds) as client:
        w.skillfs("umount", "--now", view)
        eventually(lambda: not processes_with(seconds), what="the job's death")
        client.wait(10)
    w.settle()


@case
def killed_daemon_takes_its_jobs_along(w):
    _, control = start(w)
    seconds = f"6{os.getpid()}.8888"
    with long_job(w, control, seconds) as client:
        w.kill_daemon()
        eventually(lambda: not processes_with(seconds), what="the job's death")
        client.wait(10)


@case
def client_that_dies_takes_its_job_along(w):
    _, control = start(w)
    seconds = f"5{os.getpid()}.5555"
    with long_job(w, control, seconds) as client:
        client.kill()
        client.wait(10)
    eventually(lambda: not processes_with(seconds), what="the job's death")


@case
def jobs_leave_nothing(w):
    view, control = start(w)
    for number in range(25):
        output, _ = w.door(control, f"echo {number}; echo x > file\n")
        equal(output.strip(), str(number).encode(), "output")
    equal(len(read(f"{control}/audit").splitlines()) > 50, True, "two audit lines a job")
    w.umount(view)
    w.settle()


@case
def audit_has_a_line_before_and_after(w):
    _, control = start(w)
    w.door(control, {"command": "exit 9", "env": {"LC_ALL": "secret-value"}})
    events = [e for e in json_lines(read(f"{control}/audit")) if e["event"].startswith("exec.")]
    equal([e["event"] for e in events], ["exec.start", "exec.end"] * 2, "events")
    assert "secret-value" not in json.dumps(events), "a value of the environment is in the log"
    assert events[3].get("exitCode") == 9, events[3]


@case
def request_over_a_mebibyte_is_refused(w):
    _, control = start(w)
    fd = os.open(f"{control}/exec", os.O_RDWR)
    try:
        got = errno_of(lambda: [os.write(fd, b"#" * 65536) for _ in range(20)] and None)
        equal(got, "E2BIG", "errno")
    finally:
        os.close(fd)


main(need_fuse, need_bwrap)
