# SPDX-License-Identifier: MIT
"""bfdelta: patches by both implementations, messages about patches that do not fit, and no partial results."""

import json
import os
import signal
import subprocess
import sys
import threading

from support import (GOLDEN, NAMESPACE, REFUSED, SOURCE_ROOT, TIMEOUT, WITHOUT_PROC, ToolTest, craft, lines, main,
                     needs, numbered, once, sha256, some, table)

import spec_patch
import spec_reader
from spec_patch import variable

KEYS = numbered(2000)
GOOD = table(GOLDEN / "patches.tsv")
BAD = table(REFUSED / "patches.tsv")
LAYOUTS = "blocked", "classic", "counting"
# Messages of the errors that do not concern the patch alone.
SAID = {"BLOOMFILE_EDIFFERENTBASE": "already applied|is for a filter (of|with another) header|made for another filter",
        "BLOOMFILE_EISRIBBON": "the layout ribbon has no patches",
        "BLOOMFILE_ELIVE": "it is live, and a patch needs sealed filters",
        "BLOOMFILE_EPAGE": "cannot read hurt: a page of the body is damaged"}


# The manual page promises these.
KEYS_OF_JSON = ["version", "layout", "layer_count", "patch_size", "body_size", "parts", "changed_pages", "base", "result"]


class DeltaTest(ToolTest):
    def build(self, name, keys, *options, bits=512 * 40, layout="blocked"):
        return self.create("-q", "-l", layout, "-m", bits, "-k", 5, *options, stdin=lines(*keys),
                           name=name)

    def setUp(self):
        super().setUp()
        self.old = self.build("old", KEYS[:1000])
        self.new = self.build("new", KEYS[20:1020])
        self.build("third", KEYS[:900])

    def delta(self, old="old", new="new", *options):
        return self.output("bfdelta", *options, old, new, "-")

    def python(self, command, base, other, made):
        """The error of the second implementation when it makes or applies a patch, or an empty string."""
        base, other, made = (self.folder / name for name in (base, other, made))
        try:
            image = spec_reader.load(base)
            made.write_bytes(spec_patch.make(image, spec_reader.load(other)) if command == "delta"
                             else spec_patch.apply(image, other.read_bytes()))
        except (OSError, ValueError) as error:
            return str(error)
        return ""


