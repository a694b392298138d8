#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every way to change something through the mount fails with EROFS, and the source stays as it was."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import IS_ROOT, case, equal, errno_of, files_below, main, need_fuse, read


def writes(top):
    file, folder, new = f"{top}/pdf-notes/SKILL.md", f"{top}/pdf-notes", f"{top}/pdf-notes/new"
    yield "create", os.open, (new, os.O_CREAT | os.O_WRONLY, 0o644)
    yield "write", os.open, (file, os.O_WRONLY)
    yield "append", os.open, (file, os.O_WRONLY | os.O_APPEND)
    yield "open for both", os.open, (file, os.O_RDWR)
    yield "truncate on open", os.open, (file, os.O_WRONLY | os.O_TRUNC)
    yield "truncate", os.truncate, (file, 0)
    yield "temporary file", os.open, (folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    yield "mkdir", os.mkdir, (new,)
    yield "mknod", os.mkfifo, (new,)
    yield "symlink", os.symlink, ("x", new)
    yield "link", os.link, (file, new)
    yield "unlink", os.unlink, (file,)
    yield "rmdir", os.rmdir, (f"{folder}/references",)
    yield "rename", os.rename, (file, new)
    yield "rename a folder", os.rename, (folder, f"{top}/other")
    yield "chmod", os.chmod, (file, 0o777)
    yield "chown", os.chown, (file, os.geteuid(), os.getegid())
    yield "utime", os.utime, (file, (1, 1))
    yield "setxattr", os.setxattr, (file, "user.skillfs.verdict", b"clean")
    yield "setxattr of another name", os.setxattr, (file, "user.mine", b"1")
    yield "removexattr", os.removexattr, (file, "user.skillfs.verdict")
    yield "unlink the link", os.unlink, (f"{top}/.skillfs",)
    yield "create a hidden name", os.open, (f"{top}/quick-install/scripts/install.sh", os.O_CREAT | os.O_WRONLY, 0o644)


def try_all(w, top, source):
    before = {path: read(os.path.join(source, path)) for path in files_below(source)} if source != top else None
    for what, function, arguments in writes(top):
        equal(errno_of(function, *arguments), "EROFS", what)
    for command in ("touch {0}/pdf-notes/SKILL.md", "echo x > {0}/pdf-notes/SKILL.md", "mkdir {0}/d", "rm -f {0}/pdf-notes/SKILL.md",
                    "mv {0}/pdf-notes {0}/q", "cp /etc/hostname {0}/h", "setfattr -n user.x -v 1 {0}/pdf-notes/SKILL.md",
                    "sed -i s/a/b/ {0}/pdf-notes/SKILL.md", "truncate -s 0 {0}/pdf-notes/SKILL.md"):
        result = w.run("sh", "-c", command.format(top), ok=None)
        assert result.returncode and "Read-only file system" in result.stderr, (command, result.stderr)
    if before is not None:
        equal({path: read(os.path.join(source, path)) for path in files_below(source)}, before, "the source")


@case
def elsewhere_every_write_is_erofs(w):
    source, view = w.two_folders()
    try_all(w, view, source)


@case
def over_itself_every_write_is_erofs(w):
    source = w.sample()
    before = {path: read(os.path.join(source, path)) for path in files_below(source)}
    w.mount(source)
    try_all(w, source, source)
    w.umount(source)
    w.settle()
    equal({path: read(os.path.join(source, path)) for path in files_below(source)}, before, "the source")


@case
def executable_source_with_write_bits_is_read_only(w):
    source = w.sample("source")
    os.chmod(f"{source}/pdf-notes/SKILL.md", 0o666)
    os.chmod(f"{source}/pdf-notes/scripts/outline.py", 0o6777)
    _, view = w.two_folders(source=source)
    equal(os.stat(f"{view}/pdf-notes/SKILL.md").st_mode & 0o7777, 0o444, "mode")
    equal(os.stat(f"{view}/pdf-notes/scripts/outline.py").st_mode & 0o7777, 0o555, "mode")
    equal(os.access(f"{view}/pdf-notes/SKILL.md", os.W_OK), False, "access")


@case(root=True, private=True)
def remounting_read_write_still_refuses(w):
    """Root can take the kernel's ro flag away; the daemon has no code for writing."""
    source, view = w.two_folders()
    assert IS_ROOT
    w.run("mount", "-o", "remount,rw", view, ok=None)
    before = {path: read(os.path.join(source, path)) for path in files_below(source)}
    for what, function, arguments in writes(view):
        if errno_of(function, *arguments) is None:
            raise AssertionError(f"{what} worked after remounting")
    equal({path: read(os.path.join(source, path)) for path in files_below(source)}, before, "the source")


main(need_fuse)
