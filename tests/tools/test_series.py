# SPDX-License-Identifier: MIT
"""Series from end to end: several programs on one series, full disks, kills, and files that are mixed up."""

import os
import re
import shutil
import signal
import subprocess
import unittest

from support import NAMESPACE, SANITIZED, TIMEOUT, UNPRIVILEGED, ToolTest, craft, lines, main, needs, numbered, works

KEYS = numbered(20_000)
MANY = numbered(200_000)
STRANGERS = numbered(20_000, "stranger ")


class SeriesTest(ToolTest):
    def grown(self, name="live", keys=KEYS):
        self.create_live("--grow", "-n", 1000, name=name)
        self.output("bfadd", "-q", name, stdin=lines(*keys))
        return name

    def layers(self, name="live"):
        return sorted(path.name for path in self.folder.glob(f"{name}*"))

    def has_all(self, name, keys=KEYS):
        self.assertEqual(self.query("-v", name, stdin=lines(*keys), status=1), [])

    def reader(self):
        """A bfquery that has opened the filter and read "k", the first byte of its first key."""
        process = self.start("bfquery", "live")
        self.write_to(process, b"k")
        return process

    def message(self, tool, *arguments, **options):
        return self.trouble(tool, *arguments, names=["live"], **options)


class AtOnce(SeriesTest):
    def test_concurrent_programs_grow_a_series_during_queries(self):
        self.create_live("--grow", "-n", 1000)
        parts = [self.write(f"part{i}", lines(*MANY[i::4])) for i in range(4)]
        writers = [self.start("bfadd", "live", part) for part in parts]
        asked = 0
        while any(writer.poll() is None for writer in writers):
            found = self.run_tool("bfquery", "-c", "live", stdin=lines(*MANY))  # it may be empty so far
            self.assertIn((found.returncode, found.stderr), [(0, b""), (1, b"")])
            found = int(found.stdout)
            self.assertGreaterEqual(found, asked)
            asked = found
        for writer in writers:
            self.assertEqual(self.result(writer)[0], 0)
        self.has_all("live", MANY)
        self.assertEqual(self.layers()[:3], ["live", "live.1", "live.2"])
        self.assertLess(len(self.query("live", stdin=lines(*STRANGERS))), 300)
        self.output("bfseal", "-q", "live", "sealed")
        self.has_all("sealed", MANY)

    def test_open_reader_finds_keys_in_later_layers(self):
        self.create_live("--grow", "-n", 100)
        reader = self.reader()
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        status, out, message = self.result(reader, lines(*KEYS)[1:])
        self.assertEqual((status, out, message), (0, lines(*KEYS), b""))

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_bfadd_killed_while_growing_loses_no_key(self):
        """Killed before each sync and each new name. The next bfadd continues, and no synced key is lost."""
        for at in range(40):
            for path in self.folder.glob("live*"):
                path.unlink()
            self.create_live("--grow", "-n", 200)
            self.output("bfadd", "-q", "live", stdin=lines(*KEYS[:150]))
            result = self.run_tool("bfadd", "-q", "--sync", 100, "live", stdin=lines(*KEYS[:2000]),
                                   env={"LD_PRELOAD": os.environ["STOPPING_DISK"],
                                        "STOPS_AT": str(at), "STOPS_BY": "kill"})
            killed = result.returncode == -signal.SIGKILL
            self.assertTrue(killed or result.returncode == 0, result)
            self.has_all("live", KEYS[:150])
            self.output("bfadd", "-q", "live", stdin=lines(*KEYS[:2000]))
            self.has_all("live", KEYS[:2000])
            self.assertEqual(self.inspected("live")["verdict"], "live, clean")
            if not killed:
                break
        self.assertGreater(at, 3)
        self.assertFalse(killed)


