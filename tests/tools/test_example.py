# SPDX-License-Identifier: MIT
"""The examples: their numbers add up, no key is lost, and failures leave no wrong files."""

import fnmatch
import os
import re
import resource
import signal
import subprocess
import time
import unittest

from support import (NAMESPACE, SANITIZED, TIMEOUT, TOOLS, UNPRIVILEGED, ToolTest, craft, lines, main,
                     needs, numbered, works)

TOOLS["guard"], TOOLS["seen"] = os.environ["EXAMPLE_GUARD"], os.environ["EXAMPLE_SEEN"]

NAMES = ["requests", "  store calls saved", "  store calls made", "    found",
         "    false positives", "orders inserted meanwhile", "filter replaced",
         "  noticed by a process", "lost"]
BRIEFLY = ["-n", 1000, "-t", 1, "-w", 3, "-d", 50, "."]


class Guard(ToolTest):
    def guard(self, *arguments):
        """The numbers that guard prints, by name. They must add up."""
        out = self.output("guard", *(arguments or BRIEFLY)).decode()
        rows = re.findall(r"^( *\S.*?) +(\d+)$", out, re.M)
        self.assertEqual([name for name, _ in rows], NAMES, out)
        n = {name.strip(): int(value) for name, value in rows}
        self.assertEqual(n["requests"], n["store calls saved"] + n["store calls made"])
        self.assertEqual(n["store calls made"], n["found"] + n["false positives"])
        self.assertEqual(n["lost"], 0)
        return n

    def orders(self, left=()):
        """The orders in the store. Each must be in the filter, and no other file may exist except those that `left`
        matches."""
        stored = self.read("guard.orders").split(b"\n")
        self.assertEqual(stored.pop(), b"")
        self.assertTrue(all(re.fullmatch(rb"\d{15}", order) for order in stored))
        self.assertEqual(stored, sorted(set(stored)))
        self.assertEqual(
            self.output("bfquery", "-v", "guard.bloom", "guard.orders", status=1), b"")
        names = [name for name in os.listdir(self.folder)
                 if not any(fnmatch.fnmatchcase(name, pattern) for pattern in left)]
        self.assertEqual(sorted(names), ["guard.bloom", "guard.orders"])
        return stored

    def test_orders_are_counted_and_found(self):
        stored = 1024
        for seconds in 1, 5, 25:  # on a busy disk a filter may take long to fill
            n = self.guard("-n", 1000, "-t", seconds, "-w", 3, "-d", 50, ".")
            stored += n["orders inserted meanwhile"]
            if n["noticed by a process"] > 0 and n["requests"] > 500:
                break
        self.assertGreater(n["requests"], 500)
        self.assertGreater(n["store calls saved"], n["requests"] // 2)
        self.assertGreater(n["found"], n["requests"] // 5)
        self.assertLess(n["false positives"], n["requests"] // 50 + 10)
        self.assertGreater(n["filter replaced"], 0)
        self.assertGreater(n["noticed by a process"], 0)
        self.assertLessEqual(n["noticed by a process"], 3 * n["filter replaced"])
        self.assertEqual(len(self.orders()), stored)

    def test_next_run_continues_the_store(self):
        self.guard()
        before = self.orders()
        n = self.guard()
        after = self.orders()
        self.assertEqual(after[:len(before)], before)
        self.assertEqual(len(after), len(before) + n["orders inserted meanwhile"])

    def test_partial_order_is_overwritten(self):
        self.guard()
        before = self.orders()
        self.write("guard.orders", lines(*before) + b"12345")
        self.guard()
        self.assertEqual(self.orders()[:len(before)], before)

    def test_trailing_zeros_of_a_power_loss_are_removed(self):
        self.guard()
        before = self.orders()
        self.write("guard.orders", lines(*before) + bytes(16 * 300 + 5))
        self.guard()
        self.assertEqual(self.orders()[:len(before)], before)

    def test_filter_is_rebuilt_from_the_store(self):
        """A filter that is missing, damaged or sealed is rebuilt, because the store has every order."""
        self.guard()
        stored = self.orders()
        sealed = self.create("guard.orders", name="guard.bloom")
        for content in None, b"", b"x", b"\0" * 8192, sealed, sealed[:-1]:
            self.write("guard.orders", lines(*stored))
            (self.folder / "guard.bloom").unlink()
            if content is not None:
                self.write("guard.bloom", content)
            self.guard()
            self.assertEqual(self.orders()[:len(stored)], stored)

    def test_older_or_foreign_filter_is_rebuilt(self):
        """Such a filter is sound, but lacks orders."""
        self.guard()
        older = self.read("guard.bloom")
        self.guard()
        for other in older, self.read(self.create_live("-n", 1000)):
            (self.folder / "live").unlink(missing_ok=True)
            self.write("guard.bloom", other)
            self.guard()
            self.orders()

    def test_readers_open_a_filter_that_was_unclean(self):
        self.guard()
        self.write("guard.bloom", craft.edit(self.read("guard.bloom"), record={"boot_id": b"x" * 16}))
        self.guard("-n", 1000, "-t", 1, "-w", 3, "-d", 0, ".")
        self.orders()

    def start(self, *arguments):
        process = subprocess.Popen(self.command("guard", *arguments), cwd=self.folder,
                                   env=self.environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def wait_for_filter(self):
        end = time.monotonic() + TIMEOUT
        while not (self.folder / "guard.bloom").exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_second_guard_is_refused(self):
        def start():
            (self.folder / "guard.bloom").unlink(missing_ok=True)
            return self.start("-n", 1000, "-t", 2, ".")

        first = self.caught(start, (self.folder / "guard.bloom").exists)
        second = self.run_tool("guard", *BRIEFLY)
        first.send_signal(signal.SIGCONT)
        self.assertEqual((second.returncode, second.stdout), (2, b""))
        self.check_message("guard", second.stderr, "guard.orders: another process is at work")
        out, message = first.communicate(timeout=TIMEOUT)
        self.assertEqual((first.returncode, message), (0, b""))
        self.assertRegex(out, rb"(?m)^lost +0$")
        self.orders()

    def test_killed_guard_loses_no_order(self):
        """After a kill at any moment, the next run finds every order of the store. The pool must end too."""
        for i in range(3 if SANITIZED else 10):
            process = self.start("-n", 1000, "-t", 60, ".")
            self.wait_for_filter()
            time.sleep(0.05 * i)
            process.send_signal([signal.SIGKILL, signal.SIGINT, signal.SIGTERM][i % 3])
            self.assertEqual(process.communicate(timeout=TIMEOUT), (b"", b""))
        self.guard()
        self.orders(left=["guard.bloom.new", ".bloomfile.*.tmp"])

    def test_foreign_store_is_refused(self):
        self.write("guard.orders", b"what is this?\n" * 10)
        self.trouble("guard", ".", names=["guard.orders", "no file of order numbers"])
        (self.folder / "guard.orders").unlink()
        (self.folder / "guard.orders").mkdir()
        self.trouble("guard", ".", names=["guard.orders", "Is a directory"])

    def test_wrong_command_lines_are_refused(self):
        self.trouble("guard", "missing", names=["missing", "No such file"])
        self.write("file", b"")
        self.trouble("guard", "file", names=["file", "Not a directory"])
        for arguments in ["-t", 0, "."], ["-w", "x", "."], ["-d", -1, "."], ["-n", "9" * 30, "."]:
            self.trouble("guard", *arguments, names=["is no number from"])
        for arguments in [], [".", "."]:
            result = self.run_tool("guard", *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertTrue(result.stderr.startswith(b"usage: guard "), result)

    def test_failed_creation_of_the_filter_is_an_error(self):
        (self.folder / "guard.bloom").mkdir()
        message = self.trouble("guard", *BRIEFLY, changes=True, names=["guard.bloom"])
        self.assertIn("cannot make guard.bloom from the store: Is a directory", message)
        self.assertEqual(sorted(os.listdir(self.folder)), ["guard.bloom", "guard.orders"])

    @needs(*UNPRIVILEGED)
    def test_read_only_folder_is_an_error(self):
        (self.folder / "closed").mkdir()
        (self.folder / "closed").chmod(0o555)
        self.trouble("guard", "closed", before=UNPRIVILEGED,
                     names=["guard.orders", "Permission denied"])

    @unittest.skipUnless(works(*NAMESPACE, "mount", "-t", "tmpfs", "none", "/tmp"),
                         "no file system can be mounted here")
    def test_full_disk_keeps_filter_and_store(self):
        """The old filter and store stay in use. Copies of both still belong together."""
        script = """
            mount -t tmpfs -o size=300k none disk
            "$@"; status=$?
            cp disk/* . && exit $status"""
        (self.folder / "disk").mkdir()
        message = self.trouble("guard", "-n", 1000, "-t", 60, "disk", changes=True,
                               before=[*NAMESPACE, "sh", "-c", script, "sh"])
        self.assertRegex(message, r"guard\.(bloom|orders).*: No space left on device")
        (self.folder / "disk").rmdir()
        self.orders()

    def test_closed_descriptors_do_not_corrupt_the_store(self):
        """The store must not get a standard descriptor, or the numbers would be written into it."""
        for closed in ">&-", "<&- >&- 2>&-":
            result = self.run_tool("guard", *BRIEFLY, before=["sh", "-c", f'exec "$@" {closed}', "sh"])
            self.assertEqual(result.returncode, 2)
            self.orders()

    def test_full_standard_output_is_an_error(self):
        with open("/dev/full", "wb") as full:
            result = self.run_tool("guard", *BRIEFLY, stdout=full)
        self.assertEqual(result.returncode, 2)
        self.check_message("guard", result.stderr, "standard output", "No space left")


class Seen(ToolTest):
    def seen(self, stdin, **options):
        return self.output("seen", "seen.bloom", stdin=stdin, **options)

    def test_each_line_is_printed_once(self):
        self.assertEqual(self.seen(b"apple\npear\napple\n"), b"apple\npear\n")
        self.assertEqual(self.seen(b"pear\nplum\n"), b"plum\n")
        self.assertEqual(self.seen(b"apple\npear\nplum\n"), b"")

    def test_lines_of_any_bytes_are_printed(self):
        odd = [b"", b"a\0b", b"a", b"\xff\r", b"x" * 1000000]
        self.assertEqual(self.seen(lines(*odd, *odd)), lines(*odd))
        self.assertEqual(self.seen(b"no newline at the end"), b"no newline at the end\n")
        self.assertEqual(self.seen(b""), b"")

    def test_concurrent_processes_print_each_line_once(self):
        """Processes with the same lines: exactly one prints each line, except for a few false positives."""
        keys = numbered(20000)
        self.write("keys", lines(*keys))
        processes = []
        for _ in range(4):
            with open(self.folder / "keys", "rb") as stdin:
                processes.append(subprocess.Popen(
                    self.command("seen", "seen.bloom"), cwd=self.folder, stdin=stdin,
                    env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        printed = []
        for process in processes:
            out, message = process.communicate(timeout=TIMEOUT)
            self.assertEqual((process.returncode, message), (0, b""))
            printed += out.splitlines()
        self.assertEqual(len(printed), len(set(printed)))
        self.assertGreaterEqual(len(printed), len(keys) - 20)
        self.assertEqual(self.query("seen.bloom", "keys"), keys)

    def test_unusable_filters_are_refused(self):
        self.create(name="sealed.bloom", stdin=b"key\n")
        self.write("text", b"some text that is no filter\n")
        self.trouble("seen", "sealed.bloom", names=["sealed.bloom", "sealed"])
        self.trouble("seen", "text", names=["text", "not a filter file"])
        self.trouble("seen", "missing/x", names=["missing/x", "No such file"])
        self.trouble("seen", ".", names=["directory"])
        self.trouble("seen", "/dev/null", names=["/dev/null", "not a regular file"])
        self.assertEqual(self.run_tool("seen").returncode, 2)

    @unittest.skipIf(SANITIZED, "the sanitizer reserves more addresses than that")
    def test_line_larger_than_memory_is_an_error(self):
        """A line too long for memory must not end the input as if it were the last line."""
        result = self.run_tool("seen", "seen.bloom", stdin=lines(b"first", b"x" * 2**26, b"last"), preexec_fn=lambda:
                               resource.setrlimit(resource.RLIMIT_AS, (2**26, 2**26)))
        self.assertEqual((result.returncode, result.stdout), (2, b"first\n"))
        self.check_message("seen", result.stderr, "standard input")

    def test_full_standard_output_is_an_error(self):
        with open("/dev/full", "wb") as full:
            result = self.run_tool("seen", "seen.bloom", stdin=lines(*numbered(10)), stdout=full)
        self.assertEqual(result.returncode, 2)
        self.check_message("seen", result.stderr, "standard output", "No space left")


if __name__ == "__main__":
    main()
