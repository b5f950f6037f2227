# SPDX-License-Identifier: MIT
"""A filter that is overwritten in place, as cp does, while a tool reads it: the tool must exit with 2."""

import os
import subprocess

from support import ToolTest, craft, lines, main, numbered

KEYS, OTHERS = numbered(900), numbered(900, "other ")


class Overwritten(ToolTest):
    """Two files of the same size with several pages. Their keys differ."""

    def setUp(self):
        super().setUp()
        self.mine, self.other = (craft.make("classic", 8 * 4096 * 3, 5, keys)
                                 for keys in (KEYS, OTHERS))
        self.write("filter", self.mine)

    def overwrite(self):
        with open(self.folder / "filter", "r+b") as file:
            file.write(self.other)

    def test_bfadd_ends_with_2_when_a_backup_is_copied_over_its_file(self):
        self.create_live("-n", "10k")
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS[:100]))
        backup = self.read("live")
        for options in [], ["--sync", 10]:
            with self.subTest(options):
                writer = self.start("bfadd", *options, "live")
                self.feed(writer, *KEYS[:500])
                self.wait_for_key("live", KEYS[400], writer)  # after the opening: an earlier copy would be accepted
                with open(self.folder / "live", "r+b") as file:
                    file.write(backup)
                status, out, message = self.result(writer, lines(*OTHERS))
                self.assertEqual((status, out), (2, b""), message)
                self.check_message("bfadd", message, "live was overwritten", "rebuild it from all its keys")
                self.assertEqual(self.read("live")[:4096], backup[:4096])

    def test_live_filter_of_equal_parameters_is_detected_at_any_fill(self):
        for tool in "bfadd", "bfquery":
            for count in 10, 5000:
                with self.subTest(tool=tool, count=count):
                    self.create_live("-n", "10k")
                    self.output("bfadd", "-q", "live", stdin=lines(*KEYS[:100]))
                    os.rename(self.folder / "live", self.folder / "mine")
                    self.create_live("-n", "10k")
                    for _ in range(20):  # so that its sequence is higher
                        self.output("bfadd", "-q", "live", stdin=lines(*numbered(count, "other ")))
                    process = self.start(tool, "mine")
                    self.feed(process, *KEYS[:300])
                    self.until_read(process)
                    with open(self.folder / "mine", "r+b") as file:
                        file.write(self.read("live"))
                    status, _, message = self.result(process, lines(*OTHERS))
                    self.assertEqual(status, 2, message)
                    self.check_message(tool, message, "mine was overwritten", "run it again" if tool == "bfquery" else "rebuild it from all its keys")
                    for name in "live", "mine":
                        os.unlink(self.folder / name)

    def asker(self, *options):
        """A bfquery that has used all pages and waits for more keys."""
        process = self.start("bfquery", *options, "filter")
        self.feed(process, *KEYS)
        return process

    def check_asker(self, process, stdin=lines(*OTHERS)):
        status, _, message = self.result(process, stdin)
        self.assertEqual(status, 2, message)
        self.check_message("bfquery", message, "filter", "overwritten", "run it again")

    def test_bfquery_ends_with_2(self):
        process = self.asker()
        for key in KEYS:
            self.assertEqual(process.stdout.readline(), key + b"\n")
        self.overwrite()
        self.check_asker(process)

    def test_bfquery_ends_with_2_for_every_option(self):
        for options in ["-c"], ["-v"], ["-q", "-v"], ["-c", "-j", 1]:
            with self.subTest(options):
                self.write("filter", self.mine)
                process = self.start("bfquery", *options, "filter")
                self.feed(process, *KEYS)
                self.until_read(process)  # so that the filter is open
                self.overwrite()
                self.check_asker(process)

    def test_bfquery_detects_the_overwrite_at_the_end_of_input(self):
        process = self.asker()
        self.assertEqual(process.stdout.readline(), KEYS[0] + b"\n")
        self.overwrite()
        self.check_asker(process, b"")

    def test_bfmerge_creates_no_file(self):
        process = self.start("bfmerge", "merged", "filter", "-")
        self.write_to(process, self.mine[:4096])  # so that the filter is open
        self.overwrite()
        status, out, message = self.result(process, self.mine[4096:])
        self.assertEqual((status, out), (2, b""))
        self.check_message("bfmerge", message, "filter", "overwritten")
        self.assertNotIn("merged", os.listdir(self.folder))

    def test_bfinspect_reports_the_overwrite(self):
        os.mkfifo(self.folder / "keys")
        process = self.start("bfinspect", "--keys", "keys", "filter")
        with open(self.folder / "keys", "wb") as keys:  # opened only after the filter was read
            self.overwrite()
            keys.write(lines(*KEYS))
        status, out, _ = self.result(process)
        self.assertEqual(status, 2)
        self.assertEqual(out.splitlines()[0].partition(b": this")[0],
                         b"filter: overwritten or touched while it was read")

    def test_renamed_file_is_not_reported(self):
        process = self.asker()
        self.until_read(process)
        self.write("newer", self.other)
        os.rename(self.folder / "newer", self.folder / "filter")
        self.assertEqual(self.result(process), (0, lines(*KEYS), b""))


MANY = numbered(20000)