class Forgetting(SeriesTest):
    def test_generations_end_by_keys_and_by_time(self):
        self.create_live("--generations", 3, "--every", 1000)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.assertEqual(self.layers(), ["live", "live.1", "live.2"])
        self.assertLess(len(self.query("live", stdin=lines(*KEYS[:16_000]))), 400)
        self.assertGreater(len(self.query("live", stdin=lines(*KEYS[-2000:]))), 1980)
        self.create_live("--generations", 2, "--every", "1s", "-n", 1000, name="timed")
        self.output("bfadd", "-q", "timed", stdin=lines("early"))
        self.assertEqual(self.query("timed", stdin=lines("early")), [b"early"])
        self.until(lambda: self.run_tool("bfadd", "-q", "timed", stdin=lines("late")).returncode == 0
                   and not self.query("-v", "timed", stdin=lines("late"), status=1)
                   and self.run_tool("bfquery", "-q", "timed", stdin=lines("early")).returncode == 1)

    def test_concurrent_programs_rotate_generations_during_queries(self):
        self.create_live("--generations", 3, "--every", 2000)
        parts = [self.write(f"part{i}", lines(*MANY[i::4])) for i in range(4)]
        writers = [self.start("bfadd", "-q", "live", part) for part in parts]
        while any(writer.poll() is None for writer in writers):
            result = self.run_tool("bfquery", "live", stdin=lines(*STRANGERS[:100]))
            self.assertEqual(result.stderr, b"")
            report = self.inspected("live")
            self.assertIsNone(report["error"], report["verdict"])
            self.assertLessEqual(len(report["layers"]), 3)
        for writer in writers:
            self.assertEqual(self.result(writer), (0, b"", b""))
        self.assertEqual(self.layers(), ["live", "live.1", "live.2"])
        self.output("bfseal", "-q", "live", "sealed")
        self.assertEqual(self.inspected("sealed", "--verify")["verdict"], "healthy")

    def test_forgetting_series_never_warns_of_capacity(self):
        self.create_live("--generations", 2, "--every", 100)
        self.assertRegex(self.added("live", stdin=lines(*KEYS)), rb"^20000 keys, \d+ new\n$")


