#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a command in the jail can reach: the view and its workspace, and nothing else of the owner's."""
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import IS_ROOT, case, equal, main, need_bwrap, need_fuse, read, write


def start(w, *options, env=None, **arguments):
    """A mount whose owner has secrets lying about; returns (view, run) where run gives a job's output and result."""
    write(w.path("home", ".ssh", "id_rsa"), "SECRETMARK\n", 0o600)
    write(w.path("home", ".claude", ".credentials.json"), "SECRETMARK\n", 0o600)
    write(w.path("home", ".netrc"), "SECRETMARK\n", 0o600)
    _, view = w.two_folders(*options, env={"SECRET_TOKEN": "SECRETMARK", **(env or {})}, **arguments)
    control = w.control(view)

    def run(request):
        output, result = w.door(control, request)
        return output.decode(errors="replace"), result

    output, result = run("echo jail-$((40 + 2))\n")
    equal((output.strip(), result["exitCode"]), ("jail-42", 0), "the positive control")
    assert result["tier"].startswith("bwrap"), result
    return view, run


@case
def secrets_of_the_home_are_not_there(w):
    _, run = start(w)
    output, result = run("id; cat ~/.ssh/id_rsa\n")
    assert f"uid={os.geteuid()}" in output and "No such file or directory" in output, output
    equal(result["exitCode"], 1, "exit code")
    output, _ = run(f"cat ~/.ssh/* ~/.claude/.credentials.json ~/.netrc {w.dir}/home/.ssh/id_rsa /root/.ssh/* /etc/shadow; "
                    f"ls -A ~ {w.dir}/home; grep -rs SECRETMARK ~ /tmp /etc/hostname\n")
    assert "SECRETMARK" not in output, output
    output, _ = run("cat /etc/shadow\n")
    assert "No such file" in output or "denied" in output, output
    equal(os.path.exists("/etc/shadow"), True, "it is there outside")


@case
def environment_is_clean(w):
    _, run = start(w)
    output, _ = run("env; echo ---; tr '\\0' '\\n' < /proc/1/environ; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'\n")
    assert "SECRETMARK" not in output and "ASAN_OPTIONS" not in output and "XDG_RUNTIME_DIR" not in output, output
    given = dict(line.split("=", 1) for line in output.split("---")[0].splitlines() if "=" in line)
    equal(given["HOME"] != "" and given["PATH"].startswith("/"), True, "HOME and PATH")
    # What the daemon's environment says elsewhere must not be what the jail's says.
    kept = {"PATH", "HOME", "LANG", "USER", "TERM", "TZ", "PYTHONDONTWRITEBYTECODE"}
    equal({name for name in set(given) & set(w.env) - kept if given[name] == w.env[name]}, set(), "variables passed through")


@case
def view_is_readable_and_read_only(w):
    view, run = start(w)
    output, result = run(f"cat {view}/pdf-notes/SKILL.md\n")
    equal((output.encode(), result["exitCode"]), (read(f"{view}/pdf-notes/SKILL.md"), 0), "the body")
    output, _ = run(f"ls {view}/quick-install/scripts; cat {view}/quick-install/scripts/install.sh\n")
    assert "remove.sh" in output and "curl" not in output and "No such file" in output, output
    output, _ = run(f"touch {view}/x; echo x >> {view}/pdf-notes/SKILL.md; rm {view}/pdf-notes/SKILL.md; mkdir {view}/d; chmod 777 {view}/pdf-notes\n")
    equal(output.count("Read-only file system"), 5, output)
    output, result = run(f"printf '1\\tStart\\t3\\n' | {view}/pdf-notes/scripts/outline.py\n")
    equal((output, result["exitCode"]), ("# Start (page 3)\n", 0), "a script of the skill runs")


@case
def over_itself_the_jail_sees_the_view_and_not_the_source(w):
    source = w.sample()
    w.mount(source)
    output, result = w.door(w.control(source), f"cat {source}/release-notes/SKILL.md; ls {source}/quick-install/scripts\n")
    assert result["tier"].startswith("bwrap") and b"Keep it short" in output, output
    assert b"collector" not in output and b"install.sh" not in output, output


@case
def source_elsewhere_is_not_reachable(w):
    _, run = start(w)
    output, result = run(f"cat {w.dir}/source/quick-install/scripts/install.sh; ls {w.dir}/source {w.dir}; grep ' / ' /proc/self/mountinfo\n")
    assert "curl" not in output, output
    output, _ = run("cat /proc/self/mountinfo\n")
    assert f"{w.dir}/source" not in output.replace(f"{w.dir}/source\\040", ""), output


@case
def control_mount_is_not_reachable(w):
    view, run = start(w)
    control = w.control(view)
    output, _ = run(f"ls {control} {view}/.skillfs/; cat {view}/.skillfs/status {control}/status; echo id > {view}/.skillfs/exec; "
                    f"echo id > {control}/exec; cat {control}/agents/default/tools\n")
    assert "\"version\"" not in output and "apply_patch" not in output, output
    assert output.count("No such file or directory") + output.count("denied") + output.count("nonexistent") >= 6, output


@case
def no_descriptor_is_inherited(w):
    _, run = start(w)
    output, _ = run("for f in /proc/self/fd/*; do echo ${f##*/} $(readlink $f); done\n")
    numbers = {line.split()[0] for line in output.splitlines() if line.strip()}
    # The shell's own glob and substitution hold one or two more while they run.
    assert numbers <= {"0", "1", "2", "3", "10", "255"}, output
    output, _ = run("ls -l /proc/1/fd /proc/$$/fd\n")
    for word in ("fuse", w.dir, "socket:", "anon_inode:[fuse", "/etc"):
        assert word not in output.replace(f"{w.dir}/run", "") or word == w.dir, (word, output)


