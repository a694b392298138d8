#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools and system calls on the mount see what they would see on a plain copy of the served files."""
import concurrent.futures
import ctypes
import errno
import mmap
import os
import random
import shutil
import sqlite3
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import case, equal, files_below, main, need_fuse, read, write
from trees import generate

libc = ctypes.CDLL(None, use_errno=True)


def plain_copy(w, source, view):
    """A folder with what is due: the visible files as `skillfs sanitize` prints them, modes and times as shown."""
    top = w.path("plain")
    shutil.copytree(source, top, symlinks=True, copy_function=lambda *_: None)
    linked = {}
    shown = files_below(view)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, body in zip(shown, pool.map(lambda path: w.sanitize(os.path.join(source, path)), shown)):
            st = os.stat(os.path.join(source, path))
            if (st.st_dev, st.st_ino) in linked:
                os.link(linked[st.st_dev, st.st_ino], os.path.join(top, path))
                continue
            linked[st.st_dev, st.st_ino] = os.path.join(top, path)
            write(os.path.join(top, path), body)
    for folder, _, names in os.walk(source, topdown=False):
        for name in names + ["."]:
            here, there = os.path.join(folder, name), os.path.normpath(os.path.join(top, os.path.relpath(folder, source), name))
            if os.path.islink(here) or not os.path.exists(there):
                continue
            st = os.stat(here)
            os.chmod(there, stat.S_IMODE(st.st_mode) & 0o555)
            os.utime(there, ns=(st.st_atime_ns, st.st_mtime_ns))
    return top


def worlds(w):
    """(view, plain copy) of a generated tree."""
    generate(w.path("source"), notes=25)
    source, view = w.two_folders(source=w.path("source"))
    return view, plain_copy(w, source, view)


# -- ways to get at a file's bytes: each takes a path and the size, and returns the whole body -----------------

def by_small_reads(path, _):
    with open(path, "rb", buffering=0) as file:
        return b"".join(iter(lambda: file.read(4099), b""))


def by_mmap(path, size):
    with open(path, "rb") as file:
        if size == 0:
            return b""
        with mmap.mmap(file.fileno(), 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ) as shared, \
                mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as private:
            assert shared[:] == private[:], "shared and private maps"
            return b"".join(reversed([private[at:at + 5000] for at in reversed(range(0, size, 5000))]))


def by_pread(path, size):
    """In pieces of odd sizes, in any order."""
    dice = random.Random(size)
    pieces, at = [], 0
    while at < size:
        pieces.append((at, dice.randrange(1, 40000)))
        at += pieces[-1][1]
    dice.shuffle(pieces)
    fd = os.open(path, os.O_RDONLY)
    got = {at: os.pread(fd, length, at) for at, length in pieces}
    for beyond in (0, 1, 4096):
        equal(os.pread(fd, 10, size + beyond), b"", "behind the end")
    os.close(fd)
    return b"".join(got[at] for at in sorted(got))


def by_sendfile(path, size):
    fd, memory = os.open(path, os.O_RDONLY), os.memfd_create("sent")
    at = 0
    while at < size:
        at += os.sendfile(memory, fd, at, size - at)
    body = os.pread(memory, size + 1, 0)
    os.close(fd)
    os.close(memory)
    return body


def by_splice(path, _):
    fd, (out, into) = os.open(path, os.O_RDONLY), os.pipe()
    parts = []
    while os.splice(fd, into, 1 << 15):
        parts.append(os.read(out, 1 << 15))
        while len(parts[-1]) == 1 << 15 and select_readable(out):
            parts.append(os.read(out, 1 << 15))
    for each in (fd, out, into):
        os.close(each)
    return b"".join(parts)


def select_readable(fd):
    import select
    return bool(select.select([fd], [], [], 0)[0])


def by_direct(path, _):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    page, parts = mmap.mmap(-1, 1 << 16), []
    while got := os.preadv(fd, [page], sum(map(len, parts))):
        parts.append(page[:got])
    os.close(fd)
    return b"".join(parts)


