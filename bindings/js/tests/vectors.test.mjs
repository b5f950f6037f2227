// SPDX-License-Identifier: MIT
// The vectors of the specification: tests/vectors.tsv.

import test from "node:test";
import assert from "node:assert/strict";
import { internal, open, rate, size } from "../bloomfile.js";
import { build, fold } from "../build.js";
import { VECTORS, table } from "./suite.mjs";

const { KeyKind, Layer, columnsOf, crc32, fold: mulfold, high, highOf, lowOf, multiply, reduce, ribbonMaybe, selfTest, top, xxh3 } = internal;
const C = 0x9e3779b97f4a7c15n;
const u64 = (value) => BigInt.asUintN(64, value);
const TEST_STRING = Uint8Array.from({ length: 8192 }, (_, i) => (128 + 157 * i) & 255);
const beginnings = (count) => Array.from({ length: count }, (_, i) => TEST_STRING.subarray(0, i));
const hex = (value, digits) => BigInt(value).toString(16).padStart(digits, "0");

function digest(bytes, seed) {
  const low = xxh3(new KeyKind(0, 0).load(bytes), highOf(seed), lowOf(seed));
  return (BigInt(top[0] >>> 0) << 32n) | BigInt(low >>> 0);
}

function layerOf(layout, m, k) {
  const range = layout === "blocked" ? m / 512n : m;
  return Object.assign(Object.create(Layer.prototype), {
    layout: ["", "blocked", "classic", "counting", "ribbon"].indexOf(layout), k, blocks: Number(m / 512n), firstBlock: 0,
    rangeHigh: highOf(range), rangeLow: lowOf(range),
  });
}

function positions(layout, { m, k, digest: text }) {
  const found = [], value = BigInt("0x" + text), counting = layout === "counting";
  layerOf(layout, BigInt(m), Number(k)).maybe(highOf(value), lowOf(value), {
    clear(byte, mask) {
      const bit = counting ? (mask === 15 ? 0 : 1) : 31 - Math.clz32(mask);
      found.push(BigInt(byte) * (counting ? 2n : 8n) + BigInt(bit));
      return false;
    },
  });
  return found.join(" ");
}

function image(layout, { m, k, seed, header_size: H, keys }) {
  const options = { layout, m: Number(m), k: Number(k), seed: BigInt("0x" + seed), form: H === "512" ? "embedded" : "file" };
  return build(beginnings(Number(keys)), { ...options, keyKind: "unknown" });
}

function entries(bytes) {
  const [layer] = open(bytes).layers, view = new DataView(bytes.buffer);
  return Array.from({ length: layer.pages }, (_, i) => hex(view.getUint32(layer.entries + 4 * i, true), 8)).join(" ");
}

function body(bytes) {
  const { bodyCrc, ones, overflow } = open(bytes).layers[0].record;
  return `${hex(bodyCrc, 8)} ${ones} ${overflow}`;
}

/** A page of a ribbon, alone in its image. */
function page({ lines, seed, keys }) {
  const bytes = build(beginnings(Number(keys)), { layout: "ribbon", m: 512 * lines, seed: BigInt("0x" + seed), form: "embedded", keyKind: "unknown" });
  const view = new DataView(bytes.buffer, 512, 64 * lines), head = view.getUint32(0, true);
  let maybes = 0;
  for (let count = 1n; count <= 4096n; count++) {
    const value = u64(count * C);
    if (ribbonMaybe(highOf(value), lowOf(value), view, 16 * lines - 2)) maybes++;
  }
  const crc = crc32(bytes, 512, 512 + 64 * lines);
  return `${head & 0xffff} ${(head >>> 16) & 127} ${view.getUint32(4, true)} ${hex(crc, 8)} ${maybes}`;
}

function columns({ lines, groups }) {
  const { low, few } = columnsOf(Number(groups), 16 * lines - 2);
  let sum = 0;
  for (let group = 0; group < groups - 1; group++) sum += 2 ** (32 - (group < few ? low : low + 1));
  return `${low} ${few} ${sum}`;
}

/** Compares with nine digits, the precision of sizes.md. */
function checkRate(layout, { n, m, k }, answer) {
  const found = rate({ layout, n: Number(n), m: Number(m), k: Number(k) });
  assert.ok(Math.abs(found / Number(answer) - 1) < 1e-9, `${found}`);
}

