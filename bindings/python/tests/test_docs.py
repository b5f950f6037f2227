# SPDX-License-Identifier: MIT
"""README.md and TUTORIAL.md of bindings/python: the examples print the shown output, and the tutorial's program loses no
line when its processes are killed."""

import collections
import doctest
import importlib.util
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import SANITIZED

PYTHON = pathlib.Path(__file__).resolve().parent.parent


def blocks(text):
    """Yields each code block with its language."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)


def program(text):
    """Returns the block whose first line is a comment with its name, and the name."""
    return next((match[1], code) for language, code in blocks(text) if language == "python"
                for match in [re.match(r"# (\w+\.py): ", code)])


class Docs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.folder = pathlib.Path(folder.name)

    def sh(self, command):
        path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, env={**os.environ, "LC_ALL": "C.UTF-8", "PATH": path}).stdout

    def check(self, name):
        """Runs all blocks in order in one folder. Returns the number of commands."""
        text = (PYTHON / name).read_text(encoding="utf-8")
        names, count = {}, 0
        missing = {module for module in ("numpy", "pandas", "polars", "duckdb") if not importlib.util.find_spec(module)}
        runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
        for language, block in blocks(text):
            if language == "console":
                for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                    command, _, printed = part.partition("\n")
                    self.assertEqual(self.sh(command), printed, command)
                    count += 1
            elif language == "pycon" and missing & set(re.findall(r"\w+", block)):
                print(f"{name}: without {sorted(missing)}, a block is left out")
                missing |= set(re.findall(r"^>>> (\w+) = ", block, re.MULTILINE))
            elif language == "pycon":
                test = doctest.DocTestParser().get_doctest(block, names, name, name, 0)
                result = runner.run(test, clear_globs=False)
                self.assertEqual(result.failed, 0, f"{name}: see above")
                names, count = test.globs, count + result.attempted
        for value in names.values():
            if hasattr(value, "close"):
                value.close()
        return count

    def test_readme_examples_run(self):
        self.assertGreater(self.check("README.md"), 20)

    @unittest.skipUnless((PYTHON.parent.parent / "format-spec.md").exists(), "apart from the project")
    def test_example_of_the_project_readme_runs(self):
        code = dict(blocks((PYTHON.parent.parent / "README.md").read_text(encoding="utf-8")))["python"]
        pathlib.Path("fruit.py").write_text(code, encoding="utf-8")
        self.assertEqual(self.sh("python3 fruit.py"), "".join(f"{line}\n" for line in re.findall(r"^ +print\(.*?# (.*)$", code, re.M)))

    def test_tutorial_runs(self):
        name, code = program((PYTHON / "TUTORIAL.md").read_text(encoding="utf-8"))
        pathlib.Path(name).write_text(code, encoding="utf-8")
        self.assertGreater(self.check("TUTORIAL.md"), 8)

    def test_shards_of_equal_names_in_two_folders_are_distinct(self):
        name, code = program((PYTHON / "TUTORIAL.md").read_text(encoding="utf-8"))
        pathlib.Path(name).write_text(code.replace("fpr=0.0001", "fpr=1e-9"), encoding="utf-8")
        lines = {"jan/00000": 1, "feb/00000": 2, "seen.bloom": 3, "jan%2F00000": 4, "a b/\xe4.1": 5, "plain.part": 6}
        for shard, number in lines.items():
            pathlib.Path(shard).parent.mkdir(exist_ok=True)
            pathlib.Path(shard).write_text("".join(f"{number} {i}\n" for i in range(500)), encoding="ascii")
        words = " ".join(f"'{shard}'" for shard in lines)
        for again in range(2):
            pathlib.Path("kept/running").touch() if again else None
            self.assertEqual(self.sh(f"python3 {name} {words}; echo $?"), "0\n")
            kept = [line for text in pathlib.Path("kept").glob("*.txt") for line in text.read_text().splitlines()]
            self.assertEqual(len(kept), 3000)
            self.assertEqual(len(set(kept)), 3000)
        self.assertIn("named twice", self.sh(f"python3 {name} feb/00000 ./feb/00000"))
        later = time.time() + 10
        os.utime("feb/00000", (later, later))
        self.assertIn("feb/00000 is newer than what was kept of it", self.sh(f"python3 {name} {words}"))

    @unittest.skipUnless((PYTHON.parent.parent / "format-spec.md").exists(), "apart from the project")
    def test_relative_links_lead_to_files(self):
        for name in "README.md", "TUTORIAL.md":
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (PYTHON / name).read_text(encoding="utf-8")):
                self.assertTrue((PYTHON / target).exists(), target)

    def kill(self, pid):
        """Kills a process of this test: another process may have its number by now."""
        try:
            if os.readlink(f"/proc/{pid}/cwd") == os.getcwd():
                os.kill(pid, signal.SIGKILL)
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            pass

    @unittest.skipIf(SANITIZED, "nothing is written in C here that other tests have not")
    def test_killed_tutorial_runs_lose_no_line(self):
        """Each run ends by the death of a process. Its workers may continue into the next run."""
        name, code = program((PYTHON / "TUTORIAL.md").read_text(encoding="utf-8"))
        for old, new in (("fpr=0.0001", "fpr=1e-9"), ("capacity=100_000", "capacity=1000"), ("1 << 20", "1 << 10"),
                         ("os.cpu_count()", "4"), ("seen.add_many(lines))", "pause(seen.add_many(lines)))"),
                         ("import bloomfile", "import time\nimport bloomfile\npause = lambda x: (time.sleep(0.005), x)[1]")):
            self.assertIn(old, code)
            code = code.replace(old, new, 1)
        pathlib.Path(name).write_text(code, encoding="utf-8")
        dice = random.Random(18)
        shards = [[dice.randrange(8000) for _ in range(600)] for _ in range(30)]
        shards = [shard for shard in shards for _ in range(4)]  # neighbours run concurrently
        for number, shard in enumerate(shards):
            pathlib.Path(str(number)).write_text("".join(f"{line}\n" for line in shard), encoding="ascii")
        command = [sys.executable, name, *map(str, range(len(shards)))]
        living = set()
        for turn in range(12):
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as run:
                until = time.monotonic() + dice.uniform(0.1, 0.15)
                while run.poll() is None and (time.monotonic() < until or not any(pathlib.Path("kept").glob("*.part"))):
                    time.sleep(0.001)
                if run.returncode == 0:  # all is done
                    self.assertGreater(turn, 3)
                    break
                children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(encoding="ascii").split()
                living |= set(map(int, children))
                for pid in living if turn % 3 == 0 else dice.sample(sorted(living), min(2, len(living))):
                    living = living - {pid}
                    self.kill(pid)
                run.kill()
        subprocess.run(command, check=True)
        kept = collections.Counter(line for path in pathlib.Path("kept").glob("*.txt")
                                   for line in path.read_text(encoding="ascii").split())
        self.assertEqual([line for line, times in kept.items() if times > 1], [])
        self.assertEqual({int(line) for line in kept}, {line for shard in shards for line in shard})


if __name__ == "__main__":
    unittest.main()
