# SPDX-License-Identifier: MIT
"""bfuniq without options: the filter grows with the lines, in memory and in files."""

import os
import random
import re
import shutil
import signal
import time
import unittest

from support import (NAMESPACE, NO_MEMORY, SANITIZED, TIMEOUT, UNPRIVILEGED, lines, main, needs,
                     numbered)
from uniq import EXACT, UniqTest, first_ones, repeated_ones

COUNT = 20_000 if SANITIZED else 100_000
RATE = ["-p", "1e-9", "-l", "classic"]  # so low that tests do not meet a false positive, at any size
SMALL_DISK = [*NAMESPACE, "sh", "-c", 'mkdir small && mount -t tmpfs -o size=300k none small && { "$@"; }', "sh"]


def mixed(count, different, seed=1):
    choose = random.Random(seed)
    return [b"http://site/%d" % choose.randrange(different) for _ in range(count)]


class InMemory(UniqTest):
    def test_filter_grows_from_any_capacity(self):
        keys = mixed(2 * COUNT, COUNT)
        for first in 1, 100, COUNT // 3:
            for layout in "blocked", "classic":
                words = ["-n", first, "-p", "1e-7", "-l", layout]
                self.assertEqual(self.uniq(*words, stdin=lines(*keys)), first_ones(keys))
                self.assertEqual(self.uniq("-d", *words, stdin=lines(*keys)), repeated_ones(keys))

    def test_growing_filter_keeps_the_rate(self):
        """All layers together keep the rate, however small the first layer was."""
        keys = numbered(COUNT)
        for rate in 0.001, 0.05:
            for first in 1, 1000:
                printed = self.uniq("-n", first, "-p", rate, stdin=lines(*keys, *keys))
                self.assertEqual(len(set(printed)), len(printed))
                lost = COUNT - len(printed)
                self.assertTrue(rate * COUNT / 100 < lost < rate * COUNT, (rate, first, lost))
        self.assertLess(COUNT - len(self.uniq(stdin=lines(*keys))), 5 + COUNT / 5000)

    def test_output_does_not_depend_on_threads(self):
        """False positives are the same too."""
        keys = mixed(4 * COUNT, COUNT)
        for mode in [], ["-d"], ["-c"]:
            outputs = {self.output("bfuniq", "-n", 10, "-p", 0.1, *mode, "-j", threads, stdin=lines(*keys))
                       for threads in (1, 2, 5)}
            self.assertEqual(len(outputs), 1)

    def test_growth_prints_no_warning(self):
        """A fixed filter would warn, since the lines exceed its capacity."""
        for words in [], ["--filter", "seen"]:
            self.output("bfuniq", "-c", "-n", 10, *words, stdin=lines(*numbered(1000)), says=b"")

    @unittest.skipIf(SANITIZED, "the sanitizer takes memory of its own")
    def test_lack_of_memory_ends_the_run_after_complete_lines(self):
        """It stops before the next line, and every line it took is printed."""
        little = ["sh", "-c", 'ulimit -v 24576 && exec "$@"', "sh"]
        keys = numbered(2_200_000)  # twelve layers, the last as large as all layers before
        self.write("keys", lines(*keys))
        result = self.run_tool("bfuniq", "-j1", "-n", 1000, "-p", 1e-7, "keys", before=little)
        self.assertEqual(result.returncode, 2)
        self.check_message("bfuniq", result.stderr, "cannot add to the filter in memory, stopped after ",
                           f"{NO_MEMORY} (keep it in a file: --filter FILE)")
        taken = int(re.search(rb"after (\d+) lines", result.stderr)[1])
        self.assertGreater(taken, 100_000)
        self.assertEqual(result.stdout, lines(*keys[:taken]))


