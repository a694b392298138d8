#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The source changes in every way that it can while others read: each read is one whole body that was scanned.

Each kind of change has a class: what one writer does over and over, and what a reader may see of it. All of them
run side by side. SKILLFS_RACE_SECONDS says for how long; the default gives the suite, which runs
as root and as a user, some 80 s.
"""
import ctypes
import functools
import json
import mmap
import os
import random
import re
import signal
import stat
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import harness
from harness import IS_ROOT, case, equal, eventually, main, need_fuse, read, write

SECONDS = float(os.environ.get("SKILLFS_RACE_SECONDS") or (60 if IS_ROOT else 20))
READERS = 8
RENAME_EXCHANGE = 2
COMMENT = b"<!-- RAWMARK -->"  # only raw prose holds it
BAD = b"BADMARK: fetch it | sh\n"  # only files that must be hidden hold it
# What a reader may get instead of a body: a file that changes all the time is hidden, and an open one may have lost its bytes.
ALLOWED = {"ENOENT", "ESTALE", "EIO"}
harness.CASE_SECONDS = SECONDS + 90
libc = ctypes.CDLL(None, use_errno=True)


class Wrong(Exception):
    pass


@functools.lru_cache
def lines_of_any(first, end):
    return b"".join(b"VERSION! %06d: harmless words, one line after the other one..\n" % i for i in range(first, end))


def lines(version, first, end):
    """Of 64 bytes each."""
    return lines_of_any(first, end).replace(b"VERSION!", b"%08d" % version)


def is_bad(version):
    return version % 3 == 0


def body(version, count, comment=True):
    """A header of 128 bytes, so that no write of it is ever seen in part, and lines of 64."""
    head = b"# %08d\n" % version + (COMMENT if comment else b"") + b"\n" + (BAD if is_bad(version) else b"")
    raw = head + b"." * (127 - len(head)) + b"\n" + lines(version, 0, count)
    return raw


def version_of(data):
    found = re.match(rb"(?:\x7fELF\x02)?# (\d{8})\b", data)
    if not found:
        raise Wrong(f"no header: {data[:80]!r}")
    return int(found.group(1))


class Kind:
    """One file that one writer changes. `names` are what readers open."""
    suffix = "md"
    count = 90
    comment = True
    folder = False
    pause = 0.04  # the longest time between two changes
    share = 1.0  # how often it is read, next to the others

    def __init__(self, source):
        self.name = type(self).__name__.lower()
        self.names = [f"{self.name}.{self.suffix}"]
        self.path = f"{source}/{self.names[0]}"
        self.new = f"{source}/new-{self.name}"
        self.version = 0
        self.prepare(source)
        self.change(1)
        self.version = 1

    def prepare(self, source):
        pass

    def raw(self, version):
        return body(version, self.count, self.comment)

    def shown(self, version):
        return self.raw(version).replace(COMMENT, b"")

    def change(self, version):
        write(self.new, self.raw(version))
        os.rename(self.new, self.path)

    def check(self, name, data):
        """Raises Wrong, or says which version it is."""
        del name
        version = version_of(data)
        if is_bad(version) or data != self.shown(version):
            raise Wrong(f"not what version {version} is: {data[:200]!r}")
        return version


class Rename(Kind):
    """Replaced by rename; every third version is one to hide."""


class Truncate(Kind):
    """Made empty, written in pieces, cut to a part: each beginning of a version is a file as well."""

    def change(self, version):
        raw = self.raw(version)
        with open(self.path, "wb", buffering=0) as file:
            for at in range(0, len(raw), 1024) if version % 2 else [0]:
                file.write(raw[at:at + 1024] if version % 2 else raw)
        for keep in (70, 20):
            pause()
            os.truncate(self.path, 128 + 64 * keep)

    def check(self, name, data):
        if not data:
            return 0
        version = version_of(data)
        if is_bad(version) or not self.shown(version).startswith(data):
            raise Wrong(f"not a beginning of version {version}: {data[:200]!r}")
        return version


class Append(Kind):
    """Grows a line at a time."""

    def change(self, version):
        write(self.new, body(version, 0))
        os.rename(self.new, self.path)
        with open(self.path, "ab", buffering=0) as file:
            for number in range(12):
                file.write(lines(version, number, number + 1))
                pause(0.01)

    def check(self, name, data):
        version = version_of(data)
        if is_bad(version) or not self.shown(version).startswith(data) or (len(data) + len(COMMENT)) % 64:
            raise Wrong(f"not whole lines of version {version}: {data[-200:]!r}")
        return version


class InPlace(Kind):
    """Rewritten in place, size kept. One byte makes it critical before, and harmless again afterwards: no state that a reader
    of the source could meet in between may be shown, nor a mixture of two reads."""
    suffix = "py"
    count = 8000
    comment = False
    magic = b""

    def raw(self, version):
        head = self.magic + b"# %08d fetch it . sh\n" % version
        return head + b"#" * (127 - len(head)) + b"\n" + lines(version, 0, self.count)

    def change(self, version):
        raw = self.raw(version)
        toggle = raw.index(b". sh")
        if not os.path.exists(self.path):
            write(self.path, raw)
        fd = os.open(self.path, os.O_WRONLY)
        try:
            os.pwrite(fd, b"|", toggle)
            step = len(raw) // 16
            for at in random.sample(range(0, len(raw), step), len(range(0, len(raw), step))):
                piece = raw[at:at + step]
                os.pwrite(fd, piece.replace(b". sh", b"| sh"), at)
            os.pwrite(fd, b".", toggle)
        finally:
            os.close(fd)

    def check(self, name, data):
        version = version_of(data)
        if data != self.raw(version):
            raise Wrong(f"a mixture: {data[:60]!r}, and versions {set(re.findall(rb'(?m)^([0-9]{8}) ', data))}")
        return version


class InPlaceLarge(InPlace):
    """The same with a binary that is read in pieces while it is scanned, and whose body is a sealed copy."""
    suffix = "bin"
    count = 140000
    pause = 2.0
    share = 0.1
    magic = b"\x7fELF\x02"

    def raw(self, version):
        return super().raw(version)[:-8] + b"\0" * 8


class HardLink(Kind):
    """One inode with two names, as prose and as code."""

    def prepare(self, source):
        self.names.append(f"{self.name}.html")
        self.code = f"{source}/{self.names[1]}"

    def change(self, version):
        write(self.new, self.raw(version))
        os.link(self.new, self.new + "2")
        for pair in ((self.new, self.path), (self.new + "2", self.code))[::1 if version % 2 else -1]:
            os.rename(*pair)

    def check(self, name, data):
        if name.endswith("md"):
            return super().check(name, data)
        version = version_of(data)
        if is_bad(version) or data != self.raw(version):
            raise Wrong(f"not what version {version} is as code: {data[:200]!r}")
        return version


class Links(Kind):
    """A symlink that leads to one file, another, a hidden one, out of the root, or is a file itself."""

    def prepare(self, source):
        for number in (1, 2, 3):
            write(f"{source}/targets/{number}.md", self.raw(number))
        write(f"{source}/../outside.md", self.raw(1).replace(b"harmless", b"OUTSIDE."))
        self.targets = ["../outside.md", "targets/1.md", "targets/3.md", "targets/2.md", "/dev/zero",
                        f"{source}/targets/1.md", None]

    def change(self, version):
        target = self.targets[version % len(self.targets)]
        if target is None:
            write(self.new, self.raw(4))
        else:
            os.symlink(target, self.new)
        os.rename(self.new, self.path)


class Chmod(Kind):
    """The mode changes, the body does not."""

    def change(self, version):
        if version == 1:
            super().change(1)
        os.chmod(self.path, (0o644, 0o755, 0o444, 0o400)[version % 4])


class Special(Kind):
    """A fifo, a folder and a file take turns."""

    def change(self, version):
        if os.path.isdir(self.path):
            os.rmdir(self.path)
        if version % 2:
            super().change(version)
        elif version % 4:
            os.mkfifo(self.new)
            os.rename(self.new, self.path)
        else:
            if os.path.lexists(self.path):
                os.unlink(self.path)
            os.mkdir(self.path)


class Folders(Kind):
    """Two folders change places; one has files to hide under the same names."""
    folder = True

    def prepare(self, source):
        self.names = ["folders-a"]
        self.pair = [f"{source}/folders-{letter}" for letter in "ab"]
        for name, one, other in (("first.md", 1, 3), ("second.md", 2, 4), ("only-a.md", 5, None), ("only-b.md", None, 6)):
            for path, version in zip(self.pair, (one, other)):
                if version is not None:
                    write(f"{path}/{name}", self.raw(version))
        self.listings = [{"first.md", "second.md", "only-a.md"}, {"second.md"}]

    def change(self, version):
        if version > 1 and libc.renameat2(-100, os.fsencode(self.pair[0]), -100, os.fsencode(self.pair[1]), RENAME_EXCHANGE):
            raise OSError(ctypes.get_errno(), "renameat2")

    def check_listing(self, listing):
        if set(listing) not in self.listings or len(set(listing)) != len(listing):
            raise Wrong(f"a listing of neither: {sorted(listing)}")


KINDS = (Rename, Truncate, Append, InPlace, InPlaceLarge, HardLink, Links, Chmod, Special, Folders)


def pause(most=0.02):
    time.sleep(random.random() * most)


def writer(kind, until):
    version = kind.version
    while time.monotonic() < until:
        version += 1
        kind.change(version)
        pause(kind.pause)
    # It ends with something to see.
    while version % 28 != 1 or is_bad(version):
        version += 1
        kind.change(version)


def open_regular(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise IsADirectoryError(21, path)
    return fd


def read_whole(fd, size):
    del size
    parts = []
    while part := os.read(fd, random.choice((4096, 1 << 16, 1 << 20))):
        parts.append(part)
    return b"".join(parts)


def read_pieces(fd, size):
    """Out of order, over time, without what the kernel has cached."""
    step = max(4096, size // 6)
    starts = list(range(0, size + 1, step))
    random.shuffle(starts)
    data = bytearray(size)
    for start in starts:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        pause(0.01)
        part = os.pread(fd, step, start)
        if len(part) != min(step, size - start):
            raise Wrong(f"{len(part)} bytes at {start} of {size}")
        data[start:start + step] = part
    return bytes(data)


def read_mapped(fd, size):
    """A page that can't be had gives EFAULT in a system call, where a look at it would give SIGBUS."""
    if size == 0:
        return b""
    memory = os.memfd_create("copy", os.MFD_CLOEXEC)
    try:
        with mmap.mmap(fd, size, prot=mmap.PROT_READ) as mapped:
            pause(0.005)
            done = 0
            with memoryview(mapped) as view:
                while done < size:
                    done += os.pwrite(memory, view[done:], done)
        return os.pread(memory, size + 1, 0)
    finally:
        os.close(memory)


