# SPDX-License-Identifier: MIT
"""bfmerge: filters that follow one another in a pipe."""

import functools
import os
import resource
import signal
import subprocess
import unittest

from support import NAMESPACE, REFUSED, SANITIZED, TIMEOUT, ToolTest, craft, main, numbered, table

KEYS = numbered(3000)


@functools.cache
def crafted():
    """Four shards, and the filter of all keys. Making them is slow."""
    options = dict(fpr=0.05, capacity=3000)
    images = [craft.make("blocked", 512 * 60 * (1 + i % 2), 5, KEYS[i::4], embedded=i < 2, **options)
              for i in range(4)]
    return images, craft.make("blocked", 512 * 60, 5, KEYS, **options)


class StreamTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.images, self.built = crafted()
        for i, image in enumerate(self.images):
            self.write(f"shard-{i}", image)
        self.stream = b"".join(self.images)

    def check(self, name):
        self.assertEqual(craft.body_of(self.read(name))[:3840], craft.body_of(self.built)[:3840])


class Streams(StreamTest):
    def test_images_of_both_forms_are_read(self):
        self.assertEqual({len(image) % 4096 == 4 for image in self.images}, {True, False})
        self.output("bfmerge", "merged", "-", stdin=self.stream)
        self.check("merged")
        self.output("bfmerge", "again", "shard-3", "-", "shard-0",
                    stdin=self.images[2] + self.images[1])
        self.assertEqual(self.read("again"), self.read("merged"))

    def test_images_arrive_in_any_pieces(self):
        """A writer that delivers a few bytes at a time."""
        process = self.start("bfmerge", "merged", "-")
        for at in range(0, len(self.stream), 997):
            process.stdin.write(self.stream[at:at + 997])
            process.stdin.flush()
        self.assertEqual(self.result(process), (0, b"", b""))
        self.check("merged")

    def test_nonblocking_standard_input_is_read(self):
        process = self.start_unwaited("bfmerge", "merged", "-")
        self.write_to(process, self.stream[:997])
        self.assertEqual(self.result(process, self.stream[997:]), (0, b"", b""))
        self.check("merged")

    def test_nonblocking_list_is_read(self):
        process = self.start_unwaited("bfmerge", "--files-from", "-", "merged")
        self.feed(process, b"shard-0", b"shard-1")
        self.until_read(process)
        self.assertEqual(self.result(process, b"shard-2\nshard-3\n"), (0, b"", b""))
        self.check("merged")

    def test_merges_chain_through_pipes(self):
        """Map and combine, with standard input and output only."""
        script = '"$0" - shard-0 shard-1 | cat - shard-2 | "$0" - - | "$0" - - shard-3 >merged'
        subprocess.run(["sh", "-c", script, *self.command("bfmerge")], cwd=self.folder, check=True,
                       timeout=TIMEOUT, env=self.environment())
        self.check("merged")

    def test_file_as_standard_input_is_read(self):
        with open(self.folder / "shard-3", "rb") as file:
            self.output("bfmerge", "merged", "shard-0", "shard-1", "shard-2", "-", stdin=file)
        self.check("merged")

    def test_temporary_files_have_no_name(self):
        folder = self.folder / "temporary"
        folder.mkdir()
        process = self.start("bfmerge", "merged", "-", env={"TMPDIR": str(folder)})
        process.stdin.write(self.images[2])
        process.stdin.flush()
        held = lambda: [link for link in self.links(process) if link.startswith(str(folder))]
        self.until(held, process)
        self.assertEqual([path.name for path in folder.iterdir() if not path.name.startswith(".nfs")], [])
        self.assertEqual(self.result(process, self.images[3])[0], 0)

    def links(self, process):
        found = []
        if not os.path.exists("/proc/self/fd"):
            self.skipTest("there is no /proc")
        for descriptor in os.listdir(f"/proc/{process.pid}/fd"):
            try:
                found.append(os.readlink(f"/proc/{process.pid}/fd/{descriptor}"))
            except OSError:
                pass
        return found


