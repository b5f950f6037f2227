# SPDX-License-Identifier: MIT
"""Two implementations, one format: what C writes Python reads, and the other way round.

The Python implementation, tests/spec/spec_reader.py, was written from format-spec.md alone.
"""

import json
import random
import subprocess
import sys

from support import SOURCE_ROOT, WHOLE, ToolTest, craft, lines, main, once, some

SPEC = SOURCE_ROOT / "format-spec.md"
READER = [sys.executable, "-B", str(craft.READER)]
COMBINATIONS = 60 if WHOLE else 20
LAYOUTS = {"blocked": (512, 20_480), "classic": (1, 30_000), "counting": (1, 30_000),
           "ribbon": (512, 20_480)}


def some_keys(chosen, count):
    """Distinct keys of many lengths, of any bytes except newlines."""
    keys = set()
    while len(keys) < count:
        length = chosen.choice([0, 1, 2, 3, 4, 5, 8, 9, 12, 16, 17, 30, 64, 100, 128, 129, 200, 240,
                                241, 300, 1024, 1025, 1100]) if chosen.random() < 0.3 else 10
        keys.add(chosen.randbytes(length).replace(b"\n", b"\r"))
    return sorted(keys, key=lambda key: chosen.random())


def combinations():
    """Parameters of all kinds, the same in every run."""
    chosen = random.Random(20261121)
    for number in range(COMBINATIONS):
        layout = list(LAYOUTS)[number % len(LAYOUTS)]
        unit, most = LAYOUTS[layout]
        m = unit if number % 13 == 0 else unit * chosen.randint(1, most // unit)
        count = ((0, 1, 2, 2000)[number // len(LAYOUTS) % 4] if number % 5 == 0
                 else chosen.randint(0, 500))
        k = chosen.choice([1, 2, 3, 6, 7, 13, 64]) if layout != "ribbon" else 0
        yield {"layout": layout, "m": m, "k": k,
               "seed": chosen.choice([0, 0, 1, 2**64 - 1, chosen.getrandbits(64)]),
               "capacity": chosen.choice([None, 1, 10**6, 2**60]),
               "fpr": chosen.choice([None, 0.01, 1e-9]),
               "label": chosen.choice(["", "label", "étiquette ☃"]),
               "tag": chosen.choice(["", chosen.randbytes(16).hex()]),
               "keys": some_keys(chosen, count), "absent": some_keys(chosen, 200),
               "embedded": number // len(LAYOUTS) % 3 == 2}


def recorded(parameters):
    """The parameters other than layout, m and k, as options of both writers."""
    names = "seed", "capacity", "fpr", "label", "tag"
    return {name: parameters[name] for name in names if parameters[name] not in (None, "")}


class Cross(ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.by_python = [
            (parameters, craft.make(parameters["layout"], parameters["m"], parameters["k"],
                                    parameters["keys"], key_kind="text", **recorded(parameters)))
            for parameters in combinations()]

    def reader(self, *arguments, stdin=b"", status=0):
        result = subprocess.run([*READER, *map(str, arguments)], input=stdin, cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((result.returncode, result.stderr), (status, b""))
        return result.stdout

    def both_answer_alike(self, name, keys, absent):
        mixed = lines(*keys, *absent)
        image = craft.Image(self.read(name), name)
        expected = lines(*(key for key in keys + absent if image.maybe(key)))
        self.assertTrue(expected.startswith(lines(*keys)))
        self.assertEqual(self.run_tool("bfquery", name, stdin=mixed).stdout, expected)
        return expected

    def report(self, name):
        report = json.loads(self.run_tool("bfinspect", "--verify", "--report", "-", name).stdout)
        self.assertEqual((report["error"], report["faults"], report["verified"]), (None, [], True))
        return report

    def test_both_write_the_same_bytes(self):
        for parameters, by_python in self.by_python:
            layout, m, k = (parameters[name] for name in ("layout", "m", "k"))
            more = recorded(parameters)
            with self.subTest(layout=layout, m=m, k=k, n=len(parameters["keys"]), **more):
                words = [word for name, value in more.items() for word in (f"--{name}", value)]
                words += ["-k", k] if k else []
                by_c = self.create("-q", "-l", layout, "-m", m, *words,
                                   stdin=lines(*parameters["keys"]))
                self.assertEqual(by_c[:4096], by_python[:4096])
                self.assertEqual(by_c, by_python)

    def test_python_reads_what_c_writes(self):
        """The filters have the sizes that bfcreate chooses."""
        for parameters in combinations():
            more = {name: value for name, value in recorded(parameters).items()
                    if name not in ("capacity", "fpr")}
            words = [word for name, value in more.items() for word in (f"--{name}", value)]
            with self.subTest(layout=parameters["layout"], n=len(parameters["keys"]), **more):
                self.create("-q", "-l", parameters["layout"], "-p", "0.05", *words, name="by-c",
                            stdin=lines(*parameters["keys"]))
                image = craft.Image(self.read("by-c"), "by-c")
                image.verify()
                self.assertEqual(image.record["n"], len(parameters["keys"]))
                self.both_answer_alike("by-c", parameters["keys"], parameters["absent"])

    def test_c_reads_what_python_writes(self):
        for parameters, image in self.by_python:
            layout, m, k = (parameters[name] for name in ("layout", "m", "k"))
            with self.subTest(layout=layout, m=m, k=k, n=len(parameters["keys"])):
                if parameters["embedded"]:
                    image = craft.make(layout, m, k, parameters["keys"], embedded=True,
                                       **recorded(parameters))
                self.write("by-python", image)
                report = self.report("by-python")
                header, record = report["header"], report["record"]
                self.assertEqual(
                    (header["layout"], header["m"], header["k"], int(header["seed"], 16)),
                    (layout, m, k, parameters["seed"]))
                self.assertEqual((record["n"], report["measure"]["ones"]),
                                 (len(parameters["keys"]), record["ones"]))
                self.assertEqual(header["label"], parameters["label"])
                self.assertEqual(header["tag"], parameters["tag"] or "00" * 16)
                self.both_answer_alike("by-python", parameters["keys"], parameters["absent"])

    def test_reader_works_as_a_program(self):
        keys, absent = [b"a", b"b", b""], [b"c", b"d"]
        self.create("-q", "-p", "0.0001", name="by-c", stdin=lines(*keys))
        self.reader("verify", "by-c")
        self.assertEqual(self.reader("query", "by-c", stdin=lines(*keys, *absent)), lines(*keys))
        self.assertEqual(self.reader("query", "-v", "by-c", stdin=lines(*keys, *absent)),
                         lines(*absent))
        shown = json.loads(self.reader("info", "by-c"))
        self.assertEqual(shown["record"]["n"], self.report("by-c")["record"]["n"])
        self.assertEqual(shown["header"]["m"], self.report("by-c")["header"]["m"])

    def test_c_reads_the_results_of_operations(self):
        few, more = [b"key %d" % i for i in range(40)], [b"more %d" % i for i in range(40)]
        for layout, m in ("blocked", 512 * 60), ("classic", 30_030), ("counting", 30_030):
            for factor in some([1, 2, 3, 5, 15, 30], 2):
                wide = craft.make(layout, m, 5, few)
                folded = craft.derive("fold", factor, wide)
                narrow = craft.make(layout, m // factor, 5, few)
                self.assertEqual(craft.body_of(folded), craft.body_of(narrow))
                self.write("folded", folded)
                self.assertEqual(self.report("folded")["header"]["m_unfolded"], m)
                self.both_answer_alike("folded", few, more)
            self.write("union", craft.derive("union", craft.make(layout, m // 2, 5, few),
                                             craft.make(layout, m // 3, 5, more)))
            self.assertEqual(self.report("union")["header"]["provenance"], 2)
            self.both_answer_alike("union", few + more, [b"neither"])
        self.write("projected", craft.derive("project", craft.make("counting", 3001, 5, few)))
        self.assertEqual(self.report("projected")["header"]["layout"], "classic")
        self.both_answer_alike("projected", few, more)

    def test_images_inside_other_files_are_read(self):
        image = craft.make("classic", 100, 3, [b"inside"], embedded=True)
        self.write("container", b"before" + image + b"after!!")
        place = ["--offset", 6, "--length", len(image)]
        self.reader("verify", *place, "container")
        self.assertEqual(self.reader("query", *place, "container", stdin=b"inside\n"), b"inside\n")
        self.trouble("bfquery", "container", stdin=b"inside\n", names=["container"])

    @once
    def test_reader_matches_the_vectors(self):
        self.assertRegex(self.reader("vectors", SPEC), rb"^\d{2,} vectors ok\n$")

    def test_whole_file_of_the_specification_is_read(self):
        self.reader("wholefile", SPEC, "whole")
        self.reader("verify", "whole")
        self.report("whole")
        keys = [b"bloomfile", b"", b"\x80\x1d\xba"]
        self.both_answer_alike("whole", keys, [b"absent %d" % i for i in range(100)])
        self.assertEqual(self.read("whole"), craft.make(
            "classic", 100, 3, keys, embedded=True, capacity=10, fpr=0.05, label="tiny é",
            tag=bytes(range(0xA0, 0xB0)).hex()))


if __name__ == "__main__":
    main()