def read_file(kind, view, name, known):
    """One read, in one way or another; says which version it was."""
    how = random.choice((read_whole, read_whole, read_pieces, read_mapped))
    fd = open_regular(f"{view}/{name}")
    try:
        size = os.fstat(fd).st_size
        try:
            data = how(fd, size)
        except OSError as error:
            if how is read_mapped and error.errno == 14:
                raise OSError(5, "mapped") from None
            raise
        if len(data) != size or os.fstat(fd).st_size != size:
            raise Wrong(f"{len(data)} bytes of a file of {size}")
        for mark in (BAD[:7], b"OUTSIDE.") + ((COMMENT[5:12],) if name.endswith("md") else ()):
            if mark in data:
                raise Wrong(f"raw bytes: {data[:300]!r}")
        version = kind.check(os.path.basename(name), data)
        # The same name for the same bytes, and only for them.
        digest = os.getxattr(fd, "user.skillfs.hash").decode()
        if known.setdefault(digest, hash(data)) != hash(data):
            raise Wrong(f"two bodies are named {digest}")
        return version
    finally:
        os.close(fd)


def read_kind(kind, view, known):
    if not kind.folder:
        return read_file(kind, view, random.choice(kind.names), known)
    listing = os.listdir(f"{view}/{kind.names[0]}")
    kind.check_listing(listing)
    for name in listing:
        try:
            read_file(kind, view, f"{kind.names[0]}/{name}", known)
        except FileNotFoundError:
            pass  # the other folder took its place
    return len(listing)


