# SPDX-License-Identifier: MIT
"""Errors in writing a file: each tool that makes one reports them, and leaves existing files unchanged."""

import os
import re
import resource
import signal
import unittest

from support import (NAMESPACE, OLD, SANITIZED, SOURCE_ROOT, UNPRIVILEGED, WITHOUT_PROC, ToolTest, craft,
                     lines, main, needs, numbered, works)

KEYS = numbered(3000)
DEST = "DEST"

# Commands that make a filter or an image. The large results, some MiB, take long enough to meet a limit or a signal.
FILTERS = {
    "create": ["bfcreate", DEST, "keys"],
    "create live": ["bfcreate", "--live", "--allow-empty", "-n", 10, DEST],
    "merge": ["bfmerge", "--discard", DEST, "a", "b"],
    "intersect": ["bfmerge", "--discard", "--intersect", DEST, "a", "b"],
    "project": ["bfmerge", "--discard", "--project", DEST, "counts"],
    "fold": ["bffold", "--discard", "--factor", 2, "a", DEST],
    "seal": ["bfseal", "--discard", "live", DEST],
    "patch": ["bfdelta", "--apply", "--discard", "a", "a-b.patch", DEST],
    "seal projected": ["bfseal", "--discard", "--project", "counts", DEST],
}
# The advice of each command about the order of its operands.
ORDER = {
    "create": "the filter comes first: bfcreate FILE KEYFILE...",
    "create live": "write to another file",
    "merge": "DEST comes first: bfmerge DEST SRC...",
    "intersect": "DEST comes first: bfmerge DEST SRC...",
    "project": "DEST comes first: bfmerge DEST SRC...",
    "fold": "DEST comes last: bffold SRC DEST",
    "seal": "DEST comes last: bfseal FILE DEST",
    "patch": "NEW comes last: bfdelta --apply OLD PATCH NEW",
    "seal projected": "DEST comes last: bfseal FILE DEST",
}
IMAGES = {
    "inspect --svg": ["bfinspect", "-q", "--svg", DEST, "a"],
    "fold --svg": ["bffold", "--dry-run", "--svg", DEST, "a"],
}
LARGE = {
    "create": ["bfcreate", "-m", "32M", DEST, "keys"],
    "create live": ["bfcreate", "--live", "--allow-empty", "-m", "32M", DEST],
    "merge": ["bfmerge", "--discard", DEST, "large", "large2"],
    "intersect": ["bfmerge", "--discard", "--intersect", DEST, "large", "large2"],
    "fold": ["bffold", "--discard", "--factor", 2, "large", DEST],
    "seal": ["bfseal", "--discard", "large", DEST],
    "patch": ["bfdelta", "--apply", "--discard", "large", "large.patch", DEST],
}
# Commands that can write to standard output, each with its word for a source that is also the output.
PIPED = {"create": "", "merge": "one of the filters", "intersect": "one of the filters",
         "fold": "the filter to fold", "seal": "the filter to seal",
         "patch": "the filter to change"}

NOT_MADE = ("folder", "folder/", "folder/.", ".", "..", "/", "new/", "fifo", "link to fifo", "/dev/null",
            "/dev/full", "/dev/zero", "/dev/stdin", "circle", "no/such", "keys/new", "x" * 256,
            "x/" * 2100 + "new")


def with_dest(command, dest, *more):
    """The command with its options. --discard is left out without --force."""
    tool, *words = command
    words = [word for word in words if word != "--discard" or {"-f", "-qf"} & {*more}]
    return [tool, *more, *(dest if word is DEST else word for word in words)]


class TargetTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("keys", lines(*KEYS))
        self.write("old", OLD)
        for name, keys in ("a", KEYS[::2]), ("b", KEYS[1::2]):
            self.create("-q", "-k", 5, "-m", 512 * 60, "-p", 0.05, "-n", 3000, stdin=lines(*keys), name=name)
        self.output("bfdelta", "-q", "a", "b", "a-b.patch")
        self.create_live("-n", 3000)
        self.output("bfadd", "-q", "live", "keys")
        self.create("-q", "-l", "counting", "-n", 3000, "keys", name="counts")

    def make_large(self):
        for name in "large", "large2":
            self.create("-q", "-m", "32M", "-n", "1M", "keys", name=name)
        self.output("bfdelta", "-q", "large", "large2", "large.patch")

    def each(self, check, *tables):
        """Calls `check` with each command of the tables and its name."""
        for table in tables:
            for name, command in table.items():
                with self.subTest(name):
                    check(name, command)

    def refused(self, command, dest, says, forces=((), ("-f",)), **options):
        for force in forces:
            message = self.trouble(*with_dest(command, dest, *force), **options)
            self.assertIn(says, message)
            self.assertEqual(self.read("old"), OLD)


class Names(TargetTest):
    def test_existing_file_is_replaced_only_with_force(self):
        def check(name, command):
            for dest in "old", "./old":
                lost = "is not one of the sources" if command[0] == "bfmerge" else "may have keys that "
                self.refused(command, dest, f"cannot replace {dest}: it {lost}" if "--discard" in command
                             else f"{dest}: File exists (write to another file; --force would overwrite this file)" if name in FILTERS
                             else f"cannot write {dest}: it is a filter (write to another file)", [()])
            if name in IMAGES:
                self.refused(command, "old", "cannot write old: it is a filter", [("-f",)])
                self.write("old", b"<svg />")
                self.assertIn("cannot write old: it exists (write to another file; --force would overwrite this file)",
                              self.trouble(*with_dest(command, "old")))
            self.assertEqual(self.run_tool(*with_dest(command, "old", "-f")).returncode, 0)
            self.assertNotEqual(self.read("old"), OLD)
            if name in FILTERS:
                verify = [] if name == "create live" else ["--verify"]
                self.output("bfinspect", "-q", *verify, "old")
            self.write("old", OLD)

        self.each(check, FILTERS, IMAGES)

    def test_replaced_file_keeps_its_rights(self):
        def check(_, command):
            for mode in 0o600, 0o640:
                for name in "old", "link":
                    self.write("old", b"")
                    (self.folder / "old").chmod(mode)
                    self.output(*with_dest(command, name, "-qf"))
                    self.assertGreater(len(self.read("old")), 0)
                    self.assertEqual((self.folder / "old").stat().st_mode & 0o777, mode)

        (self.folder / "link").symlink_to("old")
        self.each(check, {"embedded": ["bfcreate", "--embedded", DEST, "keys"]}, FILTERS, IMAGES)

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_file_system_without_hard_links_is_reported(self):
        """Only a hard link makes sure that a new file does not replace another file."""
        def check(_, command):
            self.refused(command, "new", "cannot create new: Operation not permitted (if the file system has no hard links, add --force)\n", [()],
                         env={"LD_PRELOAD": os.environ["STOPPING_DISK"], "LACKS_LINKS": "1"})

        self.each(check, FILTERS)

    def test_force_replaces_filters_only(self):
        """A list of keys, given in place of DEST by mistake, must not be lost."""
        damaged = craft.flip(self.read("a"), 40), self.read("a")[:-1], OLD[:16]

        def check(name, command):
            for mine in b"a\nb\n", OLD[1:], OLD[:15], OLD[:1], b"x" * 9000:
                self.write("mine", mine)
                for force in [], ["-f"]:
                    self.assertEqual(self.trouble(*with_dest(command, "mine", *force)),
                                     f"{command[0]}: cannot replace mine: it is not a filter ({ORDER[name]})\n")
            for old in b"", *damaged:
                self.write("mine", old)
                self.output(*with_dest(command, "mine", "-q", "-f"))
                self.assertEqual(self.inspected("mine")["faults"], [])
            (self.folder / "mine").chmod(0)
            self.trouble(*with_dest(command, "mine", "-f"), before=UNPRIVILEGED,
                         names=["cannot replace mine: Permission denied"])
            (self.folder / "mine").unlink()

        self.each(check, FILTERS)

    @unittest.skipUnless(works(*NAMESPACE, "mount", "--bind", "/etc", "/etc"), "no mounts can be had here")
    def test_a_mount_point_is_not_replaced(self):
        mounted = [*NAMESPACE, "sh", "-c", 'mount --bind old mounted && exec "$@"', "sh"]
        self.write("mounted", b"")

        def check(name, command):
            self.refused(command, "mounted", "cannot replace mounted: it is a mount point (mount the folder of the"
                         " file, or replace the file outside the mount)\n", [["-f"]], before=mounted)

        self.each(check, FILTERS)

    def test_swapped_operands_name_the_filter(self):
        """The list of keys must not be lost, even if the advice is followed."""
        self.write("mine", lines(*KEYS))
        for words in (["bfcreate", "mine", "new.bloom"], ["bfcreate", "-f", "mine", "a"], ["bfadd", "mine", "live"],
                      ["bfquery", "mine", "a"], ["bfquery", "mine", "no-such"]):
            self.assertIn(f"(the filter comes first: {words[0]} FILE KEYFILE...)\n",
                          self.trouble(*words, names=["mine: "]))
        self.assertNotIn("comes first", self.trouble("bfquery", "--filter", "mine", "keys"))
        self.assertIn("(PATCH comes last: bfdelta OLD NEW PATCH)", self.trouble("bfdelta", "-f", "a", "b", "mine"))

    def test_an_image_does_not_replace_another_file(self):
        def check(_, command):
            for mine in lines(*KEYS), b"x", b"<html>\n", bytes(9), b"\x89PNG\r\n\x1a\n":
                self.write("mine", mine)
                for force in [], ["-f"]:
                    self.assertIn("cannot write mine: it is not an SVG image (write to another file)\n",
                                  self.trouble(*with_dest(command, "mine", *force)))
            for mine in b"", b"<svg/>", b"<?xml version='1.0'?>":
                self.write("mine", mine)
                self.output(*with_dest(command, "mine", "-f"))

        self.each(check, IMAGES)

    def test_no_remedy_loses_a_file(self):
        """No remedy may remove, empty or truncate a file, or replace a file that has keys."""
        literal = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*PRI\w+\s*"((?:[^"\\]|\\.)*)")?')
        for path in (SOURCE_ROOT / "tools").rglob("*.c"):
            joined = re.sub(r'"\s*\n\s*"', "", path.read_text())
            for text in literal.findall(joined):
                self.assertNotRegex("".join(text), r"\(remove (?!the other link)|remove (it|them|all)\b|\brm |truncate |end them first|"
                                    r"(force|empty|discard) replaces (it|this)\)|begin anew", path)

    def test_file_that_appears_during_the_run_is_kept(self):
        process = self.start("bfcreate", "-q", "-f", "new")
        self.feed(process, "a")
        self.until_read(process)
        self.write("new", b"a\nb\n")
        self.assertIn(b"cannot replace new: it is not a filter (", self.result(process)[2])
        self.assertEqual(self.read("new"), b"a\nb\n")
        (self.folder / "new").unlink()
        process = self.start("bfmerge", "-q", "-f", "new", "-")
        image = self.read("a")
        self.write_to(process, image[:100])
        self.write("new", b"a\nb\n")
        self.assertIn(b"cannot replace new: it is not a filter (", self.result(process, image[100:])[2])
        self.assertEqual(self.read("new"), b"a\nb\n")

    def test_a_refused_fold_draws_nothing(self):
        for words in ["--factor", 7777], ["--max-bytes", 1]:
            self.trouble("bffold", "--svg", "image", *words, "a", "new")
            self.assertFalse((self.folder / "image").exists(), words)

    def test_name_of_a_future_layer_is_refused(self):
        """The series could no longer be opened."""
        self.create_live("--grow", "-n", 1000, name="grows")

        def check(name, command):
            self.refused(command, "grows.1", "grows.1: the series grows needs that name for a layer (choose another name)\n", [()] if name == "repeated" else [(), ("-f",)])

        self.each(check, FILTERS, IMAGES, {"repeated": ["bfuniq", "--repeated-to", DEST, "keys"]})

    def test_a_source_is_not_replaced_without_force(self):
        (self.folder / "link").symlink_to("live")
        os.link(self.folder / "live", self.folder / "hard")
        for name, says in (("merge", "add --force: it is also a source, so its keys are kept"),
                           ("intersect", "write to another file; --force would overwrite this file"),
                           ("fold", "add --force: a has all its keys")):
            for dest in "a", "./a":
                self.refused(FILTERS[name], dest, f"File exists ({says})", [()], names=[dest])
        for dest in "live", "./live", "link", "hard":
            self.refused(FILTERS["seal"], dest, "it is the filter to seal", names=[dest])

    def test_folders_pipes_and_link_loops_are_refused(self):
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "fifo")
        for name, to in ("link to fifo", "fifo"), ("circle", "circle2"), ("circle2", "circle"):
            (self.folder / name).symlink_to(to)

        def check(_, command):
            for dest in "", *NOT_MADE:
                self.refused(command, dest, dest[:100])

        self.each(check, FILTERS)
        for name, command in IMAGES.items():
            for dest in "folder", "no/such", "keys/new":
                self.refused(command, dest, dest)
        self.assertTrue(os.path.exists("/dev/null") and not os.path.isfile("/dev/null"))

    @needs(*UNPRIVILEGED)
    def test_missing_permissions_are_reported(self):
        def check(_, command):
            for name in "sub/new", "sub/old":
                self.refused(command, name, "Permission denied", [["-f"]], names=[name],
                             before=UNPRIVILEGED)
            self.refused(command, "sub/new", "Permission denied", [()], names=["sub/new"],
                         before=UNPRIVILEGED)

        (self.folder / "sub").mkdir()
        self.write("sub/old", OLD)
        for mode in 0o555, 0:
            (self.folder / "sub").chmod(mode)
            self.each(check, FILTERS)
        (self.folder / "sub").chmod(0o700)
        self.assertEqual(self.read("sub/old"), OLD)


