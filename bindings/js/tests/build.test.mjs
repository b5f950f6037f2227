// SPDX-License-Identifier: MIT
// Filters that are made in memory: the same bytes as those of the conformance suite.

import test from "node:test";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { open, openBlob } from "../bloomfile.js";
import { build, fold, intersection, join, union } from "../build.js";
import { GOLDEN, REFUSED, linesOf, readFile, table } from "./suite.mjs";

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const source = (path) => open(readFile(`${GOLDEN}/${path}`), { applications: true });

/** The options of bfcreate, split into words as a shell does. */
function optionsOf(words) {
  const list = words.match(/'[^']*'|\S+/g).map((word) => word.replace(/^'|'$/g, "")), options = { keyKind: "unknown" };
  for (let i = 0; i < list.length; i += 2) {
    const name = { "-l": "layout", "-m": "m", "-k": "k", "--seed": "seed", "--fpr": "fpr" }[list[i]] || list[i].slice(2), value = list[i + 1];
    if (name === "seed") options.seed = BigInt(value);
    else if (name === "tag") options.tag = Buffer.from(value, "hex");
    else options[name] = ["layout", "label", "slice"].includes(name) ? value : Number(value);
  }
  return options;
}

for (const row of table(`${GOLDEN}/index.tsv`)) {
  if (row.bfcreate === "-" || row.bfcreate.includes("--slice")) continue;
  test(`${row.file} is built from its keys`, () => {
    assert.equal(sha256(build(linesOf(`${GOLDEN}/${row.keys}`), optionsOf(row.bfcreate))), row.sha256);
  });
}

/** The result in file form with the n of the listed result, as tests/golden/README.md compares them. */
function comparable(bytes, expected) {
  const filter = open(bytes, { applications: true }), other = open(expected, { applications: true });
  const fields = ({ layers: [layer] }, used) => {
    const { headerCrc, headerSize, bodyOffset, bodySize, ...h } = layer.header;
    const { ones, overflow, watermark } = layer.record;
    return { h, ones, overflow, watermark, body: used.slice(0, Number(h.m) >>> 3) };
  };
  const body = (f) => Buffer.from(f.bytes.subarray(f.layers[0].body, f.layers[0].entries));
  return [fields(filter, body(filter)), fields(other, body(other)), filter, other];
}

for (const row of table(`${GOLDEN}/operations.tsv`)) {
  const [name, factor] = row.operation.split(" "), sources = row.sources.split(",");
  if (!["fold", "union", "intersection", "copy"].includes(name)) continue;
  test(`${row.operation} of ${row.sources} is ${row.result}`, () => {
    const expected = readFile(`${GOLDEN}/${row.result}`), form = open(expected, { applications: true }).info.form;
    const filters = sources.map(source);
    const result = { fold: () => fold(filters[0], Number(factor), { form }), copy: () => fold(filters[0], 1, { form }),
      union: () => union(filters, { form }), intersection: () => intersection(filters, { form }) }[name]();
    const [ours, theirs, filter, other] = comparable(result, expected);
    assert.deepEqual(ours, theirs);
    filter.verify();
    if (filter.info.n === other.info.n) assert.equal(sha256(result), row.sha256);
    else assert.ok(filter.info.nEstimated);
  });
}

for (const row of table(`${GOLDEN}/slices.tsv`)) {
  test(`${row.slices} join`, () => {
    assert.equal(sha256(join(row.slices.split(",").map(source))), row.sha256);
  });
}

for (const row of table(`${REFUSED}/slices.tsv`)) {
  test(`${row.slices} do not join`, () => {
    assert.throws(() => join(row.slices.split(",").map(source)), { code: row.error });
  });
}

test("typed keys are recorded with their kind and found again", () => {
  const text = open(build(["apple", "pear", "apple"], { fpr: 0.001 }));
  assert.deepEqual([text.info.keyKind, text.info.n, text.has("pear"), text.has("plum")], ["text", 2, true, false]);
  const integers = open(build([1, -1n, 2n ** 63n]));
  assert.deepEqual([integers.info.keyKind, integers.hasAll([1n, -1, 2n ** 63n, 7])], ["integers", [true, true, true, false]]);
  assert.throws(() => build(["a", 1]), TypeError);
});

test("filters of lower keys ignore case", () => {
  const filter = open(build(["Apple"], { keyKind: "lower" }));
  assert.deepEqual(filter.hasAll(["APPLE", "apple", new TextEncoder().encode("aPPLE")]), [true, true, true]);
});

test("every layout keeps its keys", () => {
  const keys = Array.from({ length: 3000 }, (_, i) => `key ${i}`);
  for (const options of [{ layout: "blocked" }, { layout: "classic" }, { layout: "counting" }, { layout: "ribbon", m: 33280 }]) {
    for (const form of ["file", "embedded"]) {
      const filter = open(build(keys, { ...options, form, label: "ключи" }));
      filter.verify();
      assert.ok(filter.hasAll(keys).every(Boolean), options.layout);
      assert.equal(filter.info.label, "ключи");
    }
  }
});

test("operations refuse damaged sources and wrong factors", () => {
  const image = build(["a", "b"], { m: 5120, k: 3 });
  assert.throws(() => fold(open(image), 3), { code: "BLOOMFILE_EFACTOR" });
  image[4096] ^= 1;
  assert.throws(() => fold(open(image), 2), { code: "BLOOMFILE_EPAGE" });
  assert.throws(() => union([open(image), open(build(["a"], { m: 5120, k: 4 }))]), { code: "BLOOMFILE_EDIFFERENTHASHCOUNT" });
});

test("a union or an intersection estimates its keys as bfmerge does", () => {
  const some = Array.from({ length: 5000 }, (_, i) => `key ${i}`), others = Array.from({ length: 5000 }, (_, i) => `key ${i + 4000}`);
  for (const [layout, united, common] of [["blocked", 8980, 1009], ["classic", 9009, 989], ["counting", 9009]]) {
    const filters = [some, others].map((keys) => open(build(keys, { layout, m: 76800, k: 5 })));
    assert.equal(open(union(filters)).info.n, united, layout);
    if (common) assert.equal(open(intersection(filters)).info.n, common, layout);
  }
});

test("a form, tag or label that cannot be written is an error", () => {
  for (const options of [{ form: "embeded" }, { form: "constructor" }, { tag: "00ff" }, { label: "\ud800" }]) {
    assert.throws(() => build(["a"], options), TypeError, JSON.stringify(options));
  }
  assert.throws(() => build(["a"], { tag: 5 }), RangeError);
});

test("an operation on a filter that is not in memory throws one error", async () => {
  const damaged = build(["a"]);
  damaged[4200] ^= 1;
  const remote = await openBlob(new Blob([damaged]));
  assert.throws(() => fold(remote, 1), /filters in memory/);
  await new Promise((resolve) => setTimeout(resolve, 50)); // an unhandled rejection would fail the test
});