class Patches(DeltaTest):
    def test_copies_of_a_growing_series_are_patched(self):
        self.output("bfcreate", "-q", "--live", "--grow", "-n", 200, "live")
        for name, keys in (("old", KEYS[:700]), ("new", KEYS[:1300])):
            self.output("bfadd", "-q", "live", stdin=lines(*keys))
            self.output("bfseal", "-q", "-f", "--discard", "live", name)
        result = self.read("new")
        told = json.loads(self.output("bfinspect", "--report", "-", "new"))
        self.assertEqual(len(told["layers"]), 3)
        self.output("bfdelta", "-q", "old", "new", "patch")
        self.assertEqual(self.python("delta", "old", "new", "other"), "")
        self.assertEqual(self.read("other"), self.read("patch"))
        self.assertEqual(self.python("apply", "old", "patch", "other"), "")
        self.assertEqual(self.read("other"), result)
        self.output("bfdelta", "-q", "-f", "--apply", "old", "patch", "old")
        self.assertEqual(self.read("old"), result)
        self.assertEqual(json.loads(self.output("bfdelta", "--info", "--report", "-", "patch"))["layer_count"], 3)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.output("bfseal", "-q", "-f", "live", "new")
        self.assertIn("their layers differ", self.trouble("bfdelta", "old", "new", "more"))

    def test_both_implementations_make_and_apply_the_same_patches(self):
        """Few changes and many. Keys are added, removed, or all replaced."""
        for layout in LAYOUTS:
            bits = 512 * 50 if layout == "blocked" else 12347
            for old, new in some([((0, 100), (0, 130)), ((20, 500), (0, 480)), ((0, 0), (0, 2000)),
                                  ((0, 900), (900, 1900)), ((5, 6), (5, 6))], 2):
                with self.subTest(layout, old=old, new=new):
                    self.build("old", KEYS[slice(*old)], layout=layout, bits=bits)
                    result = self.build("new", KEYS[slice(*new)], "--label", "ship it", layout=layout,
                                        bits=bits)
                    self.output("bfdelta", "-q", "-f", "old", "new", "patch")
                    self.assertEqual(self.python("delta", "old", "new", "other"), "")
                    self.assertEqual(self.read("other"), self.read("patch"))
                    self.assertEqual(self.python("apply", "old", "patch", "other"), "")
                    self.assertEqual(self.read("other"), result)
                    self.output("bfdelta", "-q", "-f", "--discard", "--apply", "old", "patch", "applied")
                    self.assertEqual(self.read("applied"), result)

    @once
    def test_patches_match_the_vectors(self):
        subprocess.run([sys.executable, "-B", SOURCE_ROOT / "tests" / "spec" / "spec_patch.py", "vectors",
                        SOURCE_ROOT / "format-spec.md"], timeout=TIMEOUT, check=True)

    def test_patch_does_not_depend_on_threads(self):
        for name, keys in ("a", KEYS[:900]), ("b", KEYS):
            self.build(name, keys, bits=512 * 30000)
        patch = self.delta("a", "b", "-j", 1)
        for threads in 2, 7:
            self.assertEqual(self.delta("a", "b", "-j", threads), patch)
            made = self.output("bfdelta", "--apply", "-j", threads, "a", "-", "-", stdin=patch)
            self.assertEqual(made, self.read("b"))

    def test_result_may_replace_its_base(self):
        self.write("patch", self.delta())
        self.assertIn("File exists (write to another file; --force would overwrite this file)",
                      self.trouble("bfdelta", "--apply", "old", "patch", "old"))
        with open(self.folder / "old", "rb") as reader:
            self.output("bfdelta", "--apply", "-q", "-f", "old", "patch", "old")
            self.assertEqual(reader.read(), self.old)
        self.assertEqual(self.read("old"), self.new)
        self.assertEqual(self.trouble("bfdelta", "--apply", "-f", "old", "patch", "old"),
                         "bfdelta: cannot apply patch to old: the patch was already applied\n")

    def test_patch_may_change_only_the_header(self):
        self.build("named", KEYS[:1000], "--label", "named")
        self.write("patch", self.delta("old", "named"))
        for options in ["old", "patch", "named"], ["named", "patch", "-"]:
            result = self.run_tool("bfdelta", "--apply", "-q", "-f", "--discard", *options)
            self.assertEqual(result.returncode, 0 if options[0] == "old" else 2)
        self.assertEqual(result.stderr, b"bfdelta: cannot apply patch to named: it is for a filter with another header "
                                        b"(if it was not applied already, copy NEW instead)\n")
        self.write("-", self.read("patch"))  # not the output
        self.assertEqual(self.output("bfdelta", "--apply", "-q", "old", "patch", "-"), self.read("named"))

    def test_patches_pass_through_pipes(self):
        command = '"$0" old new - | "$0" --apply old - - | cmp - new'
        result = subprocess.run(["sh", "-c", command, self.command("bfdelta")[0]], cwd=self.folder,
                                timeout=TIMEOUT, check=False)
        self.assertEqual(result.returncode, 0)

    def test_summary_prints_sizes(self):
        result = self.run_tool("bfdelta", "-v", "old", "new", "patch")
        self.assertRegex(result.stderr.decode(),
                         r"^bfdelta: patch: \d+ bytes, \d+\.\d+% of new \(8\.0 KiB\)\n$")
        result = self.run_tool("bfdelta", "-v", "--apply", "old", "patch", "made")
        self.assertRegex(result.stderr.decode(), r"^bfdelta: made: 1000 keys, 20\.48 bits each, .*\n$")

    def test_info_prints_the_facts_of_a_patch(self):
        patch = self.delta()
        self.write("patch", patch)
        report = json.loads(self.output("bfdelta", "--info", "--report", "-", "patch"))
        self.assertEqual(list(report), KEYS_OF_JSON)
        crcs = [self.inspected(name)["record"]["body_crc"] for name in ("old", "new")]
        self.assertEqual((report["version"], report["layout"], report["patch_size"], report["parts"]),
                         (1, "blocked", len(patch), 1))
        self.assertEqual([report[which]["body_crc"] for which in ("base", "result")], crcs)
        page = self.output("bfdelta", "--info", "-", stdin=patch).decode()
        self.assertIn(f"patch:   version 1, {len(patch)} bytes, 1 part of 1 pages\n", page)
        self.assertIn(f"base:    body_crc {report['base']['body_crc']}, header ", page)
        for cut in 0, 5, 30, len(patch) - 1:
            self.assertIn("the file is truncated (copy it again, or make a new patch)",
                          self.trouble("bfdelta", "--info", "-", stdin=patch[:cut]))

    def test_golden_patches_are_made_and_applied(self):
        for row in GOOD:
            with self.subTest(row["patch"]):
                base, result, patch = (GOLDEN / row[name] for name in ("base", "result", "patch"))
                self.assertEqual(sha256(patch.read_bytes()), row["sha256"])
                self.assertEqual(self.delta(base, result), patch.read_bytes())
                made = self.output("bfdelta", "--apply", base, patch, "-")
                self.assertEqual(made, result.read_bytes())
                self.assertEqual(self.python("apply", base, patch, "made"), "")
                self.assertEqual(self.read("made"), made)

    def test_refused_patches_have_their_errors(self):
        for row in BAD:
            with self.subTest(row["patch"]):
                base, patch = GOLDEN / row["base"], REFUSED / row["patch"]
                self.check_refused(base, patch, row["error"])

    def check_refused(self, base, patch, error):
        """Checks that both refuse the patch, and the message."""
        self.assertRegex(self.python("apply", base, patch, "made"), rf"^(.*: )?{error}( |$)")
        message = self.trouble("bfdelta", "--apply", base, patch, "made")
        self.assertRegex(message, SAID.get(error, f"{patch}[: ]"))
        self.assertFalse((self.folder / "made").exists())

    def test_errors_are_reported_in_the_order_base_head_body(self):
        live = self.create_live("-m", 512 * 40, "-k", 5)
        self.write("none", b"")
        self.check_refused(live, "none", "BLOOMFILE_ELIVE")
        self.write("hurt", craft.flip((GOLDEN / "classic-embedded.bloom").read_bytes(), 512 + 20))
        for patch, error in (("patch-result-header-invalid", "EPATCH"), ("patch-to-another-k", "EPATCH"),
                             ("patch-version-2", "EVERSION"), ("patch-other-header", "EDIFFERENTBASE"),
                             ("patch-bit-beyond-m", "EPAGE")):
            self.check_refused("hurt", REFUSED / f"{patch}.patch", "BLOOMFILE_" + error)

    def test_wrong_number_is_refused_before_the_next_is_read(self):
        """The part is cut off after these numbers. Skip, span and units are valid."""
        for base, numbers, error in (
                ("classic", [57], "EPATCH"), ("classic", [56], "ETRUNCATED"),
                ("classic", [0, *variable(2**20 + 1)], "EPATCH"),
                ("classic", [0, *variable(2**20)], "ETRUNCATED"),
                ("classic", [0, *variable(2**20), 1, 0, 1], "EPATCH"),
                ("blocked", [57], "EPATCH"), ("blocked", [56, 0], "ETRUNCATED"),
                ("blocked", [56, 0, 0], "EPATCH"), ("blocked", [0, 1, 57], "EPATCH"),
                ("blocked", [0, *variable(513), 56], "EPATCH"),
                ("blocked", [0, *variable(512), 56], "ETRUNCATED")):
            with self.subTest(base, numbers=numbers, error=error):
                whole = GOLDEN / f"{base}-embedded-to-patched-{base}.patch"
                patch = spec_patch.Input(whole.read_bytes())
                spec_patch.take_head(patch)
                self.write("cut", patch.data[:patch.at] + bytes([0, 1, 1, *numbers]))
                self.check_refused(GOLDEN / f"{base}-embedded.bloom", "cut", "BLOOMFILE_" + error)


