// SPDX-License-Identifier: MIT
// Makes filters in memory: from keys, and from other filters.

import { internal, open, size } from "./bloomfile.js";

const {
  BLOCKED, COUNTING, RIBBON, LAYOUTS, KINDS, MAGIC, PAGE, KeyKind, check, columnsOf, crc32, fold: mix, high, highOf, lowOf,
  isBytes, keysOfOnes, mapKeys, multiply, popcount, ribbonMaybe, selfTest, top, xxh3,
} = internal;

// ---- Sealing: an image from its fields and its body ----

function writeStatic(view, h) {
  const bytes = new Uint8Array(view.buffer, view.byteOffset), half = h.headerSize / 2;
  bytes.set(MAGIC);
  [1, h.headerSize, h.compat, 0, h.incompat, h.provenance, h.layout, h.hashId, h.k, h.keyKind]
    .forEach((value, i) => view.setUint32(8 + 4 * i, value, true));
  [h.m, h.seed, h.selfTest, BigInt(h.headerSize), BigInt(h.bodySize), h.capacity]
    .forEach((value, i) => view.setBigUint64(48 + 8 * i, value, true));
  view.setFloat64(96, h.fpr, true);
  view.setBigUint64(104, h.mUnfolded, true);
  bytes.set(h.tag, 112);
  bytes.set(h.label, 128);
  (h.more || []).forEach((value, i) => view.setBigUint64(240 + 8 * i, value, true));
  view.setUint32(half - 4, crc32(bytes, 0, half - 4), true);
}

function writeRecord(bytes, r, headerCrc) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length), end = bytes.length - 4;
  view.setBigUint64(0, (1n << 64n) - 1n, true);
  view.setUint32(8, 2, true);
  view.setUint32(12, r.estimated ? 1 : 0, true);
  [r.n, r.ones, r.overflow].forEach((value, i) => view.setBigUint64(16 + 8 * i, BigInt(value), true));
  view.setUint32(56, r.bodyCrc, true);
  view.setUint32(60, headerCrc, true);
  bytes.set(r.watermark || [], 72);
  view.setUint32(end, crc32(bytes, 0, end), true);
}

function countOnes(body, counting) {
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  let ones = 0, overflow = 0;
  for (let o = 0; o < body.length; o += 4) {
    const x = view.getInt32(o, true);
    ones += popcount(counting ? (x | (x >>> 1) | (x >>> 2) | (x >>> 3)) & 0x11111111 : x);
    if (counting) overflow += popcount(x & (x >>> 1) & (x >>> 2) & (x >>> 3) & 0x11111111);
  }
  return { ones, overflow };
}

/** The bytes, and zeros up to a multiple of 4. */
function wholeWords(bytes) {
  const words = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  words.set(bytes);
  return words;
}

/** Bodies are limited, because their bits and counters are numbered with 32 bits here. */
function checkMemory(bytes) {
  if (!(bytes <= 2 ** 28)) throw new RangeError("filters above 256 MiB are made by the tools, not in memory");
}

/** The bytes of a sealed image. `body` has the bytes that m needs, or more. */
function seal(h, n, estimated, watermark, body) {
  const H = h.headerSize, unit = H === 4096 ? 4096 : 64, bits = Number(h.m) * (h.layout === COUNTING ? 4 : 1);
  const bodySize = Math.ceil(Math.ceil(bits / 8) / unit) * unit, pages = Math.ceil(bodySize / PAGE);
  checkMemory(bodySize);
  const image = new Uint8Array(H + bodySize + 4 * pages), view = new DataView(image.buffer);
  image.set(body.subarray(0, bodySize), H);
  const stored = image.subarray(H, H + bodySize), bodyCrc = crc32(stored);
  for (let page = 0; page < pages; page++) {
    const crc = crc32(stored, PAGE * page, Math.min(PAGE * (page + 1), bodySize));
    view.setUint32(H + bodySize + 4 * page, crc ^ bodyCrc, true);
  }
  writeStatic(view, { ...h, bodySize });
  const headerCrc = view.getUint32(H / 2 - 4, true);
  const record = { n, estimated, watermark, bodyCrc, ...countOnes(stored, h.layout === COUNTING) };
  writeRecord(image.subarray(H / 2, (3 * H) / 4), record, headerCrc);
  image.copyWithin((3 * H) / 4, H / 2, (3 * H) / 4);
  return image;
}