def by_advice(path, size):
    fd = os.open(path, os.O_RDONLY)
    for advice in (os.POSIX_FADV_WILLNEED, os.POSIX_FADV_RANDOM, os.POSIX_FADV_DONTNEED, os.POSIX_FADV_SEQUENTIAL):
        os.posix_fadvise(fd, 0, 0, advice)
    equal(libc.readahead(fd, ctypes.c_int64(0), ctypes.c_size_t(size)), 0, "readahead")
    equal(os.lseek(fd, 0, os.SEEK_END), size, "the end")
    if size:
        equal((os.lseek(fd, 0, os.SEEK_DATA), os.lseek(fd, 0, os.SEEK_HOLE)), (0, size), "data and holes")
    body = os.pread(fd, size + 1, 0)
    os.close(fd)
    return body


def by_copy_file_range(path, size):
    """Between file systems, where the kernel does that; else as any program then does."""
    fd, memory = os.open(path, os.O_RDONLY), os.memfd_create("copied")
    try:
        while os.copy_file_range(fd, memory, 1 << 20):
            pass
        body = os.pread(memory, size + 1, 0)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        body = os.pread(fd, size + 1, 0)
    os.close(fd)
    os.close(memory)
    return body


WAYS = (by_direct, by_mmap, by_small_reads, by_pread, by_sendfile, by_splice, by_advice, by_copy_file_range)


@case
def every_way_of_reading_gives_the_served_bytes(w):
    """Each way is once the first to touch a file, and once comes when the kernel holds it."""
    view, plain = worlds(w)
    paths = files_below(plain)
    equal(files_below(view), paths, "the files")
    for turn in range(2):
        for number, path in enumerate(paths):
            body = read(os.path.join(plain, path))
            # Files are many and alike: each is read in some of the ways, all ways come to all kinds.
            ways = [WAYS[(number + turn + k) % len(WAYS)] for k in range(4)] if path.startswith("many/") else \
                WAYS[number % len(WAYS):] + WAYS[:number % len(WAYS)]
            for way in ways:
                full = os.path.join(view, path)
                equal(way(full, len(body)) == body, True, f"{path} {way.__name__}")
                equal(os.stat(full).st_size, len(body), f"size of {path}")


# Each line is run with {0} as the view and as the plain copy; what it prints and returns must be the same.
COMMANDS = """
find . -type f -print0 | sort -z | xargs -0 cat | sha256sum
find . -type f -print0 | sort -z | xargs -0 wc -lcm
find . -type f -print0 | sort -z | xargs -0 sha256sum
find . ! -type d -printf '%P %y %s %m %n %U %G %T@ %l\\n' | sort
find . -mindepth 1 -type d -printf '%P %y %m %n %U %G %T@\\n' | sort
find . -mindepth 1 -maxdepth 1 -empty; find . -perm -100 -type f | sort; find . -size +20k | sort; find . -newermt 2001-01-01 -type f | wc -l
find . -type f -print0 | sort -z | xargs -0 stat -c '%n %s %a %h %F %Y'
find . -type f -print0 | sort -z | xargs -0 -n1 tail -c 100
find . -type f -print0 | sort -z | xargs -0 head -qc 77
tar -cf - --exclude=./.skillfs --sort=name --mtime=@0 --mode=a=rX . | sha256sum
grep -rc chapter . | sort
grep -rlI skill . | sort
rg -uuu -c --sort path chapter .
rg -uuu --no-mmap -n --sort path 'figure|ligature' .
rg -uuu --mmap -n --sort path 'figure|ligature' .
rg -l --sort path reader
dd if=data/blob bs=777 status=none | sha256sum
dd if=data/blob bs=64k iflag=direct status=none | sha256sum
od -c text/bom.md; xargs -0 -n1 < text/mac.txt; sort long/SKILL.md | uniq -c | sha256sum; tac long/SKILL.md | sha256sum
awk '{ n += NF } END { print n }' long/SKILL.md many/*.md; sed -n '$p' long/SKILL.md; cut -c1-9 code/big.json
cmp data/blob data/blob-again && cmp data/page data/page1
python3 -c 'import json, sys; print(len(json.load(open("code/big.json"))))'
diff -rq many text
code/run; code/half.sh; code/tool.py
du -a --apparent-size -b many text one | sort -k2 | grep -v '\\(many\\|text\\|one\\|two\\|three\\|four\\|five\\|six\\)$'
ls -R .
ls -lAn --time-style=full-iso many code text data 'odd names' | grep -v ^total
""".strip().splitlines()