class FullDisk(TargetTest):
    def setUp(self):
        super().setUp()
        self.make_large()

    @staticmethod
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    def check_limit(self, **options):
        def check(_, command):
            for dest, force in ("new", []), ("old", ["-f"]):
                self.refused(command, dest, f": cannot create {dest}: File too large", [force],
                             preexec_fn=self.limit, **options)

        self.each(check, LARGE)

    def test_file_size_limit_leaves_the_old_file(self):
        for ignored in True, False:  # Python ignores SIGXFSZ, and a tool may inherit that
            self.check_limit(restore_signals=not ignored)

    @unittest.skipIf(SANITIZED, "the sanitizer needs /proc")
    @needs(*WITHOUT_PROC)
    def test_file_size_limit_leaves_no_named_temporary_file(self):
        self.check_limit(before=WITHOUT_PROC)

    def test_full_disk_leaves_the_old_file(self):
        """Disks of several sizes. An old file must stay unchanged, and a new file must not remain."""
        script = """
            mount -t tmpfs -o size=$0 none disk || exit 77
            [ $1 = - ] || cp old disk/copy; shift
            "$@"; status=$?
            ls -A disk >left; cat disk/* >>left 2>/dev/null
            exit $status"""
        def check(_, command):
            self.output(*with_dest(command, "whole", "-q"))
            just_too_small = len(self.read("whole")) // 4096 * 4 - 4
            (self.folder / "whole").unlink()
            for size, old in (8, "-"), (64, "-"), (64, "old"), (just_too_small, "-"):
                result = self.run_tool(*with_dest(command, "disk/copy", "-f"),
                                       before=[*NAMESPACE, "sh", "-c", script, f"{size}k", old])
                if result.returncode not in (0, 2):
                    self.skipTest("no file system can be mounted here")
                self.assertEqual((result.returncode, result.stdout), (2, b""))
                self.check_message(command[0], result.stderr,
                                   "cannot create disk/copy: No space left on device")
                self.assertEqual(self.read("left"), b"" if old == "-" else b"copy\n" + OLD)

        (self.folder / "disk").mkdir()
        self.each(check, LARGE)


