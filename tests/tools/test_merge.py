# SPDX-License-Identifier: MIT
"""bfmerge: unions, intersections and projections equal filters built from the same keys."""

import math
import os
import resource

from support import ToolTest, craft, lines, main, numbered, percent

KEYS = numbered(4000)
OTHERS = numbered(3000, "absent ")
LAYOUTS = "blocked", "classic", "counting"
UNIT = 512 * 60


class MergeTest(ToolTest):
    def shard(self, name, keys, *options):
        """The bytes of a filter of these keys. The options set its form."""
        return self.create("-q", "-k", 5, "-p", 0.05, *options, stdin=lines(*keys), name=name)

    def shards(self, *sizes, keys=KEYS, **options):
        """Makes one filter of each size, which share out the keys. Returns their names."""
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        for i, size in enumerate(sizes):
            self.shard(f"shard-{i}", keys[i::len(sizes)], "-m", size, *words)
        return [f"shard-{i}" for i in range(len(sizes))]

    def record(self, name):
        return self.inspected(name, "--quick")["record"]


class Union(MergeTest):
    def check_union(self, sources, keys, bits, *options):
        """The union has the body of a single build from all keys."""
        self.output("bfmerge", "-q", "-f", "--discard", "merged", *sources)
        merged = self.read("merged")
        built = self.shard("built", keys, "-m", bits, *options)
        self.assertEqual(craft.body_of(merged), craft.body_of(built))
        self.assertIsNone(craft.refusal(merged))
        self.assertEqual(craft.field(merged, "provenance"), 2)
        self.assertEqual(craft.field(merged, "m"), bits)

    def test_union_equals_one_build_of_all_keys(self):
        for layout in LAYOUTS:
            for sizes in [UNIT], [UNIT] * 3, [UNIT, 2 * UNIT, 3 * UNIT], [6 * UNIT, 4 * UNIT]:
                names = self.shards(*sizes, layout=layout, seed=11)
                self.check_union(names, KEYS, math.gcd(*sizes), "-l", layout, "-s", 11)

    def test_shared_keys_count_once(self):
        for layout in "blocked", "classic":
            self.shard("a", KEYS[:2500], "-m", UNIT, "-l", layout)
            self.shard("b", KEYS[1500:], "-m", 3 * UNIT, "-l", layout)
            self.check_union(["b", "a"], KEYS, UNIT, "-l", layout)

    def test_counters_are_added(self):
        live = self.create_live("-l", "counting", "-m", UNIT, "-k", 5, "-n", 5000)
        self.output("bfadd", "-q", live, stdin=lines(*KEYS))
        self.output("bfseal", "-q", live)
        self.shard("a", KEYS, "-m", UNIT, "-l", "counting")
        self.shard("b", KEYS[:100], "-m", UNIT, "-l", "counting")
        self.output("bfmerge", "-q", "merged", "a", "b")
        self.assertEqual(craft.body_of(self.read("merged")),
                         craft.body_of(craft.derive("union", self.read("a"), self.read("b"))))

    def test_union_equals_that_of_the_python_implementation(self):
        for layout in LAYOUTS:
            names = self.shards(UNIT, 2 * UNIT, layout=layout, seed=3, label="x", tag="aa")
            self.output("bfmerge", "-q", "-f", "--discard", "--disjoint", "merged", *names)
            other = craft.derive("union", *map(self.read, names))
            ours = craft.edit(self.read("merged"), record={"flags": 1})
            self.assertEqual(ours, other)

    def test_label_and_tag_are_recorded(self):
        names = self.shards(UNIT, UNIT, label="shard", tag="aa")
        self.output("bfmerge", "merged", *names, "--label", "tout", "--tag", "c0ffee")
        header = self.inspected("merged")["header"]
        self.assertEqual((header["label"], header["tag"]), ("tout", "c0ffee" + 13 * "00"))

    def test_watermark_is_recorded(self):
        names = self.shards(UNIT, UNIT)
        self.output("bfmerge", "merged", *names, "--watermark", "block 7")
        self.assertEqual(bytes.fromhex(self.record("merged")["watermark"]), b"block 7".ljust(32, b"\0"))

    def test_number_of_keys_is_estimated_or_given(self):
        names = self.shards(UNIT, UNIT, 2 * UNIT)
        self.output("bfmerge", "merged", *names)
        self.assertTrue(self.record("merged")["n_estimated"])
        self.assertAlmostEqual(self.record("merged")["n"] / len(KEYS), 1, delta=0.03)
        self.output("bfmerge", "exact", "--disjoint", *names)
        self.assertEqual((self.record("exact")["n"], self.record("exact")["n_estimated"]),
                         (len(KEYS), False))
        self.shard("more", OTHERS, "-m", UNIT, "-n", 9000)
        self.output("bfmerge", "all", "--disjoint", "-p", "1", "exact", "more")
        self.assertEqual(self.record("all")["n"], len(KEYS) + len(OTHERS))
        self.output("bfmerge", "not", "-p", "1", "--disjoint", "merged", "more",
                    says=b"bfmerge: warning: merged: its number of keys is an estimate, and so is "
                         b"that of not\n")
        self.assertTrue(self.record("not")["n_estimated"])

    def test_single_source_and_empty_sources_keep_the_count(self):
        self.shard("a", KEYS, "-m", UNIT)
        self.create("-q", "-k", 5, "-m", UNIT, "-n", 100, stdin=b"", name="none")
        for sources in ["a"], ["a", "none"], ["none", "a"]:
            self.output("bfmerge", "-f", "--discard", "merged", *sources)
            self.assertEqual((self.record("merged")["n"], self.record("merged")["n_estimated"]),
                             (len(KEYS), False))
            self.assertEqual(craft.body_of(self.read("merged")), craft.body_of(self.read("a")))

    def test_live_source_in_use_is_merged(self):
        self.create_live("-k", 5, "-m", 2 * UNIT, "-n", 5000)
        writer = self.start("bfadd", "-q", "live")
        self.feed(writer, *OTHERS)
        self.wait_for_key("live", OTHERS[-1], writer)
        self.shard("a", KEYS, "-m", UNIT)
        self.output("bfmerge", "-q", "-p", 1, "--disjoint", "merged", "live", "a")
        self.assertTrue(self.record("merged")["n_estimated"])
        self.assertEqual(self.query("--verify", "merged", stdin=lines(*KEYS, *OTHERS)),
                         KEYS + OTHERS)
        self.assertEqual(self.result(writer, lines(b"one more")), (0, b"", b""))
        self.assertIn("a filter to merge, and live",
                      self.trouble("bfmerge", "-f", "live", "live", "a", names=["live"]))

    def test_live_source_with_new_keys_makes_the_count_an_estimate(self):
        self.create_live("-k", 5, "-m", 2 * UNIT, "-n", 5000)
        image = self.shard("a", KEYS, "-m", UNIT)
        process = self.start("bfmerge", "-q", "-p", 1, "--disjoint", "merged", "live", "-")
        self.write_to(process, image[:100])
        self.output("bfadd", "-q", "live", stdin=lines(*OTHERS))
        added = self.record("live")["n"]
        self.assertGreater(added, len(OTHERS) * 0.98)
        self.assertEqual(self.result(process, image[100:]), (0, b"", b""))
        self.assertEqual(self.record("merged")["n"], added + len(KEYS))

    def test_the_destination_may_be_a_source(self):
        names = self.shards(UNIT, UNIT)
        self.output("bfmerge", "-q", "merged", *names)
        reader = self.start("bfquery", "shard-0")
        self.feed(reader, KEYS[0])
        self.assertEqual(reader.stdout.readline(), KEYS[0] + b"\n")
        self.output("bfmerge", "-qf", "shard-0", *names)
        self.assertEqual(self.read("shard-0"), self.read("merged"))
        self.assertEqual(self.result(reader, lines(KEYS[2])), (0, lines(KEYS[2]), b""))

    def test_more_sources_than_descriptors_are_merged(self):
        names = self.shards(*[UNIT] * 300)
        self.output("bfmerge", "-q", "merged", *names, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (16, 16)))
        self.assertEqual(craft.body_of(self.read("merged")),
                         craft.body_of(self.shard("built", KEYS, "-m", UNIT)))

    def test_dash_writes_the_union_to_standard_output(self):
        names = self.shards(UNIT, 2 * UNIT)
        self.output("bfmerge", "merged", *names)
        self.assertEqual(self.output("bfmerge", "-", *names), self.read("merged"))