def run_in(w, line, top):
    """What a shell line prints and returns there, without what it says about the control link."""
    result = w.run("bash", "-c", line, cwd=top, ok=None)
    return "".join(said for said in result.stdout.splitlines(True) if ".skillfs" not in said), result.stderr, result.returncode


@case
def commands_say_the_same_as_on_a_plain_copy(w):
    view, plain = worlds(w)
    for line in COMMANDS:
        if line.startswith("rg ") and not shutil.which("rg", path=w.env["PATH"]):
            print("there is no ripgrep; not compared:", line)
            continue
        seen, due = (run_in(w, line, top) for top in (view, plain))
        equal(seen, due, line)
        assert due[0] or line.startswith("cmp"), (line, due)


def contents(top):
    found = {}
    for folder, folders, names in os.walk(top):
        for name in folders + names:
            path = os.path.join(folder, name)
            if name != ".skillfs":
                found[os.path.relpath(path, top)] = os.readlink(path) if os.path.islink(path) else \
                    None if os.path.isdir(path) else (read(path), os.stat(path).st_mode & 0o555, os.stat(path).st_mtime_ns)
    return found


@case
def copies_are_whole(w):
    view, plain = worlds(w)
    due = contents(plain)
    for name, line in (("cp", "cp -a {0}/. {1}"), ("sparse", "cp -a --sparse=always {0}/. {1}"), ("dense", "cp -a --sparse=never {0}/. {1}"),
                       ("reflink", "cp -a --reflink=auto {0}/. {1}"), ("tar", "tar -C {0} --format=posix --exclude=./.skillfs -cf - . | tar -C {1} -xpf -"),
                       ("holes", "tar -C {0} --format=posix --exclude=./.skillfs -Scf - . | tar -C {1} -xpf -"),
                       ("rsync", "rsync -aHS --exclude=/.skillfs {0}/ {1}"), ("checked", "rsync -acH --exclude=/.skillfs {0}/ {1}")):
        top = w.path(name)
        os.mkdir(top)
        w.run("bash", "-c", "set -o pipefail; " + line.format(view, top))
        equal(contents(top) == due, True, name)
        equal(os.stat(f"{top}/data/blob").st_ino, os.stat(f"{top}/data/blob-again").st_ino, f"hard links by {name}")
        w.run("chmod", "-R", "u+w", top)
    assert os.stat(f"{w.path('sparse')}/data/sparse.bin").st_blocks < os.stat(f"{w.path('dense')}/data/sparse.bin").st_blocks
    for options in ("-aH", "-acH"):
        again = w.run("rsync", options, "-i", "--stats", "--exclude=/.skillfs", f"{view}/", w.path("rsync")).stdout
        # chmod above gave the copies back their write bits: modes, and nothing else, are put right once.
        moved = [line for line in again.splitlines() if line.startswith((">f", "<f", "cd", "cL", "hf"))]
        equal(moved, [], f"what a second pass with {options} transfers")
        assert "Number of regular files transferred: 0" in again, again