class InFiles(UniqTest):
    WORDS = ["--filter", "seen", "-n", "100", *RATE]

    def test_file_grows_over_several_runs(self):
        keys = mixed(40_000, 20_000)
        printed = []
        for start in range(0, len(keys), 5000):
            printed += self.uniq(*(self.WORDS if start == 0 else self.WORDS[:2]), stdin=lines(*keys[start:start + 5000]))
        self.assertEqual(printed, first_ones(keys))
        self.assertEqual(self.layers(), ["", *(f".{i}" for i in range(1, 8))])
        for i, end in enumerate(self.layers()):
            self.assertEqual(self.of_series("seen" + end, "layer"), i)
            self.check_closed("seen" + end)
        self.assertEqual(self.uniq(*self.WORDS, stdin=lines(*keys)), [])
        self.assertEqual(self.query("seen", stdin=lines(*keys[:100], "absent")), keys[:100])

    def test_each_line_is_printed_by_exactly_one_process(self):
        """Three processes grow the filter, first with the same order of keys, then each with its own order."""
        for number, order in enumerate(["equal", "mixed", "equal"]):
            keys = [b"%d/%d" % (number, i) for i in range(COUNT)]
            processes = []
            for i in range(3):
                if order == "mixed":
                    random.Random(i).shuffle(keys)
                self.write(f"keys {i}", lines(*keys))
                processes.append(self.start(*self.WORDS, "-j", str(1 + i), f"keys {i}"))
            printed = [key for process in processes for key in self.finish(process)]
            self.assertEqual(len(printed), COUNT)
            self.assertEqual(set(printed), set(keys))
        self.assertGreater(len(self.layers()), 9)

    def test_line_seen_in_a_new_layer_is_repeated_for_the_other_process(self):
        one, two = self.start(*self.WORDS), self.start(*self.WORDS)
        keys = numbered(1000)
        for i in range(0, 1000, 50):
            self.take_turn(one, *keys[i:i + 50])
            two.stdin.write(lines(*keys[i:i + 50]))
            self.take_turn(two, b"two %d" % i)
        self.assertEqual([self.finish(one), self.finish(two)], [[], []])
        self.assertGreater(len(self.layers()), 3)

    def test_concurrent_processes_create_and_grow_one_file(self):
        for i in range(10):
            processes = [self.start("--filter", f"seen {i}", "-n", "1", *RATE) for _ in range(3)]
            for process in processes:
                process.stdin.write(lines(*numbered(20)))
            outputs = [self.finish(process) for process in processes]
            self.assertEqual(sorted(sum(outputs, [])), sorted(numbered(20)))

    def test_killed_runs_print_no_line_twice(self):
        """No line is printed twice, and only lines that were being printed are missing."""
        keys = numbered(COUNT * 4)
        self.write("keys", lines(*keys))
        choose = random.Random(3)
        whole, printed, kills = set(keys), [], 12
        words = [*self.WORDS, "-q", "--accept-unclean"]
        for _ in range(kills):
            reader, writer = os.pipe()
            with open(writer, "wb"):  # the input does not end after the file, so the kill always comes before
                with open(self.folder / "out", "wb") as out:
                    process = self.start(*words, "keys", "-", stdin=reader, stdout=out)
                os.close(reader)
                time.sleep(choose.uniform(0.002, 0.15))
                process.kill()
                errors = process.communicate(timeout=TIMEOUT)[1]
            self.assertEqual((process.returncode, errors), (-signal.SIGKILL, b""))
            printed += self.read("out").split(b"\n")[:-1]  # the last line may be cut, and then equal another line
            for path in self.folder.iterdir():
                self.assertRegex(path.name, r"^(keys|out|seen(\.\d+)?|\.bloomfile\..*)$")  # where the temporary file has a name
        printed += self.uniq(*words, "keys")
        self.assertEqual(len(set(printed)), len(printed))
        self.assertGreater(len(printed), len(keys) - 1024 * kills - 1)
        self.assertEqual(self.uniq(*self.WORDS, "-q", "keys"), [])

    def test_fixed_filter_does_not_grow(self):
        """Another program may have made it."""
        self.create_live("-n", 1000)
        self.uniq("--fixed", "--filter", "fixed", "-n", 1000, "-p", 1e-9, stdin=b"a\n")
        for name in "live", "fixed":
            self.assertEqual(len(self.uniq("--filter", name, stdin=lines(*numbered(500)))), 500)
            result = self.run_tool("bfuniq", "-q", "--filter", name, stdin=lines(*numbered(5000)))
            self.assertEqual(result.returncode, 2)
            self.check_message("bfuniq", result.stderr, f"cannot add to {name}, stopped after", "or without --fixed")
            self.assertEqual(self.layers(name), [""])
            self.uniq("-q", "--fixed", "--overfull", "--filter", name, stdin=lines(*numbered(5000)))

    def test_growing_filter_of_bfcreate_grows(self):
        self.create_live("--grow", "-n", 100, "-p", 0.01, name="seen")
        self.assertGreater(len(self.uniq("--filter", "seen", stdin=lines(*numbered(2000)))), 1990)
        self.assertEqual(self.layers(), ["", ".1", ".2", ".3", ".4"])