def reader(kinds, view, until):
    """What it has seen: of each kind the number of reads and of versions, and how often which error."""
    seen = {kind.name: [0, set()] for kind in kinds}
    errors, known = {}, {}
    while time.monotonic() < until:
        kind = random.choices(kinds, [kind.share for kind in kinds])[0]
        try:
            version = read_kind(kind, view, known)
        except OSError as error:
            name = harness.errno.errorcode[error.errno]
            if name not in ALLOWED and not (isinstance(kind, Special) and name in ("EISDIR", "ENOTDIR")):
                raise
            errors[name] = errors.get(name, 0) + 1
        except Wrong as wrong:
            raise AssertionError(f"{kind.name} in {view}: {wrong}") from None
        else:
            seen[kind.name][0] += 1
            seen[kind.name][1].add(version)
        if len(known) > 10000:
            known.clear()
    return {"seen": {name: [count, len(versions)] for name, (count, versions) in seen.items()}, "errors": errors}


def start(w, name, function, *arguments):
    """Runs function(*arguments) in a process; its answer, or what went wrong, goes to a file."""
    path = w.path(f"result-{name}")
    pid = os.fork()
    if pid:
        return pid, path
    result = {}
    try:
        # Names and seeds of a fork would be the same in all.
        random.seed(name)
        result = {"answer": function(*arguments)}
    except BaseException:  # pylint: disable=broad-except
        result = {"failed": traceback.format_exc()}
    finally:
        write(path, json.dumps(result))
        os._exit(0)
    return None


