# SPDX-License-Identifier: MIT
"""bfcreate: any number of threads and any memory give the same result, wherever keys stand in large inputs."""

import os
import random
import resource
import threading
import unittest

from support import NAMESPACE, SANITIZED, ToolTest, craft, lines, main, needs, numbered

MANY = 2_500_000  # their digests do not fit into LITTLE
LITTLE = "16Mi"


def random_keys(count, longest, seed=1, without=b"\n"):
    """Keys of any bytes except `without`."""
    bytes_of = random.Random(seed)
    dull = bytes.maketrans(without, b"." * len(without))
    return [bytes_of.randbytes(bytes_of.randrange(longest + 1)).translate(dull)
            for _ in range(count)]


class EveryKey(ToolTest):
    """A filter with each key and their exact number was made from these keys and no other keys."""

    def check(self, keys, data, *form, means=(), name="filter.bloom"):
        self.output("bfcreate", "-f", "--as-is", "-p", "1e-6", *form, *means, name, stdin=data)
        self.assertEqual(craft.Image(self.read(name), name).record["n"], len(set(keys)))
        return self.read(name)

    def check_all(self, keys, data, *form):
        """Also checks that bfquery, which reads its input as a stream, delimits keys in the same places."""
        made = {self.check(keys, data, *form, means=means)
                for means in ([], ["-j1"], ["-j", 2], ["-j3", "--memory", LITTLE],
                              ["--threads=16", f"--memory={LITTLE}"])}
        self.assertEqual(len(made), 1)
        self.assertEqual(self.output("bfquery", "--as-is", *form, "filter.bloom", stdin=data), data)
        self.output("bfquery", "--as-is", "-v", "-q", *form, "filter.bloom", stdin=data, status=1)

    def test_keys_of_all_lengths_at_all_offsets_are_read(self):
        for longest in 3, 70, 200:
            keys = random_keys(20_000, longest)
            self.check_all(keys, lines(*keys))

    def test_input_of_only_delimiters_is_one_empty_key(self):
        self.check_all([b""], b"\n" * 3001)
        self.check_all([b""], b"\0" * 3001, "-0")
        self.check_all([b"", b"a"], b"\n" * 200_001 + b"a\n")

    def test_other_input_forms_are_read_by_threads(self):
        keys = random_keys(20_000, 100, without=b"\0")
        self.check_all(keys, b"".join(key + b"\0" for key in keys), "-0")
        keys = [random.Random(i).randbytes(24) for i in range(50_000)]
        self.check_all(keys, b"".join(keys), "-x24")
        keys = random_keys(20_000, 100, without=b"\r\n")
        ends = random.Random(2)
        data = b"".join(key + ends.choice([b"\r\n", b"\n"]) for key in keys)
        self.check_all(keys, data, "--crlf")

    def test_keys_longer_than_a_piece_are_read(self):
        keys = [bytes([i]) * size for i, size in
                enumerate((3_000_000, 1, 0, 2**20, 2**20 - 1, 2**20 + 1, 70_000, 5_000_000), 65)]
        self.check_all(keys, lines(*keys))
        self.check_all([b"x" * 5_000_000], b"x" * 5_000_000 + b"\0", "-0")
        self.check_all([b"y" * 3_000_000] * 3, b"y" * 9_000_000, "-x3000000")

    def test_keys_across_piece_boundaries_are_kept(self):
        for threads, size in (1, 2**20), (2, 2**19), (4, 2**18), (16, 2**16):
            for edge in size - 1, size, size + 1, 2 * size:
                with self.subTest(threads=threads, edge=edge):
                    keys = [b"x" * (edge - 3), b"a", b"second", b"third"]
                    self.check(keys, b"\n".join(keys), means=["-j", threads, "--memory", LITTLE])
                    self.assertEqual(self.query("filter.bloom", stdin=lines(*keys)), keys)

    def test_many_inputs_are_read(self):
        keys = numbered(1000)
        names = [self.write(f"keys-{i}", b"\n".join(keys[10 * i:10 * i + 10])) for i in range(100)]
        for threads in 1, 5:
            self.output("bfcreate", "-f", "-j", threads, "new.bloom", *names)
            self.assertEqual(self.read("new.bloom"), self.create(stdin=lines(*keys)))

    def test_incomplete_record_is_reported_with_its_size(self):
        for size in 4_000_003, 3:
            message = self.trouble("bfcreate", "-j4", "-x4", "new.bloom", stdin=b"x" * size,
                                   names=["standard input"])
            self.assertIn("3 of 4 bytes", message)

    def test_threads_and_memory_do_not_change_the_bytes(self):
        keys = numbered(30_000)
        for words in ["-l", "classic"], ["-l", "counting"], ["-m", "1M"], ["-n", "20k", "-q"]:
            made = {self.create(*words, *means, stdin=lines(*keys, *keys[:5000]))
                    for means in ([], ["-j4"], ["--memory", LITTLE])}
            self.assertEqual(len(made), 1)

    def test_summary_counts_the_keys_of_all_threads(self):
        keys = numbered(200_000)
        message = self.run_tool("bfcreate", "-v", "-j4", "--memory", LITTLE, "new.bloom",
                                stdin=lines(*keys, *keys[:77_777])).stderr
        self.check_message("bfcreate", message, "200000 keys (77777 repeated)")

    def test_single_processor_makes_the_same_bytes(self):
        processor = min(os.sched_getaffinity(0))
        one = self.create(stdin=lines("a", "b"),
                          preexec_fn=lambda: os.sched_setaffinity(0, {processor}))
        self.assertEqual(self.create(stdin=lines("a", "b")), one)


