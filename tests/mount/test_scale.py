#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many files and many opens: threads, descriptors and memory level off, and memory keeps its bound.

In full as root, with the release build that $SKILLFS_PLAIN names or when $SKILLFS is one; users get a smaller version.
Sanitizers need memory of their own, and get the smallest, without the bound.
"""
import os
import re
import sys

if os.environ.get("SKILLFS_PLAIN"):
    os.environ["SKILLFS"] = os.environ["SKILLFS_PLAIN"]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import harness
from harness import IS_ROOT, SKILLFS, case, equal, eventually, main, need_fuse, read, write

harness.CASE_SECONDS = 400  # a minute, unless others keep the machine busy
MIB = 1 << 20
CACHE = 64 * MIB  # the default
SMALL = b"__asan_init" in read(SKILLFS) or b"__tsan_init" in read(SKILLFS)
FOLDERS, OPENS = (40, 40_000) if SMALL else (2000, 1_000_000) if IS_ROOT else (200, 200_000)
FILES_EACH = 50

OPENER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
// FOLDER OPENS PROCESSES: opens, reads and closes files of test_scale's tree, each process from another place on.
int main(int argc, char **argv)
{
	int opens = atoi(argv[2]), processes = atoi(argv[3]), folders = atoi(argv[4]), failed = 0, status;
	(void)argc;
	for (int p = 0; p < processes; p++)
		if (fork() == 0) {
			char path[4096], byte[4096];

			for (int i = 0; i < opens / processes; i++) {
				int fd;

				snprintf(path, sizeof(path), "%s/d%04d/n%02d.md", argv[1], (i / 50 + p * 7) % folders, i % 50);
				fd = open(path, O_RDONLY | O_CLOEXEC);
				if (fd < 0 || read(fd, byte, sizeof(byte)) < 10)
					_exit(1);
				close(fd);
			}
			_exit(0);
		}
	while (wait(&status) > 0)
		failed += status != 0;
	return failed;
}
"""


class Daemon:
    """The daemon of a world's only mount, looked at from outside."""

    def __init__(self, w):
        pids = w.processes()
        self.pid = next(pid for pid in pids if self.number(pid, "PPid") not in pids)

    @staticmethod
    def number(pid, key):
        return int(re.search(rb"^%s:\s*(\d+)" % key.encode(), read(f"/proc/{pid}/status"), re.M).group(1))

    def memory(self):
        return self.number(self.pid, "VmRSS") * 1024

    def threads(self):
        return self.number(self.pid, "Threads")

    def descriptors(self):
        # Only root may look into a process that is not dumpable; a user sees how large its table is.
        return len(os.listdir(f"/proc/{self.pid}/fd")) if IS_ROOT else self.number(self.pid, "FDSize")


def tree(source):
    """Makes it; returns how many files and bytes it has."""
    size = 0
    for folder in range(FOLDERS):
        os.makedirs(f"{source}/d{folder:04}")
        for number in range(FILES_EACH):
            body = b"# Note %d %d\n\n" % (folder, number) + b"some words to read\n" * (5 + number)
            with open(f"{source}/d{folder:04}/n{number:02}.md", "wb", buffering=0) as file:
                size += file.write(body)
    return FOLDERS * FILES_EACH, size


def level(w, daemon, control):
    return {"threads": daemon.threads(), "descriptors": daemon.descriptors(), "nodes": w.status(control)["counters"]["nodes"]}


