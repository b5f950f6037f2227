#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""summary.py BROKEN LOG...: sums up the logs of meson test (LOG.json in a build's meson-logs).

Prints the skipped tests and the reasons, and the tests of the first build that did not run. The last line is the sum;
BROKEN, the number of builds that failed, counts as failed tests. Exits with 1 unless tests ran without a failure."""

import json
import pathlib
import re
import subprocess
import sys
import textwrap

GOOD = "OK", "EXPECTEDFAIL"
REASON = re.compile(r"^skipped: (.*)", re.MULTILINE)


def listed(title, names):
    print(textwrap.fill(f"{title} {', '.join(names)}", 110, subsequent_indent="    ", break_on_hyphens=False))


def main():
    failed, passed, bad, skipped, ran = int(sys.argv[1]), 0, [], {}, set()
    builds = []
    for log in map(pathlib.Path, sys.argv[2:]):
        builds.append(log.parent.parent)
        rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        failed += not rows
        for row in rows:
            name = row["name"].rsplit(" / ", 1)[-1]
            if builds[-1] == builds[0]:
                ran.add(name)
            for reason in REASON.findall(row.get("stdout", "") + row.get("stderr", "")) or (
                    ["it does not say why"] if row["result"] == "SKIP" else []):
                skipped.setdefault(reason, []).append(name if row["result"] == "SKIP" else f"parts of {name}")
            passed += row["result"] in GOOD
            if row["result"] not in (*GOOD, "SKIP"):
                bad.append(f"{name} ({row['result']}, in {builds[-1].name})")
    for name in bad:
        print(f"failed: {name}")
    for reason, names in sorted(skipped.items()):
        listed(f"skipped: {reason}:", dict.fromkeys(names))
    tests = json.loads(subprocess.check_output(["meson", "introspect", "--tests", builds[0]])) if builds else []
    left_out = [test["name"] for test in tests if test["name"] not in ran]
    if ran:
        print(f"ran {len(ran)} of {len(ran) + len(left_out)} tests")
        if left_out:
            listed("left out:", left_out)
    print(f"{passed} passed, {failed + len(bad)} failed")
    return failed + len(bad) > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