// ---- Ribbon pages (ribbon.md 5) ----

/** A digest in its page: its group, coefficients and right side. */
function equation(h, l, seed, groups) {
  l = mix(h ^ 0xd1b54a32, l ^ 0xd192ed03, 0x9e3779b9, 0x7f4a7c15);
  h = top[0];
  l ^= multiply(0, seed, 0x9e3779b9, 0x7f4a7c15);
  l = multiply(h ^ top[0], l, 0xd1b54a32, 0xd192ed03);
  h = top[0];
  const low = mix(h ^ 0x8cb92ba7, l ^ 0x2f3d8dd7, 0x9e3779b9, 0x7f4a7c15);
  return { group: high(h, groups - 1), low, high: top[0], right: l };
}

/** Rows by their leading slot, each as the 64 bits from the beginning of that slot's group; or null if they are dependent. */
function eliminate(digests, seed, groups) {
  const rows = { used: new Uint8Array(32 * groups), low: new Int32Array(32 * groups), high: new Int32Array(32 * groups),
    right: new Int32Array(32 * groups) };
  for (const digest of digests) {
    let { group, low, high: up, right } = equation(highOf(digest), lowOf(digest), seed, groups);
    for (;;) {
      if (low === 0) [group, low, up] = [group + 1, up, 0];
      if (low === 0) return null;
      const slot = 32 * group + 31 - Math.clz32(low & -low);
      if (!rows.used[slot]) {
        [rows.used[slot], rows.low[slot], rows.high[slot], rows.right[slot]] = [1, low, up, right];
        break;
      }
      low ^= rows.low[slot];
      up ^= rows.high[slot];
      right ^= rows.right[slot];
    }
  }
  return rows;
}

function parity(x) {
  return popcount(x) & 1;
}

/** The columns of all groups, with the free slots 0: `columns` words a group. */
function substitute(rows, groups, columns) {
  const solution = new Int32Array((groups + 1) * columns);
  for (let slot = 32 * groups - 1; slot >= 0; slot--) {
    if (!rows.used[slot]) continue;
    const at = (slot >>> 5) * columns;
    for (let col = 0; col < columns; col++) {
      const sum = (rows.low[slot] & solution[at + col]) ^ (rows.high[slot] & solution[at + columns + col]);
      if (parity(sum) !== ((rows.right[slot] >>> col) & 1)) solution[at + col] |= 1 << (slot & 31);
    }
  }
  return solution;
}

function writeColumns(page, solution, groups, wordCount, columns) {
  const { low, few } = columnsOf(groups, wordCount);
  for (let group = 0; group < groups; group++) {
    const first = group * low + Math.max(0, group - few);
    for (let col = 0; col < (group < few ? low : low + 1); col++) {
      page.setInt32(8 + 4 * (first + col), solution[group * columns + col], true);
    }
  }
}

/** Solves a page for its distinct digests, and proves the solution: a wrong one would be a silent no. */
function solvePage(page, digests, lines) {
  const wordCount = 16 * lines - 2, count = digests.length;
  page.setUint32(4, Math.min(count, 0xffffffff), true);
  for (let groups = Math.max(2, Math.ceil((41 * count) / 1280)); groups <= wordCount >>> 1; groups++) {
    for (let seed = 0; seed < 16; seed++) {
      const rows = eliminate(digests, seed, groups);
      if (!rows) continue;
      const { low, few } = columnsOf(groups, wordCount), columns = groups - 1 < few ? low : low + 1;
      writeColumns(page, substitute(rows, groups, columns), groups, wordCount, columns);
      page.setUint32(0, groups | (seed << 16), true);
      const missing = digests.some((digest) => !ribbonMaybe(highOf(digest), lowOf(digest), page, wordCount));
      if (missing) throw new Error("a page of a ribbon was solved wrongly");
      return;
    }
  }
}