class StandardOutput(TargetTest):
    def each_piped(self, check):
        """The sources are small and large."""
        self.make_large()
        for table in FILTERS, LARGE:
            self.each(lambda _, command: check(with_dest(command, "-")),
                      {name: table[name] for name in PIPED})

    def failed(self, command, says, stdout, **options):
        result = self.run_tool(*command, stdout=stdout, **options)
        self.assertEqual((result.returncode, result.stderr.decode()), (2, f"{command[0]}: cannot write {says}\n"))

    def test_full_standard_output_is_an_error(self):
        def check(command):
            with open("/dev/full", "wb") as full:
                self.failed(command, "to standard output, or to a temporary file in /tmp: No space left on "
                                     "device", full, env={"TMPDIR": "/tmp"})

        self.each_piped(check)

    def test_closed_pipe_is_an_error(self):
        def check(command):
            reading, writing = os.pipe()
            os.close(reading)
            self.failed(command, "the filter to standard output: Broken pipe", writing)
            os.close(writing)

        self.each_piped(check)

    def test_closed_or_read_only_standard_output_is_an_error(self):
        """The error is detected before any key is read."""
        def check(command):
            says = "to standard output: Bad file descriptor"
            before = self.snapshot()
            self.failed(command, says, None, preexec_fn=lambda: os.close(1))
            with open("/dev/null", "rb") as null:
                self.failed(command, says, null)
            self.assertEqual(self.snapshot(), before)

        self.each_piped(check)

    def test_output_that_is_the_source_is_refused(self):
        for name, says in PIPED.items():
            source = {"create": "keys", "seal": "live"}.get(name, "a")
            sources = ["-"] if name == "create" else ["b", "-"]
            commands = [with_dest(FILTERS[name], "-")]
            if name not in ("seal", "fold", "patch"):
                commands.append([*commands[0][:1], "-", *sources])
            for command in commands:
                with open(self.folder / source, "ab") as same, open(self.folder / source, "rb") as stdin:
                    message = self.trouble(*command, stdin=stdin, stdout=same, out=None)
                self.assertIn(f"cannot write to standard output: it is {says}" if says else
                              "it is also the output", message)