@case
def many_files_and_opens_level_off_in_bounded_memory(w):
    files, size = tree(w.path("source"))
    write(w.path("open.c"), OPENER)
    w.run("gcc", "-O1", "-o", w.path("open"), w.path("open.c"))
    # Names are asked for again and again, so that the daemon has part in the opens.
    _, view = w.two_folders("entry_timeout_ms=50", source=w.path("source"))
    control, daemon = w.control(view), Daemon(w)
    bound = CACHE + 64 * MIB + 400 * files
    eventually(lambda: w.status(control)["counters"]["indexed"], seconds=300, what="the first index")
    equal(w.status(control)["counters"]["files"], files, "known files")

    def within(what):
        if not SMALL:
            assert daemon.memory() <= bound, f"{what}: {daemon.memory() / MIB:.0f} MiB, the bound is {bound / MIB:.0f}"

    def opens(count):
        w.run(w.path("open"), view, str(count), "4", str(FOLDERS), timeout=300)

    within("after the index")
    found = w.run("sh", "-c", f"find {view} -type f -print0 | xargs -0 cat | wc -c", timeout=300)
    equal(int(found.stdout), size, "all bytes")
    within("after everything was read")
    opens(OPENS // 4)
    quarter, memory = level(w, daemon, control), daemon.memory()
    within("after a quarter of the opens")
    opens(OPENS - OPENS // 4)
    within("after all opens")
    # The kernel may have dropped a folder at the one time and not at the other: what counts is that opens add nothing.
    full = level(w, daemon, control)
    equal(full["threads"], quarter["threads"], "threads after four times as many opens")
    assert full["descriptors"] <= max(quarter["descriptors"], FOLDERS + 100), (quarter, full)
    assert full["nodes"] <= max(quarter["nodes"], files + FOLDERS + 100), (quarter, full)
    grown = daemon.memory() - memory
    assert SMALL or grown < 4 * MIB, f"{grown / MIB:.1f} MiB more after {OPENS} opens than after a quarter of them"
    print(f"{files} files, {OPENS} opens: {daemon.memory() / MIB:.0f} MiB of {bound / MIB:.0f}, {quarter}")
    if IS_ROOT:
        forgotten_folders_are_let_go(w, daemon, control, files)


def forgotten_folders_are_let_go(w, daemon, control, files):
    """What the kernel drops, the daemon drops: a folder's node holds a descriptor. Known files are few bytes, and stay known."""
    before = level(w, daemon, control)
    assert before["nodes"] >= files + FOLDERS and before["descriptors"] >= FOLDERS, before
    for _ in range(3):
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("2\n")
        after = level(w, daemon, control)
        if after["descriptors"] < 100:
            break
    assert after["nodes"] <= before["nodes"] - FOLDERS * 9 // 10, (before, after)
    assert after["descriptors"] <= before["descriptors"] - FOLDERS * 9 // 10, (before, after)
    equal(after["threads"], before["threads"], "threads")


@case
def open_handles_are_given_back(w):
    """Listings, maps and opened files that end leave nothing behind, whichever way they end."""
    source = w.path("source")
    for number in range(60):
        write(f"{source}/d{number:02}/n.md", "words\n" * 900)
    _, view = w.two_folders("entry_timeout_ms=20", source=source)
    control, daemon = w.control(view), Daemon(w)
    eventually(lambda: w.status(control)["counters"]["indexed"], what="the first index")

    def turn():
        held = [os.open(f"{view}/d{number:02}", os.O_RDONLY | os.O_DIRECTORY) for number in range(60)]
        for fd in held[::2]:
            os.listdir(fd)
        held += [os.open(f"{view}/d{number:02}/n.md", os.O_RDONLY) for number in range(60)]
        for fd in held:
            os.close(fd)
        # Processes that are killed while they list and read.
        w.run("sh", "-c", f"for i in 1 2 3; do timeout -s KILL 0.02 sh -c 'while :; do ls -lR {view}; done' >/dev/null 2>&1; done; true")

    for _ in range(3):
        turn()
    first, memory = level(w, daemon, control), daemon.memory()
    for _ in range(5 if SMALL else 30):
        turn()
    equal(level(w, daemon, control), first, "threads, descriptors and nodes")
    assert SMALL or daemon.memory() - memory < 2 * MIB, (memory, daemon.memory())


main(need_fuse)