class Trouble(StreamTest):
    def refused(self, stream, *says):
        message = self.trouble("bfmerge", "merged", "-", stdin=stream, names=["standard input"])
        for words in says:
            self.assertIn(words, message)

    def test_truncated_stream_is_refused(self):
        sizes = [len(image) for image in self.images]
        for i in range(4):
            begin, size = sum(sizes[:i]), sizes[i]
            for there in {1, 8, 255, 511, 512, 600, 4095, 4096, size // 2, size - 1}:
                if there < size:
                    self.refused(self.stream[:begin + there],
                                 f"filter {i + 1}, which begins at byte {begin}", "truncated")
        self.refused(self.stream[:sizes[0] + sizes[1] + 5000],
                     f"is truncated: 5000 of {sizes[2]} bytes")

    def test_empty_and_foreign_streams_are_refused(self):
        begin = len(self.images[0])
        self.refused(b"", "the file is empty")
        for other in b"apple\n", b"\0" * 600, b"x" * 100_000, self.images[1][1:]:
            self.refused(self.images[0] + other, f"filter 2, which begins at byte {begin}",
                         "not a filter file")

    def test_damaged_image_is_named(self):
        bad = craft.flip(self.images[1], 100)
        self.refused(self.images[0] + bad, "filter 2, which begins", "the header is damaged")
        bad = craft.flip(self.images[1], 600)
        self.refused(self.images[0] + bad,
                     "cannot merge standard input, filter 2: a page of the body is damaged")

    def test_refused_files_are_refused_in_a_stream(self):
        for row in table(REFUSED / "index.tsv"):
            image = (REFUSED / row["file"]).read_bytes()
            if row["file"].startswith("ribbon-") and row["rule"] == "12.4":
                # Reported first, whatever else is wrong with the file.
                self.assertIn("a ribbon filter", self.trouble("bfmerge", "merged", "-", stdin=image))
            elif row["file"] != "twice.bloom":  # in a stream it is two filters
                self.refused(image)

    def test_live_image_is_refused(self):
        self.create_live("-n", 100)
        self.refused(self.images[0] + self.read("live"), "filter 2", "live, without checksums")

    def test_different_image_is_refused(self):
        other = craft.make("blocked", 512 * 60, 5, KEYS, seed=7)
        self.refused(self.images[0] + other,
                     "cannot merge standard input, filter 2 with standard input, filter 1: the seeds are 7 and 0")

    def test_file_size_limit_for_temporary_files_is_an_error(self):
        message = self.trouble("bfmerge", "merged", "-", stdin=self.stream, preexec_fn=lambda:
                               resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)),
                               env={"TMPDIR": "/var/tmp"})
        self.assertEqual(message, "bfmerge: cannot write a temporary file in /var/tmp: File too large (choose another folder with TMPDIR)\n")
        message = self.trouble("bfmerge", "merged", "-", stdin=self.stream,
                               env={"TMPDIR": str(self.folder / "no")})
        self.assertIn("No such file or directory", message)

    def test_full_disk_for_temporary_files_is_an_error(self):
        script = """
            mount -t tmpfs -o size=8k none disk || exit 77
            TMPDIR=disk "$@" <shard-3; status=$?
            ls -A disk >left
            exit $status"""
        (self.folder / "disk").mkdir()
        result = subprocess.run(
            [*NAMESPACE, "sh", "-c", script, "sh", *self.command("bfmerge", "merged", "-")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=self.folder, env=self.environment(), timeout=TIMEOUT)
        if result.returncode not in (0, 2):
            self.skipTest("no file system can be mounted here")
        self.assertEqual((result.returncode, result.stderr),
                         (2, b"bfmerge: cannot write a temporary file in disk: No space left on device "
                             b"(choose another folder with TMPDIR)\n"))
        self.assertEqual(self.read("left"), b"")
        self.assertFalse((self.folder / "merged").exists())

    def test_closed_or_unreadable_standard_input_is_an_error(self):
        self.trouble("bfmerge", "merged", "-", stdin=None, preexec_fn=lambda: os.close(0),
                     names=["standard input"])
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        self.trouble("bfmerge", "merged", "-", stdin=folder, names=["standard input"])

    def test_standard_input_can_be_only_one_source(self):
        self.assertIn("once", self.trouble("bfmerge", "merged", "-", "-", stdin=self.stream))
        self.assertIn("once", self.trouble("bfmerge", "merged", "-", "--files-from", "-",
                                           stdin=self.stream))


class Replaced(StreamTest):
    """DEST is also standard input. It is a source only if every byte that it has now was read."""

    def setUp(self):
        super().setUp()
        self.write("images", self.stream)

    def merge(self, at=0, **env):
        """Starts a merge that reads DEST from this offset."""
        def redirect():
            os.dup2(os.open("images", os.O_RDONLY), 0)
            os.lseek(0, at, os.SEEK_SET)
        return self.start("bfmerge", "-f", "images", "-", env=env, preexec_fn=redirect)

    def merge_stopped_at_end(self):
        process = self.merge(LD_PRELOAD=os.environ["STOPPING_DISK"], STOPS_AT_END="1")
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        return process

    def refused(self, process):
        before = self.read("images")
        status, _, message = self.result(process)
        self.assertEqual(status, 2)
        self.assertIn(b"cannot replace images: it is not one of the sources", message)
        self.assertEqual(self.read("images"), before)

    def test_file_read_whole_is_replaced(self):
        self.assertEqual(self.result(self.merge()), (0, b"", b""))
        self.check("images")

    def test_file_read_from_its_middle_is_not_replaced(self):
        self.refused(self.merge(at=len(self.images[0])))

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_file_that_grew_after_its_end_was_read_is_not_replaced(self):
        self.write("images", self.stream[:-len(self.images[3])])
        process = self.merge_stopped_at_end()
        with open(self.folder / "images", "ab") as file:
            file.write(self.images[3])
        process.send_signal(signal.SIGCONT)
        self.refused(process)

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_file_overwritten_after_its_end_was_read_is_not_replaced(self):
        """The new filters are as long as the old ones. cp -p also keeps the time of modification."""
        for keeps_time in False, True:
            self.write("images", self.stream)
            process = self.merge_stopped_at_end()
            before = os.stat(self.folder / "images")
            self.until_time_moves()
            with open(self.folder / "images", "r+b") as file:
                file.write(self.images[1] + self.images[0])
            if keeps_time:
                os.utime(self.folder / "images", ns=(before.st_atime_ns, before.st_mtime_ns))
            process.send_signal(signal.SIGCONT)
            self.refused(process)


if __name__ == "__main__":
    main()