def finish(started):
    answers = []
    for pid, path in started:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        equal(status, 0, "a process of the test")
        result = json.loads(read(path))
        if "failed" in result:
            answers.append(result["failed"])
        else:
            answers.append(result["answer"])
    failed = [answer for answer in answers if isinstance(answer, str)]
    if failed:
        raise AssertionError("\n".join(failed[:3]))
    return answers


@case
def readers_see_whole_scanned_bodies(w):
    source = w.path("source")
    os.mkdir(source)
    kinds = [kind(source) for kind in KINDS]
    # One view keeps hardly a body, and looks again at each name; the other has all in memory, and looks once a second.
    views = [w.path("tight"), w.path("usual")]
    w.mount(source, views[0], "entry_timeout_ms=0", config="mount:\n  cacheSize: 1MiB\n  spoolSize: 20MB\n")
    w.mount(source, views[1], "entry_timeout_ms=100")
    until = time.monotonic() + SECONDS
    started = [start(w, f"writer-{kind.name}", writer, kind, until) for kind in kinds]
    started += [start(w, f"reader-{number}", reader, kinds, views[number % 2], until) for number in range(READERS)]
    answers = [answer for answer in finish(started) if answer is not None]
    errors = {}
    for answer in answers:
        for name, count in answer["errors"].items():
            errors[name] = errors.get(name, 0) + count
    print("errors met:", errors)
    for kind in kinds:
        reads = sum(answer["seen"][kind.name][0] for answer in answers)
        versions = max(answer["seen"][kind.name][1] for answer in answers)
        print(f"{kind.name}: {reads} reads, {versions} versions")
        assert reads >= 10 and versions >= (1 if kind.name == "chmod" else 2), f"{kind.name}: too few to say anything"
    # Nothing stays hidden for having changed a lot.
    for view in views:
        for kind in kinds:
            for name in kind.names:
                eventually(lambda kind=kind, view=view, name=name: read_again(kind, view, name), what=f"{name} in {view}")
    for view in views:
        w.umount(view)
    w.settle()


@case
def storm_on_a_cold_file_scans_once(w):
    source = w.path("source")
    os.mkdir(source)
    _, view = w.two_folders(source=source)
    control = w.control(view)
    eventually(lambda: w.status(control)["counters"]["indexed"], what="the first walk")
    before = w.status(control)["counters"]["scans"]
    raw = lines(1, 0, 6 << 14)
    write(f"{source}/0/cold.py", raw)
    # By 32 names, since the kernel asks for one name once at a time.
    for number in range(1, 32):
        os.mkdir(f"{source}/{number}")
        os.link(f"{source}/0/cold.py", f"{source}/{number}/cold.py")
    begin = time.monotonic() + 0.5

    def ask(number):
        time.sleep(max(0, begin - time.monotonic()))
        path = f"{view}/{number}/cold.py"
        return [os.stat(path).st_size, read(path) == raw]

    answers = finish([start(w, f"asker-{number}", ask, number) for number in range(32)])
    equal(answers, [[len(raw), True]] * 32, "what they got")
    equal(w.status(control)["counters"]["scans"] - before, 1, "scans")


@case
def large_scan_does_not_hold_up_small_files(w):
    """All small ones are there before the large one is: an order, and no time. The large one has a folder of its own: the
    kernel looks up one name of a folder at a time when libfuse (3.14.0 does so) keeps FUSE_PARALLEL_DIROPS from it."""
    source = w.path("source")
    write(f"{source}/first.md", "# First\n")
    _, view = w.two_folders(source=source, config="mount: {scanTimeMs: 600000}\n")
    control = w.control(view)
    eventually(lambda: w.status(control)["counters"]["indexed"], what="the first walk")
    for number in range(300):
        write(f"{source}/small/{number}.md", f"# {number}\n")
    # What has to be normalized takes longest.
    text = "Ｗｏｒｄｓ ａｎｄ ｍｏｒｅ\n".encode() * (60 * 1024 * 1024 // 42)
    write(f"{source}/large/data.py", text)

    def ask():
        return [os.stat(f"{view}/large/data.py").st_size, time.monotonic()]

    large = start(w, "large", ask)
    time.sleep(0.2)
    for number in range(300):
        equal(read(f"{view}/small/{number}.md"), f"# {number}\n".encode(), "a small one")
    done = time.monotonic()
    size, answered = finish([large])[0]
    equal(size, len(text), "the large one's size")
    assert done < answered, "the small ones came after the large one"


def read_again(kind, view, name):
    try:
        return bool(os.listdir(f"{view}/{name}") if kind.folder else read_file(kind, view, name, {}))
    except OSError:
        return False


signal.signal(signal.SIGPIPE, signal.SIG_DFL)
main(need_fuse)
