# SPDX-License-Identifier: MIT
"""bfcreate: the keys it reads from its inputs, and the effect of its options on the file."""

import os
import random
import struct
import threading

from support import OLD, SANITIZED, ToolTest, craft, file_form, lines, main, numbered

SHAPE = "-l classic -m 2003 -k 5".split()


def lines_form(*arguments, key_kind="text", **options):
    return file_form(*arguments, key_kind=key_kind, **options)


def filter_of(*keys, **options):
    """The file that SHAPE must give for these keys, made by the independent implementation."""
    return lines_form("classic", 2003, 5, keys, **options)


class Lines(ToolTest):
    def make(self, *arguments, **options):
        return self.create("-q", *SHAPE, *arguments, **options)

    def test_files_and_standard_input_are_read_in_order(self):
        keys = numbered(300)
        expected = filter_of(*keys)
        self.write("all", lines(*keys))
        self.write("first", lines(*keys[:100]))
        self.write("last", lines(*keys[200:]))
        self.assertEqual(self.make(stdin=lines(*keys)), expected)
        self.assertEqual(self.make("-", stdin=lines(*keys)), expected)
        self.assertEqual(self.make("all"), expected)
        self.assertEqual(self.make("first", "-", "last", stdin=lines(*keys[100:200])), expected)
        self.assertEqual(self.make("last", "last", "first", "-", stdin=lines(*keys[99:201])),
                         expected)

    def test_standard_input_is_not_read_if_files_are_given(self):
        self.write("keys", lines("a"))
        self.assertEqual(self.make("keys", stdin=lines("b")), filter_of(b"a"))

    def test_last_line_needs_no_newline(self):
        self.assertEqual(self.make(stdin=b"one\ntwo"), filter_of(b"one", b"two"))
        self.write("ab", b"ab")
        self.write("cd", b"cd")
        self.assertEqual(self.make("ab", "cd"), filter_of(b"ab", b"cd"))

    def test_carriage_return_is_data(self):
        self.assertEqual(self.make(stdin=b"one\r\ntwo\r\n\n"), filter_of(b"one\r", b"two\r", b""))

    def test_crlf_option_removes_one_carriage_return(self):
        self.assertEqual(self.make("--crlf", stdin=b"one\r\ntwo\nthree\r\r\nfo\rur\r\n\r\n"),
                         filter_of(b"one", b"two", b"three\r", b"fo\rur", b""))
        self.assertEqual(self.make("--crlf", stdin=b"one\r\ntwo\r"),
                         filter_of(b"one", b"two"))

    def test_keys_may_contain_any_byte(self):
        keys = [bytes([i]) for i in range(256) if i != 10] + [b"\0\0", b"a\0b", b"a\0", b"\xff\xfe"]
        self.assertEqual(self.make(stdin=lines(*keys)), filter_of(*keys))

    def test_empty_lines_are_keys(self):
        self.assertEqual(self.make(stdin=b"\n"), filter_of(b""))
        self.assertEqual(self.make(stdin=b"a\n\n\nb\n"), filter_of(b"a", b"", b"b"))
        self.assertEqual(self.make(stdin=b"a\nb\n"), filter_of(b"a", b"b"))

    def test_duplicates_count_once(self):
        self.assertEqual(self.make(stdin=lines("a", "b", "a", "a", "b")), filter_of(b"a", b"b"))

    def test_counting_holds_each_key_once(self):
        made = self.create("-q", "-l", "counting", "-m", 101, "-k", 3, stdin=lines("a", "b", "a"))
        self.assertEqual(made, lines_form("counting", 101, 3, [b"a", b"b"]))

    def test_order_does_not_matter(self):
        keys = numbered(3000)
        for options in [], ["-l", "classic"], ["-l", "counting"]:
            first = self.create(*options, stdin=lines(*keys))
            random.Random(1).shuffle(keys)
            self.assertEqual(self.create(*options, stdin=lines(*keys)), first)

    def test_long_keys_are_read(self):
        megabyte = bytes(range(11, 256)) * 4280
        for keys in [megabyte, b"short", megabyte[:-1]], [b"x" * 3_000_000]:
            self.assertEqual(self.make(stdin=lines(*keys)), filter_of(*keys))

    def test_keys_across_read_boundaries_are_kept(self):
        for edge in 2**16, 2**18, 2**20, 2**21:
            for before in -2, -1, 0, 1:
                data = b"x" * (edge + before) + b"\n" + b"next\n\nlast"
                with self.subTest(edge=edge, before=before):
                    self.make(stdin=data)
                    self.assertEqual(self.query("filter.bloom", stdin=data),
                                     data.split(b"\n"))
                    self.assertEqual(self.image().record["n"], 4)

    def image(self):
        return craft.Image(self.read("filter.bloom"), "filter.bloom")

    def test_keys_are_assembled_from_a_slow_pipe(self):
        reading, writing = os.pipe()

        def feed():
            with open(writing, "wb", buffering=0) as pipe:
                for piece in b"on", b"e\ntwo", b"\n", b"\n", b"thr", b"ee":
                    pipe.write(piece)
                    self.until(lambda: self.in_pipe(pipe) == 0)

        thread = threading.Thread(target=feed)
        thread.start()
        with open(reading, "rb") as pipe:
            made = self.make(stdin=pipe)
        thread.join()
        self.assertEqual(made, filter_of(b"one", b"two", b"", b"three"))

    def test_key_file_may_be_a_fifo_with_the_name_of_a_layer(self):
        """Only its reader opens it: another opening would wake the writer, whose keys would then be lost."""
        os.mkfifo(self.folder / "made.1")
        keys = lines(*numbered(1000))
        for _ in range(8):
            writer = threading.Thread(target=self.write, args=("made.1", keys))
            writer.start()
            self.output("bfcreate", "-qf", "made", "made.1")
            writer.join()
            self.assertEqual(self.output("bfquery", "-c", "made", stdin=keys), b"1000\n")

    def test_fifo_can_be_a_key_file(self):
        os.mkfifo(self.folder / "fifo")

        def feed():
            with open(self.folder / "fifo", "wb", buffering=0) as fifo:
                for piece in b"one\nt", b"wo\n":
                    fifo.write(piece)
                    self.until(lambda: self.in_pipe(fifo) == 0)

        thread = threading.Thread(target=feed)
        thread.start()
        self.assertEqual(self.make("fifo"), filter_of(b"one", b"two"))
        thread.join()

    def test_filter_without_keys_is_created_with_a_warning(self):
        expected = lines_form("classic", 2003, 5)
        says = b"bfcreate: warning: filter.bloom: it has no keys, so every lookup returns no\n"
        self.assertEqual(self.make(stdin=b""), expected)
        self.assertEqual(self.make("/dev/null"), expected)
        self.output("bfcreate", "-q", "-f", *SHAPE, "filter.bloom", says=says)
        self.assertEqual(self.read("filter.bloom"), expected)
        self.assertEqual(self.create(*SHAPE, stdin=b"", says=says), expected)