function fillRibbon(layer, body, digests) {
  let from = 0;
  for (let page = 0; 64 * page < layer.blocks; page++) {
    const lines = layer.lines(page);
    let to = from; // sorted digests of a page are neighbours
    while (to < digests.length && layer.block(highOf(digests[to]), lowOf(digests[to])) < 64 * (page + 1)) to++;
    solvePage(new DataView(body.buffer, body.byteOffset + PAGE * page, 64 * lines), digests.subarray(from, to), lines);
    from = to;
  }
}

// ---- Building from keys ----

/** Sets bits, or increases counters, where a lookup would look. */
function setter(body, counting) {
  return {
    clear(byte, mask) {
      if (!counting) body[byte] |= mask;
      else if ((body[byte] & mask) !== mask) body[byte] += mask & 0x11;
      return false;
    },
  };
}

function kindOf(keys) {
  const types = new Set(keys.map((key) => (isBytes(key) ? "bytes" : typeof key)));
  if (types.has("number") && types.has("bigint")) types.delete("bigint");
  if (types.size > 1) throw new TypeError("keys of one filter are all text, all integers, or all bytes");
  return { string: "text", number: "integers", bigint: "integers", bytes: "bytes" }[[...types][0]] || "unknown";
}

/** The distinct digests of keys, sorted. */
function digestsOf(keys, seed, loader) {
  const digests = new BigUint64Array(keys.length), sh = highOf(seed), sl = lowOf(seed);
  keys.forEach((key, i) => {
    const l = xxh3(loader.load(key), sh, sl);
    digests[i] = (BigInt(top[0] >>> 0) << 32n) | BigInt(l >>> 0);
  });
  digests.sort();
  return digests.filter((digest, i) => i === 0 || digest !== digests[i - 1]);
}

function padded(bytes, length, name) {
  if (typeof bytes === "string") throw new TypeError(`the ${name} is an array of bytes`);
  if (!(bytes.length <= length)) throw new RangeError(`the ${name} is not an array of at most ${length} bytes`);
  const result = new Uint8Array(length);
  result.set(bytes);
  return result;
}

function encode(text) {
  if (/\p{Surrogate}/u.test(text)) throw new TypeError("a lone surrogate has no UTF-8");
  return new TextEncoder().encode(text);
}

function headerSizeOf(form) {
  if (form !== "file" && form !== "embedded") throw new TypeError(`unknown form: ${form}`);
  return form === "file" ? 4096 : 512;
}

/** Builds a sealed filter of keys and returns its bytes. */
export function build(keys, options = {}) {
  const { layout = "blocked", seed = 0n, form = "file", label = "", tag = [] } = options;
  keys = mapKeys(keys, (key) => key);
  const kind = options.keyKind || kindOf(keys), number = KINDS.indexOf(kind);
  if (number < 0 || number === 4) throw new TypeError(`unknown kind of keys: ${kind}`);
  const digests = digestsOf(keys, BigInt(seed), new KeyKind(1, number));
  const capacity = options.capacity || Math.max(1, digests.length);
  const { m, k } = layout === "ribbon" ? { m: options.m, k: 0 } : size({ ...options, layout, n: capacity });
  if (!(m > 0)) throw new RangeError("the layout ribbon needs m");
  const fpr = options.fpr || (options.m ? 0 : 0.01);
  const h = {
    headerSize: headerSizeOf(form), compat: number ? 1 : 0, incompat: 0, provenance: 0, layout: LAYOUTS.indexOf(layout), hashId: 1, k,
    keyKind: number, m: BigInt(m), seed: BigInt(seed), selfTest: selfTest(BigInt(seed)), capacity: BigInt(capacity), fpr,
    mUnfolded: BigInt(m), tag: padded(tag, 16, "tag"), label: padded(encode(label), 112, "label"),
  };
  const empty = open(seal(h, 0, false, null, new Uint8Array())), [layer] = empty.layers; // opening checks every field
  const body = empty.bytes.subarray(layer.body, layer.entries);
  if (h.layout === RIBBON) fillRibbon(layer, body, digests);
  else {
    const bits = setter(body, h.layout === COUNTING);
    for (const digest of digests) layer.maybe(highOf(digest), lowOf(digest), bits);
  }
  return seal(h, digests.length, false, null, body);
}

