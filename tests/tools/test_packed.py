# SPDX-License-Identifier: MIT
"""Inputs of gzip and zstd data (-Z) give the same result as the data they were made from, or an error."""

import bz2
import gzip
import lzma
import os
import random
import signal
import struct
import zlib

from support import ToolTest, lines, main, numbered

EXACT = "-p", "1e-9"
CUT_OFF = "data is cut off"


def zstd_frame(data, window_log=17, block=1 << 16):
    """A frame of raw blocks, which needs no compression program."""
    cuts = [data[i:i + block] for i in range(0, len(data), block)] or [b""]
    blocks = (struct.pack("<I", (len(cut) << 3) | (i == len(cuts) - 1))[:3] + cut for i, cut in enumerate(cuts))
    return bytes.fromhex("28b52ffd") + bytes([0, (window_log - 10) << 3]) + b"".join(blocks)


def skippable(data, number=0):
    return struct.pack("<II", 0x184D2A50 + number, len(data)) + data


def packed(data):
    """The data compressed in several ways."""
    middle = len(data) // 3
    return {"gz": gzip.compress(data, mtime=0), "zst": zstd_frame(data), "plain": data,
            "members": gzip.compress(data[:middle]) + gzip.compress(b"") + gzip.compress(data[middle:], 1),
            "frames": skippable(b"pzstd") + zstd_frame(data[:middle]) + skippable(b"", 15) + zstd_frame(data[middle:]),
            "both": zstd_frame(data[:middle]) + gzip.compress(data[middle:])}


class PackedTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.keys = numbered(60_000)
        random.Random(4).shuffle(self.keys)
        self.write("keys", lines(*self.keys))
        self.write("some", lines(*self.keys[::3]))

    def tools(self):
        self.create_live("-f", "-n", "1M")
        self.write("other", b"other\n")
        return (("bfcreate", "-f", "new"), ("bfadd", "live"), ("bfquery", "filter"), ("bfuniq",),
                ("bfcommon", "other"), ("bfquery", "filter", "other", "--unless"), ("bfinspect", "filter", "--keys"))