class OtherForms(ToolTest):
    def make(self, *arguments, **options):
        return self.create("-q", *SHAPE, *arguments, **options)

    def test_null_option_ends_keys_with_zero_bytes(self):
        expected = filter_of(b"a\nb", b"", b"c\r")
        for option in "-0", "--null":
            self.assertEqual(self.make(option, stdin=b"a\nb\0\0c\r\0"), expected)
            self.assertEqual(self.make(option, stdin=b"a\nb\0\0c\r"), expected)

    def test_record_size_option_splits_fixed_records(self):
        records = [struct.pack("<I", i * 0x0A000A) for i in range(100)]
        expected = filter_of(*records, key_kind="fixed", key_size=4)
        for words in ["-x4"], ["-x", 4], ["--record-size", 4], ["--record-size=4"]:
            self.assertEqual(self.make(*words, stdin=b"".join(records)), expected)
        self.write("one", b"".join(records[:50]))
        self.write("two", b"".join(records[50:]))
        self.assertEqual(self.make("-x4", "one", "two"), expected)

    def test_records_across_read_boundaries_are_kept(self):
        data = os.urandom(3 * 2**20 // 7 * 7)
        self.create("-q", "-x7", stdin=data)
        self.assertEqual(self.output("bfquery", "-x7", "filter.bloom", stdin=data), data)

    def test_incomplete_record_is_an_error(self):
        self.write("keys", b"123456789")
        for options in ["-x4"], ["-x10"], ["-x4k"]:
            message = self.trouble("bfcreate", *options, "new.bloom", "keys", names=["keys"])
            self.assertRegex(message, "1 of 4 bytes|9 of 10 bytes|9 of 4000 bytes")
        self.trouble("bfcreate", "-x4", "new.bloom", stdin=b"123", names=["standard input"])

    def test_input_forms_are_mutually_exclusive(self):
        for words in "-0 -x4", "-x4 -0", "--crlf -0", "-0 --crlf", "-x4 --crlf", "--crlf --record-size 4":
            self.trouble("bfcreate", *words.split(), "new.bloom")


class Parameters(ToolTest):
    def made(self, *arguments, keys=100, **options):
        data = self.create(*arguments, stdin=lines(*numbered(keys)), **options)
        return craft.Image(data, "filter.bloom")

    def header(self, *arguments, **options):
        return self.made(*arguments, **options).header

    def fpr(self, *arguments):
        return struct.unpack("<d", struct.pack("<Q", self.header(*arguments)["fpr"]))[0]

    def test_defaults_reach_the_header(self):
        made = self.made()
        header = made.header
        self.assertEqual((header["layout"], header["seed"], header["capacity"], header["label"],
                          header["tag"], header["provenance"], header["header_size"]),
                         (1, 0, 100, bytes(112), bytes(16), 0, 4096))
        self.assertEqual(header["fpr"], 0x3F847AE147AE147B)
        self.assertEqual((header["compat"], header["ro_compat"], header["incompat"]), (1, 0, 0))
        self.assertEqual(header["key_kind"], 1)
        self.assertEqual(made.record["n"], 100)
        made.verify()

    def test_rate_is_recorded(self):
        for words in ["-p", "0.001"], ["-p0.001"], ["--fpr", "1e-3"], ["--fpr=.001"]:
            self.assertEqual(self.fpr(*words), 0.001)
        self.assertEqual(self.fpr("-p", "0.999999"), 0.999999)

    def test_smaller_rate_needs_more_bits(self):
        for layout in "blocked", "classic", "counting":
            sizes = [self.header("-l", layout, "-p", rate, keys=5000)["m"]
                     for rate in ("0.1", "0.01", "0.001", "0.0001")]
            self.assertEqual(sizes, sorted(set(sizes)))
            self.assertLess(sizes[1], 5000 * 11)
            self.assertGreater(sizes[1], 5000 * 9)

    def test_capacity_is_recorded(self):
        for words, capacity in ((["-n", 5000], 5000), (["-n80k"], 80000), (["-n", "10K"], 10000), (["--capacity", "1Ki"],
                                1024), (["--capacity=1e6"], 10**6), (["-n", "2M"], 2 * 10**6),
                                (["-n1Mi"], 2**20), (["-n", "100"], 100)):
            header = self.header(*words)
            self.assertEqual(header["capacity"], capacity)
            self.assertGreater(header["m"], 9 * capacity)

    def test_every_number_suffix_is_accepted(self):
        units = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20,
                 "Gi": 2**30, "Ti": 2**40, "e0": 1, "e9": 10**9, "e17": 10**17, "": 1}
        for suffix, factor in units.items():
            header = self.header("-n", "2" + suffix, "-m", 1024, "-q", "--overfull")
            self.assertEqual(header["capacity"], 2 * factor, suffix)

    def test_keys_over_capacity_are_warned_of_with_overfull(self):
        message = self.run_tool("bfcreate", "--overfull", "-n", 50, "new.bloom",
                                stdin=lines(*numbered(200))).stderr
        self.check_message("bfcreate", message, "new.bloom", "200", "50", "1%")
        made = craft.Image(self.read("new.bloom"), "new.bloom")
        self.assertEqual((made.record["n"], made.header["capacity"]), (200, 50))
        self.output("bfcreate", "-q", "--overfull", "-n", 50, "quiet.bloom", stdin=lines(*numbered(200)))
        self.assertEqual(self.read("quiet.bloom"), self.read("new.bloom"))

    def test_bits_and_hashes_are_recorded(self):
        for words in ["-m", 9001, "-k", 3], ["--bits=9001", "--hashes=3"], ["-m9001", "-k3"]:
            made = self.made("-l", "classic", *words)
            header = made.header
            self.assertEqual((header["m"], header["k"], header["fpr"]), (9001, 3, 0))
        self.assertEqual(self.header("-l", "classic", "-m", 1, "-k", 64)["k"], 64)
        self.assertEqual(self.header("-k", 1)["k"], 1)

    def test_bits_of_blocked_are_rounded_up(self):
        for bits, m in (1, 512), (511, 512), (512, 512), (513, 1024), (1000, 1024):
            self.assertEqual(self.header("-m", bits)["m"], m)

    def test_classic_and_counting_accept_any_number_of_bits(self):
        for layout in "classic", "counting":
            for m in 1, 2, 7, 8, 9, 32767, 32768, 32769:
                self.made("-l", layout, "-m", m).verify()
                self.assertEqual(self.header("-l", layout, "-m", m)["m"], m)

    def test_number_of_hashes_is_optimal_by_default(self):
        self.assertEqual(self.header("-l", "classic", "-m", 1000)["k"], 7)
        self.assertEqual(self.header("-l", "classic", "-m", 1000, "-n", 200)["k"], 3)
        self.assertEqual(self.header("-l", "classic", "-m", 50)["k"], 1)

    def test_overfull_warns_of_too_few_bits_for_the_rate(self):
        says = self.run_tool("bfcreate", "--overfull", "-m", 512, "-p", "0.001", "new.bloom",
                             stdin=lines(*numbered(100))).stderr
        self.check_message("bfcreate", says, "new.bloom", "0.1%")
        header = craft.Image(self.read("new.bloom"), "new.bloom").header
        self.assertEqual((header["m"], struct.pack("<Q", header["fpr"])),
                         (512, struct.pack("<d", 0.001)))

    def test_layouts_are_recorded(self):
        for number, layout in enumerate(("blocked", "classic", "counting"), 1):
            self.assertEqual(self.header("-l", layout)["layout"], number)
            self.assertEqual(self.header(f"--layout={layout}")["layout"], number)

    def test_seed_is_recorded_and_used(self):
        for words, seed in ((["-s", 7], 7), (["--seed=0x1F"], 31), (["-s", 2**64 - 1], 2**64 - 1),
                            (["-s", "0xffffffffffffffff"], 2**64 - 1), (["-s0"], 0)):
            self.assertEqual(self.header(*words)["seed"], seed)
        made = self.create("-q", *SHAPE, "-s", 99, stdin=lines("a", "b"))
        self.assertEqual(made, lines_form("classic", 2003, 5, [b"a", b"b"], seed=99))

    def test_random_seed_differs_each_time(self):
        seeds = {self.header("-s", "random")["seed"] for _ in range(4)}
        self.assertEqual(len(seeds), 4)
        self.assertEqual(self.query("-v", "filter.bloom", stdin=lines(*numbered(100)), status=1),
                         [])

    def test_label_is_recorded(self):
        for label in "", "plain", "ünïcödé ☃ 🌸", "x" * 112, "é" * 56, "\u00a0\u200b":
            self.assertEqual(self.header("--label", label)["label"],
                             label.encode().ljust(112, b"\0"))

    def test_tag_is_recorded(self):
        for text in "00", "ff", "A0b1C2", "0123456789abcdef" * 2:
            self.assertEqual(self.header("--tag", text)["tag"],
                             bytes.fromhex(text).ljust(16, b"\0"))

    def test_last_of_a_repeated_option_counts(self):
        self.assertEqual(self.header("-k", 3, "-k", 4)["k"], 4)

    def test_options_may_follow_operands(self):
        self.write("keys", lines("a"))
        self.output("bfcreate", "new.bloom", "keys", "-k", 5)
        self.assertEqual(craft.Image(self.read("new.bloom"), "new.bloom").header["k"], 5)

    def test_double_dash_ends_the_options(self):
        self.write("-k", lines("a"))
        self.output("bfcreate", "-q", "--", "-new.bloom", "-k")
        self.assertEqual(self.output("bfquery", "--", "-new.bloom", "-k"), lines("a"))

    def test_rate_equal_to_the_target_but_for_rounding_is_accepted(self):
        """sizes.md: rates within 2^-26 are equal; this one is 1e-8 above."""
        self.output("bfcreate", "-n", 1000, "-k", 5, "-p", "9.53103968e-3", "new.bloom", stdin=lines(*numbered(1000)))
        self.assertEqual(self.inspected("new.bloom")["header"]["m"], 10240)

    def test_verbose_prints_keys_and_sizes(self):
        result = self.run_tool("bfcreate", "-v", "new.bloom", stdin=lines("a", "b", "a"))
        self.assertEqual((result.returncode, result.stdout), (0, b""))
        self.check_message("bfcreate", result.stderr, "new.bloom", "2 keys", "1 repeated")
        result = self.run_tool("bfcreate", "--verbose", "-l", "classic", "-m480833", "-k3", "-n",
                               "100000", "more.bloom", stdin=lines("a"))
        self.check_message("bfcreate", result.stderr, "more.bloom", "1 key")