// ---- Operations on filters (operations.md) ----

/** The fields of a result that an operation keeps. */
function keptFields({ header: h }, form) {
  const { compat, keyKind, layout, hashId, k, m, seed, selfTest: test, capacity, fpr, mUnfolded, tag, label, provenance } = h;
  const kind = compat & 1 ? keyKind : 0;
  return {
    headerSize: headerSizeOf(form), compat: kind ? 1 : 0, keyKind: kind, incompat: 0, provenance: provenance & 7, layout,
    hashId, k, m, seed, selfTest: test, capacity, fpr, mUnfolded, tag, label: padded(encode(label), 112, "label"),
  };
}

/** The layer of a filter that is a whole and a single image. */
function wholeLayer({ layers: [layer] }) {
  check(!layer.series, "EISSERIES");
  check(!layer.slice, "EISSLICE");
  return layer;
}

/** The verified body of a filter: no operation may compute checksums over damage. */
function bodyOf(filter) {
  if (!filter.bytes) throw new TypeError("operations need filters in memory: read the whole file, and use open");
  checkMemory(filter.layers[0].bodySize);
  filter.verify();
  const [layer] = filter.layers;
  return filter.bytes.subarray(layer.body, layer.entries);
}

const unitsOf = (layer) => (layer.layout === BLOCKED || layer.layout === RIBBON ? layer.blocks : Number(layer.header.m));

function foldBlocks(body, blocks, factor) {
  const folded = new Uint8Array((64 * blocks) / factor);
  for (let i = 0; i < 64 * blocks; i++) folded[64 * Math.floor((i >>> 6) / factor) + (i & 63)] |= body[i];
  return folded;
}

function foldBits(body, m, factor) {
  const folded = new Uint8Array(Math.ceil(m / factor / 8));
  for (let x = 0; x < m; x++) {
    const to = Math.floor(x / factor);
    if ((body[x >>> 3] >>> (x & 7)) & 1) folded[to >>> 3] |= 1 << (to & 7);
  }
  return folded;
}

const counter = (body, j) => (body[j >>> 1] >>> (4 * (j & 1))) & 15;

function foldCounters(body, m, factor) {
  const folded = new Uint8Array(Math.ceil(m / factor / 2));
  for (let j = 0; j < m; j++) {
    const to = Math.floor(j / factor), sum = Math.min(15, counter(folded, to) + counter(body, j));
    folded[to >>> 1] = to & 1 ? (folded[to >>> 1] & 15) | (sum << 4) : (folded[to >>> 1] & 0xf0) | sum;
  }
  return folded;
}

function foldBody(layer, body, factor) {
  if (factor === 1) return body;
  const units = unitsOf(layer);
  if (layer.layout === BLOCKED) return foldBlocks(body, units, factor);
  return (layer.layout === COUNTING ? foldCounters : foldBits)(body, units, factor);
}