class Files(SeriesTest):
    """Each message names the file at fault."""

    def setUp(self):
        super().setUp()
        self.grown()
        self.grown("other")

    def opened(self, says, *tools, name="live", **options):
        for tool in tools or ("bfquery", "bfadd", "bfseal"):
            more = ["copy"] if tool == "bfseal" else []
            message = self.message(tool, name, *more, stdin=lines("a"), changes=tool == "bfadd",
                                   **options)
            self.assertIn(f"cannot open {name}: {says}", message, tool)

    def put(self, source, target):
        shutil.copyfile(self.folder / source, self.folder / target)

    def test_missing_layer_is_an_error(self):
        for name in self.layers()[1:]:
            (self.folder / name).rename(self.folder / "kept")
            self.opened(f"its layer {name} is missing")
            (self.folder / "kept").rename(self.folder / name)
        self.has_all("live")

    def test_foreign_or_misplaced_layer_is_an_error(self):
        kept = self.read("live.2")
        self.put("other.2", "live.2")
        self.opened("its layer live.2 belongs to another series")
        self.put("live.3", "live.2")
        self.opened("its layer live.2 is layer 3, not 2")
        self.write("live.2", b"no filter")
        self.opened("its layer live.2 cannot be used: ")
        self.write("live.2", kept)
        last = f"live.{len(self.layers())}"
        self.create_live("-n", 10, name="one")
        (self.folder / "one").rename(self.folder / last)
        self.opened(f"its layer {last} is a separate filter")
        (self.folder / last).unlink()
        self.has_all("live")

    def test_older_copy_of_a_layer_is_an_error(self):
        self.create_live("--grow", "-n", 1000, name="new")
        self.put("new", "old")
        self.output("bfadd", "-q", "new", stdin=lines(*KEYS))
        self.put("old", "new")
        message = self.trouble("bfquery", "new", stdin=lines("a"), names=["new"])
        self.assertIn("its layer new is an older copy", message)

    def test_older_copy_is_an_error_after_a_killed_writer(self):
        """The keys in the next layer are not counted in a record."""
        for name, options in {"new": ["--grow", "-n", 1000], "ring": ["--generations", 3, "--every", 1000]}.items():
            self.create_live(*options, name=name)
            self.output("bfadd", "-q", name, stdin=lines(*KEYS[:900]))
            self.put(name, "old")
            writer = self.start("bfadd", "-q", name)
            self.feed(writer, *KEYS[900:1500])
            self.wait_for_key(name, KEYS[1499], writer)
            writer.kill()
            writer.wait(TIMEOUT)
            self.put("old", name)
            message = self.trouble("bfquery", name, stdin=lines("a"), names=[name])
            self.assertIn(f"its layer {name} is an older copy", message)

    def test_layer_named_alone_is_refused(self):
        self.opened("it is only layer 3 of a series of files (use the first file: live)", name="live.3")

    def test_series_opens_through_a_symbolic_link(self):
        (self.folder / "link").symlink_to("live")
        self.has_all("link")
        (self.folder / "live.2").unlink()
        self.opened(f"its layer {self.folder.resolve()}/live.2 is missing", name="link")

    def test_older_copy_of_a_generation_is_an_error(self):
        self.create_live("--generations", 3, "--every", 500, name="ring")
        self.output("bfadd", "-q", "ring", stdin=lines(*KEYS[:1400]))
        self.put("ring.1", "old")
        self.output("bfadd", "-q", "ring", stdin=lines(*KEYS))
        kept = self.read("ring.1")
        (self.folder / "ring.1").unlink()
        self.assertIn("its layer ring.1 is missing",
                      self.trouble("bfquery", "ring", stdin=lines("a")))
        self.put("old", "ring.1")
        self.assertRegex(self.trouble("bfquery", "ring", stdin=lines("a")),
                         r"its layer ring\.1 is layer 1, not \d+")
        self.write("ring.1", kept)
        self.query("ring", stdin=lines(*KEYS[-1:]))

    def test_series_is_not_replaced_even_with_force(self):
        for words in (["live"], ["--live", "-n", 10, "live"], ["--live", "--grow", "live"]):
            for force in [], ["-f"]:
                message = self.message("bfcreate", *force, *words, stdin=lines("a"))
                self.assertIn("a series of files, live and live.1 to live.4, whose keys would be lost (write to another file)", message)
        self.create("-q", name="one", stdin=lines("a"))
        for tool, words in ("bfseal", ["-f", "other", "live.2"]), ("bfmerge", ["-f", "live.2", "one"]):
            self.assertIn("cannot replace live.2: it is layer 2 of a series of files",
                          self.trouble(tool, *words))

    def test_existing_file_with_the_name_of_a_layer_prevents_creation(self):
        (self.folder / "live").unlink()
        message = self.message("bfcreate", "--live", "--grow", "live")
        self.assertIn("the series of live.1 to live.4 needs that name for its first file (restore or repair", message)
        self.write("live.1", b"a log\n")
        message = self.message("bfcreate", "--live", "--grow", "live")
        self.assertIn("live.1 to live.4 exists, and later layers need that name (write to another file)", message)

    def writers_refuse(self, name, says):
        """Each tool that writes files refuses this name, with or without --force."""
        self.create("-q", name="one", stdin=lines("a"))
        force, discard = ["-f", "--allow-empty"], ["-f", "--discard"]
        for tool, *words in (["bfcreate"], ["bfcreate", *force], ["bfcreate", "--live", "-n", 100],
                             ["bfcreate", "--live", *force, "-n", 100], ["bfcreate", "--live", "--grow"],
                             ["bfcreate", "--live", *force, "--grow"]):
            self.assertRegex(self.trouble(tool, *words, name, stdin=lines("a")), says)
        for options in [], discard:
            for tool, *words in ["bfmerge", name, "one"], ["bfseal", "one", name], ["bffold", "one", name]:
                self.assertRegex(self.trouble(tool, *options, *words), says)
        for tool, *words in ["bfcreate", "--report", name, "new"], ["bfuniq", "--repeated-to", name]:
            self.assertRegex(self.trouble(tool, *words, stdin=lines("a")), f"{says}|it is a filter")
        self.trouble("bfuniq", "--filter", name, stdin=lines("a"))
        (self.folder / "one").unlink()

    def test_damaged_or_missing_first_file_is_not_replaced(self):
        """A new file would hide the keys of the later layers."""
        whole = self.read("live")
        for damaged in craft.flip(whole, 200), craft.flip(whole, 0), whole[:100], b"", None:
            if damaged is None:
                (self.folder / "live").unlink()
            else:
                self.write("live", damaged)
            self.writers_refuse("live", r"the series of live\.1 to live\.4 needs that name for its first file"
                                        r" \(restore or repair|it is not a filter")
        second = self.read("live.1")
        self.write("live.1", craft.flip(second, 200))
        self.assertIn("cannot check whether live.1 is a layer of a series: the header is damaged",
                      self.trouble("bfcreate", "live", stdin=b"a\n"))
        self.write("live.1", second)
        self.create("-q", stdin=b"a\n", name="single")
        for content in b"", None:
            if content is None:
                (self.folder / "live").unlink()
            else:
                self.write("live", content)
            self.assertIn("needs that name for its first file", self.trouble("bfinspect", "-f", "--svg", "live", "single"))
        self.write("live", whole)
        self.has_all("live")

    @needs(*UNPRIVILEGED)
    def test_unreadable_file_counts_as_a_layer(self):
        """A new file could hide its keys."""
        def refused(name, unreadable):
            (self.folder / unreadable).chmod(0)
            message = self.trouble("bfcreate", "-f", name, stdin=lines("a"), before=UNPRIVILEGED)
            self.assertIn(f": cannot check whether {unreadable} is a layer of a series: Permission denied (write to", message)
            (self.folder / unreadable).chmod(0o644)
        whole = self.read("live")
        refused("live", "live")
        refused("live.9", "live")
        for content in craft.flip(whole, 200), b"", None:
            if content is None:
                (self.folder / "live").unlink()
            else:
                self.write("live", content)
            refused("live", "live.1")
            refused("live.9", "live.1")
        second = self.folder / "live.1"
        (self.folder / "far").mkdir()
        shutil.move(second, self.folder / "far" / "1")
        second.symlink_to("far/1")
        (self.folder / "far").chmod(0)
        message = self.trouble("bfcreate", "live", stdin=lines("a"), before=UNPRIVILEGED)
        self.assertIn("cannot check whether live.1 is a layer of a series: Permission denied", message)
        (self.folder / "far").chmod(0o755)
        shutil.move(self.folder / "far" / "1", second)
        refused("live.1", "live.1")
        self.write("live", whole)
        self.has_all("live")

    def test_intact_filter_in_place_of_the_first_file_is_replaced(self):
        """No key of the old layers can be found any more."""
        self.output("bfseal", "-q", "live", "sealed")
        self.create_live("-n", 100, name="one")
        for name in "sealed", "one":
            shutil.move(self.folder / name, self.folder / "live")
            self.create("-qf", stdin=lines("a"), name="live")
            self.assertEqual(self.query("live", stdin=lines("a")), [b"a"])
        self.output("bfcreate", "-q", "live.9", stdin=lines("a"))

    def test_damaged_later_layer_is_not_replaced(self):
        """Not even if the first file is damaged or missing too."""
        first, whole = self.read("live"), self.read("live.2")
        for damaged in craft.flip(whole, 200), craft.flip(whole, 0), b"":
            self.write("live.2", damaged)
            for base in first, craft.flip(first, 200), None:
                if base is None:
                    (self.folder / "live").unlink()
                else:
                    self.write("live", base)
                self.writers_refuse("live.2", "the series live needs that name for a layer|it is not a filter")
        self.write("live", first)
        self.write("live.2", whole)
        self.has_all("live")

    def test_damaged_layer_is_not_replaced_through_a_symbolic_link(self):
        self.write("live.2", craft.flip(self.read("live.2"), 200))
        (self.folder / "link").symlink_to("live.2")
        self.writers_refuse("link", "the series .*/live needs that name for a layer")
        (self.folder / "link").unlink()
        (self.folder / "far").mkdir()
        self.put("live.2", "far/2")
        (self.folder / "live.2").unlink()
        (self.folder / "live.2").symlink_to("far/2")
        self.writers_refuse("live.2", "the series live needs that name for a layer")

    def test_layers_have_no_names_next_to_a_symbolic_link(self):
        """They are stored next to its target."""
        (self.folder / "far").mkdir()
        for name in self.layers():
            shutil.move(self.folder / name, self.folder / "far" / name)
        (self.folder / "live").symlink_to("far/live")
        self.create("-q", stdin=lines("a"), name="live.9")
        self.output("bfuniq", "--filter", "live", "--report", "live.8", stdin=lines("a"))
        self.has_all("live")
        for words in ["bfcreate", "-f", "far/live.9"], ["bfuniq", "--filter", "live", "--report", "far/live.8"]:
            self.assertIn("needs that name", self.trouble(*words, stdin=lines("a")))

    def test_missing_first_file_is_an_error(self):
        (self.folder / "live").rename(self.folder / "away")
        for tool in "bfquery", "bfadd", "bfseal":
            self.assertIn("cannot open live: it is missing: the first file of the series of live.1"
                          " (restore it", self.message(tool, "live", stdin=lines("a")))

    def test_other_files_never_take_the_name_of_a_layer(self):
        for tool, words in ("bfseal", ["live", "live.5"]), ("bfcreate", ["live.7"]), (
                "bfcreate", ["--live", "-n", 10, "live.999"]):
            self.assertIn("the series live needs that name",
                          self.message(tool, *words, stdin=lines("a")))
        self.create_live("--generations", 3, "--every", 500, name="ring")
        self.assertIn("needs that name", self.trouble("bfseal", "ring", "ring.2"))
        for name in "ring.3", "live.01", "live.x", "live.1000", "none.1":
            self.output("bfseal", "-q", "live", name)

    def test_operations_on_single_filters_are_refused(self):
        self.create("-q", name="one", stdin=lines("a"))
        self.output("bfseal", "-q", "live", "sealed")
        both = self.read("one") + self.read("sealed")
        for name in "live", "sealed":
            for tool, words in (("bffold", [name, "new"]), ("bffold", ["--dry-run", name]),
                                ("bfmerge", ["new", name]), ("bfmerge", ["new", "one", name])):
                message = self.trouble(tool, *words, names=[name])
                self.assertIn(f"{name}: it is a series of layers", message)
                self.assertRegex(message, "bfcreate.*bfseal")
        message = self.trouble("bfmerge", "new", "-", stdin=both)
        self.assertIn("cannot merge standard input, filter 2: it is a series", message)
        message = self.trouble("bfmerge", "new", "-", stdin=both[:-1])
        self.assertIn("filter 2, which begins at byte", message)
        self.assertIn("sealed is a series of layers, and one is one filter (copy one instead)",
                      self.trouble("bfdelta", "sealed", "one", "patch"))
        self.trouble("bfadd", "--remove", "live", stdin=lines("a"), changes=True)
        self.trouble("bfseal", "--project", "live", "new")
        self.assertIn("it is the filter to seal (name another file)", self.trouble("bfseal", "-f", "live", "live"))

    def test_truncated_or_mixed_sealed_series_is_refused(self):
        self.output("bfseal", "-q", "live", "sealed")
        self.output("bfseal", "-q", "other", "twin")
        image, twin = self.read("sealed"), self.read("twin")
        first = 3 * 4096  # layers begin on page boundaries
        for bad, says in ((image[:-1], "the file is truncated"),
                          (image[first:], "it begins with layer 1 of a sealed series"),
                          (image[:first + 100] + b"x" + image[first + 101:],
                           f"its layer 1, at byte {first}: "),
                          (image[:first] + self.other_keys(twin)[first:],
                           f"its layer 1, at byte {first}: it was not sealed with")):
            self.write("bad", bad)
            self.assertIn(f"cannot open bad: {says}", self.trouble("bfquery", "bad", stdin=b"a\n"))

    def other_keys(self, like):
        """A sealed series of the same shape, with other keys in its first layer."""
        self.grown("third", numbered(20_000, "third "))
        self.output("bfseal", "-q", "third", "third-sealed")
        self.assertEqual(len(self.read("third-sealed")), len(like))
        return self.read("third-sealed")


