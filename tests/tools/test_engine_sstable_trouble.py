# SPDX-License-Identifier: MIT
"""examples/sstable: trouble with files, and programs that are stopped or meet."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import unittest

from sstable_tablet import F_SETPIPE_SZ, FORMS, QUICK, STOPPING_DISK, SstableTest, table, text
from support import NAMESPACE, SANITIZED, TIMEOUT, TOOLS, UNPRIVILEGED, main, needs, works


class Trouble(SstableTest):
    def test_tables(self):
        """A table that is missing or no table is an error: its rows cannot be had elsewhere."""
        self.put(table(0, 100))
        self.put(table(100, 200))
        whole = self.read("t/000001.mtbl")
        far = whole[:-512] + b"\xff" * 8 + whole[-504:]  # where the index would be
        for content in b"", b"x", b"x" * 4096, whole[:500], whole[:-1], far:
            self.write("t/000001.mtbl", content)
            for command in ["get", "t", "key 150"], ["list", "t"], ["compact", "t"]:
                self.trouble("sstable", *command, names=["t/000001.mtbl: it is no table, or damaged"])
        (self.folder / "t/000001.mtbl").unlink()
        self.trouble("sstable", "get", "t", "key 150",
                     names=["cannot open table 000001 of t", "No such file"])
        (self.folder / "t/000001.mtbl").mkdir()
        self.trouble("sstable", "get", "t", "key 150", names=["t/000001.mtbl"])

    def test_damaged_rows(self):
        """Compaction makes no new table of them, which would have right checksums."""
        self.put(table(0, 100), *QUICK)
        whole, manifest = self.read("t/000001.mtbl"), self.read("t/MANIFEST")
        fewer = bytearray(whole)
        fewer[-512 + 24] += 1  # the number of rows in mtbl's metadata
        self.write("t/000001.mtbl", bytes(fewer))
        self.trouble("sstable", "compact", "t", changes=True,
                     names=["cannot read all rows of t/000001.mtbl"])
        self.write("t/000001.mtbl", whole.replace(b"value 17", b"value 71"))
        self.assertNotEqual(self.run_tool("sstable", "compact", "t").returncode, 0)
        self.assertEqual(self.read("t/MANIFEST"), manifest)
        self.write("t/000001.mtbl", whole)
        self.check(table(0, 100))

    def test_manifest(self):
        self.trouble("sstable", "get", "t", "key", names=["t/MANIFEST", "No such file"])
        self.put(table(0, 100))
        whole = self.read("t/MANIFEST")
        for content in (b"", whole[:-2], whole[2:], whole.replace(b"\n1\n", b"\n"), whole + b"x",
                        whole + b"\0", b"9" * 50000):
            self.write("t/MANIFEST", content)
            for command in ["get", "t", "key"], ["compact", "t"], ["delete", "t", "key"]:
                self.trouble("sstable", *command, names=["manifest of t" if len(content) > 40000 else "t/MANIFEST"])
        (self.folder / "t/MANIFEST").unlink()
        self.trouble("sstable", "put", "t", names=["cannot make a tablet of t", "but no MANIFEST"])
        self.trouble("sstable", "compact", "t", names=["is no tablet"])

    def test_files_of_others(self):
        """What a tablet removes are leftovers of its own."""
        self.write("t/000001.bloom", b"somebody's")
        self.trouble("sstable", "put", "t", stdin=b"a\tb\n",
                     names=["cannot make a tablet of t: it has 000001.bloom, but no MANIFEST"])
        os.rename(self.folder / "t", self.folder / "other")
        self.put(table(0, 10))
        self.write("t/20261122.bloom", b"somebody's")
        self.put(table(10, 20))
        self.assertEqual(self.read("t/20261122.bloom"), b"somebody's")
        self.check(table(0, 20), [b"absent"])

    def test_command_line(self):
        for arguments in ([], ["get"], ["frobnicate", "t"], ["get", "t"], ["put", "t", "a", "b"],
                          ["--fpr", "2", "put", "t"], ["--layout", "classic", "put", "t"], ["--compression", "x", "put", "t"],
                          ["compact", "t", "2"], ["list", "t", "u"], ["--tables", "0", "compact", "t"], ["--tables", "x", "compact", "t"]):
            self.trouble("sstable", *arguments, names=["try 'sstable --help'"])
        self.assertEqual(self.run_tool("sstable", "--frobnicate").returncode, 2)
        self.assertTrue(self.output("sstable", "--help").startswith(b"usage: sstable put DIR"))

    def test_input(self):
        self.trouble("sstable", "put", "t", stdin=b"a\tb\nno tab\n", names=["line 2", "no tab"])
        self.trouble("sstable", "put", "t", "missing", names=["missing", "No such file"])
        self.write("file", b"")
        self.trouble("sstable", "put", "file", names=["file", "Not a directory"])
        self.trouble("sstable", "delete", "missing", "key", names=["missing", "No such file"])
        (self.folder / "empty").mkdir()
        self.trouble("sstable", "delete", "empty", "key", names=["empty is no tablet"])
        self.trouble("sstable", "put", "missing/t", names=["missing/t", "No such file"])

    @needs(*UNPRIVILEGED)
    def test_read_only_folder(self):
        rows = table(0, 100)
        self.put(rows)
        (self.folder / "t").chmod(0o555)
        self.trouble("sstable", "delete", "t", "key 5", before=UNPRIVILEGED,
                     names=["cannot make a table in t", "Permission denied"])
        result = self.run_tool("sstable", "get", "t", "-", before=UNPRIVILEGED,
                               stdin=b"".join(key + b"\n" for key in rows))
        self.assertEqual((result.returncode, result.stdout), (0, text(rows)))

    def test_full_output(self):
        self.put(table(0, 100))
        with open("/dev/full", "wb") as full:
            result = self.run_tool("sstable", "get", "t", "key 5", stdout=full)
        self.assertEqual(result.returncode, 2)
        self.check_message("sstable", result.stderr, "standard output", "No space left")

    def test_closed_descriptors(self):
        """No file of the tablet gets one of theirs, or messages would be written into it."""
        for closed in "<&- 2>&-", "<&- >&- 2>&-", "2>&-":
            shutil.rmtree(self.folder / "t", ignore_errors=True)
            self.put({b"a": b"1"})
            self.put({b"b": b"2"})
            (self.folder / "t/000001.bloom").unlink()
            self.output("sstable", "compact", "--merge-filters", "t", before=["sh", "-c", f'exec "$@" {closed}', "sh"])
            self.check({b"a": b"1", b"b": b"2"}, [b"c"])
        self.trouble("sstable", "get", "t", "a", before=["sh", "-c", 'exec "$@" >&-', "sh"],
                     names=["cannot write to standard output: Bad file descriptor"])

    def test_output_that_fails_for_a_while(self):
        """The pipe takes what is written at the end, and not what came before it."""
        rows = table(0, 300)
        self.put(rows, *QUICK)
        reader, writer = os.pipe2(os.O_NONBLOCK)
        with open(reader, "rb"), open(writer, "wb", buffering=0) as pipe:
            fcntl.fcntl(pipe, F_SETPIPE_SZ, 4096)
            pipe.write(b"x")
            self.assertGreater(len(text(rows)), 4096)
            result = self.run_tool("sstable", "get", "t", "-", stdout=pipe,
                                   stdin=b"".join(key + b"\n" for key in rows))
        self.assertEqual(result.returncode, 2)
        self.check_message("sstable", result.stderr, "cannot write to standard output")

    @unittest.skipUnless(works(*NAMESPACE, "mount", "-t", "tmpfs", "none", "/tmp"),
                         "no file system can be mounted here")
    def test_full_disk(self):
        """mtbl is never handed a disk that cannot take all that it will write."""
        script = 'mount -t tmpfs -o size=$0 none t && cp old/* t && "$@"; status=$?; cp t/* old; exit $status'
        rows = table(0, 1000)
        for form in FORMS:
            shutil.rmtree(self.folder / "t", ignore_errors=True)
            shutil.rmtree(self.folder / "old", ignore_errors=True)
            self.put(rows)
            shutil.move(self.folder / "t", self.folder / "old")
            (self.folder / "t").mkdir()
            before = sorted(os.listdir(self.folder / "old"))
            refused = 0
            for size in range(64, 1600, 128):
                result = self.run_tool("sstable", "put", "t", *form, stdin=text(table(1000, 6000)),
                                       before=[*NAMESPACE, "sh", "-c", script, f"{size}k"])
                if result.returncode == 0:
                    break
                refused += 1
                self.assertEqual(result.returncode, 2, result)
                self.check_message("sstable", result.stderr, "No space left on device")
                self.assertEqual(sorted(os.listdir(self.folder / "old")), before)
            self.assertGreater(refused, 2)
            shutil.rmtree(self.folder / "t")
            shutil.move(self.folder / "old", self.folder / "t")
            self.check({**rows, **table(1000, 6000)})


class Interrupted(SstableTest):
    """A change that is cut off has been made or has not, and the next one removes what it left."""

    BEFORE, CHANGED = table(0, 300), table(200, 500, b"new")

    def start(self):
        shutil.rmtree(self.folder / "t", ignore_errors=True)
        self.put(table(0, 200))
        self.put(table(200, 300))

    def stopped(self, at, how, command, form, stdin):
        return self.run_tool("sstable", command, "t", *form, stdin=stdin,
                             env={"LD_PRELOAD": STOPPING_DISK, "STOPS_AT": str(at), "STOPS_BY": how})

    def check_each_stop(self, how, command, form, stdin, changed):
        """Returns how many of the places were before the change took place, and how many after."""
        seen = {False: 0, True: 0}
        for at in range(100):
            self.start()
            result = self.stopped(at, how, command, form, stdin)
            if result.returncode == 0 and result.stderr == b"":
                break
            found, said, _ = self.get({**self.BEFORE, **changed})
            self.assertEqual(said, b"", f"{command} {how} {at}")
            is_changed = self.states() == ["in use"] or found != self.BEFORE
            self.check_same(found, changed if is_changed else self.BEFORE)
            seen[is_changed] += 1
            if how == "kill":
                self.assertEqual(result.returncode, -signal.SIGKILL)
            else:
                self.assertNotEqual(result.stderr, b"")
            self.output("sstable", "delete", "t", "key 0")
            named = re.findall(rb"(?m)^(\d+)$", self.read("t/MANIFEST"))
            left = {name.split(".")[0].lstrip("0").encode() for name in self.files()} - {b"MANIFEST"}
            self.assertEqual(left, set(named))
            self.assertEqual([name for name in self.files() if name.endswith(".tmp")], [])
        else:
            self.fail("it never ends")
        return seen

    def check_stops(self, how):
        for form in FORMS:
            seen = self.check_each_stop(how, "put", form, text(self.CHANGED),
                                        {**self.BEFORE, **self.CHANGED})
            self.assertGreater(seen[False], 4)
            self.assertGreater(seen[True], 0)
            seen = self.check_each_stop(how, "compact", form, b"", self.BEFORE)
            self.assertGreater(seen[False], 4)
            self.assertGreater(seen[True], 3)

    @unittest.skipIf(SANITIZED, "the sanitizer comes first")
    def test_killed(self):
        self.check_stops("kill")

    @unittest.skipIf(SANITIZED, "the sanitizer comes first")
    def test_failed(self):
        self.check_stops("fail")

    def calls(self, *arguments, status=0, stops_at=-1, **options):
        """What goes to disk, gets and loses names, in order; names as they are in the folder."""
        result = self.run_tool("sstable", *arguments, **options, env={
            "LD_PRELOAD": STOPPING_DISK, "STOPS_LOG": str(self.folder / "log"),
            "STOPS_AT": str(stops_at)})
        self.assertEqual(result.returncode, status, result)
        log = self.read("log").decode().replace(f"{self.folder.resolve()}", ".").splitlines()
        (self.folder / "log").unlink()
        return [call.replace(" ./t", " t") for call in log]

    @unittest.skipIf(SANITIZED, "the sanitizer comes first")
    def test_order_of_writes(self):
        """No name gets to disk before what it stands for, which a loss of power would show."""
        manifest = ["fsync t/MANIFEST.tmp", "rename t/MANIFEST", "fsync t"]

        def new_table(number):
            return [f"fsync t/{number}.mtbl.tmp", f"rename t/{number}.mtbl", "fsync t"]

        first = self.calls("put", "t", "--embedded", stdin=b"k\tv\n")
        self.assertEqual(first, ["fsync t", "fsync .", *manifest, *new_table("000001"), *manifest])
        second = self.calls("put", "t", stdin=b"l\tv\n")
        filter_calls = second[1:-6]
        self.assertEqual(second, ["fsync t", *filter_calls, *new_table("000002"), *manifest])
        self.assertRegex(filter_calls[0], "^fsync t/")
        self.assertEqual(filter_calls[-2:], ["rename 000002.bloom", "fsync t"])
        compacted = self.calls("compact", "t", "--embedded")
        self.assertEqual(compacted[:-3], ["fsync t", *new_table("000003"), *manifest])
        self.assertEqual(sorted(compacted[-3:]), [
            "unlinkat 000001.mtbl", "unlinkat 000002.bloom", "unlinkat 000002.mtbl"])
        in_doubt = ["fsync t", *new_table("000004"), *manifest]  # which manifest is on disk
        self.assertEqual(self.calls("compact", "t", "--embedded", status=2,
                                    stops_at=len(in_doubt) - 1), in_doubt)

    @unittest.skipIf(SANITIZED, "the sanitizer comes first")
    def test_interrupted_at_each_call(self):
        """The next command finds all rows, and prints nothing about it."""
        rows = table(0, 5000)
        self.write("more", text(rows))
        self.output("sstable", "put", "t", "more", *QUICK)
        for command in ["put", "t", "more"], ["compact", "t"]:
            stopped = 0
            for number in signal.SIGINT, signal.SIGTERM:
                for at in range(100):
                    process = self.stopped_at(at, lambda **environment: subprocess.Popen(
                        self.command("sstable", *command, *QUICK), cwd=self.folder,
                        env=self.environment(**environment), stdin=subprocess.DEVNULL))
                    if process is None:
                        break
                    stopped += 1
                    process.send_signal(number)
                    process.send_signal(signal.SIGCONT)
                    self.assertIn(process.wait(TIMEOUT), [0, -number])
                    self.check(rows, [b"absent"])
            self.assertGreater(stopped, 8)

    @unittest.skipIf(SANITIZED, "the sanitizer comes first")
    def test_new_table_is_damaged(self):
        """The old ones stay, whoever has written into the new one."""
        self.start()
        at = self.calls("compact", "t").index("rename t/000003.mtbl")
        for place, damage in (-512, bytes(512)), (-512 + 24, b"\1"):  # mtbl's metadata; its number of rows
            self.start()
            manifest = self.read("t/MANIFEST")
            process = subprocess.Popen(
                self.command("sstable", "compact", "t"), cwd=self.folder, stderr=subprocess.PIPE,
                env=self.environment(LD_PRELOAD=STOPPING_DISK, STOPS_AT=str(at), STOPS_BY="stop"))
            self.addCleanup(process.kill)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            with open(self.folder / "t/000003.mtbl.tmp", "r+b") as file:
                file.seek(place, os.SEEK_END)
                file.write(damage)
            process.send_signal(signal.SIGCONT)
            status, _, message = self.result(process)
            self.assertEqual(status, 2)
            self.check_message("sstable", message, "t/000003.mtbl: it is ", "damaged")
            self.assertEqual(self.read("t/MANIFEST"), manifest)
            self.check(self.BEFORE)

    def test_one_change_at_a_time(self):
        self.start()
        first = subprocess.Popen(["flock", "t", "sh", "-c", "echo; cat"], cwd=self.folder,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        first.stdout.readline()
        self.trouble("sstable", "compact", "t", names=["cannot change t: another process does"])
        self.check(self.BEFORE)
        first.communicate()
        self.output("sstable", "compact", "t")

    def test_readers_beside_compactions(self):
        """A reader that finds files gone which the manifest named reads the next manifest."""
        rows = {}
        for i in range(40):
            rows.update(table(i * 5, i * 5 + 10, b"v%d" % i))
            self.put(table(i * 5, i * 5 + 10, b"v%d" % i), *QUICK)
        script = ('for i in $(seq 60); do "$0" put t more && "$0" compact t --tables 2 || exit; done')
        self.write("more", text(table(190, 205, b"v39")))
        rows.update(table(190, 205, b"v39"))
        self.put(table(190, 205, b"v39"))
        writer = subprocess.Popen(["sh", "-c", script, TOOLS["sstable"]], cwd=self.folder,
                                  env=self.environment())
        self.check(rows)
        while writer.poll() is None:
            self.check(rows)
        self.assertEqual(writer.returncode, 0)


main()