/** Folds a filter: the same keys in a filter smaller by the factor. Returns its bytes. */
export function fold(filter, factor, { form = "file" } = {}) {
  const layer = wholeLayer(filter), r = layer.record;
  check(layer.layout !== RIBBON || factor === 1, "EISRIBBON");
  check(factor >= 1 && unitsOf(layer) % factor === 0, "EFACTOR");
  const body = foldBody(layer, bodyOf(filter), factor), h = keptFields(layer, form);
  return seal({ ...h, m: h.m / BigInt(factor) }, r.n, r.flags & 1, r.watermark, body);
}

/** The key kind of a result (section 2), or an error. */
function commonKind(layers) {
  const words = layers.map(({ header: h }) => (h.compat & 1 ? h.keyKind : 0));
  const kinds = words.map((word) => new KeyKind(1, word));
  if (words.every((word) => word === words[0])) return words[0];
  for (const [i, a] of kinds.entries()) {
    for (const [j, b] of kinds.entries()) {
      if (words[i] === words[j]) continue;
      check(a.name !== "newer" && b.name !== "newer", "EFEATURE", "a newer kind of keys");
      check((a.number === 0 && b.number !== 2) || (b.number === 0 && a.number !== 2), "EKEYKIND");
    }
  }
  return 0;
}

function checkAlike(layers) {
  const alike = (name, value) => check(layers.every((layer) => value(layer) === value(layers[0])), name);
  alike("EDIFFERENTLAYOUT", (layer) => layer.layout);
  alike("EDIFFERENTHASH", (layer) => layer.header.hashId);
  if (layers[0].header.hashId !== 1) alike("EDIFFERENTHASH", (layer) => layer.header.selfTest);
  alike("EDIFFERENTHASHCOUNT", (layer) => layer.k);
  alike("EDIFFERENTSEED", (layer) => layer.header.seed);
}

const gcd = (a, b) => (b ? gcd(b, a % b) : a);

function combineCounters(into, body) {
  for (let j = 0; j < 2 * into.length; j++) {
    const sum = Math.min(15, counter(into, j) + counter(body, j));
    into[j >>> 1] = j & 1 ? (into[j >>> 1] & 15) | (sum << 4) : (into[j >>> 1] & 0xf0) | sum;
  }
}

function combine(into, body, layout, intersect) {
  if (layout === COUNTING) return combineCounters(into, body);
  for (let i = 0; i < into.length; i++) into[i] = intersect ? into[i] & body[i] : into[i] | body[i];
}

/** The fill that common keys account for. The other one bits of the intersection are there by chance. */
function commonFill(fills, both) {
  let low = 0, high = both;
  if (both >= 1) return 1;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    const chance = fills.reduce((product, fill) => (product * Math.max(0, fill - middle)) / (1 - middle), 1);
    if (middle + (1 - middle) * chance > both) high = middle;
    else low = middle;
  }
  return low;
}

/** n of a result, and whether it is an estimate (operations.md 6). `fills` are those of the bodies, `ones` of the result. */
function countOf(layers, intersect, { m, fills, ones }) {
  const counts = layers.map(({ record: r }) => ({ n: r.n, estimated: (r.flags & 1) === 1 }));
  if (counts.length === 1) return counts[0];
  const full = counts.filter(({ n, estimated }) => n > 0n || estimated);
  if (intersect && full.length < counts.length) return { n: 0n, estimated: true };
  if (!intersect && full.length === 1) return full[0];
  if (full.length === 0) return { n: 0n, estimated: false };
  const shape = { layout: layers[0].layout, k: layers[0].k, m };
  const keys = keysOfOnes(shape, intersect ? Math.floor(commonFill(fills, ones / m) * m) : ones);
  return { n: BigInt(Math.floor(keys + 0.5)), estimated: true };
}