class Packed(PackedTest):
    def test_compressed_input_equals_plain_input(self):
        self.output("bfcreate", "-q", "new", "keys")
        image = self.read("new")
        self.create("-q", *EXACT, "some", name="filter")
        chosen = self.output("bfquery", "filter", "keys")
        unique = self.output("bfuniq", *EXACT, "keys")
        common = self.output("bfcommon", "some", "keys")
        for name, data in packed(self.read("keys")).items():
            self.write(name, data)
            for threads in "-j1", "-j4":
                self.output("bfcreate", "-Zqf", threads, "new", name)
                self.assertEqual(self.read("new"), image)
                self.assertEqual(self.output("bfquery", "-Z", threads, "filter", name), chosen)
                self.assertEqual(self.output("bfuniq", "-Z", threads, *EXACT, name, name), unique)
            self.assertEqual(self.output("bfcommon", "-Z", "some", name), common)
            self.assertEqual(self.output("bfcommon", "-Z", name, "some"), common)
            self.create_live("-f", "-n", "100k", *EXACT)
            self.assertEqual(self.added("--decompress", "live", name), b"60000 keys, 60000 new\n")
            self.assertEqual(self.output("bfquery", "-cZ", "filter", "--unless", name, "keys", status=1), b"0\n")
            self.assertIn(b"40,000 missing", self.output("bfinspect", "-Z", "--keys", name, "filter", status=1))

    def test_compressed_input_arrives_byte_by_byte(self):
        data = lines(*self.keys[:300])
        for name, bytes_ in packed(data).items():
            with self.subTest(name):
                process = self.start("bfuniq", "-Z", *EXACT)
                for byte in bytes_:
                    process.stdin.write(bytes([byte]))
                    process.stdin.flush()
                self.assertEqual(self.result(process), (0, data, b""))

    def test_compressed_input_is_read_from_a_pipe(self):
        common = self.output("bfcommon", "some", "keys")
        for name, data in packed(self.read("keys")).items():
            self.assertEqual(self.output("bfcommon", "-Z", "-", "some", stdin=data), common)
            self.assertEqual(self.output("bfcommon", "-Z", "some", "-", stdin=data), common)
            self.assertEqual(self.output("bfcommon", "-Z", "-d", "-", "some", stdin=data).count(b"\n"), 40_000)

    def test_complete_lines_are_answered_before_more_is_read(self):
        z = zlib.compressobj(9, zlib.DEFLATED, 31)
        for name, first, more in (("gz", z.compress(b"a\nb\nrest") + z.flush(zlib.Z_SYNC_FLUSH),
                                   z.compress(b" of it\n") + z.flush()),
                                  ("zst", zstd_frame(b"a\nb\nrest"), zstd_frame(b" of it\n")),
                                  ("plain", b"a\nb\nrest", b" of it\n")):
            with self.subTest(name):
                process = self.start("bfuniq", "-Z")
                process.stdin.write(first)
                process.stdin.flush()
                self.assertEqual([process.stdout.readline(), process.stdout.readline()], [b"a\n", b"b\n"])
                self.assertEqual(self.result(process, more), (0, b"rest of it\n", b""))

    def test_signal_ends_the_run_with_a_clean_file(self):
        process = self.start("bfuniq", "-Z", "--filter", "seen")
        process.stdin.write(zstd_frame(b"a\nrest")[:-1])
        process.stdin.flush()
        process.stdin.write(b"t")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"a\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.result(process)[0], -signal.SIGTERM)
        self.assertEqual(self.output("bfuniq", "--filter", "seen", stdin=b"a\nrest\n"), b"rest\n")

    def test_fields_headers_and_line_numbers_work(self):
        rows = [b"h\tn"] + [b"%d\t%s" % (i, key) for i, key in enumerate(self.keys)]
        self.create("-q", *EXACT, "some", name="filter")
        self.write("rows", gzip.compress(lines(*rows)))
        wanted = b"1:h\tn\n" + b"".join(b"%d:%s\n" % (i + 2, rows[i + 1]) for i in range(0, 60_000, 3))
        for threads in "-j1", "-j4":
            self.assertEqual(self.output("bfquery", "-Zn", threads, "--header", "--field", 2, "filter", "rows"), wanted)
        self.assertEqual(self.output("bfuniq", "-Z", "--csv", "--field", 2, stdin=gzip.compress(b'1,"a\nb"\n2,"a\nb"\n')),
                         b'1,"a\nb"\n')
        self.write("names", zstd_frame(b"n\tx\n" + lines(*(b"x\t" + key for key in self.keys[:9]))))
        self.write("values", zstd_frame(b"n\tx\n" + lines(*(b"y\t" + key for key in self.keys[:3]))))
        self.assertEqual(self.output("bfcommon", "-Z", "--header", "--field", 2, "names", "values").count(b"\n"), 4)

    def test_long_lines_are_read(self):
        data = lines(b"x" * 3_000_000, b"y", b"x" * 3_000_000)
        for name, bytes_ in packed(data).items():
            self.assertEqual(self.output("bfuniq", "-Z", stdin=bytes_), data[:3_000_003])

    def test_compressed_empty_input_has_no_keys(self):
        for data in b"", gzip.compress(b""), zstd_frame(b""), skippable(b"abc"), gzip.compress(b"") * 3:
            self.assertEqual(self.output("bfuniq", "-cZ", stdin=data), b"0 lines, 0 new, 0 repeated\n")
        for data in b"P", b"P*", b"P*M", b"PK", b"\x1e", b"(x", b"Q", b"\0":
            self.assertEqual(self.output("bfuniq", "-0Z", stdin=data), data.rstrip(b"\0") + b"\0")

    def test_bfcommon_reads_more_compressed_files_than_descriptors(self):
        names = []
        for i in range(40):
            data = packed(lines(*(b"%d" % n for n in range(i, 2000))))
            names.append(self.write(f"f{i}", data[sorted(data)[i % len(data)]]))
        wanted = lines(*sorted(b"%d" % n for n in range(39, 2000)))
        for words in [], ["--field", 1]:
            self.assertEqual(self.output("bfcommon", "-Z", *words, *names,
                                         before=["sh", "-c", 'ulimit -n 24 && exec "$@"', "sh"]), wanted)