@case
def repository_with_packs_and_branches_works(w):
    source = w.sample("source")
    git = ("git", "-C", source, "-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "core.fsmonitor=false")
    w.run("git", "init", "-q", "--template=", "-b", "main", source)
    for turn in range(6):
        write(f"{source}/pdf-notes/log.md", f"# Log\n\nturn {turn}\n" + "words and words\n" * 50 * turn)
        w.run(*git, "add", "pdf-notes")
        w.run(*git, "commit", "-q", "-m", f"turn {turn}")
        if turn == 3:
            w.run(*git, "gc", "-q")  # packs, and an index of theirs; the rest stays loose
            w.run(*git, "branch", "side")
    _, view = w.two_folders(source=source)
    trust = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", "GIT_OPTIONAL_LOCKS": "0"}
    for arguments in (["log", "--stat", "--format=%H %s"], ["status", "--porcelain", "--", "pdf-notes"], ["diff", "HEAD", "--", "pdf-notes"],
                      ["fsck", "--strict", "--full"], ["show", "side:pdf-notes/log.md"], ["blame", "-l", "pdf-notes/log.md"],
                      ["grep", "-n", "turn", "HEAD"], ["rev-parse", "HEAD", "side"], ["ls-files", "-s"],
                      ["verify-pack", "-s", *[os.path.join(".git/objects/pack", name) for name in
                                              os.listdir(f"{source}/.git/objects/pack") if name.endswith("idx")]]):
        seen = w.run("git", "-C", view, *arguments, env=trust)
        due = w.run("git", "-C", source, *arguments, env=trust)
        equal((seen.stdout, seen.stderr), (due.stdout, due.stderr), f"git {arguments[0]}")
    w.run("git", "clone", "-q", "--no-local", view, w.path("clone"), env=trust)
    equal(read(w.path("clone", "pdf-notes", "log.md")), read(f"{view}/pdf-notes/log.md"), "the clone")
    refused = w.run("git", "-C", view, "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "--allow-empty", "-m", "no",
                    env=trust, ok=None)
    assert refused.returncode and "Read-only file system" in refused.stderr, refused.stderr


@case
def python_and_node_load_modules(w):
    source = w.sample("source")
    lib = f"{source}/pdf-notes/lib"
    write(f"{lib}/notes/__init__.py", "from .part import VALUE\n")
    write(f"{lib}/notes/part.py", "VALUE = 6\n")
    write(f"{lib}/notes/__main__.py", "from notes import VALUE\nprint(VALUE * 7)\n")
    write(f"{lib}/node/package.json", '{"name": "x", "main": "index.js"}\n')
    write(f"{lib}/node/index.js", "module.exports = require('./data.json').value * require('./sub').seven;\n")
    write(f"{lib}/node/sub/index.js", "exports.seven = 7;\n")
    write(f"{lib}/node/data.json", '{"value": 6}\n')
    write(f"{lib}/node/main.mjs", "import value from './index.js';\nimport { readFileSync } from 'fs';\n"
                                  "console.log(value, readFileSync(new URL('./data.json', import.meta.url), 'utf8').length);\n")
    write(f"{lib}/fast.c", "int answer(void) { return 42; }\nint main(void) { return answer(); }\n")
    w.run("gcc", "-shared", "-fPIC", "-o", f"{lib}/fast.so", f"{lib}/fast.c")
    w.run("gcc", "-o", f"{lib}/fast", f"{lib}/fast.c")
    w.run("python3", "-m", "zipfile", "-c", f"{lib}/zipped.zip", f"{lib}/notes")
    _, view = w.two_folders(source=source)
    lib = f"{view}/pdf-notes/lib"
    for _ in range(2):
        equal(w.run("python3", "-m", "notes", env={"PYTHONPATH": lib}).stdout, "42\n", "a package")
        equal(w.run("python3", "-c", "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).answer())", f"{lib}/fast.so").stdout, "42\n", "a library")
        w.run(f"{lib}/fast", ok=42)
        if not shutil.which("node", path=w.env["PATH"]):
            print("there is no node; its require() was not tried")
            continue
        equal(w.run("node", "-e", f"console.log(require({lib + '/node'!r}))").stdout, "42\n", "require()")
        equal(w.run("node", f"{lib}/node/main.mjs").stdout, "42 13\n", "import")
    if os.path.exists(f"{lib}/zipped.zip"):
        equal(w.run("python3", "-c", "from notes import VALUE; print(VALUE)", env={"PYTHONPATH": f"{lib}/zipped.zip"}).stdout, "6\n", "a zip")


@case
def database_is_read_and_locked(w):
    """SQLite maps, locks and reads at offsets; locks are the kernel's own business."""
    source = w.sample("source")
    made = sqlite3.connect(f"{source}/pdf-notes/index.db")
    made.execute("create table t(a, b)")
    made.executemany("insert into t values(?, ?)", [(number, f"words {number}") for number in range(20000)])
    made.commit()
    made.close()
    _, view = w.two_folders(source=source)
    opened = sqlite3.connect(f"file:{view}/pdf-notes/index.db?mode=ro", uri=True)
    opened.execute("pragma mmap_size = 100000000")
    equal(opened.execute("select count(*), sum(a) from t where b like 'words %'").fetchone(), (20000, 199990000), "rows")
    equal(opened.execute("pragma integrity_check").fetchone(), ("ok",), "integrity")
    opened.close()


main(need_fuse)