function merge(filters, form, intersect) {
  if (filters.length === 0) throw new TypeError("no filters");
  const layers = filters.map(wholeLayer), [{ layout }] = layers;
  checkAlike(layers);
  check(layout !== RIBBON, "EISRIBBON");
  const kind = commonKind(layers);
  check(!intersect || layout !== COUNTING, "EISCOUNTING");
  const units = layers.map(unitsOf).reduce(gcd);
  const bodies = filters.map((filter, i) => foldBody(layers[i], bodyOf(filter), unitsOf(layers[i]) / units));
  const used = layout === BLOCKED ? 64 * units : Math.ceil(units / (layout === COUNTING ? 2 : 8));
  const body = bodies[0].slice(0, used);
  bodies.slice(1).forEach((other) => combine(body, other, layout, intersect));
  const m = BigInt(layout === BLOCKED ? 512 * units : units), all = layers.map((layer) => layer.header);
  const h = {
    ...keptFields(layers[0], form), m, mUnfolded: m, compat: kind ? 1 : 0, keyKind: kind, tag: [], label: [],
    capacity: all.reduce((most, { capacity }) => (capacity > most ? capacity : most), 1n), fpr: Math.max(...all.map(({ fpr }) => fpr)),
    provenance: all.reduce((bits, { provenance }) => bits | (provenance & 7), intersect ? 1 : 2),
  };
  const onesOf = (bytes) => countOnes(wholeWords(bytes), layout === COUNTING).ones;
  const fills = bodies.map((bytes) => onesOf(bytes.subarray(0, used)) / Number(m));
  const { n, estimated } = countOf(layers, intersect, { m: Number(m), fills, ones: onesOf(body) });
  return seal(h, n, estimated, null, body);
}

/** A filter of the keys of all filters. Returns its bytes. */
export function union(filters, { form = "file" } = {}) {
  return merge(filters, form, false);
}

/** A filter of the keys that all filters have, and of false positives. Returns its bytes. */
export function intersection(filters, { form = "file" } = {}) {
  return merge(filters, form, true);
}

// ---- Joining slices (slices.md 1.3) ----

function checkComplete(layers) {
  check(layers.every((layer) => layer.slice), "EINCOMPLETE");
  const slices = layers.map((layer) => layer.slice), [{ header: h, slice: whole }] = layers;
  let block = 0n;
  for (const layer of layers) {
    check(layer.slice.firstBlock === block, "EINCOMPLETE");
    block += layer.header.m / 512n;
  }
  check(block === whole.wholeBlocks && slices.every((slice) => slice.wholeBlocks === whole.wholeBlocks), "EINCOMPLETE");
  const common = ({ header: { hashId, selfTest: test, k, seed, capacity, fpr, tag, label, provenance, compat, keyKind } }) =>
    [hashId, test, k, seed, capacity, fpr, tag, label, provenance & 7, compat & 1 ? keyKind : 0].join("\0");
  check(layers.every((layer) => common(layer) === common(layers[0])), "EINCOMPLETE");
  const own = slices.every((slice) => slice.keysElsewhere === 0n);
  const alike = slices.every((slice) => slice.keysRead === whole.keysRead && slice.digestSum === whole.digestSum);
  check(own || alike, "EINCOMPLETE");
  return h;
}

/** Joins all slices of a filter, given in any order. Returns the bytes of the whole. */
export function join(filters, { form = "file" } = {}) {
  check(filters.length > 0, "EINCOMPLETE");
  const begin = (filter) => (filter.layers[0].slice ? filter.layers[0].firstBlock : 0);
  const sorted = [...filters].sort((a, b) => begin(a) - begin(b)), layers = sorted.map((filter) => filter.layers[0]);
  checkComplete(layers);
  const m = 512n * layers[0].slice.wholeBlocks, body = new Uint8Array(Number(m) / 8);
  sorted.forEach((filter, i) => body.set(bodyOf(filter).subarray(0, 64 * layers[i].blocks), 64 * layers[i].firstBlock));
  const n = layers.reduce((sum, { record }) => sum + record.n, 0n), most = (1n << 64n) - 1n;
  const estimated = n > most || layers.some(({ record }) => record.flags & 1);
  const h = { ...keptFields(layers[0], form), m, mUnfolded: m };
  return seal(h, n > most ? most : n, estimated, null, body);
}