const ANSWERS = {
  crc: (_, { text }) => hex(crc32(new TextEncoder().encode(text)), 8),
  digest: (_, { seed, text, length }) =>
    hex(digest(text === undefined ? TEST_STRING.subarray(0, Number(length)) : new TextEncoder().encode(text), BigInt("0x" + seed)), 16),
  selftest: (_, { seed }) => hex(selfTest(BigInt("0x" + seed)), 16),
  positions,
  body: (layout, input) => body(image(layout, input)),
  entries: (layout, input) => entries(image(layout, input)),
  image: (layout, input) => {
    const bytes = image(layout, input);
    return `${bytes.length} ${hex(digest(bytes, 0n), 16)}`;
  },
  page: (_, input) => page(input),
  columns: (_, input) => columns(input),
  size: (layout, input) => {
    const found = size({ layout, ...Object.fromEntries(Object.entries(input).map(([name, value]) => [name, Number(value)])) });
    return `${BigInt(found.m)} ${found.k}`;
  },
};

function checkRow({ kind, layout, input, answer }) {
  const values = Object.fromEntries(input.split(" ").map((pair) => pair.split("=")));
  if (kind === "rate") return checkRate(layout, values, answer);
  assert.equal(ANSWERS[kind](layout, values), answer);
}

const exact = ({ kind, input }) => kind !== "positions" || BigInt(/m=(\d+)/.exec(input)[1]) <= 1n << 56n;

/** The m of a ribbon is given here. */
const without = ({ kind, layout }) => layout === "ribbon" && (kind === "rate" || kind === "size");

for (const row of table(VECTORS)) {
  if (!(row.kind in ANSWERS || row.kind === "rate") || !exact(row) || without(row)) continue;
  test(`${row.kind} ${row.layout} ${row.input} matches the vector`, () => checkRow(row));
}

const sectionFour = () =>
  build([new TextEncoder().encode("bloomfile"), new Uint8Array(), Uint8Array.of(0x80, 0x1d, 0xba)], {
    layout: "classic", m: 100, k: 3, capacity: 10, fpr: 0.05, label: "tiny é", form: "embedded", keyKind: "unknown",
    tag: Uint8Array.from({ length: 16 }, (_, i) => 0xa0 + i),
  });

/** Makes the checksums of a changed header right. */
function seal(bytes) {
  const view = new DataView(bytes.buffer);
  view.setUint32(252, crc32(bytes, 0, 252), true);
  for (const record of [256, 384]) {
    view.setUint32(record + 60, view.getUint32(252, true), true);
    view.setUint32(record + 124, crc32(bytes, record, record + 124), true);
  }
}

for (const { kind, input, answer } of table(VECTORS)) {
  if (kind !== "refused") continue;
  test(`the image of section 4 with ${input} is refused: ${answer}`, () => {
    const values = Object.fromEntries(input.split(" ").map((pair) => pair.split("=")));
    let bytes = sectionFour();
    for (const at of (values.at || "").split(",").filter(Boolean)) bytes.set(Buffer.from(values.bytes, "hex"), Number(at));
    if (values.mend) seal(bytes);
    if (values.size) {
      const sized = new Uint8Array(Number(values.size));
      sized.set(bytes.subarray(0, sized.length));
      bytes = sized;
    }
    assert.throws(() => open(bytes).verify(), { code: answer.split(" ")[0] });
  });
}

test("folding the body of a vector gives the body of the smaller filter", () => {
  const wide = open(image("blocked", { m: "61440", k: "7", seed: "0000000000000000", header_size: "512", keys: "2000" }));
  assert.equal(body(fold(wide, 5)), "7e582126 8329 0");
});

/** Numbers whose halves are at the ends of their range, and random numbers. */
function* operands(count) {
  const ends = [0n, 1n, 0xffffn, 0x10000n, 0x7fffffffn, 0x80000000n, 0xffffffffn];
  for (const h of ends) for (const l of ends) yield (h << 32n) | l;
  for (let state = 1n; count; count--) yield (state = u64(state * C + 12345n)) >> (state & 31n);
}

test("64-bit arithmetic on pairs of integers is exact", () => {
  const numbers = [...operands(150)], pair = (l) => (BigInt(top[0] >>> 0) << 32n) | BigInt(l >>> 0);
  for (const a of numbers) {
    for (const b of numbers) {
      const halves = [highOf(a), lowOf(a), highOf(b), lowOf(b)], product = a * b;
      assert.equal(pair(multiply(...halves)), u64(product));
      assert.equal(pair(reduce(...halves)), product >> 64n);
      assert.equal(pair(mulfold(...halves)), u64(product) ^ (product >> 64n));
      assert.equal(BigInt(high(lowOf(a), lowOf(b)) >>> 0), ((a & 0xffffffffn) * (b & 0xffffffffn)) >> 32n);
    }
  }
});
