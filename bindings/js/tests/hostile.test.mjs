// SPDX-License-Identifier: MIT
// Hostile bytes: never a crash, and never "no" for a key that is in the filter.

import test from "node:test";
import assert from "node:assert/strict";
import { BloomfileError, internal, open } from "../bloomfile.js";
import { build } from "../build.js";
import { GOLDEN, linesOf, readFile, table } from "./suite.mjs";

const KEYS = linesOf(`${GOLDEN}/keys/few.keys`);
const IMAGES = table(`${GOLDEN}/index.tsv`).filter(({ file }) =>
  ["blocked-embedded", "classic-embedded", "counting-embedded", "ribbon-embedded", "slice-own-first"].includes(file.split(".")[0]));
const FUZZ_MS = Number(process.env.BLOOMFILE_FUZZ_SECONDS || 2) * 1000;

/** Opens hostile bytes: they are refused with an error of the format, or every key is maybe. */
function survive(bytes, keys, what) {
  let filter;
  try {
    filter = open(bytes, { keys: "plain" });
  } catch (error) {
    assert.ok(error instanceof BloomfileError, `${what}: ${error.stack}`);
    return false;
  }
  const missing = () => keys.some((key) => !filter.has(key));
  assert.ok(!missing(), `${what}: a silent no`);
  try {
    filter.verify();
  } catch (error) {
    assert.ok(error instanceof BloomfileError && filter.error, `${what}: ${error.stack}`);
  }
  assert.ok(!missing(), `${what}: a silent no after verification`);
  return true;
}

for (const { file, keys: path } of IMAGES) {
  const image = readFile(`${GOLDEN}/${file}`), keys = linesOf(`${GOLDEN}/${path}`), some = keys.slice(0, 20);

  test(`${file} with any byte of its header changed is refused`, () => {
    const H = image[13] === 2 ? 512 : 4096;
    for (let at = 0; at < H; at += H === 512 ? 1 : 7) {
      const bytes = image.slice();
      bytes[at] ^= 1 << at % 8;
      assert.ok(!survive(bytes, some, `byte ${at}`), `byte ${at} went unnoticed`);
    }
  });

  test(`${file} truncated at any length is refused`, () => {
    for (let size = 0; size < image.length; size += image.length > 2000 ? 13 : 1) {
      assert.ok(!survive(image.subarray(0, size), some, `size ${size}`), `size ${size} went unnoticed`);
    }
  });

  test(`${file} with random changes of its body never answers no to its keys`, () => {
    let state = 1;
    const random = (limit) => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % limit;
    for (const end = performance.now() + FUZZ_MS / IMAGES.length; performance.now() < end;) {
      const bytes = image.slice();
      for (let flips = 1 + random(8); flips; flips--) bytes[random(bytes.length)] = random(256);
      survive(bytes, keys, `state ${state}`);
    }
  });
}

/** Makes the checksums of a changed header and changed records right. */
function seal(bytes, H) {
  const view = new DataView(bytes.buffer), { crc32 } = internal;
  view.setUint32(H / 2 - 4, crc32(bytes, 0, H / 2 - 4), true);
  for (const record of [H / 2, (3 * H) / 4]) {
    view.setUint32(record + 60, view.getUint32(H / 2 - 4, true), true);
    view.setUint32(record + H / 4 - 4, crc32(bytes, record, record + H / 4 - 4), true);
  }
}