class Memory(ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.many = lines(*numbered(MANY))

    @staticmethod
    def limited():
        """Allows the data of the program, its libraries and its threads, and little more."""
        resource.setrlimit(resource.RLIMIT_STACK, (2**18, 2**18))
        resource.setrlimit(resource.RLIMIT_DATA, (17 * 2**20, 17 * 2**20))

    @unittest.skipIf(SANITIZED, "the sanitizer takes more memory than that")
    def test_memory_limit_is_kept(self):
        self.write("many", self.many)
        for words in ([], ["-m", "200M"], ["-m", "100M", "-k3", "-l", "classic"],
                      ["-l", "counting"], ["-l", "ribbon"]):
            whole = self.create("-q", *words, "--memory", "1Gi", "many")
            for threads in 1, 4:
                with self.subTest(words=words, threads=threads):
                    made = self.create("-q", *words, "-j", threads, "--memory", LITTLE, "many",
                                       preexec_fn=self.limited)
                    self.assertEqual(made, whole)

    @unittest.skipIf(SANITIZED, "the sanitizer takes more memory than that")
    def test_memory_limit_is_kept_if_keys_are_made_from_fields(self):
        """A thread then needs more memory for its piece of the input."""
        self.write("many", lines(*(b"%d" % i for i in range(3_000_000))))
        for layout in "blocked", "ribbon":
            words = "-q", "-l", layout, "--csv", "--field", 1, "--integers"
            whole = self.create(*words, "--memory", "1Gi", "many")
            for threads in 1, 4, 16:
                with self.subTest(layout=layout, threads=threads):
                    self.assertEqual(self.create(*words, "-j", threads, "--memory", LITTLE, "many",
                                                 preexec_fn=self.limited), whole)

    def test_temporary_files_have_no_name(self):
        process = self.start("bfcreate", "-j2", "--memory", LITTLE, "new.bloom")
        process.stdin.write(self.many)
        process.stdin.flush()
        seen = [name for name in self.snapshot() if not name.startswith(".nfs")]  # NFS keeps these while open
        self.assertEqual(seen, [])
        status, out, message = self.result(process)
        self.assertEqual((status, out, message), (0, b"", b""))
        self.assertEqual(list(self.snapshot()), ["new.bloom"])

    @needs(*NAMESPACE)
    def test_full_disk_for_temporary_files_is_an_error(self):
        script = """
            mount -t tmpfs -o size=4m none disk || exit 77
            cd disk; "$@" new.bloom; status=$?
            [ -z "$(ls -A)" ] || exit 78
            exit $status"""
        (self.folder / "disk").mkdir()
        before = [*NAMESPACE, "sh", "-c", script, "sh"]
        for threads in 1, 3:
            result = self.run_tool("bfcreate", "-m", "1M", "--memory", LITTLE, "-j", threads,
                                   stdin=self.many, before=before)
            if result.returncode == 77:
                self.skipTest("no file system can be mounted here")
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.check_message("bfcreate", result.stderr, "temporary file in the folder .:",
                               "No space left", "--memory")

    @unittest.skipIf(SANITIZED, "the sanitizer takes more memory than that")
    def test_build_works_if_threads_cannot_start(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_STACK, (2**30, 2**30))
            resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))

        keys = lines(*numbered(1000))
        self.assertEqual(self.create("-j8", "--memory", "64Mi", stdin=keys, preexec_fn=limit),
                         self.create(stdin=keys))


class ChangingInputs(ToolTest):
    """An input is opened when its turn comes. Changes of its name after that do not matter."""

    def changed(self, change, *inputs, **options):
        """The keys of a filter whose first input is a pipe. The pipe ends after the change."""
        os.mkfifo(self.folder / "fifo")

        def feed():
            with open(self.folder / "fifo", "wb", buffering=0) as fifo:
                fifo.write(b"first\n")
                self.until(lambda: self.in_pipe(fifo) == 0)
                change()

        thread = threading.Thread(target=feed)
        thread.start()
        self.create("-p", "1e-6", "fifo", *inputs, **options)
        thread.join()
        return self.query("filter.bloom", stdin=lines("old", "new", "more"))

    def setUp(self):
        super().setUp()
        self.write("keys", lines("old"))
        self.write("others", lines("new"))

    def replace(self):
        os.replace(self.folder / "others", self.folder / "keys")

    def test_input_replaced_before_its_open_is_read_new(self):
        self.assertEqual(self.changed(self.replace, "keys"), [b"new"])

    def test_input_replaced_after_its_open_is_read_old(self):
        with open(self.folder / "keys", "rb") as keys:
            self.assertEqual(self.changed(self.replace, "-", stdin=keys), [b"old"])

    def test_truncated_input_is_read_to_its_new_end(self):
        self.write("keys", lines("new", "old"))
        self.assertEqual(self.changed(lambda: os.truncate(self.folder / "keys", 4), "keys"),
                         [b"new"])

    def test_appended_keys_are_read(self):
        def grow():
            with open(self.folder / "keys", "ab") as keys:
                keys.write(lines("more"))

        self.assertEqual(self.changed(grow, "keys"), [b"old", b"more"])

    def test_removed_input_is_an_error(self):
        os.mkfifo(self.folder / "fifo")
        process = self.start("bfcreate", "new.bloom", "fifo", "keys")
        with open(self.folder / "fifo", "wb"):
            (self.folder / "keys").unlink()
        status, _, message = self.result(process)
        self.assertEqual(status, 2)
        self.check_message("bfcreate", message, "cannot open keys: No such file")
        self.assertFalse((self.folder / "new.bloom").exists())


if __name__ == "__main__":
    main()
