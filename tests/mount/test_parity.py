#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is read through the mount is what `skillfs sanitize` prints, whichever tool reads it."""
import concurrent.futures
import json
import mmap
import os
import random
import shutil
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import IS_ROOT, PLAIN, TEST_DATA, case, equal, files_below, main, need_fuse, read, write
from trees import generate


def visible_by_scan(w, source):
    """The files that `skillfs scan` would let the mount show."""
    report = json.loads(w.skillfs("scan", "--format", "json", "--fail-on", "never", source).stdout)
    prefix = source.rstrip("/") + "/"
    paths = {f["path"]: f["verdict"] for f in report["files"]}
    return sorted(p[len(prefix):] if p.startswith(prefix) else p
                  for p, verdict in paths.items() if verdict not in ("critical", "error"))


def compare(w, source, view, most=None):
    """What the view shows, of a long list `most` files, read back against `skillfs sanitize` of their source."""
    shown = files_below(view)
    chosen = shown if most is None or len(shown) <= most else random.Random(5).sample(shown, most)

    def one(path):
        seen = read(os.path.join(view, path))
        size = os.stat(os.path.join(view, path)).st_size
        served = w.sanitize(os.path.join(source, path))
        return None if seen == served and size == len(seen) else f"{path}: size {size}, read {len(seen)}, due {len(served)}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        equal([wrong for wrong in pool.map(one, chosen) if wrong], [], "files that differ")
    return shown


@case
def sample_reads_as_sanitized(w):
    source, view = w.two_folders()
    shown = compare(w, source, view)
    equal(shown, visible_by_scan(w, source), "what is shown")
    assert "pdf-notes/SKILL.md" in shown and "quick-install/scripts/install.sh" not in shown
    assert b"collector.example.com" not in read(f"{view}/release-notes/SKILL.md")


@case
def generated_tree_reads_as_sanitized(w):
    generate(w.path("source"))
    source, view = w.two_folders(source=w.path("source"))
    shown = compare(w, source, view)
    equal(shown, visible_by_scan(w, source), "what is shown")
    equal("bad/run.sh" in shown, False, "the critical file is shown")
    assert read(f"{view}/long/SKILL.md").endswith(b"\n[TRUNCATED]")


@case
def over_itself_reads_as_elsewhere(w):
    source = w.sample("source")
    before = {path: w.sanitize(os.path.join(source, path)) for path in visible_by_scan(w, source)}
    w.mount(source)
    equal({path: read(os.path.join(source, path)) for path in files_below(source)}, before, "bytes")


@case
def corpus_reads_as_sanitized(w):
    """Our own corpus, and the one that $SKILLFS_CORPUS names."""
    own, named = os.path.join(TEST_DATA, "corpus"), os.environ.get("SKILLFS_CORPUS") or "/nonexistent"
    os.mkdir(w.path("source"))
    for name, top in (("own", own), ("named", named)):
        for part in ("benign", "malicious"):
            if os.access(os.path.join(top, part), os.R_OK | os.X_OK):
                shutil.copytree(os.path.join(top, part), w.path("source", f"{name}-{part}"), symlinks=True)
    if not os.path.isdir(named):
        print("no corpus is named; our own alone was compared")
    w.run("chmod", "-R", "u+w", w.path("source"))
    source, view = w.two_folders(source=w.path("source"))
    equal(compare(w, source, view, None if PLAIN else 200), visible_by_scan(w, source), "what is shown")


@case
def inode_numbers_agree(w):
    generate(w.path("source"))
    _, view = w.two_folders(source=w.path("source"))
    numbers = {}
    for folder, folders, _ in os.walk(view):
        with os.scandir(folder) as entries:
            for entry in entries:
                st = entry.stat(follow_symlinks=False)
                equal(entry.inode(), st.st_ino, f"d_ino of {entry.path}")
                equal(entry.is_dir(follow_symlinks=False), stat.S_ISDIR(st.st_mode), f"type of {entry.path}")
                assert 0 < st.st_ino < 1 << 53, entry.path
                numbers.setdefault(st.st_ino, []).append(os.path.relpath(entry.path, view))
        real = [name for name in folders if not os.path.islink(os.path.join(folder, name))]
        equal(os.stat(folder).st_nlink, 2 + len(real), f"links of {folder}")
    shared = sorted(sorted(paths) for paths in numbers.values() if len(paths) > 1)
    equal(shared, [["code/tool-again.py", "code/tool.py"], ["data/blob", "data/blob-again"]], "names that share an inode")


@case
def modes_and_times_are_the_source_s(w):
    source, view = w.two_folders()
    for path in files_below(view):
        ours, theirs = os.stat(os.path.join(view, path)), os.stat(os.path.join(source, path))
        equal(stat.S_IMODE(ours.st_mode), stat.S_IMODE(theirs.st_mode) & 0o555, f"mode of {path}")
        equal((ours.st_uid, ours.st_gid, ours.st_mtime_ns, ours.st_nlink),
              (theirs.st_uid, theirs.st_gid, theirs.st_mtime_ns, theirs.st_nlink), f"owner, time, links of {path}")