class Promise(ToolTest):
    def test_actual_rate_keeps_the_target(self):
        keys, absent = numbered(5000), lines(*numbered(20_000 if SANITIZED else 100_000, "absent "))
        for layout in "blocked", "classic", "counting":
            for rate in 0.1, 0.01:
                self.create("-l", layout, "-p", rate, stdin=lines(*keys))
                self.assertEqual(self.query("filter.bloom", stdin=lines(*keys)), keys)
                found = int(self.output("bfquery", "-c", "filter.bloom", stdin=absent))
                measured = found / absent.count(b"\n")
                self.assertGreater(measured, 0.7 * rate)
                self.assertLess(measured, 1.3 * rate)


class Replacing(ToolTest):
    def test_existing_file_is_kept_without_force(self):
        self.write("old.bloom", OLD)
        message = self.trouble("bfcreate", "old.bloom", stdin=lines("a"), names=["old.bloom"])
        self.assertIn("File exists", message)

    def test_force_replaces_the_filter(self):
        for option in "-f", "--force":
            self.write("old.bloom", OLD)
            self.output("bfcreate", option, "-q", *SHAPE, "old.bloom", stdin=lines("a"))
            self.assertEqual(self.read("old.bloom"), filter_of(b"a"))
        self.assertEqual(list(self.snapshot()), ["old.bloom"])

    def test_force_creates_a_missing_file(self):
        self.output("bfcreate", "-f", "-q", *SHAPE, "new.bloom", stdin=lines("a"))
        self.assertEqual(self.read("new.bloom"), filter_of(b"a"))
        self.assertEqual(list(self.snapshot()), ["new.bloom"])

    def test_open_readers_keep_the_old_file(self):
        self.write("old.bloom", OLD)
        with open(self.folder / "old.bloom", "rb") as old:
            self.output("bfcreate", "-f", "old.bloom", stdin=lines("a"))
            self.assertEqual(old.read(), OLD)

    def test_permissions_are_kept(self):
        for mode in 0o600, 0o640, 0o644:
            self.write("old.bloom", b"")
            (self.folder / "old.bloom").chmod(mode)
            self.output("bfcreate", "-f", "old.bloom", stdin=lines("a"))
            self.assertEqual((self.folder / "old.bloom").stat().st_mode & 0o777, mode)

    def test_permissions_of_a_new_file_follow_the_umask(self):
        self.write("other", b"")
        (self.folder / "other").chmod(0o640)
        self.output("bfcreate", "new.bloom", stdin=lines("a"), umask=0o027)
        self.assertEqual((self.folder / "new.bloom").stat().st_mode & 0o777, 0o640)

    def test_symbolic_links_are_followed(self):
        (self.folder / "sub").mkdir()
        self.write("sub/old.bloom", OLD)
        (self.folder / "link").symlink_to("sub/old.bloom")
        self.trouble("bfcreate", "link", stdin=lines("a"), names=["link"])
        self.output("bfcreate", "-f", "-q", *SHAPE, "link", stdin=lines("a"))
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual(self.read("sub/old.bloom"), filter_of(b"a"))
        self.assertEqual(sorted(self.snapshot()), ["link", "sub", "sub/old.bloom"])

    def test_a_key_file_is_never_replaced(self):
        self.write("keys", lines("a"))
        os.link(self.folder / "keys", self.folder / "same")
        for name in "keys", "./keys", "same":
            self.trouble("bfcreate", "-f", name, "keys", names=["keys", "also the output"])