MOUNTED = [*NAMESPACE, "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"']


class MountPoints(SeriesTest):
    """A container may get single files, each mounted in another folder."""

    KINDS = {"grows": ["--grow", "-n", 100], "forgets": ["--generations", 3, "--every", 100]}

    def setUp(self):
        super().setUp()
        for name in "outside", "inside":
            (self.folder / name).mkdir()
        self.write("inside/live", b"")
        self.write("inside/live.1", b"")
        if not works(*NAMESPACE, "mount", "--bind", *[self.folder / name / "live.1" for name in ("inside", "inside")]):
            self.skipTest("no mounts can be had here")

    def within(self, source="outside/live", name="inside/live"):
        return [*MOUNTED, source, name]

    def test_series_that_is_a_mount_point_is_not_opened_for_adding(self):  # S14
        (self.folder / "inside/live.1").unlink()
        for name, options in self.KINDS.items():
            with self.subTest(name):
                self.create_live(*options, name="outside/live")
                for tool, more in ("bfadd", ["inside/live"]), ("bfuniq", ["--filter", "inside/live"]):
                    result = self.run_tool(tool, *more, stdin=lines(*KEYS[:500]), before=self.within())
                    self.assertEqual((result.returncode, result.stdout), (2, b""))
                    self.assertIn(b"inside/live: it is a mount point, and the other layers of its series are in another"
                                  b" folder (mount that folder, not the file)\n", result.stderr)
                self.assertEqual(self.layers("*side/live"), ["live", "live"])
                self.output("bfadd", "-q", "outside/live", stdin=lines(*KEYS[:200]))
                self.has_all("outside/live", KEYS[:200])
                for path in self.folder.glob("outside/*"):
                    path.unlink()

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_mount_points_are_detected_without_statx(self):
        self.create_live("--grow", "-n", 100, name="outside/live")
        (self.folder / "inside/live.1").unlink()
        (self.folder / "link").symlink_to("inside/live")
        old = {"LD_PRELOAD": os.environ["STOPPING_DISK"], "LACKS_STATX": "1"}
        for name in "inside/live", str(self.folder / "inside/live"), "link":
            result = self.run_tool("bfadd", name, stdin=lines(*KEYS), before=self.within(), env=old)
            self.assertIn(b": it is a mount point", result.stderr)
            self.assertEqual(result.returncode, 2)
        self.output("bfadd", "-q", "outside/live", stdin=lines(*KEYS), env=old)
        self.has_all("outside/live")

    def test_reader_of_a_mounted_first_layer_reports_missing_layers(self):
        (self.folder / "inside/live.1").unlink()
        self.grown("outside/live")
        for tool in "bfquery", "bfseal":
            result = self.run_tool(tool, "inside/live", *["copy"] * (tool == "bfseal"), stdin=lines(*KEYS),
                                   before=self.within())
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertIn(b"inside/live: it is a mount point, and the other layers", result.stderr)

    def test_layer_that_is_a_mount_point_gets_no_successor(self):
        self.grown("outside/live", KEYS[:1500])
        shutil.copyfile(self.folder / "outside/live", self.folder / "inside/live")
        result = self.run_tool("bfadd", "inside/live", stdin=lines(*KEYS),
                               before=self.within("outside/live.1", "inside/live.1"))
        self.assertIn(b"cannot open inside/live: inside/live.1 is a mount point", result.stderr)
        self.assertEqual(self.layers("inside/live"), ["live", "live.1"])

    def test_mount_point_is_not_replaced_by_the_next_layer(self):
        """The file is mounted while a writer has the series open."""
        script = """
            { head -n "$3" keys; until head -n "$3" keys | tail -n 1 | "$2" -q inside/live; do sleep 0.05; done
              touch "$4"; mount --bind "$4" "$4"; tail -n "+$(($3 + 1))" keys; } | "$1" --sync 1 inside/live
        """
        self.write("keys", lines(*KEYS[:1000]))
        tools = [self.command(tool)[0] for tool in ("bfadd", "bfquery")]
        for (name, options), keys, point in zip(self.KINDS.items(), (50, 250), ("inside/live.1", "inside/live")):
            with self.subTest(name):
                for path in self.folder.glob("inside/*"):
                    path.unlink()
                self.create_live(*options, name="inside/live")
                result = subprocess.run([*NAMESPACE, "sh", "-c", script, "sh", *tools, str(keys), point],
                                        cwd=self.folder, env=self.environment(), capture_output=True)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertRegex(result.stderr, rb"cannot add a layer to inside/live: .* is a mount point, .*"
                                                rb" no keys were lost, and the first \d+ keys read")

    def test_single_live_filter_on_a_mount_point_is_filled_and_sealed(self):
        self.create_live("-n", 1000, name="outside/live")
        for tool in "bfadd", "bfseal":
            self.output(tool, "-q", "inside/live", stdin=lines(*KEYS[:100]) if tool == "bfadd" else b"",
                        before=self.within())
        self.has_all("outside/live", KEYS[:100])
        self.assertEqual(self.inspected("outside/live", "--verify")["verdict"], "healthy")


class NoPath(SeriesTest):
    """A folder that cannot be reached by a path: names inside it must still work."""

    def within(self, folder, prefix, hide):
        return [*prefix, "sh", "-c", f'chmod 700 {folder.split("/")[0]} && cd {folder} && {hide} && exec "$@"', "sh"]

    def check(self, folder, within):
        def run(tool, *arguments, **options):
            return self.output(tool, *arguments, before=within, **options)

        for name, options in MountPoints.KINDS.items():
            keys = KEYS if name == "grows" else KEYS[:250]
            run("bfcreate", "--live", *options, name)
            run("bfadd", "-q", name, stdin=lines(*keys))
            self.assertEqual(run("bfquery", name, stdin=lines(*keys)), lines(*keys))
            run("bfseal", "-q", name, f"sealed {name}")
            run("bfcreate", "-q", "-f", "--live", "--allow-empty", "-n", 10, f"sealed {name}")
            run("bfinspect", "-q", name)
            (self.folder / folder).parent.chmod(0o700)
            self.assertIn(f"{name}.2", self.layers(f"{folder}/{name}"))
        run("bfuniq", "-q", "--filter", "seen", "-n", 50, stdin=lines(*KEYS[:200]))
        self.assertEqual(run("bfuniq", "-q", "--filter", "seen", stdin=lines(*KEYS[:200])), b"")

    @needs(*UNPRIVILEGED)
    def test_folder_below_an_unsearchable_folder_works(self):
        (self.folder / "closed/open").mkdir(parents=True)
        self.check("closed/open", self.within("closed/open", UNPRIVILEGED, "chmod 0 .."))

    def test_folder_covered_by_a_mount_works(self):
        """The files with the same names in the folder that covers it stay unchanged."""
        if not works(*NAMESPACE, "mount", "--bind", self.folder, self.folder):
            self.skipTest("no mounts can be had here")
        for name in "below/folder", "above":
            (self.folder / name).mkdir(parents=True)
            self.create_live("-n", 10, name=f"{name}/target")
            (self.folder / name / "link").symlink_to("target")
        for name in *MountPoints.KINDS, "seen":
            self.grown(f"above/{name}", KEYS[:9])
        above = {path: path.read_bytes() for path in self.folder.glob("above/*")}
        within = self.within("below/folder", NAMESPACE, "mount --bind ../../above ../folder")
        self.check("below/folder", within)
        result = self.run_tool("bfcreate", "-q", "--live", "--allow-empty", "-n", 10, "-f", "link", before=within)
        self.assertEqual((result.returncode, result.stderr), (2, b"bfcreate: cannot create link: Permission denied\n"))
        self.assertEqual(above, {path: path.read_bytes() for path in self.folder.glob("above/*")})


class Room(SeriesTest):
    SAYS = "no keys were lost, and the first "

    @unittest.skipUnless(works(*NAMESPACE, "mount", "-t", "tmpfs", "none", "/tmp"),
                         "no file system of its own can be had here")
    def test_full_disk_refuses_adds_and_loses_no_key(self):
        """Adds are refused, nothing is lost, and lookups continue. Once there is room, the series grows again."""
        (self.folder / "disk").mkdir()
        self.write("keys", lines(*MANY))
        script = """
            mount -t tmpfs -o size=200k none disk || exit 77
            "$1" --live --grow -n 1000 disk/live || exit 1
            "$2" -q disk/live keys 2>said; [ $? = 2 ] || exit 2
            read=$(sed 's/.* first \\([0-9]*\\) keys.*/\\1/' said)
            [ "$read" -gt 5000 ] || exit 3
            [ -z "$(head -n "$read" keys | "$3" -v disk/live)" ] || exit 4
            "$2" -q disk/live keys 2>again; [ $? = 2 ] || exit 5
            mount -o remount,size=9m disk || exit 6
            "$2" -q disk/live keys || exit 7
            [ -z "$("$3" -v disk/live keys)" ] || exit 8
            "$4" disk/live sealed
        """
        tools = [self.command(tool)[0] for tool in ("bfcreate", "bfadd", "bfquery", "bfseal")]
        result = subprocess.run([*NAMESPACE, "sh", "-c", script, "sh", *tools], cwd=self.folder,
                                env=self.environment(), capture_output=True)
        self.assertEqual((result.returncode, result.stderr), (0, b""), result)
        for name in "said", "again":
            self.assertRegex(self.read(name).decode(),
                             r"^bfadd: cannot add a layer to disk/live: No space left on"
                             r" device; no keys were lost, and the first \d+ keys read are in it and"
                             r" on disk \(fix this, then add the keys after them\)\n$")
        self.has_all("sealed", MANY)

    @needs(*UNPRIVILEGED)
    def test_read_only_folder_refuses_adds_and_loses_no_key(self):
        self.create_live("--grow", "-n", 3000)
        self.folder.chmod(0o555)
        message = self.message("bfadd", "live", stdin=lines(*KEYS), before=UNPRIVILEGED,
                               changes=True)
        self.assertIn("cannot add a layer to live: Permission denied", message)
        read = int(re.search(f"{self.SAYS}(\\d+) keys read are in it", message)[1])
        self.assertTrue(3000 <= read < 3100, read)
        self.has_all("live", KEYS[:read])
        self.assertEqual(self.inspected("live")["verdict"], "live, clean")
        self.folder.chmod(0o755)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.has_all("live")

    @needs(*UNPRIVILEGED)
    def test_layer_without_permissions_is_an_error(self):
        self.grown()
        for mode, says in (0, "its layer live.2 cannot be used: Permission denied"), (
                0o444, "its layer live.2 cannot be written: Permission denied"):
            (self.folder / "live.2").chmod(mode)
            self.assertIn(f"cannot open live: {says}",
                          self.message("bfadd", "live", stdin=lines("a"), before=UNPRIVILEGED))
        self.assertEqual(self.query("live", stdin=lines(*KEYS), before=UNPRIVILEGED), KEYS)

    def test_file_with_the_name_of_the_next_layer_stops_adds(self):
        self.create_live("--grow", "-n", 100)
        writer = self.start("bfadd", "--sync", 1, "live")
        self.feed(writer, *KEYS[:2])
        self.wait_for_key("live", KEYS[1], writer)
        (self.folder / "live.1").mkdir()
        status, out, message = self.result(writer, lines(*KEYS[2:]))
        self.assertEqual((status, out), (2, b""))
        self.assertIn(b"cannot add a layer to live: its layer live.1 cannot be used: Is a"
                      b" directory (restore the right file; if it never existed, move this"
                      b" file away); no keys were lost, and the first 100 keys read", message)
        self.assertIn("its layer live.1 cannot be used", self.message("bfquery", "live", stdin=b"a"))
        (self.folder / "live.1").rmdir()
        self.has_all("live", KEYS[:100])
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.has_all("live")

    def test_dangling_link_with_the_name_of_a_next_layer_stops_adds(self):
        for kind, name in ("grows", "live.1"), ("grows", "live.2"), ("forgets", "live.1"), ("forgets", "live.2"):
            with self.subTest(name, kind=kind):
                self.create_live(*MountPoints.KINDS[kind])
                (self.folder / name).symlink_to("nowhere")
                message = self.message("bfadd", "live", stdin=lines(*KEYS[:1000]), changes=True)
                self.assertIn(f"cannot add a layer to live: its layer {name} is a dangling symbolic link"
                              " (restore its target; if the layer never existed, remove the link); no keys were"
                              " lost", message)
                for path in self.folder.glob("live*"):
                    path.unlink()

    def test_layer_behind_a_dangling_link_is_an_error(self):
        self.grown()
        (self.folder / "live.2").rename(self.folder / "elsewhere")
        (self.folder / "live.2").symlink_to("elsewhere")
        self.has_all("live")
        (self.folder / "elsewhere").rename(self.folder / "away")
        self.assertIn("cannot open live: its layer live.2 is a dangling symbolic link (restore",
                      self.message("bfquery", "live", stdin=lines("a")))

    def test_file_of_a_removed_series_stops_the_growth(self):
        """A file of an older series has the name that the new series needs for its third layer."""
        for name in "live", "other":
            self.create_live("--grow", "-n", 100, name=name)
        self.output("bfadd", "-q", "other", stdin=lines(*KEYS[:500]))
        (self.folder / "other.2").rename(self.folder / "live.2")
        message = self.trouble("bfadd", "live", stdin=lines(*KEYS), changes=True)
        self.assertIn("cannot add a layer to live: its layer live.2 belongs to another series (restore the right file; if it never existed, move this file away); no keys were lost", message)
        self.query("live", stdin=b"", status=1)  # it can still be opened
        (self.folder / "live.2").unlink()
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.has_all("live")

    def test_layer_removed_during_a_query_is_reported(self):
        """Its keys are possibly present, and a message gives the reason."""
        self.create_live("--grow", "-n", 100)
        reader = self.reader()
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS[:300]))
        (self.folder / "live.1").rename(self.folder / "away")
        status, out, message = self.result(reader, lines(*KEYS[:300])[1:])
        self.assertEqual((status, out), (2, lines(*KEYS[:300])))
        self.assertEqual(message, b"bfquery: live: its layer live.1 is missing (restore it, or copy it"
                                  b" too: no other file has its keys): keys looked up since then were"
                                  b" treated as present\n")


if __name__ == "__main__":
    main()
