#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From mount to unmount, by hand, by signal, by force; and that nothing is left behind."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import IS_ROOT, SKILLFS, case, equal, errno_of, eventually, main, need_fuse, read


@case
def plain_umount_ends_everything(w):
    source, view = w.two_folders()
    read(f"{view}/pdf-notes/SKILL.md")
    read(f"{w.control(view)}/status")
    assert w.processes(), "there is a daemon"
    w.umount(view)
    w.settle()
    equal(os.listdir(view), [], "the mountpoint is empty again")
    assert os.path.exists(f"{source}/quick-install/scripts/install.sh")


@case
def plain_umount_over_itself_uncovers_the_source(w):
    source = w.sample()
    w.mount(source)
    equal(os.path.exists(f"{source}/quick-install/scripts/install.sh"), False, "hidden while mounted")
    w.umount(source)
    w.settle()
    equal(os.path.exists(f"{source}/quick-install/scripts/install.sh"), True, "there again")


@case
def skillfs_umount_ends_everything(w):
    source = w.sample()
    w.mount(source)
    w.skillfs("umount", source)
    w.settle()
    w.skillfs("umount", source, ok=None)
    result = w.skillfs("umount", source, ok=None)
    assert result.returncode != 0 and result.stderr.startswith("skillfs:"), result


@case
def control_mount_gone_takes_the_content_down(w):
    _, view = w.two_folders()
    control = w.control(view)
    w.umount(next(point for point in w.mounts() if point != view and os.path.samefile(point, control)))
    eventually(lambda: not w.mounts(), what="both mounts to go")
    w.settle()


@case
def sigterm_ends_everything(w):
    source = w.sample()
    w.mount(source)
    with open(f"{source}/pdf-notes/SKILL.md", "rb") as held:
        held.read(1)
        for pid in list(w.processes()):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        eventually(lambda: not w.mounts(), what="the mounts to go")
    w.settle()


@case
def busy_mount_refuses_umount_and_stays(w):
    source = w.sample()
    w.mount(source)
    with open(f"{source}/pdf-notes/SKILL.md", "rb") as held:
        result = w.run(*(("umount", source) if IS_ROOT else ("fusermount3", "-u", source)), ok=None)
        assert result.returncode, "a busy mount went"
        assert held.read().startswith(b"---")
        equal(errno_of(os.stat, f"{source}/quick-install/scripts/install.sh"), "ENOENT", "still hidden")
    w.umount(source)
    w.settle()


@case
def killed_daemon_leaves_enotconn_and_the_next_mount_heals(w):
    source = w.sample()
    w.mount(source)
    read(f"{source}/pdf-notes/SKILL.md")
    held = os.open(f"{source}/pdf-notes/SKILL.md", os.O_RDONLY)
    w.kill_daemons()
    eventually(lambda: not w.processes(), what="the daemon's death")
    for path in ("pdf-notes/SKILL.md", "quick-install/scripts/install.sh", "shell-starter/SKILL.md", ""):
        got = eventually(lambda path=path: errno_of(os.open, f"{source}/{path}", os.O_RDONLY), what="an error")
        equal(got, "ENOTCONN", f"open {path or 'the root'}")
    os.close(held)
    result = w.mount(source)
    assert "stale" in (result.stdout + result.stderr).lower() or "dead" in (result.stdout + result.stderr).lower(), result
    equal(errno_of(os.stat, f"{source}/quick-install/scripts/install.sh"), "ENOENT", "hidden again")
    assert read(f"{source}/pdf-notes/SKILL.md").startswith(b"---")
    equal(w.mounts().count(source), 1, "one layer")
    w.umount(source)
    w.settle()
    assert os.path.exists(f"{source}/quick-install/scripts/install.sh"), "the raw folder, after unmounting by hand"


@case
def killed_daemon_heals_elsewhere_too(w):
    source, view = w.two_folders()
    w.kill_daemon()
    eventually(lambda: errno_of(os.listdir, view) == "ENOTCONN", what="ENOTCONN")
    w.mount(source, view)
    assert read(f"{view}/pdf-notes/SKILL.md").startswith(b"---")
    w.skillfs("umount", view)
    w.settle()


@case
def second_mount_over_a_live_one_is_refused(w):
    source = w.sample()
    w.mount(source)
    before = w.mounts()
    result = w.mount(source, ok=None)
    assert result.returncode != 0, "a second mount worked"
    equal(len(result.stderr.strip().splitlines()), 1, f"one line: {result.stderr!r}")
    assert "mounted" in result.stderr and result.stderr.startswith("skillfs:"), result.stderr
    equal(w.mounts(), before, "the mounts")
    assert read(f"{source}/pdf-notes/SKILL.md").startswith(b"---")