class Names(ToolTest):
    def test_any_file_name_works(self):
        for name in ("with space", "ünïcödé ☃", "new\nline", "\x1b[31mred", "a" * 255,
                     "no.extension.", "%s%n", ".hidden"):
            if not self.can_be_named(name):
                continue
            self.output("bfcreate", "-q", *SHAPE, name, stdin=lines("a"))
            self.assertEqual(self.read(name), filter_of(b"a"))

    def test_name_that_is_not_utf8_works(self):
        name = b"caf\xe9.bloom"
        if not self.can_be_named(os.fsdecode(name)):
            self.skipTest("the file system has no such names")
        self.assertEqual(self.run_tool("bfcreate", "-q", *SHAPE, os.fsdecode(name),
                                       stdin=lines("a")).returncode, 0)
        self.assertIn(name, os.listdir(os.fsencode(self.folder)))


class Embedded(ToolTest):
    """--embedded: an image with a header of 512 bytes, which every tool reads as a file."""

    def test_every_tool_reads_an_embedded_filter(self):
        keys = numbered(1996)
        self.write("keys", lines(*keys))
        for layout, size in ("blocked", 3012), ("classic", 2948), ("counting", 10124), ("ribbon", 2308):
            image = self.create("-q", "-l", layout, "--embedded", "keys", name="small")
            self.assertEqual(len(image), size)
            self.assertEqual(self.output("bfcreate", "-l", layout, "--embedded", "-", "keys"), image)
            self.assertEqual(self.query("small", "keys"), keys)
            self.assertLess(len(self.query("small", stdin=lines(*numbered(10_000, "absent ")))), 250)
            self.output("bfinspect", "-q", "--verify", "--keys", "keys", "small")
            self.create("-q", "-l", layout, "keys", name="file")
            if layout in ("blocked", "classic"):
                self.output("bfmerge", "-q", "-f", "--discard", "merged", "small")
                self.output("bfmerge", "-q", "-f", "--discard", "other", "-", stdin=image + image)
                self.output("bfseal", "-q", "-f", "--discard", "small", "sealed")
                for name in "merged", "other", "sealed":
                    self.assertEqual(self.query("-v", name, "keys", status=1), [])
        self.write("broken", craft.flip(self.read("small"), 700))
        self.assertEqual(self.output("bfquery", "-vc", "broken", "keys", status=2,
                                     says=b"bfquery: broken: 1 page damaged: keys on it were treated as present\n"), b"0\n")
        self.write("cut", self.read("small")[:-1])
        self.assertIn("truncated", self.trouble("bfquery", "cut", "keys"))

    def test_embedded_filter_is_created_atomically_and_replaces_only_filters(self):
        self.write("keys", lines("a"))
        self.write("text", b"not a filter")
        self.create("-q", "--embedded", "keys", name="filter")
        old = self.read("filter")
        before = self.snapshot()
        for words, says in ((["filter", "keys"], "File exists"), (["-f", "text", "keys"], "it is not a filter"), (["no/such", "keys"], "No such file"),
                            (["-f", "filter", "missing"], "cannot read missing"), (["--slice", "1/2", "-n9", "new", "keys"], "--embedded"),
                            (["--live", "-n9", "new"], "--embedded")):
            self.assertIn(says, self.trouble("bfcreate", "--embedded", *words))
            self.assertEqual(self.snapshot(), before)
        self.assertEqual(self.read("filter"), old)
        with open("/dev/full", "wb") as full:
            self.assertEqual(self.run_tool("bfcreate", "--embedded", "-", "keys", stdout=full).returncode, 2)