test("a header of random fields with valid checksums is refused or opened without a crash", () => {
  const names = ["blocked-embedded", "classic-file", "ribbon-embedded", "slice-own-first", "series-3", "counting-embedded"];
  let state = 7;
  const random = (limit) => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % limit;
  const images = names.map((name) => readFile(`${GOLDEN}/${name}.bloom`));
  for (const end = performance.now() + FUZZ_MS / 2; performance.now() < end;) {
    const bytes = images[random(images.length)].slice(), H = bytes[13] === 2 ? 512 : 4096;
    for (let changes = 1 + random(3); changes; changes--) {
      const at = random(2) ? 16 + random(290) : random(2) * (H / 4) + H / 2 + random(64);
      bytes[Math.min(at, H - 1)] = [0, 1, 255, random(256)][random(4)];
    }
    if (H === 512) bytes.copyWithin(384, 256, 384);
    else bytes.copyWithin(3072, 2048, 3072);
    seal(bytes, H);
    survive(bytes, [], `state ${state}`);
    survive(bytes.subarray(0, random(bytes.length)), [], `state ${state}, cut`);
  }
});

test("a series with a truncated layer or a changed header bit is refused", () => {
  const image = readFile(`${GOLDEN}/series-3.bloom`);
  for (let at = 0; at < image.length; at += 251) survive(image.subarray(0, at), KEYS, `size ${at}`);
  for (let at = 0; at < image.length; at += 97) {
    const bytes = image.slice();
    bytes[at] ^= 0x10;
    survive(bytes, KEYS, `byte ${at}`);
  }
});

test("a header with huge numbers allocates nothing", () => {
  const before = process.memoryUsage().arrayBuffers;
  for (const { file } of table(`${GOLDEN}/../golden-refused/index.tsv`)) {
    survive(readFile(`${GOLDEN}/../golden-refused/${file}`), [], file);
  }
  assert.ok(process.memoryUsage().arrayBuffers - before < 64 << 20);
});

test("verification reports a page that changed after it was found right", () => {
  const bytes = build(KEYS, { m: 51200, k: 4 }), filter = open(bytes, { keys: "plain" });
  assert.equal(filter.has("not in it"), false);
  bytes.fill(0, 4096, 8192);
  bytes[4096] = 1;
  assert.throws(() => filter.verify(), { code: "BLOOMFILE_ECHANGED" });
  assert.ok(KEYS.every((key) => filter.has(key)));
});

test("a resizable buffer is refused: it can shrink, grow again and have lost its bytes", { skip: !ArrayBuffer.prototype.resize }, () => {
  const image = build(["a"]), buffer = new ArrayBuffer(image.length, { maxByteLength: image.length });
  new Uint8Array(buffer).set(image);
  for (const data of [buffer, new Uint8Array(buffer)]) assert.throws(() => open(data), TypeError);
  assert.ok(open(buffer.slice(0)).has("a"));
});

test("a buffer that is transferred or detached answers maybe", () => {
  const keys = Array.from({ length: 5000 }, (_, i) => `key ${i}`), absent = keys.map((key) => `absent ${key}`);
  const memory = () => new WebAssembly.Memory({ initial: 1, maximum: 2 });
  const losses = {
    transfer: [(size) => new ArrayBuffer(size), (buffer) => structuredClone(null, { transfer: [buffer] })],
    grow: [(_, wasm = memory()) => Object.assign(wasm.buffer, { wasm }), (buffer) => buffer.wasm.grow(1)],
  };
  // Repeated, because code that was compiled for one kind of buffer may be wrong for the next.
  for (const layout of ["blocked", "classic", "counting", "ribbon", "blocked", "classic"]) {
    const image = build(keys, { layout, m: layout === "ribbon" ? 51200 : undefined });
    for (const [name, [make, lose]] of Object.entries(losses)) {
      const buffer = make(image.length), bytes = new Uint8Array(buffer, 0, image.length);
      bytes.set(image);
      const filter = open(bytes);
      assert.ok(filter.hasAll(absent).some((maybe) => !maybe));
      lose(buffer);
      assert.ok(filter.hasAll(keys).every(Boolean), `${name}, ${layout}: a silent no`);
      assert.equal(filter.error.code, "BLOOMFILE_ECHANGED");
      assert.throws(() => filter.verify(), { code: "BLOOMFILE_ECHANGED" });
    }
  }
});