@case
def two_mounts_of_one_source_live_side_by_side(w):
    source = w.sample()
    w.mount(source, w.path("one"))
    w.mount(source, w.path("two"))
    assert w.control(w.path("one")) != w.control(w.path("two"))
    w.skillfs("umount", w.path("one"))
    assert read(w.path("two", "pdf-notes", "SKILL.md")).startswith(b"---")
    w.skillfs("umount", w.path("two"))
    w.settle()


@case
def relative_paths_work(w):
    w.sample("here")
    os.mkdir(w.path("there"))
    w.mount("here", "there", cwd=w.dir)
    assert read(w.path("there", "pdf-notes", "SKILL.md")).startswith(b"---")
    w.run(SKILLFS, "umount", "there", cwd=w.dir)
    w.mount(".", cwd=w.path("here"))
    equal(errno_of(os.stat, w.path("here", "quick-install", "scripts", "install.sh")), "ENOENT", "hidden")
    w.umount(w.path("here"))
    w.settle()


@case
def paths_with_odd_characters_work(w):
    source = w.sample("skills, of \"mine\"\\x=1\nand more")
    w.mount(source)
    assert read(f"{source}/pdf-notes/SKILL.md").startswith(b"---")
    w.skillfs("umount", source)
    w.settle()


@case
def failures_say_one_line_and_leave_nothing(w):
    os.mkdir(w.path("empty"))
    with open(w.path("file"), "w", encoding="utf-8"):
        pass
    good = w.sample()
    bad_config = w.config("mout:\n  maxFileSize: 1\n")
    for arguments, expected in ((["mount", w.path("missing")], "missing"),
                                (["mount", w.path("file")], "file"),
                                (["mount", good, w.path("nowhere")], "nowhere"),
                                (["mount", "-c", bad_config, good], "mout"),
                                (["mount", "-c", w.path("no.yaml"), good], "no.yaml"),
                                (["mount", "-o", "agent=nobody-like-that", good], "nobody-like-that"),
                                (["mount"], "mount")):
        result = w.skillfs(*arguments, ok=None)
        assert result.returncode != 0, arguments
        assert result.stderr.startswith("skillfs:"), (arguments, result.stderr)
        assert expected in result.stderr, (arguments, result.stderr)
        if len(arguments) > 1:
            equal(len(result.stderr.strip().splitlines()), 1, f"lines of {result.stderr!r}")
        equal(w.mounts(), [], f"mounted after {arguments}")
    w.settle()


@case
def foreground_stays_and_ends_with_the_mount(w):
    source = w.sample()
    with subprocess.Popen([SKILLFS, "mount", "-f", source], env=w.env, cwd=w.dir, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as daemon:
        eventually(lambda: w.mounts(), what="the mount")
        eventually(lambda: os.path.lexists(f"{source}/.skillfs"), what="the view")
        equal(daemon.poll(), None, "still running")
        w.umount(source)
        equal(daemon.wait(10), 0, "its exit code")
    w.settle()


@case
def generic_options_are_accepted(w):
    _, view = w.two_folders("ro,nosuid,nodev,noatime,nofail,_netdev,x-systemd.automount,rw,dev,suid")
    from harness import mounts
    options = next(o for point, _, o, _ in mounts() if point == view).split(",")
    assert {"ro", "nosuid", "nodev"} <= set(options), options
    result = w.skillfs("mount", "-o", "no_such_option=1", w.sample(), ok=None)
    assert result.returncode != 0 and "no_such_option" in result.stderr, result


@case
def control_none_has_no_second_mount(w):
    _, view = w.two_folders("control=none")
    equal(w.mounts(), [view], "the mounts")
    equal(os.path.lexists(f"{view}/.skillfs"), False, "the link")
    w.umount(view)
    w.settle()


@case(root=True)
def allow_other_lets_others_read_by_the_source_s_bits(w):
    source = w.sample("source")
    os.chmod(f"{source}/pdf-notes/SKILL.md", 0o600)
    _, view = w.two_folders("allow_other", source=source)
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    w.run(*nobody, "cat", f"{view}/env-report/SKILL.md")
    w.run(*nobody, "cat", f"{view}/pdf-notes/SKILL.md", ok=1)
    w.run(*nobody, "cat", f"{w.control(view)}/status", ok=1)


main(need_fuse)
