# SPDX-License-Identifier: MIT
"""File systems of a test's own, and their removal."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TIMEOUT = 250
MKFS = {"ext4": ["mkfs.ext4", "-q", "-F", "-m", "0", "-b", "4096"], "xfs": ["mkfs.xfs", "-q", "-f"],
        "btrfs": ["mkfs.btrfs", "-q"]}

# A sanitizer must not catch the SIGBUS of a mapping that the disk cannot read.
ENVIRONMENT = {**os.environ,
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":handle_sigbus=0"}


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def run(*command, **options):
    """Runs a command that must succeed; returns its standard output."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            timeout=TIMEOUT, **options)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: status {result.returncode}: "
                           f"{result.stderr.strip() or result.stdout.strip()}")
    return result.stdout


def own_folder(afterwards=lambda folder: None):
    """Returns the folder to work in. Restarts the program in a mount namespace of its own, whose end unmounts
    everything, then calls `afterwards` and removes the folder. Skips the test if that is not allowed."""
    if os.environ.get("POWER_FOLDER"):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return pathlib.Path(os.environ["POWER_FOLDER"])
    if os.geteuid() != 0:
        skip("mounting needs root")
    try:
        run("unshare", "-m", "setpriv", "--pdeathsig", "KILL", "true")
    except (OSError, RuntimeError) as error:
        skip(error)
    with tempfile.TemporaryDirectory(prefix="bloomfile-power-") as folder:
        program = [sys.executable, "-W", "error", *sys.argv]
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "-m", *program],
                                   env={**os.environ, "POWER_FOLDER": folder})
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            signal.signal(number, lambda *_: process.terminate())
        status = process.wait()
        afterwards(pathlib.Path(folder))
    sys.exit(status if status >= 0 else 128 - status)


def wait_until(condition, what):
    end = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {TIMEOUT} s: {what}")
        time.sleep(0.002)


def unmount(mountpoint):
    """A killed process may hold files open for a moment longer."""
    def unmounted():
        result = subprocess.run(["umount", mountpoint], stderr=subprocess.PIPE, text=True)
        if result.returncode != 0 and "busy" not in result.stderr:
            raise RuntimeError(result.stderr.strip())
        return result.returncode == 0
    wait_until(unmounted, f"{mountpoint} is busy")