@case
def no_capability_and_no_new_privileges(w):
    _, run = start(w)
    output, _ = run("grep -E 'Cap(Eff|Prm|Inh|Bnd|Amb)|NoNewPrivs' /proc/self/status\n")
    values = dict(line.split(":\t") for line in output.splitlines())
    equal(values["NoNewPrivs"], "1", "no_new_privs")
    equal({int(values[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd")}, {0}, "capabilities")
    output, _ = run("mount -t tmpfs none /tmp; umount /tmp; chroot / true; mknod /tmp/n c 1 3; echo done\n")
    assert output.rstrip().endswith("done"), output
    output, result = run("grep -E 'SigBlk|SigIgn' /proc/self/status\n")
    values = dict(line.split(":\t") for line in output.splitlines())
    equal((int(values["SigBlk"], 16), int(values["SigIgn"], 16)), (0, 0), "signal mask and ignored signals")


@case
def other_processes_are_not_visible(w):
    _, run = start(w)
    output, _ = run("ls /proc | grep -c '^[0-9]'; kill -0 " + str(os.getpid()) + "\n")
    assert int(output.split()[0]) < 12, output
    assert "No such process" in output or "no such" in output.lower(), output
    output, _ = run("hostname jail-name; unshare -U true; echo b > /proc/sysrq-trigger; ls /sys/fs /sys/class; ls -A /dev | tr '\\n' ' '\n")
    for device in ("fuse", "sda", "vda", "mem", "kmsg", "loop0"):
        assert device not in output.splitlines()[-1].split(), output


@case
def system_paths_are_read_only(w):
    _, run = start(w)
    output, _ = run("touch /usr/x /bin/x /etc/x /lib/x /x; mkdir /newroot\n")
    for path in ("/usr/x", "/bin/x"):
        equal(os.path.exists(path), False, path)
    assert output.count("Read-only file system") + output.count("denied") >= 3, output


@case
def workspace_is_writable_and_private_by_default(w):
    _, run = start(w)
    output, result = run("pwd; echo hello > file && cat file; ls -A\n")
    equal(result["exitCode"], 0, "exit code")
    assert "hello" in output, output
    output, _ = run("ls -A\n")
    assert "file" not in output.split(), "another job's file"
    output, _ = run("echo x > /tmp/f && cat /tmp/f && ls -A /tmp\n")
    assert output.startswith("x\n"), output
    output, _ = run("ls -A /tmp\n")
    assert "f" not in output.split(), output


@case
def configured_workspace_keeps_its_files(w):
    os.mkdir(w.path("work"))
    _, run = start(w, config=f"agents:\n  default:\n    workspace: {w.path('work')}\n")
    _, result = run("pwd > where; umask > mask\n")
    equal(result["exitCode"], 0, "exit code")
    equal(read(w.path("work", "where")).decode().strip(), w.path("work"), "where it ran")
    equal(os.stat(w.path("work", "where")).st_uid, os.geteuid(), "owner")


@case
def workspace_that_holds_the_source_is_refused(w):
    source = w.path("work", "skills")
    os.makedirs(w.path("work"))
    os.rename(w.sample("tmp-skills"), source)
    result = w.mount(source, config=f"agents:\n  default:\n    workspace: {w.path('work')}\n", ok=None)
    if result.returncode == 0:
        output, result = w.door(w.control(source), f"cat {source}/quick-install/scripts/install.sh\n")
        assert result["state"] in ("refused", "setup_failed"), result
        assert b"curl" not in output, output


@case
def read_only_allow_paths_are_bound(w):
    write(w.path("extra", "data.txt"), "extra data\n")
    _, run = start(w, config=f"agents:\n  default:\n    skills:\n      execSandbox:\n        readOnlyAllowPaths: [{w.path('extra')}]\n")
    output, _ = run(f"cat {w.path('extra')}/data.txt; touch {w.path('extra')}/x\n")
    assert output.startswith("extra data\n") and "Read-only" in output, output


@case
def network_is_open_by_default(w):
    _, run = start(w)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: server.accept()[0].sendall(b"reached\n"), daemon=True)
        thread.start()
        port = server.getsockname()[1]
        output, result = run(f"python3 -c 'import socket; print(socket.create_connection((\"127.0.0.1\", {port})).recv(100))'\n")
        equal((result["network"], "reached" in output), ("open", True), output)


@case(root=True)
def root_s_jail_cannot_read_root_s_files(w):
    assert IS_ROOT
    _, run = start(w)
    output, _ = run("cat /etc/shadow /root/.profile /root/.bashrc; ls /root /home /var /boot /srv /opt\n")
    assert "root:" not in output, output


@case
def memory_processes_and_files_are_bounded(w):
    _, run = start(w, config="""
agents:
  default:
    skills:
      execSandbox: {memoryMax: 268435456, pidsMax: 64, fileSizeMax: 1048576, tmpSizeMax: 4194304}
""")
    output, result = run("head -c 3000000 /dev/zero > big; ls -l big | awk '{print $5}'\n")
    assert int(output.split()[-1]) <= 1048576, (output, result)
    output, _ = run("for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero > /tmp/f$i || echo full; done\n")
    assert "full" in output or "No space" in output, output
    output, result = run("python3 -c 'x = bytearray(600 << 20); print(len(x))'\n")
    assert str(600 << 20) not in output, output


main(need_fuse, need_bwrap)
