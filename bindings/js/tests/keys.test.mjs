// SPDX-License-Identifier: MIT
// Kinds of keys, and the names of hash functions.

import test from "node:test";
import assert from "node:assert/strict";
import { runInNewContext } from "node:vm";
import { foldPlan, open, openBlob, rate, size } from "../bloomfile.js";
import { build, fold } from "../build.js";
import { GOLDEN, linesOf, readFile } from "./suite.mjs";

const golden = (name, options) => open(readFile(`${GOLDEN}/${name}.bloom`), options);
const bytes = (length) => new Uint8Array(length);

test("keys of another kind are an error", () => {
  const fits = {
    "key-kind-text": ["a", bytes(3)], "key-kind-lower": ["A", bytes(3)], "key-kind-integers": [7, 7n, bytes(8)],
    "key-kind-bytes": [bytes(3)], "key-kind-fixed-1": [bytes(1)], "key-kind-unknown-said": ["a", 1, 1n, bytes(5)],
  };
  const wrong = {
    "key-kind-text": [1, 1n], "key-kind-lower": [1], "key-kind-integers": ["7", bytes(4)], "key-kind-bytes": [1, "a"],
    "key-kind-fixed-1": ["a", 1, bytes(2)],
  };
  for (const [name, keys] of Object.entries(fits)) for (const key of keys) assert.equal(typeof golden(name).has(key), "boolean");
  for (const [name, keys] of Object.entries(wrong)) {
    for (const key of keys) assert.throws(() => golden(name).has(key), { code: "BLOOMFILE_EKEYKIND" }, `${name} ${key}`);
  }
  assert.throws(() => build(["00ff"], { keyKind: "bytes" }), { code: "BLOOMFILE_EKEYKIND" });
  assert.throws(() => golden("key-kind-integers").has("7"), /integers: use numbers or bigints/);
});

test("a filter with an unknown kind of keys accepts only plain keys", () => {
  for (const key of ["a", 1, bytes(8)]) assert.throws(() => golden("key-kind-newer-6").has(key), { code: "BLOOMFILE_EFEATURE" });
  assert.equal(typeof golden("key-kind-newer-6", { keys: "plain" }).has(bytes(8)), "boolean");
});

test("plain keys of every type are found in a filter of lower-case keys", async () => {
  const image = build(["Apple", "A".repeat(8)], { keyKind: "lower" });
  const keys = ["Apple", "apple", new TextEncoder().encode("aPPLE"), 0x4141414141414141n];
  assert.deepEqual(open(image, { keys: "plain" }).hasAll(keys), [true, true, true, true]);
  assert.deepEqual(await (await openBlob(new Blob([image]), { keys: "plain" })).hasAll(keys), [true, true, true, true]);
});

test("integers are found by number and by bigint", () => {
  const filter = golden("key-kind-integers");
  for (const line of linesOf(`${GOLDEN}/keys/integers.keys`)) {
    const value = line.readBigInt64LE();
    assert.ok(filter.has(value) && filter.has(BigInt.asUintN(64, value)) && filter.has(new Uint8Array(line)));
    if (Number.isSafeInteger(Number(value))) assert.ok(filter.has(Number(value)));
  }
});

test("a value that cannot be a key is a TypeError or RangeError", () => {
  const filter = open(build(["a"], { keyKind: "unknown" }));
  assert.throws(() => filter.has(2 ** 53), /bigint/);
  assert.throws(() => filter.has(new ArrayBuffer(20)), /new Uint8Array\(buffer\)/);
  for (const key of [0.5, NaN, 2 ** 53, null, undefined, {}, [1], "\ud800", "a\udfff"]) assert.throws(() => filter.has(key), TypeError);
  for (const key of [1n << 64n, -(1n << 63n) - 1n]) assert.throws(() => filter.has(key), RangeError);
  const gone = new TextEncoder().encode("a");
  structuredClone(null, { transfer: [gone.buffer] });
  assert.throws(() => filter.has(gone), TypeError, "a key whose buffer was transferred is not the empty key");
});

test("a digest of over 64 bits and a key in place of a list are errors", async () => {
  const image = build(["a"], { keyKind: "unknown" }), filter = open(image), remote = await openBlob(new Blob([image]));
  for (const digest of [1n << 64n, 1n << 128n, -(1n << 63n) - 1n]) {
    assert.throws(() => filter.hasDigest(digest), RangeError);
    await assert.rejects(remote.hasDigest(digest), RangeError);
  }
  assert.equal(filter.hasDigest(-1n), filter.hasDigest((1n << 64n) - 1n));
  assert.throws(() => filter.hasDigest(1), TypeError);
  const foreign = (code) => runInNewContext(code); // of another realm, such as a frame
  const single = ["ab", new String("ab"), bytes(2), Buffer.from("ab"), foreign("new Uint8Array(2)"), foreign("new String('ab')")];
  async function* rows() {
    yield "a";
  }
  for (const keys of [...single, Promise.resolve(["a"]), rows(), new Blob(["a"]).stream(), bytes(2).buffer, { a: 1 }, 5, 5n, null, undefined]) {
    for (const look of ["hasAll", "hasDigests"]) {
      assert.throws(() => filter[look](keys), TypeError);
      await assert.rejects(remote[look](keys), TypeError);
    }
    assert.throws(() => build(keys), TypeError);
  }
  assert.equal(open(build(new Set(["a", "b"]))).info.n, 2);
});

test("bytes of another realm are a key", () => {
  const key = runInNewContext("Uint8Array.of(97)");
  for (const keys of [undefined, "plain"]) assert.ok(open(build(["a"]), { keys }).has(key));
  assert.equal(open(build([key])).info.keyKind, "bytes");
});