class DryRun(ToolTest):
    def dry(self, *options):
        printed = self.output("bfcreate", "--dry-run", *options).decode()
        return dict(line.split(None, 1) for line in printed.split("every layout")[0].splitlines())

    def assert_made(self, *options, keys=()):
        said = self.dry(*options)
        (self.folder / "made.bloom").unlink(missing_ok=True)
        self.output("bfcreate", "-q", *options, "made.bloom", stdin=lines(*keys))
        header, size = (self.inspected("made.bloom")[name] for name in ("header", "size"))
        self.assertEqual([said[name].split()[0] for name in ("layout", "m", "capacity", "size")],
                         [str(value) for value in (header["layout"], header["m"], header["capacity"], size)], options)
        self.assertEqual(said.get("k", "0"), str(header["k"]))

    def test_dry_run_prints_the_size_of_the_created_filter(self):
        for options in ("-n1000",), ("-n5k", "-p0.1%", "-lclassic"), ("-n3k", "-lcounting"), ("-n9k", "-lribbon"), \
                ("-n20k", "--slice", "2/3"), ("-n9k", "-m80k", "-k3"):
            self.assert_made(*options, keys=numbered(500))
        for layout in "blocked", "classic", "counting", "ribbon":
            self.assert_made("-n2k", "-l", layout, "--embedded", keys=numbered(500))
        for options in ("-n1000",), ("-m80k",), ("--grow",), ("-n5k", "--generations=3", "--every=1h"):
            self.assert_made("--live", *options)

    def test_dry_run_reads_and_writes_nothing(self):
        self.write("old.bloom", b"not a filter")
        before = self.snapshot()
        self.assertEqual(self.output("bfcreate", "--dry-run", "-n10", "old.bloom", "no-such-file"),
                         self.output("bfcreate", "--dry-run", "-n10"))
        self.assertEqual(self.snapshot(), before)
        self.assertIn("-n/--capacity or -m/--bits", self.trouble("bfcreate", "--dry-run", "old.bloom"))

    def test_dry_run_without_a_layout_shows_every_layout(self):
        for options in ("-n1000",), ("-n5k", "-p", "1e-6"), ("-n1000", "--embedded"), ("-n9k", "-m80k", "-k3"), ("-n1000", "--live"), \
                ("-n9k", "--slice", "1/2"), ("-n1000", "--live", "--grow"):
            rows = self.output("bfcreate", "--dry-run", *options).decode().split("every layout", 1)[1].splitlines()[1:]
            none = {"--slice": ["classic", "counting", "ribbon"], "--grow": ["counting", "ribbon"], "--live": ["ribbon"],
                    "-k3": ["ribbon"]}
            left_out = next((layouts for option, layouts in none.items() if option in options), [])
            self.assertEqual([row.split()[0] for row in rows], [name for name in ("blocked", "classic", "counting", "ribbon")
                                                                if name not in left_out], options)
            for row in rows:
                layout, bits, k, rate, size = row.split()[:5]
                said = self.dry("-l", layout, *options)
                self.assertEqual([bits, k, rate, size], [said["bits"].split()[-1], said.get("k", "-"), said["expected"].split()[1].strip(","), said["size"].split()[0]])
        self.assertIn("ribbon         cannot reach the rate", self.output("bfcreate", "--dry-run", "-n9", "-p1e-12").decode())

    def test_dry_run_refuses_the_options_that_creation_refuses(self):
        self.write("keys", lines(*numbered(1000)))
        for options in (["-n1000", "-m1000", "-p0.1%"], ["-n1000", "--slice", "1/9"], ["-n10", "-p1e-20"], ["-n1000", "-p1e-12", "-lribbon"],
                        ["-n1000", "-m1000", "-p0.1%", "--live"], ["--grow", "--live", "-n100", "-p1e-18"]):
            with self.subTest(options):
                said = self.trouble("bfcreate", "--dry-run", *options, "made.bloom")
                self.assertEqual(said, self.trouble("bfcreate", *options, "made.bloom", *[] if "--live" in options else ["keys"])
                                 .replace("in a filter sized for 1000", "in 1024 bits"))
        self.output("bfcreate", "-q", "--dry-run", "-n1000", "-m1000", "-p0.1%", "--overfull")


if __name__ == "__main__":
    main()
