#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""limit.py SECONDS COMMAND...: runs a test; fails if it and its children use more processor time."""

import resource
import subprocess
import sys

limit = float(sys.argv[1])
status = subprocess.run(sys.argv[2:], check=False).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
used = usage.ru_utime + usage.ru_stime
if status == 0 and used > limit:
    print(f"took {used:.1f} s of processor time, and a quick test has {limit:g}: make it smaller, or move it to the suite short")
    status = 1
sys.exit(status if status >= 0 else 128 - status)