class Rate(MergeTest):
    def test_union_over_the_rate_is_refused(self):
        """The actual rate of the union is compared, with some tolerance for chance."""
        names = self.shards(UNIT // 2, UNIT // 2)
        self.shard("built", KEYS, "-m", UNIT // 2)
        rate = self.inspected("built")["measure"]["fpr"]
        self.assertGreater(rate, 0.06)
        message = self.trouble("bfmerge", "merged", *names, names=["merged"])
        self.assertEqual(message, f"bfmerge: cannot merge into merged: in the common size of "
                                  f"{UNIT // 2} bits its false-positive rate would pass 5% "
                                  "(build all filters with the same -n, the number of all keys; to allow a higher rate: --fpr)\n")
        self.assertIn("would pass 6% (", self.trouble("bfmerge", "-p", 0.06, "merged", *names))
        for limit in f"{rate * 1.01:.6f}", "0.99", "1":
            self.output("bfmerge", "-qf", "--discard", "-p", limit, "merged", *names)
            self.assertEqual(f"{self.inspected('merged')['measure']['fpr']:.6g}", f"{rate:.6g}")
        self.assertIn("would pass 1e-07%", self.trouble("bfmerge", "-p", "1e-9", "-", *names))

    def test_union_of_counters_over_the_rate_is_refused(self):
        names = self.shards(UNIT // 2, UNIT // 2, layout="counting")
        self.assertIn(f"common size of {UNIT // 2} counters",
                      self.trouble("bfmerge", "new", *names))

    def test_common_size_that_is_too_small_is_refused(self):
        self.shard("a", KEYS, "-m", 512 * 101)
        self.shard("b", KEYS, "-m", 512 * 103)
        self.assertIn("in the common size of 512 bits", self.trouble("bfmerge", "new", "a", "b"))
        self.assertIn("would pass 90%", self.trouble("bfmerge", "-p", 0.9, "new", "a", "b"))


    def test_sources_without_a_target_rate_are_merged(self):
        for name, blocks in ("a", 101), ("b", 103):
            self.create("-q", "-k", 5, "-m", 512 * blocks, "-n", 9000, stdin=lines(*KEYS), name=name)
        self.output("bfmerge", "new", "a", "b",
                    says=b"bfmerge: warning: new: the false-positive rate is 100%, and no SRC has a target "
                         b"rate (set it with --fpr)\n")
        self.output("bfmerge", "-f", "--discard", "-p", 1, "new", "a", "b",
                    says=b"bfmerge: warning: new: its false-positive rate is 100% (build all sources with "
                         b"the same -n, the number of all keys)\n")
        self.assertIn("would pass 50%", self.trouble("bfmerge", "-f", "--discard", "-p", 0.5, "new", "a", "b"))


class Intersection(MergeTest):
    def test_intersection_has_the_common_bits(self):
        for layout in "blocked", "classic":
            self.shard("a", KEYS[:2500], "-m", UNIT, "-l", layout)
            self.shard("b", KEYS[1500:], "-m", UNIT, "-l", layout)
            self.shard("c", KEYS[2000:] + OTHERS, "-m", 2 * UNIT, "-l", layout)
            folded = self.shard("folded", KEYS[2000:] + OTHERS, "-m", UNIT, "-l", layout)
            bodies = map(craft.body_of, (self.read("a"), self.read("b"), folded))
            self.output("bfmerge", "-f", "--discard", "--intersect", "merged", "a", "b", "c")
            merged = self.read("merged")
            self.assertEqual(craft.body_of(merged),
                             bytes(a & b & c for a, b, c in zip(*bodies, strict=True)))
            self.assertIsNone(craft.refusal(merged))
            self.assertEqual(craft.field(merged, "provenance"), 1)
            found = self.query("merged", stdin=lines(*KEYS[2000:2500]))
            self.assertEqual(found, KEYS[2000:2500])

    def test_rate_of_an_intersection_is_reported_as_an_estimate(self):
        names = ["a", "b"]
        self.shard("a", KEYS[:2500], "-m", UNIT)
        self.shard("b", KEYS[1500:], "-m", UNIT)
        message = self.run_tool("bfmerge", "-v", "--intersect", "merged", *names).stderr.decode()
        summary, estimate = message.splitlines()
        self.assertRegex(summary, r"^bfmerge: merged: about \d+ keys, .*, false-positive rate ")
        self.assertEqual(estimate,
                         "bfmerge: merged: an intersection, so its rate is only an estimate")
        self.assertIn("an intersection, so its rate is only an estimate",
                      self.inspected("merged")["verdict"])

    def test_counting_filters_are_not_intersected(self):
        names = self.shards(UNIT, UNIT, layout="counting")
        message = self.trouble("bfmerge", "--intersect", "merged", *names, names=["shard-0"])
        self.assertIn("counting filters cannot be intersected", message)


class Projection(MergeTest):
    def test_projection_equals_that_of_the_python_implementation(self):
        self.shard("a", KEYS, "-m", UNIT, "-l", "counting", "--label", "all", "--tag", "aa")
        self.output("bfmerge", "--project", "merged", "a")
        self.assertEqual(self.read("merged"), craft.derive("project", self.read("a")))
        classic = self.shard("b", KEYS, "-m", UNIT, "-l", "classic")
        self.assertEqual(craft.body_of(self.read("merged")), craft.body_of(classic))
        self.assertEqual(self.output("bfmerge", "--project", "-", "a"), self.read("merged"))
        self.assertEqual(self.output("bfmerge", "--project", "-", "-", stdin=self.read("a")),
                         self.read("merged"))
        self.output("bfmerge", "--project", "--label", "plain", "named", "a")
        header = self.inspected("named")["header"]
        self.assertEqual((header["label"], header["tag"]), ("plain", "aa" + 15 * "00"))

    def test_live_filter_in_use_is_projected(self):
        self.create_live("-l", "counting", "-k", 5, "-m", UNIT, "-n", 5000)
        writer = self.start("bfadd", "-q", "live")
        self.feed(writer, *OTHERS)
        self.wait_for_key("live", OTHERS[-1], writer)
        self.output("bfmerge", "-q", "--project", "merged", "live")
        self.assertTrue(self.record("merged")["n_estimated"])
        self.assertAlmostEqual(self.record("merged")["n"] / len(OTHERS), 1, delta=0.05)
        self.assertEqual(self.result(writer), (0, b"", b""))

    def test_other_layouts_are_not_projected(self):
        self.shard("a", KEYS, "-m", UNIT)
        message = self.trouble("bfmerge", "--project", "merged", "a", names=["a"])
        self.assertIn("cannot project a: not of the counting layout", message)


class Words(MergeTest):
    def test_summary_prints_keys_and_rate(self):
        names = self.shards(UNIT, UNIT)
        message = self.run_tool("bfmerge", "-v", "--disjoint", "merged", *names).stderr.decode()
        rate = self.inspected("merged")["measure"]["fpr"]
        self.assertEqual(message, f"bfmerge: merged: {len(KEYS)} keys, {UNIT / len(KEYS):.2f} bits "
                                  f"each, false-positive rate {percent(rate)} (target 5%), "
                                  "8.0 KiB\n")
        self.output("bfmerge", "-vqf", "--discard", "merged", *names)

    def test_keys_over_capacity_are_warned_of(self):
        names = self.shards(UNIT, UNIT)
        result = self.run_tool("bfmerge", "-p", 1, "--disjoint", "a", *names)
        self.assertEqual(result.stderr, b"")
        names = self.shards(UNIT // 2, UNIT // 2)
        self.output("bfmerge", "-q", "-p", 1, "x", *names)
        rate = percent(self.inspected("x")["measure"]["fpr"]).encode()
        self.output("bfmerge", "-p", 1, "--disjoint", "b", *names,
                    says=b"bfmerge: warning: b: 4000 keys, more than the capacity of 2000: the "
                         b"false-positive rate is " + rate + b", target 5%\n")

    def test_source_names_come_from_a_list(self):
        names = self.shards(UNIT, UNIT, UNIT)
        self.output("bfmerge", "all", *names)
        self.write("list", b"shard-1\nshard-2")
        self.output("bfmerge", "a", "--files-from", "list", "shard-0")
        self.output("bfmerge", "b", "--files-from", "-", stdin=lines(*map(str.encode, names)))
        odd = "shard\n1" if self.can_be_named("shard\n1") else "shard 1"
        os.rename(self.folder / "shard-1", self.folder / odd)
        self.write("list", f"shard-0\0{odd}\0shard-2\0".encode())
        self.output("bfmerge", "c", "--files-from", "list")
        for name in "abc":
            self.assertEqual(self.read(name), self.read("all"))
        self.write("list", b"-\nshard-0")
        self.output("bfmerge", "d", "--files-from", "list",
                    stdin=self.read(odd) + self.read("shard-2"))
        self.assertEqual(self.read("d"), self.read("all"))


if __name__ == "__main__":
    main()