class Trouble(PackedTest):
    def fails(self, data, says, tool="bfcreate", words=("new",), out=None):
        result = self.run_tool(tool, "-Z", *words, stdin=data)
        self.assertEqual(result.returncode, 2, (tool, data[:50]))
        self.check_message(tool, result.stderr)
        self.assertIn(f"{tool}: ", result.stderr.decode())
        self.assertIn(says, result.stderr.decode())
        if out is not None:
            self.assertEqual(result.stdout, out)

    def test_truncation_at_any_byte_is_an_error(self):
        names = sorted(os.listdir(self.folder))
        keys = lines(*self.keys[:20])
        first = gzip.compress(b"first\n")
        for data in gzip.compress(keys), zstd_frame(keys), gzip.compress(b""), zstd_frame(b"a\n"), skippable(b"ab"):
            letters = range(1, 4) if data[0] == 0x50 else []  # these bytes may be a key
            for size in range(1, len(data)):
                if size not in letters:
                    self.fails(data[:size], CUT_OFF)
                self.fails(first + data[:size], "other data" if size in letters else CUT_OFF)
            self.assertEqual(sorted(os.listdir(self.folder)), names)

    def test_every_tool_reports_truncation_and_publishes_nothing(self):
        self.create("-q", *EXACT, "keys", name="filter")
        cut = {name: data[:-5] for name, data in packed(self.read("keys")).items() if name != "plain"}
        for name, data in cut.items():
            self.write(name, data)
            for tool, *words in self.tools():
                if tool == "bfcreate":
                    self.write("new", self.read("filter"))
                for more in [], ["-q"]:
                    result = self.run_tool(tool, "-Z", *more, *words, name)
                    if tool != "bfquery" or not more:  # bfquery -q exits at the first match
                        self.assertEqual(result.returncode, 2, (tool, name))
                        self.assertIn(f"{tool}: cannot read {name}: its ".encode(), result.stderr)
                if tool == "bfcreate":
                    self.assertEqual(self.read("new"), self.read("filter"))
            self.fails(data, CUT_OFF, "bfcreate", ["-"], out=b"")
            self.fails(data, CUT_OFF, "bfcommon", ["-", "keys"], out=b"")
            self.fails(data, CUT_OFF, "bfcommon", ["keys", "-"], out=b"")

    def test_whole_lines_before_the_truncation_are_answered(self):
        data = packed(self.read("keys"))
        self.write("next", b"last\n")
        for name in "gz", "zst":
            self.write(name, data[name][:-9])
            for threads in "-j1", "-j4":
                result = self.run_tool("bfuniq", "-Z", threads, *EXACT, name, "next")
                self.assertEqual(result.returncode, 2)
                found = result.stdout.split(b"\n")[:-1]
                self.assertGreater(len(found), 50_000)
                self.assertEqual(found, [*self.keys[:len(found) - 1], b"last"])

    def test_damage_at_any_byte_is_an_error_or_harmless(self):
        """A damaged byte that does not matter, such as the time in a header, may pass."""
        keys = lines(*self.keys[:9])
        good = self.create("-q", stdin=keys)
        data = gzip.compress(keys)
        refused = 0
        for i in range(2, len(data)):
            for bit in 1, 0x40:
                damaged = bytearray(data)
                damaged[i] ^= bit
                result = self.run_tool("bfcreate", "-Zqf", "filter.bloom", stdin=bytes(damaged))
                refused += result.returncode == 2
                self.assertIn(result.returncode, [0, 2])
                self.assertEqual(self.read("filter.bloom"), good)
        self.assertGreater(refused, 1.6 * (len(data) - 10))
        self.fails(data[:-1] + bytes([data[-1] ^ 1]), "its gzip data is damaged (incorrect length check)")
        self.fails(data[:30] + bytes(100), "its gzip data is damaged")
        self.fails(zstd_frame(keys)[:6] + b"\7" * 20, "its zstd data is damaged")

    def test_plain_data_after_compressed_data_is_an_error(self):
        for first in gzip.compress(b"a\n"), zstd_frame(b"a\n"):
            for more in b"\n", b"\0" * 100, b"key\n", b"P", lzma.compress(b"x"):
                self.fails(first + more, "other data follows the compressed data")

    def test_zstd_window_above_128_mib_is_refused(self):
        self.assertEqual(self.output("bfuniq", "-Z", stdin=zstd_frame(b"a\n", 27)), b"a\n")
        for log in 28, 31, 40:
            self.fails(zstd_frame(b"a\n", log), "its zstd data needs a window of more than 128 MiB (decompress it: zstd -dc --long=31")

    def test_double_or_unsupported_compression_is_named(self):
        text = lines(*self.keys[:100])
        once = gzip.compress(text)
        for data, what in ((gzip.compress(once), "gzip-compressed (decompress it: gzip -dc"), (zstd_frame(once), "gzip-compressed (decompress it: gzip -dc"),
                           (gzip.compress(zstd_frame(text)), "zstd-compressed (decompress it: zstd -dc"), (lzma.compress(text), "xz-compressed (decompress it: xz -dc"),
                           (bz2.compress(text), "bzip2-compressed (decompress it: bzip2 -dc"), (gzip.compress(bz2.compress(text)), "bzip2-compressed")):
            for tool, words in ("bfcreate", ["new"]), ("bfuniq", []), ("bfcommon", ["some", "-"]), ("bfcommon", ["-", "some"]):
                self.fails(data, f"standard input: its {'decompressed ' * what.startswith(('gzip', 'zstd'))}data is {what}", tool, words, out=b"")
        self.write("xz", lzma.compress(text))
        self.assertIn("xz: its data", self.trouble("bfcommon", "-Z", "some", "xz"))
        self.write("good", b"b\n")
        self.output("bfuniq", "-Z", "xz", "good", status=2,
                    says=b"bfuniq: xz: its data is xz-compressed (decompress it: xz -dc)\n")

    def test_folders_and_missing_files_are_errors(self):
        os.mkdir(self.folder / "folder")
        for tool, *words in ("bfcreate", "new"), ("bfuniq",), ("bfcommon", "some"):
            self.assertIn("s a directory", self.trouble(tool, "-Z", *words, "folder"))
            self.assertIn("No such file", self.trouble(tool, "-Z", *words, "missing"))


if __name__ == "__main__":
    main()