class Interrupted(TargetTest):
    """At each call that syncs or renames: the old file or the complete new file exists, and no other file."""

    def names(self):
        """The names in the folder, without the temporary name that a file may have before it replaces another file."""
        return [name for name in self.snapshot() if not name.startswith(".bloomfile.")]

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_signal_leaves_the_old_file_or_the_new(self):
        def check(name, command):
            words = with_dest(command, "new", "-q", "-f")
            self.output(*words)
            whole, names = self.read("new"), self.names()
            for number in signal.SIGINT, signal.SIGKILL, signal.SIGTERM:
                left = set()
                for at in range(100):
                    self.write("new", OLD)
                    process = self.stopped_at(at, lambda **environment: self.start(*words, env=environment))
                    if process is None:
                        break
                    process.send_signal(number)
                    process.send_signal(signal.SIGCONT)
                    status = self.result(process)[0]
                    self.assertIn(status, (0, -number))
                    left.add(self.read("new"))
                    self.assertIn(self.read("new"), [whole] if status == 0 else [OLD, whole])
                    self.assertEqual(self.names(), names)
                self.assertEqual(self.read("new"), whole)
                self.assertIn(OLD if number == signal.SIGKILL else whole, left)

        self.make_large()
        self.each(check, {name: LARGE[name] for name in ("merge", "fold", "patch")},
                  {"seal": ["bfseal", "--discard", "live", DEST]})
        self.assertEqual(self.inspected("live")["verdict"], "live, clean")


if __name__ == "__main__":
    main()
