#!/usr/bin/env python3
"""Print Markdown headings for an outline (level, title, page; tab between)."""
import sys


def main() -> int:
    lines = open(sys.argv[1], encoding="utf-8") if len(sys.argv) > 1 else sys.stdin
    for line in lines:
        if line.startswith("#") or not line.strip():
            continue
        level, title, page = line.rstrip("\n").split("\t")
        print("#" * int(level), title, f"(page {page})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