test("a patch is refused with the tool that applies it", () => {
  assert.throws(() => open(Uint8Array.from([0xbf, 0x44, 0x4c, 0x54, 0x0d, 0x0a, 0x1a, 0x0a, 1])), /bfdelta --apply/);
});

test("a source that is not bytes is a TypeError and not an empty file", () => {
  for (const data of ["fruit.bloom", undefined, 4096, new Blob([]), [0xbf]]) assert.throws(() => open(data), TypeError);
});

test("text of any length and alphabet is hashed as UTF-8", () => {
  const keys = ["", "é", "日本語", "🌸", "a".repeat(127) + "é", "x".repeat(5000), "é".repeat(3000), "﻿mark"];
  const filter = open(build(keys.map((key) => new TextEncoder().encode(key)), { keyKind: "unknown" }));
  assert.ok(filter.hasAll(keys).every(Boolean));
});

test("filters with an application hash need its name", () => {
  const bytes = readFile(`${GOLDEN}/application-blocked.bloom`);
  assert.throws(() => open(bytes), { code: "BLOOMFILE_EHASH" });
  const filter = open(bytes, { applications: true });
  assert.equal(filter.error, null);
  assert.equal(filter.hasDigest(1n), true);
  assert.equal(filter.error.code, "BLOOMFILE_EHASH");
  assert.throws(() => filter.nameHash(0x80536841), TypeError);
  assert.equal(filter.hasDigest(1n), true, "a call without self_test states no name");
  filter.nameHash(0x80536841, 0x62aeed19e25dac49n);
  assert.equal(filter.error, null);
  assert.equal(filter.hasDigest(1n), false);
  assert.equal(filter.has("any"), true);
  assert.equal(filter.error.code, "BLOOMFILE_EHASH");
  const damaged = new Uint8Array(bytes);
  damaged[golden("application-blocked", { applications: true }).info.size - 1] ^= 1; // an entry of the page checksums
  const other = open(damaged, { applications: true });
  assert.equal(other.has("any"), true);
  assert.throws(() => other.verify());
  assert.equal(other.error.code, "BLOOMFILE_EPAGE", "a key in place of a digest does not hide damage");
});

test("a wrong hash name makes every lookup answer maybe, also for hash_id 1", () => {
  const filter = golden("blocked-file");
  assert.throws(() => filter.nameHash(1, 0n), { code: "BLOOMFILE_ESELFTEST" });
  assert.equal(filter.has("certainly absent"), true);
  filter.nameHash(1, filter.info.selfTest);
  assert.equal(filter.has("certainly absent"), false);
});

test("info has the sum of a series and the range of a slice", () => {
  const series = golden("series-3").info;
  assert.deepEqual([series.series, series.layers.length, series.n, series.m], [true, 3, 40, 1536]);
  assert.deepEqual(golden("slice-middle").info.slice, { firstBlock: 64, blocks: 64, wholeBlocks: 150 });
});

test("examine compares the count of ones with the header and judges the rate", () => {
  const filter = open(build(Array.from({ length: 5000 }, (_, i) => i), { fpr: 0.01 })), found = filter.examine();
  assert.equal(found.verdict, "healthy");
  assert.equal(found.layers[0].ones, filter.info.ones);
  assert.equal(Math.round(found.layers[0].keysEstimated), 5008, "as bfinspect --verify prints");
  for (const options of [{}, { layout: "ribbon", m: 512 }]) assert.equal(open(build([], options)).examine().verdict, "empty");
  assert.equal(open(build(["a"], { m: 1, k: 1, layout: "classic" })).examine().verdict, "over capacity");
  const many = build(Array.from({ length: 5000 }, (_, i) => i), { capacity: 500, fpr: 0.01 });
  assert.equal(open(many).examine().verdict, "too many keys");
  assert.equal(open(build(["a", "b"], { capacity: 1, m: 51200 })).examine().verdict, "too many keys", "without a target rate");
});

test("every factor of a fold plan folds", () => {
  const filter = open(build(["a", "b"], { m: 51200, k: 4 }));
  const plan = foldPlan(filter.info);
  assert.deepEqual(plan.map(({ factor }) => factor), [1, 2, 4, 5, 10, 20, 25, 50, 100]);
  for (const { factor, bytes } of plan) assert.equal(fold(filter, factor).length, bytes);
  assert.deepEqual(foldPlan(golden("ribbon-file").info), []);
  const empty = foldPlan(open(build([], { m: 1024 })).info);
  assert.deepEqual(empty.map(({ factor, fpr }) => [factor, fpr]), [[1, 0], [2, 0]]);
});

test("sizes out of range are refused", () => {
  for (const plan of [{ n: 0 }, { n: 2 ** 61 }, { fpr: 0 }, { fpr: 1 }, { fpr: NaN }, { k: 65 }, { k: 1.5 }, { m: 0 }]) {
    assert.throws(() => size(plan), RangeError, JSON.stringify(plan));
  }
  assert.throws(() => size({ n: 2 ** 40, fpr: 1e-9 }), { code: "BLOOMFILE_EUNREACHABLE" });
  for (const shape of [{ k: 65 }, { k: 1e6 }, { m: 0 }, { n: NaN }, { n: -1 }, { n: Infinity }]) {
    assert.throws(() => rate({ n: 10, m: 51200, k: 4, ...shape }), RangeError, JSON.stringify(shape));
  }
  for (const f of [size, rate]) for (const layout of ["ribbon", "blokced"]) assert.throws(() => f({ layout, n: 1, m: 512, k: 1 }), TypeError);
});