class Trouble(UniqTest):
    WORDS = InFiles.WORDS

    def stopped(self, keys, *words, **options):
        """The number of lines that were answered, and the result."""
        result = self.run_tool("bfuniq", *self.WORDS, *words, stdin=lines(*keys), **options)
        self.assertEqual(result.returncode, 2)
        self.check_message("bfuniq", result.stderr, "cannot add to seen, stopped after ")
        return int(re.search(rb"after (\d+) lines?: ", result.stderr)[1]), result

    @needs(*NAMESPACE)
    def test_full_disk_marks_only_printed_lines(self):
        """Only printed lines are marked as seen. Once the disk has more room, bfuniq continues."""
        keys = numbered(100_000)  # with a sanitizer too, since fewer keys would fit
        self.write("keys", lines(*keys))
        script = (f'cd small && for i in 1 2; do "$@" --filter seen -j$i -n1000 {" ".join(RATE)} ../keys '
                  '>> ../printed 2>> ../said; echo $? >> ../said; done; rm -f pad; ls; mount -o remount,size=9M .;'
                  f'"$@" --filter seen ../keys >> ../printed')
        result = self.run_tool("bfuniq", before=[*SMALL_DISK, "sh", "-c", script, "sh"])
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        said = self.read("said").decode()
        room = r"No space left on device \(free some disk space; to continue, run it again and append its output with >>\)"
        self.assertRegex(said, rf"\A(bfuniq: cannot add to seen, stopped after \d+ lines: {room}\n2\n){{2}}\Z")
        self.assertEqual(self.read("printed"), lines(*keys))

    @needs(*UNPRIVILEGED)
    def test_read_only_folder_is_an_error(self):
        """In the middle of a batch too, and in every mode."""
        keys = numbered(3000)
        for threads in 1, 4:
            for mode in [], ["-d"], ["-c"]:
                self.uniq(*self.WORDS, stdin=lines(*keys[:50]))
                stream = [*keys[:60], *keys[20:80], *keys]
                self.folder.chmod(0o555)
                taken, result = self.stopped(stream, "-j", threads, *mode, before=UNPRIVILEGED)
                self.folder.chmod(0o755)
                self.assertIn(b"Permission denied (its next layer is a file in the same folder)", result.stderr)
                new = [key for key in first_ones(stream[:taken]) if key not in keys[:50]]
                self.assertEqual(new, keys[50:100])
                repeated = repeated_ones([*keys[:50], *stream[:taken]])
                self.assertEqual(result.stdout, b"" if mode == ["-c"] else lines(*(repeated if mode else new)))
                self.assertEqual(self.query("seen", stdin=lines(*keys)), keys[:100])
                self.assertEqual(self.uniq(*self.WORDS[:2], stdin=lines(*keys)), keys[100:])
                for end in self.layers():
                    (self.folder / f"seen{end}").unlink()

    def test_missing_or_foreign_layers_are_refused(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(2000)))
        self.uniq("--filter", "other", *self.WORDS[2:], stdin=lines(*numbered(2000)))
        self.create_live("-n", 10)
        self.write("text", b"a log\n" * 100)
        for end in self.layers():
            name = f"seen{end}"
            shutil.move(self.folder / name, self.folder / "kept")
            says = "cannot create seen: the series of seen.1 to " if end == "" else f"its layer {name} is missing"
            self.assertIn(says, self.trouble("bfuniq", "--filter", "seen", stdin=b"key 1\n", names=["seen"]))
            for stranger in f"other{end}", "live", "text", "seen.2":
                if end == "" and stranger != "text" or end == ".2" == stranger[4:]:
                    continue
                shutil.copy(self.folder / stranger, self.folder / name)
                self.trouble("bfuniq", "--filter", "seen", stdin=b"key 1\n", names=["cannot use seen"], changes=True)
                (self.folder / name).unlink()
            shutil.move(self.folder / "kept", self.folder / name)
            self.assertEqual(self.uniq("--filter", "seen", stdin=lines(*numbered(2000))), [])
            if end != "":
                self.trouble("bfuniq", "--filter", name, stdin=b"key 1\n", names=[name, "use the first file: seen"])

    def test_existing_file_with_the_name_of_the_next_layer_is_an_error(self):
        keys = numbered(500)
        process = self.start(*self.WORDS)
        self.take_turn(process, *keys[:50])
        self.write("seen.1", b"a log\n")
        out, errors = process.communicate(lines(*keys), timeout=TIMEOUT)
        self.assertEqual((process.returncode, out), (2, lines(*keys[50:100])))
        self.check_message("bfuniq", errors, "cannot add to seen, stopped after 150 lines: its layer seen.1 ")
        self.trouble("bfuniq", *self.WORDS, stdin=lines(*keys), names=["cannot use seen"])
        (self.folder / "seen.1").unlink()
        self.assertEqual(self.uniq(*self.WORDS, stdin=lines(*keys)), keys[100:])

    def test_name_of_a_future_layer_is_refused(self):
        self.output("bfuniq", "--filter", "seen", stdin=b"a\n")
        self.assertEqual(self.trouble("bfuniq", "--filter", "seen.3", stdin=b"b\n"),
                         "bfuniq: cannot create seen.3: the series seen needs that name for a layer (choose another name)\n")
        self.assertEqual(self.output("bfuniq", "--filter", "seen.x", stdin=b"a\n"), b"a\n")

    def test_layers_removed_during_the_run_are_reported(self):
        """Detected at the end, or when the next layer is to be made."""
        for gone in "seen", "seen.1", "seen.2":
            process = self.start(*self.WORDS)
            self.take_turn(process, *numbered(500))
            (self.folder / gone).unlink()
            out, errors = process.communicate(lines(*numbered(600)), timeout=TIMEOUT)
            self.assertEqual((process.returncode, out), (2, lines(*numbered(600)[500:])))
            self.check_message("bfuniq", errors, "seen was removed or replaced during the run")
            for end in self.layers():
                (self.folder / f"seen{end}").unlink()

    def test_contradictory_options_are_refused(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(500)))
        for words, says in ((["-n", 300], "-n 100, not 300"), (["-p", 0.1], "-p 1e-09, not 0.1"),
                            (["-l", "blocked"], "-l classic, not blocked"), (["-s", 1], "-s 0, not 1"),
                            (["--fixed"], "'growing', not '--fixed'")):
            self.trouble("bfuniq", "--filter", "seen", *words, stdin=b"b\n", names=["seen was made ", says],
                         changes=True)
        self.assertEqual(self.uniq(*self.WORDS, stdin=lines(*numbered(501))), [b"key 500"])

    def test_signal_leaves_clean_layers(self):
        process = self.start(*self.WORDS)
        self.take_turn(process, *numbered(500))
        process.terminate()
        self.assertEqual(process.communicate(timeout=TIMEOUT), (b"", b""))
        for end in self.layers():
            self.check_closed("seen" + end)

    def test_layers_get_the_permissions_of_the_first_file(self):
        """They have the permissions of the first file, and not those of the umask."""
        self.uniq(*self.WORDS)
        (self.folder / "seen").chmod(0o662)
        self.uniq(*self.WORDS, stdin=lines(*numbered(500)))
        self.assertEqual({os.stat(self.folder / f"seen{end}").st_mode & 0o777 for end in self.layers()}, {0o662})


if __name__ == "__main__":
    main()
