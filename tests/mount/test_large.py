#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Large files: binaries are scanned as they are read, in little memory; text is scanned whole."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import SKILLFS, case, equal, eventually, find_key, main, need_fuse, read, write

MIB = 1 << 20
LARGE = "mount: {maxFileSize: 2GiB, scanTimeMs: 600000}\n"


def large(path, size, noise, *planted):
    """A binary of `size` bytes, mostly a hole, with `noise` MiB of random bytes and texts at places."""
    with open(path, "wb") as file:
        file.write(b"\x7fELF\x02\x01\x01")
        for _ in range(noise):
            file.write(os.urandom(MIB))
        file.truncate(size)
        for offset, text in planted:
            file.seek(offset)
            file.write(text)


def scan(w, path, config):
    """The report of one file, and the most memory that the scan had, in MiB."""
    process = subprocess.Popen([SKILLFS, "scan", "-c", config, "--format", "json", path], env=w.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    with process.stdout as out:
        report = json.loads(out.read())
    usage = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return report["files"][0], usage.ru_maxrss / 1024


def is_instrumented():
    return b"__asan_init" in read(SKILLFS) or b"__tsan_init" in read(SKILLFS)


@case
def gigabyte_of_binary_is_scanned_in_little_memory(w):
    size = 1024 * MIB
    path = w.path("big.bin")
    large(path, size, 16 if is_instrumented() else 64, (700 * MIB - 3, b"\0 printenv \0"), (size - 5000, b"\0 xmrig \0"))
    file, memory = scan(w, path, w.config(LARGE))
    equal((file["class"], file["verdict"]), ("binary", "critical"), "the file")
    found = [(f["ruleId"], f["byteOffset"]) for f in file["findings"] if f["byteOffset"] > 64 * MIB]
    equal(found, [("ENV_PRINTENV", 700 * MIB - 1), ("CRYPTO_MINER_BINARY", size - 4998)], "what was planted")
    equal(file["sanitize"]["sourceSize"], size, "its size")
    if not is_instrumented():  # which needs memory of its own
        assert memory < 100, f"{memory} MiB"


@case
def large_binaries_on_a_mount_are_as_scanned(w):
    source = w.path("source")
    os.mkdir(source)
    large(f"{source}/clean.bin", 20 * MIB, 1)
    large(f"{source}/bad.bin", 20 * MIB, 1, (10 * MIB, b"\0 xmrig \0"), (8 * MIB - 3, b"\0$(curl x)\0"))
    view = w.two_folders(source=source)[1]
    equal(os.path.exists(f"{view}/bad.bin"), False, "the bad one")
    data = read(f"{source}/clean.bin")
    equal(os.stat(f"{view}/clean.bin").st_size, len(data), "size")
    equal(read(f"{view}/clean.bin") == data, True, "the bytes")
    entry = eventually(lambda: w.quarantine(w.control(view)).get("bad.bin"), what="bad.bin in quarantine")
    file = scan(w, f"{source}/bad.bin", w.config("{}"))[0]
    for key in ("class", "verdict", "findings", "notices", "sanitize"):
        equal(entry[key], file[key], key)
    planted = {(f["ruleId"], f["byteOffset"]) for f in file["findings"]}
    assert {("EXEC_SUBSHELL", 8 * MIB - 2), ("CRYPTO_MINER_BINARY", 10 * MIB + 2)} <= planted, planted


@case
def readers_of_more_than_the_spool_holds_are_all_served(w):
    source = w.path("source")
    os.mkdir(source)
    names = [f"data-{number}.{'bin' if number % 2 else 'json'}" for number in range(6)]
    for name in names:
        if name.endswith("bin"):
            large(f"{source}/{name}", 9 * MIB, 1)
        else:
            write(f"{source}/{name}", f"{{\"{name}\": \"words and more words\"}},\n" * (9 * MIB // 40))
    _, view = w.two_folders(source=source, config=f"mount:\n  spoolSize: {24 * MIB}\n")
    control = w.control(view)
    readers = [subprocess.Popen(["cmp", f"{source}/{name}", f"{view}/{name}"]) for name in names * 2]
    equal([reader.wait(timeout=100) for reader in readers], [0] * len(readers), "cmp of each")
    spooled = find_key(w.status(control), "spooledBytes")
    assert 0 < spooled <= 24 * MIB, spooled


@case
def equal_content_is_held_once(w):
    source = w.path("source")
    os.mkdir(source)
    large(f"{source}/one.bin", 9 * MIB, 1)
    for name in ("two.bin", "three.bin"):
        write(f"{source}/{name}", read(f"{source}/one.bin"))
    write(f"{source}/notes.txt", "words and more words\n" * 900)
    write(f"{source}/again.txt", "words and more words\n" * 900)
    _, view = w.two_folders(source=source)
    for name in ("one.bin", "two.bin", "three.bin", "notes.txt", "again.txt"):
        equal(read(f"{view}/{name}") == read(f"{source}/{name}"), True, name)
    counters = w.status(w.control(view))["counters"]
    equal(counters["spooledBytes"], 9 * MIB, "of the three large ones")
    assert 18900 < counters["cachedBytes"] < 28000, counters
    equal(len({os.stat(f"{view}/{name}").st_ino for name in os.listdir(source)}), 5, "they stay files of their own")


@case
def large_text_is_scanned_whole(w):
    source = w.path("source")
    os.mkdir(source)
    line = b"Some words that say nothing at all, line after line.\n"
    with open(f"{source}/notes", "wb") as file:
        file.write(line * (9 * MIB // len(line)))
        file.write("x\u200bmrig\n".encode())
    file = scan(w, f"{source}/notes", w.config(LARGE))[0]
    equal((file["class"], file["verdict"]), ("prose", "critical"), "the file")
    equal([(f["ruleId"], f["stage"]) for f in file["findings"]], [("CRYPTO_MINER_BINARY", "sanitized")], "found")


main(need_fuse)