@case
def copying_tools_agree(w):
    generate(w.path("source"))
    _, view = w.two_folders(source=w.path("source"))
    expected = {path: read(os.path.join(view, path)) for path in files_below(view)}
    found = w.run("find", view, "-type", "f", "-print0").stdout.split("\0")[:-1]
    equal(len(found), len(expected), "find")
    w.run("cp", "-a", view, w.path("copied"))
    os.mkdir(w.path("untarred"))
    w.run("sh", "-c", f"tar -C {view} -cf - --exclude=./.skillfs . | tar -C {w.path('untarred')} -xf -")
    w.run("rsync", "-aH", "--exclude=/.skillfs", f"{view}/", w.path("synced"))
    for name in ("copied", "untarred", "synced"):
        top = w.path(name)
        equal({path: read(os.path.join(top, path)) for path in files_below(top)}, expected, name)
        w.run("chmod", "-R", "u+w", top)
    equal(os.readlink(w.path("synced", "code", "link.md")), "../text/wide.md", "a link")
    equal(os.stat(w.path("untarred", "data", "blob")).st_ino,
          os.stat(w.path("untarred", "data", "blob-again")).st_ino, "hard links after tar")


@case
def mmap_and_sendfile_agree(w):
    generate(w.path("source"))
    _, view = w.two_folders(source=w.path("source"))
    for path in ("long/SKILL.md", "data/blob", "data/page1", "code/big.json", "text/wide.md"):
        full = os.path.join(view, path)
        with open(full, "rb") as file:
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                equal(mapped[:] == read(full), True, f"mmap of {path}")
            with open(w.path("sent"), "wb") as out:
                offset, size = 0, os.fstat(file.fileno()).st_size
                while offset < size:
                    offset += os.sendfile(out.fileno(), file.fileno(), offset, size - offset)
            equal(read(w.path("sent")) == read(full), True, f"sendfile of {path}")
            for at in (0, 1, 4095, 4096, 4097, size - 1, size, size + 5):
                equal(os.pread(file.fileno(), 10, at), read(full)[at:at + 10], f"{path} at {at}")


@case
def git_repository_inside_works(w):
    source = w.sample("source")
    git = ("git", "-C", source, "-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "core.fsmonitor=false")
    w.run("git", "init", "-q", "--template=", source)
    w.run(*git, "add", "pdf-notes")
    w.run(*git, "commit", "-q", "-m", "notes")
    _, view = w.two_folders(source=source)
    log = w.run("git", "-C", view, "log", "--format=%s").stdout
    equal(log, "notes\n", "git log")
    status = w.run("git", "--no-optional-locks", "-C", view, "status", "--porcelain", "--", "pdf-notes").stdout
    equal(status, "", "git status of a clean folder")
    w.run("git", "-C", view, "fsck", "--strict")
    w.run("git", "clone", "-q", view, w.path("clone"), env={"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
                                                           "GIT_CONFIG_VALUE_0": "*"})
    equal(read(w.path("clone", "pdf-notes", "SKILL.md")), read(f"{view}/pdf-notes/SKILL.md"), "the clone")


@case
def python_and_scripts_run_from_it(w):
    source = w.sample("source")
    write(f"{source}/pdf-notes/scripts/helper.py", "VALUE = 42\n")
    _, view = w.two_folders(source=source)
    w.run("python3", "-m", "compileall", "-q", view, env={"PYTHONPYCACHEPREFIX": w.path("pycache"), "PYTHONDONTWRITEBYTECODE": ""})
    assert files_below(w.path("pycache")), "compileall wrote nothing"
    out = w.run("python3", "-c", "import helper; print(helper.VALUE)", env={"PYTHONPATH": f"{view}/pdf-notes/scripts"})
    equal(out.stdout, "42\n", "import")
    out = w.run(f"{view}/pdf-notes/scripts/outline.py", input="1\tStart\t3\n")
    equal(out.stdout, "# Start (page 3)\n", "a script with #!")
    equal(w.run(f"{view}/shell-starter/scripts/hello.sh").stdout, "hello from the shell starter\n", "a shell script")


@case
def mount_is_read_only_nosuid_nodev(w):
    _, view = w.two_folders()
    from harness import mounts
    point, kind, options, _ = next(m for m in mounts() if m[0] == view)
    equal((point, kind), (view, "fuse.skillfs"), "type")
    for option in ("ro", "nosuid", "nodev"):
        assert option in options.split(","), options
    st = os.statvfs(view)
    assert st.f_flag & os.ST_RDONLY and st.f_blocks > 0 and st.f_namemax >= 255
    assert IS_ROOT or os.stat(view).st_uid == os.geteuid()


main(need_fuse)
