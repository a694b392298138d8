#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md shows is so: its configuration is valid and acts, its commands exist, its session looks like that."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import ROOT, case, equal, find_key, main, need_bwrap, need_fuse, read, write


def blocks(kind):
    text = read(os.path.join(ROOT, "README.md")).decode()
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


@case
def configuration_is_valid_and_acts(w):
    (text,) = blocks("yaml")
    source = w.sample("source")
    write(f"{source}/a.prompt", "fine\n<!-- gone -->\n")
    work = w.path("work")
    os.mkdir(work)
    os.mkdir(w.path("tools"))
    text = text.replace("/srv/agent/work", work).replace("/opt/tools", w.path("tools"))
    w.skillfs("config", "check", w.config(text))
    _, view = w.two_folders(source=source, config=text)
    equal(read(f"{view}/a.prompt"), b"fine\n\n", "the class of *.prompt")
    tools = read(f"{w.control(view)}/agents/default/tools").decode().split()
    assert "exec" in tools and "web_search" in tools and "process" not in tools, tools
    equal(find_key(w.status(w.control(view)), "warnings"), [], "warnings")


@case
def commands_exist(w):
    known = w.skillfs("help").stdout
    used = set(re.findall(r"^(?:\$ )?skillfs (\w+)", "\n".join(blocks("sh") + blocks("console")), re.MULTILINE))
    assert len(used) > 6, used
    for command in used:
        assert re.search(rf"^\s+{command}\b", known, re.MULTILINE), command
        assert "Example" in w.skillfs("help", command).stdout, command


@case
def map_names_what_is_there(w):
    text = read(os.path.join(ROOT, "README.md")).decode()
    for path in re.findall(r"\]\((\w[\w./]*)\)|^\| `(\w+/)`", text, re.MULTILINE):
        path = "".join(path)
        assert os.path.exists(os.path.join(ROOT, path)), path
    equal(w.mounts(), [])


@case
def session_looks_like_that(w):
    """The lines of the console block come out of the same commands."""
    (session,) = blocks("console")
    w.sample()
    script = "\n".join(line[2:] for line in session.splitlines() if line.startswith("$ "))
    environment = {"PATH": f"{os.path.dirname(os.environ.get('SKILLFS', ROOT + '/build/dev/bin/skillfs'))}:{w.env['PATH']}"}
    result = w.run("bash", "-c", f"exec 2>&1\n{script}", env=environment, ok=None)
    printed = [line for line in session.replace("/tmp/demo", w.dir).splitlines() if not line.startswith("$ ")]
    got = result.stdout.splitlines()
    for line in printed:
        if line.startswith(("uid=", "cat: /root", '{"skillfs"', "bash:")):
            continue  # who and where one is
        assert line in got, f"{line!r} is not in:\n{result.stdout}"
    for start in ("uid=", "cat: ", '{"skillfs":{"job":1,"state":"exited","exitCode":1,"signal":null,"tier":"bwrap'):
        assert any(line.startswith(start) for line in got), (start, result.stdout)


main(need_fuse, need_bwrap)