class WrittenInPlace(ToolTest):
    """The header stays unchanged."""

    def make(self, kind):
        self.write("keys", lines(*MANY))
        for name in "filter", "series", "series.1", "series.2", "series.3":
            (self.folder / name).unlink(missing_ok=True)
        if kind == "series":
            self.output("bfcreate", "-q", "--live", "--grow", "-n", "4k", "series")
            self.output("bfadd", "-q", "series", "keys")
            self.output("bfseal", "-q", "series", "filter")
        elif kind == "slice":
            self.output("bfcreate", "-q", "--slice", "1/2", "-n", "20k", "filter", "keys")
        else:
            self.output("bfcreate", "-q", "-l", kind, "filter", "keys")
        absent = self.output("bfquery", "-v", "filter", stdin=lines(*numbered(100, "absent ")))
        self.absent = absent.splitlines()[0]  # once it is printed, the keys before it are answered
        self.until_time_moves()
        return (self.folder / "filter").stat().st_size

    @staticmethod
    def zero(file, size):
        os.pwrite(file, bytes(size - 4096), 4096)

    @staticmethod
    def zero_a_page(file, _):
        os.pwrite(file, bytes(4096), 4096)

    @staticmethod
    def cut_and_extend(file, size):
        os.truncate(file, 4096)
        os.truncate(file, size)

    @staticmethod
    def touch(file, _):
        os.utime(file)

    def change(self, way, size, restore=False):
        file = os.open(self.folder / "filter", os.O_RDWR)
        status = os.fstat(file)
        way(file, size)
        if restore:
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.close(file)

    def query(self, *options, out=subprocess.PIPE):
        """A bfquery -v that has looked up half of the keys and waits for the other half."""
        process = self.start("bfquery", *options, "-v", "filter", "-", out=out)
        self.feed(process, *MANY[:10000], self.absent)
        if out == subprocess.PIPE:
            self.assertEqual(process.stdout.readline(), self.absent + b"\n")
        else:
            self.until(lambda: out.tell() > 0 or os.fstat(out.fileno()).st_size > 0, process)
        return process

    KINDS = "blocked", "classic", "counting", "ribbon", "series", "slice"

    def check_reported(self, process):
        status, out, message = self.result(process, lines(*MANY))
        self.assertEqual((status, out), (2, b""), message)  # no line is printed after the change
        self.check_message("bfquery", message, "filter was overwritten or touched", "run it again")

    def test_bfquery_ends_with_2_and_prints_no_wrong_answer_to_a_pipe(self):
        for kind in self.KINDS:
            for way in self.zero, self.zero_a_page, self.cut_and_extend, self.touch:
                for options in ([], ["--verify"]):
                    with self.subTest(kind=kind, way=way.__name__, options=options):
                        size = self.make(kind)
                        process = self.query(*options)
                        self.change(way, size)
                        self.check_reported(process)

    def test_bfquery_ends_with_2_if_it_writes_to_a_file(self):
        size = self.make("blocked")
        with open(self.folder / "out", "wb") as out:
            process = self.query(out=out)
            self.change(self.zero, size)
            status, _, message = self.result(process, lines(*MANY))
        self.assertEqual(status, 2)
        self.check_message("bfquery", message, "filter was overwritten or touched")

    def test_bfquery_prints_no_count(self):
        size = self.make("blocked")
        process = self.start("bfquery", "-c", "filter", "-")
        self.feed(process, *MANY[:10000])
        self.until_read(process)
        self.change(self.zero, size)
        self.check_reported(process)

    def test_changed_mode_is_not_reported(self):
        for kind in self.KINDS:
            with self.subTest(kind):
                self.make(kind)
                process = self.query()
                os.chmod(self.folder / "filter", 0o640)
                self.assertEqual(self.result(process, lines(*MANY)), (0, b"", b""))

    def test_page_found_right_before_is_not_reported_as_damaged(self):
        """cp --preserve writes like this: only the time of status change differs."""
        for kind in self.KINDS:
            for later in MANY, []:  # detected by a lookup, or at the end of the input
                with self.subTest(kind=kind, later=len(later)):
                    size = self.make(kind)
                    process = self.query()
                    self.change(self.zero, size, restore=True)
                    status, out, message = self.result(process, lines(*later))
                    self.assertEqual((status, out), (2, b""), message)
                    self.check_message("bfquery", message, "filter was overwritten or touched")

    def test_bfinspect_reports_the_change(self):
        for restore in False, True:
            with self.subTest(restore=restore):
                size = self.make("blocked")
                if not (self.folder / "pipe").exists():
                    os.mkfifo(self.folder / "pipe")
                process = self.start("bfinspect", "--verify", "--keys", "pipe", "filter")
                with open(self.folder / "pipe", "wb") as keys:
                    self.change(self.zero, size, restore)
                    keys.write(lines(*MANY))
                status, out, _ = self.result(process)
                self.assertEqual(status, 2)
                self.assertIn(b"filter: overwritten or touched while it was read", out.splitlines()[0])
                self.assertNotIn(b"pages bad", out)

    def test_operations_create_no_file(self):
        """A source changes while they wait for another source."""
        size = self.make("blocked")
        other = self.read("filter")
        process = self.start("bfmerge", "merged", "filter", "-")
        self.write_to(process, other[:4096])
        self.change(self.touch, size)
        status, _, message = self.result(process, other[4096:])
        self.assertEqual(status, 2)
        self.check_message("bfmerge", message, "filter", "overwritten")
        self.assertNotIn("merged", os.listdir(self.folder))


if __name__ == "__main__":
    main()
