#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""summary.py yes|no RESULT.xml...: what ctest's JUnit files say, in a few lines.

Lists each skipped test with its reason (its last line), and each case that cmocka skipped for every
user that ran it. Ends with the totals. Exits 1 when a test failed, or when something was
skipped and the first argument is "yes".
"""
import os
import re
import sys
import xml.etree.ElementTree


def reason(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def main():
    strict, files = sys.argv[1] == "yes", sys.argv[2:]
    passed, failed, skipped = 0, [], []
    cases = {}  # of a cmocka program: in how many of the files it was skipped
    for path in files:
        who = os.path.splitext(os.path.basename(path))[0]
        if not os.path.exists(path):
            failed.append(f"{who}: ctest gave no results")
            continue
        for test in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            name, output, skip = test.get("name"), test.findtext("system-out") or "", test.find("skipped")
            if test.get("status") == "run":
                passed += 1
                for case in set(re.findall(r"\[  SKIPPED \] (\w+)$", output, re.MULTILINE)):
                    cases[name, case] = cases.get((name, case), 0) + 1
            elif skip is not None and "SKIP_RETURN_CODE" in skip.get("message", ""):
                skipped.append(f"{name} ({who}): {reason(output)}")
            else:
                failed.append(f"{name} ({who})")
    skipped += [f"{name}: {case}" for (name, case), count in sorted(cases.items()) if count == len(files)]
    for name in failed:
        print("failed:", name)
    for line in skipped:
        print("skipped:", line)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or (strict and skipped) else 0


if __name__ == "__main__":
    sys.exit(main())