class Trouble(DeltaTest):
    def test_wrong_operands_are_refused(self):
        for words, says in (
                ([], "the name of OLD is missing"), (["old"], "the name of NEW is missing"),
                (["old", "new"], "the name of PATCH is missing"),
                (["old", "", "p"], "the name of NEW is empty"),
                (["--apply", "old"], "the name of PATCH is missing"),
                (["--apply", "old", "p"], "the name of NEW is missing"),
                (["--info"], "the name of PATCH is missing"),
                (["--info", "a", "b"], "too many file names: 'b'"),
                (["old", "new", "p", "q"], "too many file names: 'q'"),
                (["--report", "-", "old", "new", "p"], "--report needs --info"),
                (["--apply", "--info", "p"], "--apply and --info are mutually exclusive")):
            self.assertEqual(self.trouble("bfdelta", *words),
                             f"bfdelta: {says} (try 'bfdelta --help')\n")

    def test_different_shape_is_refused_with_the_remedy(self):
        shape = "build NEW like OLD: bfcreate -l blocked -m 20480 -k 5 -s 0)"
        for options, says in (({"bits": 512 * 41}, "the numbers of bits m differ"),
                              ({"layout": "classic"}, "the layouts differ")):
            self.build("other", KEYS, **options)
            message = self.trouble("bfdelta", "old", "other", "patch")
            self.assertIn(f"cannot make a patch from old to other: {says} (build NEW like OLD", message)
            self.assertIn(shape, message)
        self.write("embedded", (GOLDEN / "blocked-embedded.bloom").read_bytes())
        self.create("-q", "-m", 4608, "-k", 13, stdin=b"a\n", name="file")
        self.assertIn("one is a file, the other an embedded image (copy embedded instead)",
                      self.trouble("bfdelta", "file", "embedded", "patch"))
        for options, says in (["-k", 6], "the numbers of hashes k differ"), (["-s", 9], "the seeds differ"):
            self.create("-q", "-m", 512 * 40, "-k", 5, *options, stdin=b"a\n", name="other")
            self.assertIn(says, self.trouble("bfdelta", "old", "other", "patch"))

    def test_live_filters_are_refused(self):
        self.create_live("-m", 512 * 40, "-k", 5)
        for words in ["live", "new", "p"], ["old", "live", "p"], ["--apply", "live", "p", "q"]:
            self.write("p", b"")
            message = self.trouble("bfdelta", *words)
            self.assertIn("live: it is live, and a patch needs sealed filters (seal a copy: bfseal live COPY", message)
        self.create_live("--grow", "-n", 100, name="series")
        self.output("bfseal", "-q", "series", "sealed")
        self.assertIn("series: it is live", self.trouble("bfdelta", "sealed", "series", "p"))
        self.assertIn("old to sealed: old is one filter, and sealed is a series of layers (copy sealed instead)",
                      self.trouble("bfdelta", "old", "sealed", "q"))
        self.assertIn("sealed is a series of layers, and old is one filter",
                      self.trouble("bfdelta", "sealed", "old", "q"))

    def test_remedy_for_special_filters_names_no_impossible_command(self):
        """bfcreate cannot make such filters from the numbers of one filter, so the message must not suggest it."""
        for name, options in ("series", []), ("seeded", ["-s", 1]), ("other", ["-n", 200]):
            self.create_live("--grow", "-n", 100, *options, name="live")
            self.output("bfadd", "-q", "live", stdin=lines(*KEYS[:90]))
            self.output("bfseal", "-q", "live", name)
            (self.folder / "live").unlink()
        for name, options in ("slice", []), ("seeded slice", ["-s", 1]):
            self.create("-q", "-n", 9000, "--slice", "1/2", *options, stdin=lines(*KEYS), name=name)
        named = {"hash_id": 0x80536841, "self_test": 0x62aeed19e25dac49}
        for name, m in ("apps", 20480), ("larger apps", 40960):
            self.write(name, craft.make("blocked", m, 5, [b"%016x" % 1], **named))
        for old, new, says in (("series", "seeded", "the seeds differ"),
                               ("series", "other", "their layers differ in number or size"),
                               ("slice", "seeded slice", "the seeds differ"),
                               ("apps", "larger apps", "the numbers of bits m differ")):
            self.assertEqual(self.trouble("bfdelta", old, new, "p"),
                             f"bfdelta: cannot make a patch from {old} to {new}: {says} (copy {new} instead)\n")

    def test_wrong_base_is_refused_with_its_checksums(self):
        self.write("patch", self.delta())
        message = self.trouble("bfdelta", "--apply", "third", "patch", "made")
        self.assertRegex(message, "cannot apply patch to third: it is for a filter of header [0-9a-f]{8} and "
                                  r"body_crc [0-9a-f]{8}, and this filter has body_crc [0-9a-f]{8} \(copy NEW instead")
        message = self.trouble("bfdelta", "--apply", "third", "-", "made", stdin=self.delta())
        self.assertIn("cannot apply standard input to third: the patch was made for another filter", message)

    def test_wrong_base_is_refused_for_a_patch_from_a_pipe(self):
        patch = self.delta()
        os.mkfifo(self.folder / "pipe")
        for _ in range(10):  # usually the writer has ended by then
            writer = threading.Thread(target=lambda: (self.folder / "pipe").write_bytes(patch))
            writer.start()
            result = self.run_tool("bfdelta", "--apply", "third", "pipe", "made")
            writer.join()
            self.assertEqual(result.returncode, 2)
            self.check_message("bfdelta", result.stderr, "cannot apply pipe to third: the patch was made for another")

    def test_closed_standard_input_is_an_error(self):
        for words in ["--apply", "old", "-", "made"], ["--info", "-"]:
            self.assertIn("cannot read standard input: Bad file descriptor", self.trouble(
                "bfdelta", *words, stdin=None, preexec_fn=lambda: os.close(0)))

    def test_damaged_files_are_refused(self):
        patch = self.delta()
        self.write("patch", patch)
        self.write("hurt", craft.flip(self.new, 4096 + 500))
        self.assertIn("cannot read hurt: a page of the body is damaged",
                      self.trouble("bfdelta", "old", "hurt", "p"))
        self.write("hurt", craft.flip(self.old, 4096 + 500))
        for words in ["hurt", "new", "p"], ["--apply", "hurt", "patch", "made"]:
            self.assertIn("cannot read hurt: a page of the body is damaged", self.trouble("bfdelta", *words))
        for name, data, says in (("cut", patch[:-9], "the file is truncated"),
                                 ("longer", patch + b"x", "extra bytes"),
                                 ("flipped", craft.flip(patch, len(patch) // 2), "or damaged"),
                                 ("text", b"apple\n" * 9, "not a filter patch"),
                                 ("empty", b"", "the file is truncated")):
            self.write(name, data)
            for words in ["--apply", "old", name, "made"], ["--info", name]:
                message = self.trouble("bfdelta", *words)
                self.assertIn(f"cannot use the patch {name}: ", message)
                self.assertIn(says, message)
                self.assertIn("(copy it again, or make a new patch)", message)
        later = patch[:8] + b"\2" + patch[9:]
        self.assertIn("written in a newer format version (update bloomfile)",
                      self.trouble("bfdelta", "--apply", "old", "-", "made", stdin=later))

    def test_missing_files_are_errors(self):
        self.write("patch", self.delta())
        (self.folder / "folder").mkdir()
        for words in (["none", "new", "p"], ["old", "none", "p"], ["--apply", "none", "patch", "m"],
                      ["--apply", "old", "none", "m"], ["--info", "none"]):
            self.assertIn("cannot open none: No such file", self.trouble("bfdelta", *words))
        for words in ["--apply", "old", "folder", "m"], ["--info", "folder"]:
            self.assertIn("cannot read folder: Is a directory", self.trouble("bfdelta", *words))

    def test_patch_in_the_wrong_place_names_the_right_order(self):
        self.write("patch", self.delta())
        order = "bfdelta: cannot %s patch: it is a patch (the order is %s)\n"
        for words, message in ((["--apply", "old", "m", "patch"], order % ("create", "OLD PATCH NEW")),
                               (["--apply", "-f", "old", "new", "patch"], order % ("create", "OLD PATCH NEW")),
                               (["--apply", "patch", "old", "m"], order % ("open", "OLD PATCH NEW")),
                               (["old", "patch", "new"], order % ("open", "OLD NEW PATCH")),
                               (["--apply", "old", "new", "m"], "bfdelta: new is a filter, not a patch (try "
                                                                "'bfdelta --help')\n")):
            self.assertEqual(self.trouble("bfdelta", *words), message)
        self.assertEqual(self.read("patch"), self.delta())
        page = (SOURCE_ROOT / "man" / "bfdelta.1").read_text(encoding="utf-8")
        for names in "OLD NEW PATCH", "OLD PATCH NEW":
            self.assertIn(f'.It "cannot open FILE: it is a patch (the order is {names})"\n', page)

    def test_patch_replaces_only_a_patch(self):
        for old in b"a\nb\n", self.old, b"x":
            self.write("mine", old)
            for force in [], ["-f"]:
                self.assertEqual(self.trouble("bfdelta", *force, "old", "new", "mine"),
                                 "bfdelta: cannot replace mine: it is not a patch (PATCH comes last: bfdelta OLD NEW PATCH)\n")
        for old in b"", self.delta(), self.delta()[:9], craft.flip(self.delta(), 60):
            self.write("mine", old)
            self.assertIn("File exists (write to another file; --force would overwrite this file)",
                          self.trouble("bfdelta", "old", "new", "mine"))
            self.output("bfdelta", "-q", "-f", "old", "new", "mine")
            self.assertEqual(self.read("mine"), self.delta())
        for dest in "old", "new":
            self.assertIn(f"cannot create {dest}: it is one of the filters to compare",
                          self.trouble("bfdelta", "-f", "old", "new", dest))
        self.assertIn("cannot create mine: it is the patch",
                      self.trouble("bfdelta", "--apply", "-f", "old", "mine", "mine"))

    def test_full_disk_leaves_no_file(self):
        (self.folder / "disk").mkdir()
        script = 'mount -t tmpfs -o size=8k none disk || exit 77; "$@"; status=$?; ls -A disk; exit $status'
        large = [self.build(name, numbered(60000, name), bits=512 * 2000) for name in ("a", "b")]
        self.assertEqual(len(large[0]), len(large[1]))
        self.output("bfdelta", "-q", "a", "b", "patch")
        for words in ["a", "b", "disk/p"], ["--apply", "a", "patch", "disk/made"]:
            result = self.run_tool("bfdelta", *words, before=[*NAMESPACE, "sh", "-c", script, "sh"])
            if result.returncode not in (0, 2):
                self.skipTest("no file system can be mounted here")
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.check_message("bfdelta", result.stderr, f"cannot create {words[-1]}: No space left on device")


class Meanwhile(DeltaTest):
    """The patch arrives slowly, and other things happen before its end."""

    def setUp(self):
        super().setUp()
        self.patch = self.delta()

    def apply_slowly(self, *options, before=()):
        process = self.start("bfdelta", "--apply", *options, before=before)
        self.write_to(process, self.patch[:60])
        return process

    def test_replaced_base_is_still_read(self):
        """bfdelta uses the base that it opened."""
        process = self.apply_slowly("-q", "old", "-", "made")
        self.write("other", self.new)
        (self.folder / "other").rename(self.folder / "old")
        self.assertEqual(self.result(process, self.patch[60:]), (0, b"", b""))
        self.assertEqual(self.read("made"), self.new)

    def test_overwritten_base_is_an_error(self):
        process = self.apply_slowly("-q", "old", "-", "made")
        with open(self.folder / "old", "r+b") as file:
            file.write(self.new)
        status, _, message = self.result(process, self.patch[60:])
        self.assertEqual(status, 2)
        self.assertRegex(message, rb"^bfdelta: cannot (read old|apply standard input to old): ")
        self.assertFalse((self.folder / "made").exists())

    def temporaries(self):
        return [name for name in os.listdir(self.folder) if name.startswith(".bloomfile.")]

    def check_that_it_ends(self, number, *options, before=()):
        old = self.snapshot()
        process = self.apply_slowly(*options, before=before)
        if before:
            self.until(self.temporaries, process)
        process.send_signal(number)
        process.wait(TIMEOUT)
        self.assertEqual(process.returncode, -number)
        if number == signal.SIGKILL:
            for name in self.temporaries():  # where files without a name are not supported
                (self.folder / name).unlink()
        self.assertEqual(self.snapshot(), old)

    def test_signal_leaves_no_file(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGKILL:
            for options in ["old", "-", "made"], ["-f", "old", "-", "old"]:
                self.check_that_it_ends(number, *options)

    @needs(*WITHOUT_PROC)
    def test_signal_leaves_no_named_file(self):
        for number in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:
            self.check_that_it_ends(number, "-j1", "old", "-", "made", before=WITHOUT_PROC)

    @needs(*WITHOUT_PROC)
    def test_next_run_removes_leftovers_of_a_signal(self):
        """Another thread waits for the patch, and a signal does not end its wait."""
        self.write("patch", self.patch)
        old = self.snapshot()
        for number in signal.SIGTERM, signal.SIGKILL:
            process = self.apply_slowly("-f", "-j2", "old", "-", "old", before=WITHOUT_PROC)
            self.until(self.temporaries, process)
            process.send_signal(number)
            self.assertEqual(process.wait(TIMEOUT), -number)
            self.assertEqual({**self.snapshot(), **{name: None for name in self.temporaries()}},
                             {**old, **{name: None for name in self.temporaries()}})
            self.output("bfdelta", "-q", "--apply", "old", "patch", "made")
            self.assertEqual(self.temporaries(), [])
            (self.folder / "made").unlink()

    def test_no_file_is_created_before_the_base_is_checked(self):
        os.chmod(self.folder, 0o700)
        process = self.start("bfdelta", "--apply", "third", "-", "made")
        status, _, message = self.result(process, self.patch)
        self.assertEqual(status, 2)
        self.assertIn(b"the patch was made for another filter", message)


if __name__ == "__main__":
    main()
