// SPDX-License-Identifier: MIT
// Bloom and ribbon filters that live in files: the whole module, for Node, Deno and browsers.

const MAGIC = [0xbf, 0x42, 0x4c, 0x4d, 0x0d, 0x0a, 0x1a, 0x0a];
const PAGE = 4096;
const TWO32 = 4294967296;
const MAX = (1n << 64n) - 1n;
const LIMIT = 1n << 60n;
const BLOCKED = 1, CLASSIC = 2, COUNTING = 3, RIBBON = 4;
const LAYOUTS = ["", "blocked", "classic", "counting", "ribbon"];
const KINDS = ["unknown", "text", "lower", "integers", "fixed", "bytes"];

// ---- Errors ----

const MEANING = {
  EEMPTY: "the file is empty",
  EMAGIC: "not a bloomfile filter",
  ETEXTMODE: "a text-mode transfer changed line ends or removed the top bits: copy the file again in binary mode",
  ETRUNCATED: "bytes are missing at the end: copy the file again",
  EFORM: "impossible header size",
  EHEADER: "the header is damaged",
  EVERSION: "written by a later version of the format",
  EFEATURE: "needs an unknown feature",
  ELAYOUT: "unknown layout",
  EHASH: "unknown hash function, or not the named function",
  ESELFTEST: "the hash function gives other digests than the writer's",
  EHASHCOUNT: "k is out of range",
  EBITS: "m is out of range",
  EOFFSET: "offset or size of the body does not follow from m",
  ECAPACITY: "capacity is out of range",
  ERATE: "fpr is out of range",
  EUNFOLDED: "m_unfolded is not a multiple of m",
  ELABEL: "the label is not clean text",
  ETRAILING: "bytes follow the filter",
  ERECORD: "the commit records are damaged",
  ESTATE: "a commit record contradicts itself or the header",
  EPOISONED: "a live filter could not be written to disk: rebuild it",
  ELIVE: "live filters cannot be read: seal it first (bfseal)",
  EPAGE: "a page is damaged; its lookups return maybe",
  EBODY: "the body contradicts the header; all lookups return maybe",
  ECHANGED: "the file changed while it was open: open it again",
  ESERIES: "a layer is damaged or belongs to another series",
  ESLICE: "the slice is not as it should be",
  EKEYKIND: "the keys are of another kind than the filter's",
  EISSERIES: "a series, where one filter is needed",
  EISRIBBON: "a ribbon filter can only be built from its keys",
  EISSLICE: "a slice, where a whole filter is needed",
  EINCOMPLETE: "not all slices of one filter, or slices of different inputs",
  EFACTOR: "the factor does not divide the number of blocks or cells",
  EDIFFERENTLAYOUT: "the layouts differ",
  EDIFFERENTHASH: "the hash functions differ",
  EDIFFERENTHASHCOUNT: "the k differ",
  EDIFFERENTSEED: "the seeds differ",
  EISCOUNTING: "counting filters have no intersection",
  EUNREACHABLE: "no size reaches this rate for so many keys",
};

/** A refusal or damage. `code` is the specification's name of the error; `page` and `layer` are its place, if known. */
export class BloomfileError extends Error {
  constructor(name, { detail = "", page = null, layer = null } = {}) {
    super(MEANING[name] + (detail && ` (${detail})`));
    this.name = "BloomfileError";
    this.code = "BLOOMFILE_" + name;
    this.page = page;
    this.layer = layer;
  }
}

function check(condition, name, detail) {
  if (!condition) throw new BloomfileError(name, { detail });
}

// ---- 64-bit arithmetic ----
//
// A u64 is a pair of int32, because BigInt is thirty times slower. Functions return the low half and leave the high half in
// top[0]: a typed array never allocates, unlike a variable or an object.

const top = new Int32Array(1);

/** The high half of the product of two u32. */
function high(a, b) {
  const a0 = a & 0xffff, a1 = a >>> 16, b0 = b & 0xffff, b1 = b >>> 16;
  const mid = (Math.imul(a1, b0) + (Math.imul(a0, b0) >>> 16)) | 0;
  const cross = (Math.imul(a0, b1) + (mid & 0xffff)) | 0;
  return (Math.imul(a1, b1) + (mid >>> 16) + (cross >>> 16)) | 0;
}

function below(a, b) {
  return (a >>> 0) < (b >>> 0) ? 1 : 0;
}

function add(ah, al, bh, bl) {
  const low = (al + bl) | 0;
  top[0] = ah + bh + below(low, al);
  return low;
}

function subtract(ah, al, bh, bl) {
  top[0] = ah - bh - below(al, bl);
  return (al - bl) | 0;
}

function multiply(ah, al, bh, bl) {
  top[0] = high(al, bl) + Math.imul(ah, bl) + Math.imul(al, bh);
  return Math.imul(al, bl);
}

/** The low half of the 128-bit product exclusive-or its high half. */
function fold(ah, al, bh, bl) {
  const l1 = Math.imul(ah, bl), l2 = Math.imul(al, bh), h0 = high(al, bl);
  const part = (h0 + l1) | 0, w1 = (part + l2) | 0;
  const carry1 = below(part, h0) + below(w1, l2);
  const h1 = high(ah, bl), h2 = high(al, bh), l3 = Math.imul(ah, bh);
  const s = (h1 + h2) | 0, t = (s + l3) | 0, w2 = (t + carry1) | 0;
  const carry2 = below(s, h1) + below(t, s) + below(w2, t);
  top[0] = w1 ^ (high(ah, bh) + carry2);
  return Math.imul(al, bl) ^ w2;
}

/** The high half of the 128-bit product: reduces a digest to a number below b. */
function reduce(ah, al, bh, bl) {
  const l1 = Math.imul(ah, bl), h0 = high(al, bl), part = (h0 + l1) | 0, carry = below(part, h0);
  if (bh === 0) {
    top[0] = 0;
    return (high(ah, bl) + carry) | 0;
  }
  const l2 = Math.imul(al, bh), carry1 = carry + below((part + l2) | 0, l2);
  const h1 = high(ah, bl), h2 = high(al, bh), l3 = Math.imul(ah, bh);
  const s = (h1 + h2) | 0, t = (s + l3) | 0, w2 = (t + carry1) | 0;
  top[0] = high(ah, bh) + below(s, h1) + below(t, s) + below(w2, t);
  return w2;
}

function toBigInt(hi, lo) {
  return (BigInt(hi >>> 0) << 32n) | BigInt(lo >>> 0);
}

const highOf = (value) => Number(value >> 32n) | 0;
const lowOf = (value) => Number(value & 0xffffffffn) | 0;

// ---- XXH3, 64 bits (section 19) ----

const SECRET = new DataView(new ArrayBuffer(192));
(
  "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221" +
  "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
  "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb" +
  "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
).match(/../g).forEach((byte, i) => SECRET.setUint8(i, parseInt(byte, 16)));
const DERIVED = new DataView(new ArrayBuffer(192));
const ACC = new Int32Array(16); // eight u64, low halves first
const START = [
  0xc2b2ae3d, 0, 0x85ebca87, 0x9e3779b1, 0x27d4eb4f, 0xc2b2ae3d, 0x9e3779f9, 0x165667b1,
  0xc2b2ae63, 0x85ebca77, 0x85ebca77, 0, 0x165667c5, 0x27d4eb2f, 0x9e3779b1, 0,
];

// The key that is hashed: copied here, so that there is one view of it.
let input = new Uint8Array(1024);
let words = new DataView(input.buffer);

function avalanche64(h, l) {
  l = multiply(h, l ^ (h >>> 1), 0xc2b2ae3d, 0x27d4eb4f);
  h = top[0];
  l = multiply(h ^ (h >>> 29), l ^ ((l >>> 29) | (h << 3)), 0x165667b1, 0x9e3779f9);
  return l ^ top[0];
}

function avalanche3(h, l) {
  l = multiply(h, l ^ (h >>> 5), 0x16566791, 0x9e3779f9);
  return l ^ top[0];
}

function swap(x) {
  return (x << 24) | ((x & 0xff00) << 8) | ((x >>> 8) & 0xff00) | (x >>> 24);
}

function mix16(p, o, sh, sl) {
  const al = add(SECRET.getInt32(o + 4, true), SECRET.getInt32(o, true), sh, sl);
  const ah = top[0];
  const bl = subtract(SECRET.getInt32(o + 12, true), SECRET.getInt32(o + 8, true), sh, sl);
  const bh = top[0];
  return fold(
    ah ^ words.getInt32(p + 4, true), al ^ words.getInt32(p, true),
    bh ^ words.getInt32(p + 12, true), bl ^ words.getInt32(p + 8, true),
  );
}

function hashTo3(length, sh, sl) {
  const all = (input[0] << 16) | (input[length >>> 1] << 24) | input[length - 1] | (length << 8);
  const l = add(0, SECRET.getInt32(0, true) ^ SECRET.getInt32(4, true), sh, sl);
  return avalanche64(top[0], l ^ all);
}

function hashTo8(length, sh, sl) {
  const first = words.getInt32(0, true), last = words.getInt32(length - 4, true);
  let l = subtract(
    SECRET.getInt32(12, true) ^ SECRET.getInt32(20, true), SECRET.getInt32(8, true) ^ SECRET.getInt32(16, true),
    sh ^ swap(sl), sl,
  );
  let h = top[0];
  // value = last + (first << 32)
  l ^= last;
  h ^= first;
  const rh = (l << 17) | (h >>> 15), rl = (h << 17) | (l >>> 15); // rotated by 49
  const qh = (h << 24) | (l >>> 8), ql = (l << 24) | (h >>> 8); // rotated by 24
  l = multiply(h ^ rh ^ qh, l ^ rl ^ ql, 0x9fb21c65, 0x1e98df25);
  h = top[0];
  const shifted = ((h >>> 3) + length) | 0; // below 2^32: h >>> 3 has 29 bits
  l = multiply(h, l ^ shifted, 0x9fb21c65, 0x1e98df25);
  h = top[0];
  l ^= (l >>> 28) | (h << 4);
  top[0] = h ^ (h >>> 28);
  return l;
}

function hashTo16(length, sh, sl) {
  let ll = add(
    SECRET.getInt32(28, true) ^ SECRET.getInt32(36, true), SECRET.getInt32(24, true) ^ SECRET.getInt32(32, true), sh, sl,
  );
  const lh = top[0] ^ words.getInt32(4, true);
  ll ^= words.getInt32(0, true);
  let hl = subtract(
    SECRET.getInt32(44, true) ^ SECRET.getInt32(52, true), SECRET.getInt32(40, true) ^ SECRET.getInt32(48, true), sh, sl,
  );
  const hh = top[0] ^ words.getInt32(length - 4, true);
  hl ^= words.getInt32(length - 8, true);
  const fl = fold(lh, ll, hh, hl), fh = top[0];
  let l = add(swap(ll), swap(lh), 0, length);
  l = add(top[0], l, hh, hl);
  l = add(top[0], l, fh, fl);
  return avalanche3(top[0], l);
}

function hashTo240(length, sh, sl) {
  let l = multiply(0, length, 0x9e3779b1, 0x85ebca87), h = top[0];
  const more = (p, o) => {
    const x = mix16(p, o, sh, sl);
    l = add(h, l, top[0], x);
    h = top[0];
  };
  if (length <= 128) {
    for (let i = 0; i <= (length - 1) >>> 5; i++) {
      more(16 * i, 32 * i);
      more(length - 16 * (i + 1), 32 * i + 16);
    }
    return avalanche3(h, l);
  }
  for (let i = 0; i < 8; i++) more(16 * i, 16 * i);
  l = avalanche3(h, l);
  h = top[0];
  for (let i = 8; i < length >>> 4; i++) more(16 * i, 16 * (i - 8) + 3);
  more(length - 16, 119);
  return avalanche3(h, l);
}

function stripe(p, o) {
  for (let i = 0; i < 8; i++) {
    const vl = words.getInt32(p + 8 * i, true), vh = words.getInt32(p + 8 * i + 4, true);
    const xl = vl ^ DERIVED.getInt32(o + 8 * i, true), xh = vh ^ DERIVED.getInt32(o + 8 * i + 4, true);
    const n = 2 * (i ^ 1);
    ACC[n] = add(ACC[n + 1], ACC[n], vh, vl);
    ACC[n + 1] = top[0];
    ACC[2 * i] = add(ACC[2 * i + 1], ACC[2 * i], high(xl, xh), Math.imul(xl, xh));
    ACC[2 * i + 1] = top[0];
  }
}

function scramble() {
  for (let i = 0; i < 16; i += 2) {
    const h = ACC[i + 1];
    const l = ACC[i] ^ (h >>> 15) ^ DERIVED.getInt32(128 + 4 * i, true);
    ACC[i] = multiply(h ^ DERIVED.getInt32(132 + 4 * i, true), l, 0, 0x9e3779b1);
    ACC[i + 1] = top[0];
  }
}

function derive(sh, sl) {
  for (let o = 0; o < 192; o += 8) {
    const operation = o & 8 ? subtract : add;
    DERIVED.setInt32(o, operation(SECRET.getInt32(o + 4, true), SECRET.getInt32(o, true), sh, sl), true);
    DERIVED.setInt32(o + 4, top[0], true);
  }
}

function hashLong(length, sh, sl) {
  derive(sh, sl);
  ACC.set(START);
  const full = Math.floor((length - 1) / 1024);
  for (let q = 0; q < full; q++) {
    for (let j = 0; j < 16; j++) stripe(1024 * q + 64 * j, 8 * j);
    scramble();
  }
  const rest = ((length - 1) % 1024) >>> 6;
  for (let j = 0; j < rest; j++) stripe(1024 * full + 64 * j, 8 * j);
  stripe(length - 64, 121);
  let l = multiply(0, length, 0x9e3779b1, 0x85ebca87), h = top[0];
  for (let i = 0; i < 4; i++) {
    const a = 4 * i, o = 11 + 16 * i;
    const x = fold(
      ACC[a + 1] ^ DERIVED.getInt32(o + 4, true), ACC[a] ^ DERIVED.getInt32(o, true),
      ACC[a + 3] ^ DERIVED.getInt32(o + 12, true), ACC[a + 2] ^ DERIVED.getInt32(o + 8, true),
    );
    l = add(h, l, top[0], x);
    h = top[0];
  }
  return avalanche3(h, l);
}

/** The digest of the first `length` bytes of `input`. */
function xxh3(length, sh, sl) {
  if (length > 16) return length <= 240 ? hashTo240(length, sh, sl) : hashLong(length, sh, sl);
  if (length > 8) return hashTo16(length, sh, sl);
  if (length > 3) return hashTo8(length, sh, sl);
  if (length > 0) return hashTo3(length, sh, sl);
  const h = sh ^ SECRET.getInt32(60, true) ^ SECRET.getInt32(68, true);
  return avalanche64(h, sl ^ SECRET.getInt32(56, true) ^ SECRET.getInt32(64, true));
}

function selfTest(seed) {
  const sh = highOf(seed), sl = lowOf(seed);
  reserve(1100);
  for (let i = 0; i < 1100; i++) input[i] = 128 + 157 * i;
  let h = 0, l = 0;
  for (const length of [
    0, 1, 2, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 96, 97, 128, 129, 144, 240, 241, 1024, 1025, 1088, 1100,
  ]) {
    l ^= xxh3(length, sh, sl);
    h ^= top[0];
  }
  return toBigInt(h, l);
}

// ---- Keys ----

const encoder = new TextEncoder();

function reserve(length) {
  if (length <= input.length) return;
  input = new Uint8Array(2 * length);
  words = new DataView(input.buffer);
}

function loadText(text) {
  const length = text.length;
  if (length <= 128) {
    let i = 0;
    for (let c; i < length && (c = text.charCodeAt(i)) < 128; i++) input[i] = c;
    if (i === length) return length;
  }
  if (/\p{Surrogate}/u.test(text)) throw new TypeError("a lone surrogate has no UTF-8: look up bytes instead");
  reserve(3 * length);
  return encoder.encodeInto(text, input).written;
}

function loadBytes(bytes) {
  const length = bytes.length;
  reserve(length);
  if (length > 32 || length === 0) input.set(bytes); // set refuses a key whose buffer was transferred: its length is 0
  else for (let i = 0; i < length; i++) input[i] = bytes[i];
  return length;
}

function loadInteger(key) {
  if (typeof key === "number" && !Number.isSafeInteger(key)) {
    throw new TypeError(`${key} is not an integer of at most 2^53 - 1: pass a larger integer as a bigint`);
  }
  if (typeof key === "bigint" && (key >= 1n << 64n || key < -(1n << 63n))) throw new RangeError(`${key} has over 64 bits`);
  words.setBigUint64(0, BigInt.asUintN(64, BigInt(key)), true);
  return 8;
}

/** The halves of a digest. */
function splitDigest(digest) {
  if (typeof digest !== "bigint") throw new TypeError("a digest is a bigint");
  const h = Number(digest >> 32n);
  if (h >= TWO32 || h < -TWO32 / 2) throw new RangeError(`${digest} has over 64 bits`);
  return [h | 0, lowOf(digest)];
}

/** The type of an object, also of another realm (a frame, node:vm), where instanceof fails. */
const typeOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
const isBytes = (value) => value instanceof Uint8Array || (ArrayBuffer.isView(value) && typeOf(value) === "Uint8Array");
const NOT_A_KEY = "a key is a string, a Uint8Array, an integer or a bigint (wrap an ArrayBuffer: new Uint8Array(buffer))";

/**
 * Converts each key of a list. Refuses a string or bytes: their characters or numbers would be looked up as keys. Refuses
 * values that are not iterable: Array.from would make an empty list of them.
 */
function mapKeys(keys, convert) {
  const one = /^(String|Uint8Array|Uint8ClampedArray)$/.test(typeOf(keys));
  if (one) throw new TypeError("one key, where a list of keys is needed");
  if (typeof keys?.[Symbol.iterator] === "function") return Array.from(keys, convert);
  throw new TypeError(keys?.[Symbol.asyncIterator] ? "an async iterable: collect its keys in an array first"
    : `a list of keys is an array or another iterable, not ${typeOf(keys)}`);
}

function lower(length) {
  for (let i = 0; i < length; i++) if (input[i] >= 65 && input[i] <= 90) input[i] += 32;
}

/** The kind of a filter's keys, which decides which typed keys fit (section 6). */
class KeyKind {
  constructor(compat, word) {
    const value = compat & 1 ? word : 0;
    this.number = value & 255;
    this.size = value >>> 8;
    const sized = this.number === 4;
    this.name = this.number <= 5 && sized === this.size > 0 ? KINDS[this.number] : "newer";
  }

  check(fits) {
    if (fits && this.name !== "newer") return;
    check(this.name !== "newer", "EFEATURE", "a newer kind of keys");
    const type = ["", "strings", "strings", "numbers or bigints", `Uint8Arrays of ${this.size} bytes`, "Uint8Arrays"][this.number];
    throw new BloomfileError("EKEYKIND", { detail: `its keys are ${this.name}: use ${type}` });
  }

  /** Copies a key to `input`, checks that it fits, and returns its length. */
  load(key) {
    const kind = this.number;
    let length;
    if (typeof key === "string") {
      this.check(kind < 3);
      length = loadText(key);
    } else if (typeof key === "number" || typeof key === "bigint") {
      this.check(kind === 0 || kind === 3);
      length = loadInteger(key);
    } else if (isBytes(key)) {
      this.check(kind === 3 ? key.length === 8 : kind !== 4 || key.length === this.size);
      length = loadBytes(key);
    } else throw new TypeError(NOT_A_KEY);
    if (this.name === "lower") lower(length);
    return length;
  }
}

/** Accepts keys of every type. The kind "lower" still converts them, because the filter has no other keys. */
class UncheckedKind extends KeyKind {
  check() {}
}

// ---- CRC-32 ----

const CRC = new Int32Array(8 * 256);
for (let i = 0; i < 256; i++) {
  let c = i;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  CRC[i] = c;
}
for (let i = 256; i < 2048; i++) CRC[i] = CRC[CRC[i - 256] & 255] ^ (CRC[i - 256] >>> 8);

function crc32(bytes, from = 0, to = bytes.length) {
  let c = -1, i = from;
  for (; i + 8 <= to; i += 8) {
    c ^= bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
    c = CRC[1792 + (c & 255)] ^ CRC[1536 + ((c >>> 8) & 255)] ^ CRC[1280 + ((c >>> 16) & 255)] ^ CRC[1024 + (c >>> 24)] ^
      CRC[768 + bytes[i + 4]] ^ CRC[512 + bytes[i + 5]] ^ CRC[256 + bytes[i + 6]] ^ CRC[bytes[i + 7]];
  }
  for (; i < to; i++) c = (c >>> 8) ^ CRC[(c ^ bytes[i]) & 255];
  return ~c >>> 0;
}

/** Returns a function that continues a CRC-32 with `length` bytes whose own CRC-32 is known. */
function combiner(length) {
  const column = new Int32Array(32);
  for (let bit = 0; bit < 32; bit++) {
    let c = 1 << bit;
    for (let i = 0; i < length; i++) c = (c >>> 8) ^ CRC[c & 255];
    column[bit] = c;
  }
  return (crc, next) => {
    for (let bit = 0; bit < 32; bit++) if ((crc >>> bit) & 1) next ^= column[bit];
    return next >>> 0;
  };
}

// ---- Header and commit records (sections 6, 7, 13) ----

const TEXTMODE = [
  "bf424c4d0a1a0a", "bf424c4d0d0d0a1a0d0a", "bf424c4d0d0a1a0d0a", "bf424c4d0d0d1a0d", "bf424c4d0a0a1a0a", "3f424c4d0d0a1a0a",
];

const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

function isTextMode(head) {
  return TEXTMODE.some((pattern) => {
    const length = Math.min(head.length, pattern.length / 2);
    return length >= 6 && hex(head.subarray(0, length)) === pattern.slice(0, 2 * length);
  });
}

function decodeLabel(bytes) {
  const end = bytes.indexOf(0) < 0 ? bytes.length : bytes.indexOf(0);
  check(bytes.subarray(end).every((b) => b === 0), "ELABEL");
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, end));
  } catch {
    throw new BloomfileError("ELABEL");
  }
  check(!/[\0-\x1f\x7f-\x9f]/.test(text), "ELABEL");
  return text;
}

/** Reads little-endian fields of a piece of the header. */
class Fields {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }
  u32(o) {
    return this.view.getUint32(o, true);
  }
  u64(o) {
    return this.view.getBigUint64(o, true);
  }
  f64(o) {
    return this.view.getFloat64(o, true);
  }
  zero(from, to) {
    return this.bytes.subarray(from, to).every((b) => b === 0);
  }
}

const ceil = (a, b) => ((a + b - 1n) / b) * b;
const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);

function readStart(head, size) {
  check(size >= 1, "EEMPTY");
  const start = head.subarray(0, Math.min(size, 8));
  if (!start.every((b, i) => b === MAGIC[i])) {
    const detail = hex(start) === "bf444c540d0a1a0a" ? "a patch: apply it with bfdelta --apply" : "";
    throw isTextMode(head) ? new BloomfileError("ETEXTMODE") : new BloomfileError("EMAGIC", { detail });
  }
  check(size >= 16, "ETRUNCATED");
  const H = new Fields(head).u32(12);
  check(H === 512 || H === 4096, "EFORM");
  check(size >= H, "ETRUNCATED");
  return H;
}

/** The static header's fields, checked by V6 to V18. */
function readStatic(f, H, applications) {
  const headerCrc = f.u32(H / 2 - 4);
  check(headerCrc === crc32(f.bytes, 0, H / 2 - 4), "EHEADER");
  check(f.u32(8) === 1, "EVERSION", `version ${f.u32(8)}`);
  const unknown = (f.u32(24) & ~3) >>> 0;
  check(unknown === 0, "EFEATURE", `bit ${31 - Math.clz32(unknown & -unknown)} of incompat`);
  const h = {
    headerSize: H, headerCrc, version: 1, compat: f.u32(16), roCompat: f.u32(20), incompat: f.u32(24), provenance: f.u32(28),
    layout: f.u32(32), hashId: f.u32(36), k: f.u32(40), keyKind: f.u32(44), m: f.u64(48), seed: f.u64(56), selfTest: f.u64(64),
    bodyOffset: f.u64(72), bodySize: f.u64(80), capacity: f.u64(88), fpr: f.f64(96), mUnfolded: f.u64(104),
    tag: f.bytes.slice(112, 128), label: "",
  };
  const lines = h.layout === BLOCKED || h.layout === RIBBON;
  check(h.layout >= 1 && h.layout <= 4, "ELAYOUT", `layout ${h.layout}`);
  check(h.hashId === 1 || (h.hashId >= 0x80000000 && applications), "EHASH", `hash_id 0x${h.hashId.toString(16)}`);
  check(h.hashId !== 1 || h.selfTest === selfTest(h.seed), "ESELFTEST");
  check(h.layout === RIBBON ? h.k === 0 : h.k >= 1 && h.k <= 64, "EHASHCOUNT");
  check(h.m >= 1n && h.m <= LIMIT && (!lines || h.m % 512n === 0n), "EBITS");
  const need = (h.m + (h.layout === COUNTING ? 1n : 7n)) / (h.layout === COUNTING ? 2n : 8n);
  check(h.bodyOffset === BigInt(H) && h.bodySize === ceil(need, H === 4096 ? 4096n : 64n), "EOFFSET");
  check(h.capacity >= 1n && h.capacity <= LIMIT, "ECAPACITY");
  check(f.u64(96) < 0x3ff0000000000000n, "ERATE");
  const unfolded = h.mUnfolded >= h.m && h.mUnfolded <= LIMIT && h.mUnfolded % h.m === 0n;
  check(h.layout === RIBBON ? h.mUnfolded === h.m : unfolded, "EUNFOLDED");
  h.label = decodeLabel(f.bytes.subarray(128, 240));
  return h;
}

/** The fields of a slice, checked by V19 and V20. */
function readSlice(f, h) {
  check(h.headerSize === 4096 && !(h.incompat & 1) && h.layout === BLOCKED && h.mUnfolded === h.m, "ESLICE");
  const s = {
    firstBlock: f.u64(240), wholeBlocks: f.u64(248), keysRead: f.u64(256), keysElsewhere: f.u64(264), digestSum: f.u64(272),
  };
  const left = s.wholeBlocks - s.firstBlock, blocks = h.m / 512n;
  check(s.wholeBlocks <= 1n << 51n && left > 0n && s.firstBlock % 64n === 0n, "ESLICE");
  check(blocks === left || (blocks < left && blocks % 64n === 0n), "ESLICE");
  return s;
}

/** The fields of a layer, checked by V21 to V25. */
function readLayer(f, h, imageSize) {
  check(h.headerSize === 4096 && (h.layout === BLOCKED || h.layout === CLASSIC), "ESERIES");
  const s = {
    series: f.u64(240), layer: f.u64(248), generations: f.u32(256), layers: f.u32(260), restSize: f.u64(264), link: f.u64(272),
    seriesFpr: f.f64(280), period: f.u64(288), began: f.u64(296),
  };
  if (s.layers === 0) {
    check(s.series !== 0n && s.restSize === 0n && s.link === 0n, "ESERIES");
    check(s.generations === 0 || (s.generations >= 2 && s.generations <= 1000), "ESERIES");
    if (s.generations) check(s.layer < 1n << 63n, "ESERIES");
    else check(s.layer <= 999n && h.fpr !== 0 && s.seriesFpr !== 0 && s.period === 0n && s.began === 0n, "ESERIES");
  } else {
    check(s.layers <= 1000 && s.layer < BigInt(s.layers), "ESERIES");
    check(s.series === 0n && s.generations === 0 && s.period === 0n && s.began === 0n, "ESERIES");
  }
  check(f.u64(280) < 0x3ff0000000000000n, "ESERIES");
  const last = s.layer === BigInt(s.layers) - 1n;
  if (s.layers) check(last ? s.restSize === imageSize : s.restSize > ceil(imageSize, 4096n), "ESERIES");
  return s;
}

function readRecord(bytes, headerCrc) {
  const f = new Fields(bytes), end = bytes.length - 4;
  return {
    fields: f,
    intact: f.u32(60) === headerCrc && f.u32(end) === crc32(bytes, 0, end),
    sequence: f.u64(0), state: f.u32(8), flags: f.u32(12), n: f.u64(16), ones: f.u64(24), overflow: f.u64(32),
    bodyCrc: f.u32(56), writers: f.u32(64), watermark: bytes.slice(72, 104), identity: bytes.subarray(128, 144),
  };
}

/** The record in force, checked by V28 to V36. */
function readRecords(head, h, layer) {
  const H = h.headerSize, slice = h.incompat & 2;
  const records = [head.subarray(H / 2, (3 * H) / 4), head.subarray((3 * H) / 4, H)].map((b) => readRecord(b, h.headerCrc));
  const [first, second] = records, both = first.intact && second.intact;
  const equal = same(first.fields.bytes, second.fields.bytes);
  check(first.intact || second.intact, "ERECORD");
  check(!both || first.sequence !== second.sequence || equal, "ERECORD");
  const now = !first.intact || (both && second.sequence > first.sequence) ? second : first;
  const other = now === first ? second : first;
  const mayLive = H === 4096 && h.layout !== RIBBON && !slice, sealed = now.state === 2;
  check(now.state >= 1 && now.state <= 3 && (sealed || mayLive) && sealed === (now.sequence === MAX), "ESTATE");
  check(now.ones <= h.m && now.overflow <= now.ones && (h.layout === COUNTING || now.overflow === 0n), "ESTATE");
  check(sealed ? now.fields.zero(40, 56) : now.bodyCrc === 0, "ESTATE");
  if (H === 4096) {
    const changeable = (r) => r.state === 1 || r.state === 3;
    check(now.fields.zero(128, 144) === sealed, "ESTATE");
    check(!both || !changeable(first) || !changeable(second) || same(first.identity, second.identity), "ERECORD");
  }
  const interrupted = mayLive && other.intact && other.state === 1 && other.sequence < MAX;
  check(!sealed || equal || interrupted, "ERECORD");
  check(!layer || sealed === layer.layers > 0, "ESERIES");
  check(sealed || records.every((r) => r.state !== 3), "EPOISONED");
  check(sealed, "ELIVE");
  return now;
}

/** One image: its header, its place in the file, and lookups in it. `offset` is that of its first byte. */
class Layer {
  /** `head` is the beginning of the image, at most 4096 bytes; `size` is S of section 5. */
  constructor(head, size, offset, applications) {
    const H = readStart(head, size);
    const f = new Fields(head.slice(0, H));
    const h = (this.header = readStatic(f, H, applications));
    this.slice = h.incompat & 2 ? readSlice(f, h) : null;
    const pages = (h.bodySize + 4095n) / 4096n;
    const imageSize = BigInt(H) + h.bodySize + 4n * pages;
    this.series = h.incompat & 1 ? readLayer(f, h, imageSize) : null;
    const expected = this.series && this.series.layers ? this.series.restSize : imageSize;
    check(BigInt(size) >= expected, "ETRUNCATED");
    check(BigInt(size) === expected, "ETRAILING");
    this.record = readRecords(f.bytes, h, this.series);
    this.plan(Number(imageSize), Number(pages), offset);
  }

  /** Numbers that lookups need. They are exact, because the image exists: its size is below 2^53. */
  plan(imageSize, pages, offset) {
    const h = this.header;
    this.offset = offset;
    this.size = imageSize;
    this.pages = pages;
    this.bodySize = Number(h.bodySize);
    this.body = offset + h.headerSize;
    this.entries = this.body + this.bodySize;
    this.layout = h.layout;
    this.k = h.k;
    this.blocks = Number(h.m / 512n);
    this.firstBlock = this.slice ? Number(this.slice.firstBlock) : 0;
    const range = this.slice ? this.slice.wholeBlocks : this.layout === BLOCKED || this.layout === RIBBON ? h.m / 512n : h.m;
    this.rangeHigh = highOf(range);
    this.rangeLow = lowOf(range);
  }

  /** The bytes of a page: where it begins in the body, and its length. */
  pageLength(page) {
    return Math.min(PAGE, this.bodySize - PAGE * page);
  }

  /** Whether the digest may be in this layer. `body` says which bits are zeros to rely on. */
  maybe(h, l, body) {
    if (this.layout === BLOCKED) return this.maybeBlocked(h, l, body);
    if (this.layout === RIBBON) return this.maybeRibbon(h, l, body);
    return this.maybeScattered(h, l, body);
  }

  /** The number of the block or line of a digest, in the whole. */
  block(h, l) {
    const low = reduce(h, l, this.rangeHigh, this.rangeLow) >>> 0;
    return (top[0] >>> 0) * TWO32 + low;
  }

  maybeBlocked(h, l, body) {
    const block = this.block(h, l) - this.firstBlock;
    if (block < 0 || block >= this.blocks) return true;
    const start = 64 * block;
    for (let i = 0, turn = 0; i < this.k; i++) {
      if (turn === 0) {
        l = multiply(h, l, 0x9e3779b9, 0x7f4a7c15);
        h = top[0];
      }
      const place = placeOf(h, l, turn);
      if (body.clear(start + (place >>> 3), 1 << (place & 7))) return false;
      turn = turn === 5 ? 0 : turn + 1;
    }
    return true;
  }

  maybeScattered(h, l, body) {
    const counting = this.layout === COUNTING;
    for (let i = 0; i < this.k; i++) {
      const x = reduce(h, l, this.rangeHigh, this.rangeLow), xh = top[0];
      const byte = counting ? xh * 2147483648 + (x >>> 1) : xh * 536870912 + (x >>> 3);
      if (body.clear(byte, counting ? 15 << (4 * (x & 1)) : 1 << (x & 7))) return false;
      l = multiply(h, l, 0x9e3779b9, 0x7f4a7c15);
      h = top[0];
    }
    return true;
  }

  /** The number of lines of a ribbon page. */
  lines(page) {
    return Math.min(64, this.blocks - 64 * page);
  }

  maybeRibbon(h, l, body) {
    const page = Math.floor(this.block(h, l) / 64);
    const view = body.page(page);
    return view === null || ribbonMaybe(h, l, view, 16 * this.lines(page) - 2);
  }

  /** Calls `take` with each page that the lookup of a digest needs. */
  eachPage(h, l, take) {
    if (this.layout === RIBBON) return take(Math.floor(this.block(h, l) / 64));
    const pages = { clear: (byte) => (take(Math.floor(byte / PAGE)), false) };
    this.maybe(h, l, pages);
  }
}

/** Place number `turn` of six in the top 54 bits of a product. */
function placeOf(h, l, turn) {
  switch (turn) {
    case 0: return h >>> 23;
    case 1: return (h >>> 14) & 511;
    case 2: return (h >>> 5) & 511;
    case 3: return ((h << 4) | (l >>> 28)) & 511;
    case 4: return (l >>> 19) & 511;
    default: return (l >>> 10) & 511;
  }
}

// ---- Ribbon (ribbon.md) ----

function parity(x) {
  x ^= x >>> 16;
  x ^= x >>> 8;
  x ^= x >>> 4;
  return (0x6996 >>> (x & 15)) & 1;
}

function readHead(view, wordCount) {
  const low = view.getUint32(0, true), groups = low & 0xffff;
  const valid = low >>> 23 === 0 && (groups === 0 || (groups >= 2 && groups <= wordCount >>> 1));
  return { groups: valid ? groups : 0, seed: (low >>> 16) & 127, keys: view.getUint32(4, true), valid };
}

/** The columns of a page's groups: the first `few` groups have `low`, the rest `low + 1`. */
function columnsOf(groups, wordCount) {
  const low = Math.min(32, Math.floor(wordCount / groups));
  return { low, few: low === 32 ? groups : groups * (low + 1) - wordCount };
}

function ribbonMaybe(h, l, view, wordCount) {
  const head = view.getUint32(0, true), groups = head & 0xffff, seed = (head >>> 16) & 127;
  if (groups < 2 || groups > wordCount >>> 1 || head >>> 23 !== 0) return true;
  l = fold(h ^ 0xd1b54a32, l ^ 0xd192ed03, 0x9e3779b9, 0x7f4a7c15);
  h = top[0];
  l ^= multiply(0, seed, 0x9e3779b9, 0x7f4a7c15);
  l = multiply(h ^ top[0], l, 0xd1b54a32, 0xd192ed03);
  h = top[0];
  const group = high(h, groups - 1);
  const cl = fold(h ^ 0x8cb92ba7, l ^ 0x2f3d8dd7, 0x9e3779b9, 0x7f4a7c15), ch = top[0];
  const low = Math.min(32, (wordCount / groups) | 0), few = low === 32 ? groups : groups * (low + 1) - wordCount;
  const columns = group < few ? low : low + 1;
  const first = 8 + 4 * (group * low + Math.max(0, group - few));
  for (let col = 0; col < columns; col++) {
    const left = view.getInt32(first + 4 * col, true), right = view.getInt32(first + 4 * (columns + col), true);
    if (parity((left & cl) ^ (right & ch)) !== ((l >>> col) & 1)) return false;
  }
  return true;
}

// ---- Bodies: which bits are zeros to rely on (section 14) ----

/** The body of a layer in memory. A page is checked when a zero of it is first met. */
class MemoryBody {
  constructor(layer, bytes) {
    this.layer = layer;
    this.bytes = bytes;
    this.start = layer.body;
    this.end = bytes.byteOffset + bytes.length;
    this.states = new Uint8Array(layer.pages); // 0 not checked, 1 right, 2 wrong
    this.report = null;
  }

  clear(byte, mask) {
    return (this.bytes[this.start + byte] & mask) === 0 && this.right(Math.floor(byte / PAGE));
  }

  /**
   * Whether the buffer was transferred or became shorter, so that bytes would read as zeros. `bytes.length` does not
   * show it: in code compiled by V8 11, it may be the old length.
   */
  get lost() {
    return this.bytes.buffer.byteLength < this.end;
  }

  right(page) {
    if (this.lost) return this.report("ECHANGED", null);
    const state = this.states[page];
    return state === 0 ? this.examine(page) : state === 1;
  }

  examine(page) {
    const from = this.start + PAGE * page, entry = this.layer.entries + 4 * page;
    const crc = crc32(this.bytes, from, from + this.layer.pageLength(page)) ^ this.layer.record.bodyCrc;
    const right = crc === new DataView(this.bytes.buffer, this.bytes.byteOffset + entry, 4).getInt32(0, true);
    this.states[page] = right ? 1 : 2;
    return right || this.report("EPAGE", page);
  }

  page(page) {
    if (!this.right(page)) return null;
    const from = this.bytes.byteOffset + this.start + PAGE * page;
    return new DataView(this.bytes.buffer, from, this.layer.pageLength(page));
  }
}

/** Pages that were fetched and checked for some lookups; a wrong page is null. */
class FetchedPages {
  constructor() {
    this.pages = new Map();
  }

  clear(byte, mask) {
    const page = Math.floor(byte / PAGE), bytes = this.pages.get(page);
    return bytes !== null && (bytes[byte - PAGE * page] & mask) === 0;
  }

  page(page) {
    const bytes = this.pages.get(page);
    return bytes && new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }
}

// ---- Series ----

const sameFields = (a, b) =>
  ["hashId", "selfTest", "seed", "layout", "label"].every((name) => a.header[name] === b.header[name]) &&
  ((a.header.compat ^ b.header.compat) & 1) === 0 && (!(a.header.compat & 1) || a.header.keyKind === b.header.keyKind) && same(a.header.tag, b.header.tag) &&
  Object.is(a.series.seriesFpr, b.series.seriesFpr) && a.series.layers === b.series.layers;

/** Checks that a layer follows `before`, and returns where the next layer begins, or 0 after the last layer. */
function placeInSeries(layer, before) {
  const s = layer.series;
  if (before) {
    const link = BigInt(before.header.headerCrc) + (BigInt(before.record.bodyCrc) << 32n);
    check(s && s.layer === before.series.layer + 1n && sameFields(before, layer) && s.link === link, "ESERIES");
  } else if (s) check(s.layer === 0n && s.link === 0n, "ESERIES");
  if (!s || s.layer === BigInt(s.layers) - 1n) return 0;
  return Math.ceil((layer.offset + layer.size) / PAGE) * PAGE;
}

/** Yields offsets of headers to read, receives their bytes, and returns the layers. */
function* readLayers(size, applications) {
  const layers = [];
  let offset = 0;
  do {
    const head = yield offset;
    const layer = new Layer(head, size - offset, offset, applications);
    offset = placeInSeries(layer, layers[layers.length - 1]);
    layers.push(layer);
  } while (offset);
  return layers;
}

// ---- Filters ----

/** The base class of filters in memory and filters read on demand. */
class Opened {
  #damage = null;
  #name = null;
  #nameError = null;
  #keyError = null; // set after a key was looked up in a filter that accepts only digests

  constructor(layers, size, keys) {
    const h = layers[0].header;
    this.layers = layers;
    this.size = size;
    this.kind = new (keys === "plain" ? UncheckedKind : KeyKind)(h.compat, h.keyKind);
    this.seedHigh = highOf(h.seed);
    this.seedLow = lowOf(h.seed);
    this.doubted = false; // all lookups are maybe
    this.wrong = layers.map(() => new Set());
  }

  /** The pages that were found damaged. */
  get damagedPages() {
    return this.wrong.flatMap((pages, layer) => Array.from(pages, (page) => ({ layer, page })));
  }

  /** The first damage that was found, or the error of the named hash function, or null. */
  get error() {
    return this.#damage || this.#nameError || this.#keyError;
  }

  /** States which function makes the digests (app-hashes.md). Throws if it is not the filter's; lookups are maybe then. */
  nameHash(id, selfTest) {
    const h = this.layers[0].header, test = BigInt(selfTest); // throws before it changes anything
    this.#name = true;
    this.#nameError = this.#keyError = null;
    if (id !== h.hashId) this.#nameError = new BloomfileError("EHASH");
    else if (test !== h.selfTest) this.#nameError = new BloomfileError("ESELFTEST");
    if (this.#nameError) throw this.#nameError;
  }

  /** Whether digests (or keys) may be looked up. If not, lookups are maybe, and `error` has the reason. */
  named(digests) {
    if (this.#nameError) return false;
    const own = this.layers[0].header.hashId === 1;
    if (own || (digests && this.#name)) return true;
    if (!digests) this.#keyError = new BloomfileError("EHASH", { detail: "look up digests" });
    else this.#nameError = new BloomfileError("EHASH", { detail: "the function was not named" });
    return false;
  }

  /** Records damage of a page, and, of a whole body, that no answer can be relied on. */
  reportDamage(name, page, layer) {
    const whole = name !== "EPAGE";
    if (!whole) this.wrong[layer].add(page);
    if (!this.#damage || (whole && !this.doubted)) this.#damage = new BloomfileError(name, { page, layer });
    this.doubted = this.doubted || whole;
    return this.#damage;
  }

  digest(key) {
    return xxh3(this.kind.load(key), this.seedHigh, this.seedLow);
  }

  /** The fields of the header in short; `header` and `record` of `layers` have all of them. */
  get info() {
    const layers = this.layers.map(describe), first = layers[0];
    const sum = (name) => layers.reduce((total, layer) => total + layer[name], 0);
    return {
      ...first, size: this.size, n: sum("n"), m: sum("m"), capacity: sum("capacity"), bodySize: sum("bodySize"),
      pages: sum("pages"), ones: sum("ones"), nEstimated: layers.some((layer) => layer.nEstimated),
      watermark: layers[layers.length - 1].watermark, series: this.layers[0].series !== null, layers,
    };
  }
}

/** The fields of one image. Numbers above 2^53 are rounded. */
function describe(layer) {
  const h = layer.header, r = layer.record, slice = layer.slice;
  const kind = new KeyKind(h.compat, h.keyKind);
  return {
    offset: layer.offset, size: layer.size, layout: LAYOUTS[h.layout], form: h.headerSize === 4096 ? "file" : "embedded",
    m: Number(h.m), k: h.k, n: Number(r.n), nEstimated: (r.flags & 1) === 1, seed: h.seed, capacity: Number(h.capacity), fpr: h.fpr,
    hashId: h.hashId, selfTest: h.selfTest, label: h.label, tag: hex(h.tag), keyKind: kind.name, keySize: kind.size,
    mUnfolded: Number(h.mUnfolded), ones: Number(r.ones), overflow: Number(r.overflow), bodySize: layer.bodySize, pages: layer.pages,
    provenance: ["intersection", "union", "projection"].filter((_, bit) => (h.provenance >>> bit) & 1),
    watermark: hex(r.watermark), bodyCrc: r.bodyCrc,
    slice: slice && { firstBlock: Number(slice.firstBlock), blocks: layer.blocks, wholeBlocks: Number(slice.wholeBlocks) },
  };
}

/** A filter in memory. */
export class Filter extends Opened {
  constructor(layers, bytes, keys) {
    super(layers, bytes.length, keys);
    this.bytes = bytes;
    this.bodies = layers.map((layer, number) => {
      const body = new MemoryBody(layer, bytes);
      body.report = (name, page) => !this.reportDamage(name, page, name === "EPAGE" ? number : null);
      return body;
    });
  }

  #maybe(h, l) {
    if (this.doubted) return true;
    for (let i = 0; i < this.layers.length; i++) if (this.layers[i].maybe(h, l, this.bodies[i])) return true;
    return false;
  }

  /** False if the key is certainly not in the filter. */
  has(key) {
    const l = this.digest(key);
    return !this.named(false) || this.#maybe(top[0], l);
  }

  /** Like has(), for each of many keys. */
  hasAll(keys) {
    return mapKeys(keys, (key) => this.has(key));
  }

  /** False if no key of this digest, a bigint, is in the filter. */
  hasDigest(digest) {
    const [h, l] = splitDigest(digest);
    return !this.named(true) || this.#maybe(h, l);
  }

  hasDigests(digests) {
    return mapKeys(digests, (digest) => this.hasDigest(digest));
  }

  wasRight(number, page) {
    return this.bodies[number].states[page] === 1;
  }

  /** Checks the whole body, and reports how full it is. */
  examine() {
    if (this.bodies[0].lost) throw this.reportDamage("ECHANGED", null, null);
    return finish(this, this.layers.map((layer) => {
      const scan = new Scan(layer);
      scan.take(this.bytes.subarray(layer.body, layer.entries), this.bytes.subarray(layer.entries, layer.offset + layer.size));
      return scan;
    }));
  }

  /** Throws the first damage of the body. */
  verify() {
    const { error } = this.examine();
    if (error) throw error;
  }
}

// ---- Verification (section 12.4) ----

function popcount(x) {
  x -= (x >>> 1) & 0x55555555;
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  return Math.imul((x + (x >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The number of keys that one bits (counters above 0) show, as the tools estimate it. */
function keysOfOnes({ layout, k, m }, ones) {
  const empty = -Math.log1p(-Math.min(ones, m - 1) / m);
  return layout === BLOCKED ? (empty / (1 - (1 - 1 / 512) ** k)) * (m / 512) : empty / -Math.log1p(-1 / m) / k;
}

/** One pass over the body of a layer, in pieces of whole pages. */
class Scan {
  constructor(layer) {
    this.layer = layer;
    this.next = 0;
    this.crc = 0;
    this.wrong = []; // pages
    this.fill = new Float32Array(layer.pages); // part of the bits that are one
    this.ones = 0;
    this.overflow = 0;
    this.keys = 0n;
    this.saturated = false;
    this.validHeads = true;
    this.clean = true; // no bits beyond m
    this.rates = 0;
    this.squares = 0;
    this.append = combiner(PAGE);
    const { k } = layer;
    this.blockRates = Float64Array.from({ length: 513 }, (_, ones) => (ones / 512) ** k);
  }

  take(bytes, entries) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const expected = new DataView(entries.buffer, entries.byteOffset, entries.length);
    for (let at = 0, i = 0; at < bytes.length; at += PAGE, i += 4, this.next++) {
      const length = this.layer.pageLength(this.next);
      const crc = crc32(bytes, at, at + length);
      if ((crc ^ this.layer.record.bodyCrc) !== expected.getInt32(i, true)) this.wrong.push(this.next);
      this.crc = (length === PAGE ? this.append : combiner(length))(this.crc, crc);
      this.count(view, at, length);
    }
  }

  count(view, at, length) {
    const page = this.next, layout = this.layer.layout;
    const ones = layout === COUNTING ? this.countCounters(view, at, length) : this.countBits(view, at, length);
    this.ones += ones;
    const cells = layout === COUNTING ? 2 : 8;
    this.fill[page] = ones / Math.max(1, Math.min(cells * length, Number(this.layer.header.m) - cells * PAGE * page));
    if (layout === RIBBON) this.countHead(view, at, page);
    this.checkPadding(view, at, length);
  }

  countBits(view, at, length) {
    const blocked = this.layer.layout === BLOCKED;
    let total = 0;
    for (let block = at; block < at + length; block += 64) {
      let ones = 0;
      for (let o = block; o < block + 64; o += 4) ones += popcount(view.getInt32(o, true));
      total += ones;
      if (blocked) {
        this.rates += this.blockRates[ones];
        this.squares += this.blockRates[ones] ** 2;
      }
    }
    return total;
  }

  countCounters(view, at, length) {
    let ones = 0;
    for (let o = at; o < at + length; o += 4) {
      const x = view.getInt32(o, true);
      ones += popcount((x | (x >>> 1) | (x >>> 2) | (x >>> 3)) & 0x11111111);
      this.overflow += popcount(x & (x >>> 1) & (x >>> 2) & (x >>> 3) & 0x11111111);
    }
    return ones;
  }

  countHead(view, at, page) {
    const lines = this.layer.lines(page), wordCount = 16 * lines - 2;
    const head = readHead(new DataView(view.buffer, view.byteOffset + at, 64), wordCount);
    this.validHeads = this.validHeads && head.valid;
    this.keys += BigInt(head.keys);
    this.saturated = this.saturated || head.keys === 0xffffffff;
    this.rates += lines * (head.groups ? pageRate(head.groups, wordCount) : 1);
  }

  checkPadding(view, at, length) {
    if (this.next < this.layer.pages - 1) return;
    const m = this.layer.header.m, base = BigInt(PAGE * this.next);
    const used = m * (this.layer.layout === COUNTING ? 4n : 1n) - 8n * base; // bits of this page that m uses
    if (used >= 8n * BigInt(length)) return;
    let bit = used > 0n ? Number(used) : 0;
    for (let o = bit >>> 3; o < length; o++, bit = 0) if (view.getUint8(at + o) >>> (bit & 7)) this.clean = false;
  }

  /** The name of the error, or null. */
  verdict() {
    const r = this.layer.record, ribbon = this.layer.layout === RIBBON;
    if (this.wrong.length) return "EPAGE";
    const keys = this.saturated ? this.keys <= r.n : this.keys === r.n;
    const whole = this.crc === r.bodyCrc && BigInt(this.ones) === r.ones && BigInt(this.overflow) === r.overflow && this.clean;
    return whole && (!ribbon || (this.validHeads && keys)) ? null : "EBODY";
  }

  /** The false-positive rate of keys that belong to the layer, from all its bits. */
  rate() {
    const { layout, blocks, k, header } = this.layer;
    return layout === BLOCKED || layout === RIBBON ? this.rates / blocks : (this.ones / Number(header.m)) ** k;
  }

  /** The variance that chance gives the rate of a filter of this shape. */
  variance() {
    const { layout, blocks, k, header } = this.layer, m = Number(header.m);
    if (layout === BLOCKED) return (this.squares / blocks - this.rate() ** 2) / blocks;
    return layout === RIBBON || !this.ones ? 0 : (this.rate() * k) ** 2 * ((1 - this.ones / m) / this.ones);
  }

  /** The number of keys, estimated from the bits; of a ribbon, from its heads. */
  keysEstimated() {
    const { layout, k, header } = this.layer;
    return layout === RIBBON ? Number(this.keys) : keysOfOnes({ layout, k, m: Number(header.m) }, this.ones);
  }
}

function pageRate(groups, wordCount) {
  const { low, few } = columnsOf(groups, wordCount);
  const narrow = Math.min(few, groups - 1);
  return (narrow * 2 ** -low + (groups - 1 - narrow) * 2 ** -(low + 1)) / (groups - 1);
}

/** Reports the damage that scans found to the filter, and sums them up. */
function finish(filter, scans) {
  let error = null;
  const layers = scans.map((scan, number) => {
    const name = scan.verdict(), changed = scan.wrong.some((page) => filter.wasRight(number, page));
    let found = null;
    if (changed) found = filter.reportDamage("ECHANGED", null, number);
    else if (name === "EBODY") found = filter.reportDamage("EBODY", null, number);
    else for (const page of scan.wrong) {
      filter.reportDamage("EPAGE", page, number);
      found = found || new BloomfileError("EPAGE", { page, layer: number });
    }
    error = error || found;
    return {
      error: found, damagedPages: scan.wrong, ones: scan.ones, overflow: scan.overflow, fill: scan.fill, rate: scan.rate(),
      keysEstimated: scan.keysEstimated(),
    };
  });
  const rate = -Math.expm1(layers.reduce((sum, layer) => sum + Math.log1p(-layer.rate), 0));
  const deviation = Math.sqrt(scans.reduce((sum, scan) => sum + scan.variance(), 0));
  const estimate = layers.reduce((sum, layer) => sum + layer.keysEstimated, 0);
  return { error, layers, rate, verdict: error ? "damaged" : verdictOf(filter, rate, deviation, estimate) };
}

/** Returns whether a filter keeps its target rate, in the words of bfinspect. */
function verdictOf({ info, layers: [{ series }] }, rate, deviation, estimate) {
  const target = series ? series.seriesFpr : info.fpr;
  const full = !series && (info.nEstimated ? Math.round(estimate) : info.n) > info.capacity;
  if (target ? rate > 1.1 * target + (full ? 0 : 4 * deviation) : full) return full ? "too many keys" : "rate above target";
  if (estimate === 0 && info.n === 0) return "empty";
  return target === 0 && rate > 0.5 ? "over capacity" : "healthy";
}

// ---- Sources: where bytes come from ----

class BlobSource {
  constructor(blob) {
    this.blob = blob;
    this.size = blob.size;
  }

  async read(offset, length) {
    const bytes = new Uint8Array(await this.blob.slice(offset, offset + length).arrayBuffer());
    if (bytes.length !== length) throw new BloomfileError("ECHANGED", { detail: "it is shorter now" });
    return bytes;
  }
}

/** A file on a server that supports range requests. The first answer pins its size and ETag, or its date. */
class HttpSource {
  constructor(url, { fetch: fetcher = globalThis.fetch, headers = {}, timeout = 30000 }) {
    Object.assign(this, { url: String(url), fetcher: (...args) => fetcher(...args), timeout, size: null, pin: null });
    this.headers = Object.fromEntries(new Headers(headers));
  }

  /** Reads the first bytes, and learns the size and the pin. */
  async open() {
    const start = await this.#get(0, PAGE, {});
    this.size = start.total;
    this.pin = start.pin;
    return start.bytes;
  }

  async read(offset, length) {
    const { etag, date } = this.pin, headers = {};
    if (etag && !etag.startsWith("W/")) headers["If-Match"] = etag;
    else if (date) headers["If-Unmodified-Since"] = date;
    const part = await this.#get(offset, length, headers);
    const { pin } = part;
    if (part.total !== this.size || pin.etag !== etag || (!etag && pin.date !== date)) throw new BloomfileError("ECHANGED");
    if (part.bytes.length !== length) throw new Error(`${this.url}: the answer ended after ${part.bytes.length} of ${length} bytes`);
    return part.bytes;
  }

  async #get(offset, length, conditions) {
    const Range = `bytes=${offset}-${offset + length - 1}`, abort = new AbortController();
    let timer;
    const late = new Promise((_, reject) => {
      if (this.timeout >= 2 ** 31) return; // setTimeout would take it for 1 ms
      timer = setTimeout(() => reject(new Error(`${this.url}: no answer in ${this.timeout} ms`)), this.timeout);
    });
    const answer = async () => {
      const headers = { ...this.headers, ...conditions, Range };
      // A browser's cache may have pages of an old file that was replaced, even after the URL is opened again.
      const request = { headers, signal: abort.signal, cache: "no-store" };
      return this.#part(await this.fetcher(this.url, request), offset, length);
    };
    try {
      return await Promise.race([answer(), late]); // the caller's fetch() may ignore the signal
    } finally {
      clearTimeout(timer);
      abort.abort(); // ends an answer that was not read
    }
  }

  async #part(response, offset, length) {
    const header = (name) => response.headers.get(name);
    const range = header("Content-Range") || "";
    if (response.status === 416 && this.pin === null && range === "bytes */0") throw new BloomfileError("EEMPTY");
    if (response.status === 412 || (response.status === 416 && this.pin)) throw new BloomfileError("ECHANGED");
    if (response.status === 200) throw new Error(`${this.url}: the server does not support range requests: download the file`);
    if (response.status !== 206) throw new Error(`${this.url}: HTTP status ${response.status}`);
    const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(range) || [];
    if (size === undefined) {
      throw new Error(`${this.url}: no usable Content-Range (another origin must expose Content-Range and ETag)`);
    }
    const total = Number(size), end = Math.min(offset + length, total);
    if (Number(first) !== offset || !Number.isSafeInteger(total) || (this.pin === null && Number(last) !== end - 1)) {
      throw new Error(`${this.url}: the server sent another range than was requested`);
    }
    const bytes = await this.#bytes(response, end - offset);
    return { bytes, total, pin: { etag: header("ETag"), date: header("Last-Modified") } };
  }

  /** At most `length` bytes of the answer: a server may send more. */
  async #bytes(response, length) {
    const bytes = new Uint8Array(Math.max(0, length));
    if (!response.body) return bytes.subarray(0, 0);
    const reader = response.body.getReader();
    let at = 0;
    for (let part; !(part = await reader.read()).done; at += part.value.length) {
      if (at + part.value.length > length) throw new Error(`${this.url}: the server sent more bytes than were requested`);
      bytes.set(part.value, at);
    }
    return bytes.subarray(0, at);
  }
}

// ---- Remote filters ----

/** A map of promises that forgets the least recently used entry. */
class Cache {
  constructor(limit) {
    this.limit = limit;
    this.entries = new Map();
  }

  get(key, make) {
    const promise = this.entries.get(key) || make();
    this.entries.delete(key);
    this.entries.set(key, promise);
    if (this.entries.size > this.limit) this.entries.delete(this.entries.keys().next().value);
    promise.catch(() => this.entries.get(key) === promise && this.entries.delete(key));
    return promise;
  }
}

/** A set of page numbers in bits: 4 KiB for each 32,768 pages (128 MiB) of which one was added. */
class PageSet {
  #parts = new Map();

  add(page) {
    const number = Math.floor(page / 32768);
    if (!this.#parts.has(number)) this.#parts.set(number, new Uint8Array(4096));
    this.#parts.get(number)[(page % 32768) >>> 3] |= 1 << (page & 7);
  }

  has(page) {
    const part = this.#parts.get(Math.floor(page / 32768));
    return part !== undefined && ((part[(page % 32768) >>> 3] >>> (page & 7)) & 1) === 1;
  }
}

const BATCH = 512; // keys that are looked up together: bounds memory and requests in flight
const PIECE = 1 << 20; // bytes of a body that are verified together

/** A filter in a Blob or on a server, of which only the pages of the keys are read. */
export class RemoteFilter extends Opened {
  #source;
  #pages;
  #sums;
  #right;
  #running = 0;
  #waiting = [];

  constructor(layers, source, { keys, cache = 1024 }) {
    super(layers, source.size, keys);
    this.#source = source;
    this.#pages = new Cache(cache);
    this.#sums = new Cache(cache);
    this.#right = layers.map(() => new PageSet());
  }

  /** Whether a page was found right before: if it is wrong now, the file changed (section 14.1). */
  wasRight(number, page) {
    return this.#right[number].has(page);
  }

  /** Reads bytes; at most eight reads run at a time. A changed file is reported, and gives no answer from then on. */
  async #read(offset, length) {
    while (this.#running >= 8) await new Promise((resolve) => this.#waiting.push(resolve));
    this.#running++;
    try {
      if (this.error && this.error.code === "BLOOMFILE_ECHANGED") throw this.error;
      return await this.#source.read(offset, length);
    } catch (error) {
      throw error.code === "BLOOMFILE_ECHANGED" ? this.reportDamage("ECHANGED", null, null) : error;
    } finally {
      this.#running--;
      if (this.#waiting.length) this.#waiting.shift()();
    }
  }

  /** The entries of 1024 pages: one read serves them all. */
  #entries(number, chunk) {
    const layer = this.layers[number], from = layer.entries + PAGE * chunk;
    const length = Math.min(PAGE, layer.offset + layer.size - from);
    return this.#sums.get(`${number} ${chunk}`, () => this.#read(from, length));
  }

  async #fetch(number, page) {
    const layer = this.layers[number], chunk = Math.floor(page / 1024);
    const [bytes, entries] = await Promise.all([
      this.#read(layer.body + PAGE * page, layer.pageLength(page)), this.#entries(number, chunk),
    ]);
    const entry = new DataView(entries.buffer, entries.byteOffset).getUint32(4 * (page - 1024 * chunk), true);
    if (((crc32(bytes) ^ layer.record.bodyCrc) >>> 0) === entry) {
      this.#right[number].add(page);
      return bytes;
    }
    if (this.wasRight(number, page)) throw this.reportDamage("ECHANGED", null, null);
    this.reportDamage("EPAGE", page, number);
    return null;
  }

  /** A page, or null if it is wrong: a wrong page stays wrong. */
  #page(number, page) {
    if (this.wrong[number].has(page)) return Promise.resolve(null);
    return this.#pages.get(`${number} ${page}`, () => this.#fetch(number, page));
  }

  /** Looks up digests, pairs of int32, in one layer. Returns which are maybe. */
  async #lookup(number, pairs) {
    const layer = this.layers[number], fetched = new FetchedPages(), needed = new Set();
    for (const [h, l] of pairs) layer.eachPage(h, l, (page) => needed.add(page));
    await Promise.all(Array.from(needed, async (page) => fetched.pages.set(page, await this.#page(number, page))));
    return pairs.map(([h, l]) => layer.maybe(h, l, fetched));
  }

  async #maybes(pairs, named) {
    const answers = new Array(pairs.length).fill(!named || this.doubted);
    for (let from = 0; named && from < pairs.length; from += BATCH) {
      let left = pairs.slice(from, from + BATCH).map((pair, i) => [pair, from + i]);
      for (let number = 0; number < this.layers.length && left.length; number++) {
        const found = await this.#lookup(number, left.map(([pair]) => pair));
        left = left.filter(([, i], at) => !(answers[i] = this.doubted || found[at]));
      }
    }
    return answers;
  }

  async has(key) {
    return (await this.hasAll([key]))[0];
  }

  async hasAll(keys) {
    const pairs = mapKeys(keys, (key) => {
      const l = this.digest(key);
      return [top[0], l];
    });
    return this.#maybes(pairs, this.named(false));
  }

  async hasDigest(digest) {
    return (await this.hasDigests([digest]))[0];
  }

  async hasDigests(digests) {
    return this.#maybes(mapKeys(digests, splitDigest), this.named(true));
  }

  async #scan(number, progress) {
    const layer = this.layers[number], scan = new Scan(layer);
    for (let at = 0; at < layer.bodySize; at += PIECE) {
      const length = Math.min(PIECE, layer.bodySize - at), pages = Math.ceil(length / PAGE);
      const [bytes, entries] = await Promise.all([
        this.#read(layer.body + at, length), this.#read(layer.entries + at / 1024, 4 * pages),
      ]);
      scan.take(bytes, entries);
      if (progress) progress((layer.offset + at + length) / this.size);
    }
    return scan;
  }

  /** Reads and checks the whole body. `progress` is called with the part that is done. */
  async examine({ progress } = {}) {
    const scans = [];
    for (let number = 0; number < this.layers.length; number++) scans.push(await this.#scan(number, progress));
    return finish(this, scans);
  }

  async verify() {
    const { error } = await this.examine();
    if (error) throw error;
  }
}

// ---- Opening ----

function bytesOf(data) {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (/ArrayBuffer\]$/.test(Object.prototype.toString.call(data))) return new Uint8Array(data);
  throw new TypeError("open needs the bytes of a filter: an ArrayBuffer or a Uint8Array");
}

/** The bytes to look up. Refuses a resizable buffer: it could shrink, lose bytes and grow again unnoticed. */
function fixedBytesOf(data) {
  const bytes = bytesOf(data);
  if (bytes.buffer.resizable) throw new TypeError("a resizable ArrayBuffer can lose its bytes: open a copy, such as its slice(0)");
  return bytes;
}

/** Opens a filter in memory: an ArrayBuffer or a Uint8Array, which must not change from then on. */
export function open(data, { applications = false, keys } = {}) {
  const bytes = fixedBytesOf(data);
  const steps = readLayers(bytes.length, applications);
  let step = steps.next();
  while (!step.done) step = steps.next(bytes.subarray(step.value, step.value + PAGE));
  return new Filter(step.value, bytes, keys);
}

async function openRemote(source, first, options) {
  const steps = readLayers(source.size, options.applications);
  let step = steps.next();
  while (!step.done) {
    const length = Math.min(PAGE, source.size - step.value);
    step = steps.next(step.value === 0 && first ? first : length > 0 ? await source.read(step.value, length) : new Uint8Array());
  }
  return new RemoteFilter(step.value, source, options);
}

/** Opens a File or Blob. Only the header is read. */
export async function openBlob(blob, options = {}) {
  return openRemote(new BlobSource(blob), null, options);
}

/** Opens a URL by HTTP range requests. Only the header is read. */
export async function openURL(url, options = {}) {
  const source = new HttpSource(url, options);
  const first = await source.open();
  if (first.length < Math.min(PAGE, source.size)) throw new Error(`${source.url}: the answer ended early`);
  return openRemote(source, first, options);
}

// ---- Sizes (sizes.md) ----

const TIE = 2 ** -26;
const DIVISORS = [
  1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520, 5040, 7560, 10080, 15120, 20160, 25200, 27720,
  45360, 50400, 55440, 83160, 110880, 166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720,
];
for (let i = 1; i < 40; i++) DIVISORS.push(720720 * 2 ** i);

/** The chances that j of the cells of k throws are not hit yet, before any other throw. */
function unhit(k, cells) {
  const chances = new Float64Array(k + 1);
  chances[0] = 1;
  for (let i = 0; i < k; i++) {
    for (let j = i; j >= 0; j--) {
      chances[j + 1] += chances[j] * (1 - j / cells);
      chances[j] *= j / cells;
    }
  }
  return chances;
}

function throwInto(chances, throws, cells) {
  for (; throws > 0; throws--) {
    for (let j = 1; j < chances.length; j++) {
      const hit = (chances[j] * j) / cells;
      chances[j - 1] += hit;
      chances[j] -= hit;
    }
  }
}

function scatteredRate(n, m, k) {
  if (n <= 2048 / k) {
    const chances = unhit(k, m);
    throwInto(chances, n * k, m);
    return chances[0];
  }
  const load = (n * k) / m, rest = Math.exp(-load), fill = -Math.expm1(-load);
  const spread = (rest - (1 + load) * Math.exp(-2 * load)) / (m * fill ** 2);
  return (fill + (rest * load) / (2 * m)) ** k * Math.exp((spread * k * (k - 1)) / 2);
}

const crowdRates = [];

/** The rates of a block with 0, 1, 2, ... keys, up to 4096 / k. */
function ratesOfCrowds(k) {
  if (!crowdRates[k]) {
    const chances = unhit(k, 512), rates = (crowdRates[k] = [chances[0]]);
    for (let crowd = 1; crowd <= 4096 / k; crowd++) {
      throwInto(chances, k, 512);
      rates.push(chances[0]);
    }
  }
  return crowdRates[k];
}

/** The mean over the number of keys in a block, which has a binomial distribution. */
function blockedRate(n, blocks, k) {
  const rates = ratesOfCrowds(k), mean = n / blocks;
  if (blocks === 1) return n < rates.length ? rates[n] : 1;
  const odds = 1 / (blocks - 1), crowded = mean >= rates.length;
  let chance = n * Math.log1p(-1 / blocks); // its logarithm
  let sum = 0;
  for (let crowd = 0; crowd <= n; crowd++) {
    const weight = Math.exp(chance), rate = crowd < rates.length ? rates[crowd] : 1;
    // A mean near 1 is computed from its complement; a small mean from its terms, because few crowded blocks make it up.
    const term = crowded ? weight * (1 - rate) : weight * rate;
    sum += term;
    if (crowded ? crowd >= rates.length : crowd > mean + k && term < sum * 1e-17) break;
    chance += Math.log(((n - crowd) / (crowd + 1)) * odds);
  }
  return crowded ? 1 - sum : sum;
}

function checkLayout(layout) {
  if (!["blocked", "classic", "counting"].includes(layout)) throw new TypeError(`no sizes for the layout ${layout}`);
}

function checkK(k) {
  if (!(Number.isInteger(k) && k >= 1 && k <= 64)) throw new RangeError("k is 1 to 64");
}

/** The false-positive rate to expect of n distinct keys. */
export function rate({ layout = "blocked", n, m, k }) {
  checkLayout(layout);
  if (!(n >= 0 && n <= 2 ** 64)) throw new RangeError("n is 0 to 2^64");
  if (!(m >= 1 && m <= 2 ** 60)) throw new RangeError("m is 1 to 2^60");
  checkK(k);
  if (n === 0) return 0;
  const body = layout === "blocked" ? blockedRate(n, Math.ceil(m / 512), k) : scatteredRate(n, m, k);
  return Math.min(1, body + ((1 - body) * n) / 2 ** 64);
}

/** The smallest number of units that is enough, if it is below `limit`; else 0. */
function leastUnits(limit, enough) {
  let low = 0, step = 1;
  if (!enough(limit - 1)) return 0;
  while (low + step < limit - 1 && !enough(low + step)) {
    low += step;
    step *= 2;
  }
  let end = Math.min(low + step, limit - 1);
  while (end - low > 1) {
    const middle = low + Math.floor((end - low) / 2);
    if (enough(middle)) end = middle;
    else low = middle;
  }
  return end;
}

/** Rounds up, so that the filter folds in many ways. */
function roundUnits(units, limit) {
  const slack = Math.floor(units / 200);
  for (let i = DIVISORS.length - 1; ; i--) {
    const multiple = Math.ceil(units / DIVISORS[i]) * DIVISORS[i];
    if (multiple - units <= slack && multiple <= limit) return multiple;
  }
}

function sizeForRate(layout, n, target, given) {
  const unit = layout === "blocked" ? 512 : 1, limit = unit === 512 ? 2 ** 51 : 2 ** 53;
  let best = limit + 1, kept = 0;
  for (let k = given || 1; k <= (given || 64) && (!kept || k <= kept + 3); k++) {
    const enough = (units) => target > n / 2 ** 64 && rate({ layout, n, m: unit * units, k }) <= target * (1 + TIE);
    const units = best > 1 ? leastUnits(best, enough) : 0;
    if (units) [best, kept] = [units, k];
  }
  check(kept > 0, "EUNREACHABLE");
  return { m: unit * roundUnits(best, limit), k: kept };
}

function bestK(layout, n, m) {
  let k = 1, lowest = rate({ layout, n, m, k });
  for (let next = 2; next <= 64 && next <= k + 3; next++) {
    const found = rate({ layout, n, m, k: next });
    if (found < (1 - TIE) * lowest) [k, lowest] = [next, found];
  }
  return k;
}

function sizeOf(shape) {
  const { layout, n, m } = shape, bits = layout === "counting" ? 4 * m : m, body = PAGE * Math.ceil(bits / 8 / PAGE);
  return { ...shape, bitsPerKey: bits / n, fpr: rate(shape), bytes: PAGE + body + (4 * body) / PAGE };
}

/** Chooses m and k for n keys, as bfcreate does: for a rate (0.01 if neither is given), or for m. */
export function size({ layout = "blocked", n = 1, fpr, m, k }) {
  checkLayout(layout);
  if (!(n >= 1 && n <= 2 ** 60)) throw new RangeError("n is 1 to 2^60");
  if (fpr !== undefined && !(fpr > 0 && fpr < 1)) throw new RangeError("fpr is above 0 and below 1");
  if (k !== undefined) checkK(k);
  if (m !== undefined && !(m >= 1 && m <= 2 ** 60)) throw new RangeError("m is 1 to 2^60");
  if (m === undefined) ({ m, k } = sizeForRate(layout, n, fpr || 0.01, k));
  else {
    if (layout === "blocked") m = 512 * Math.ceil(m / 512);
    k = k || bestK(layout, n, m);
  }
  return sizeOf({ layout, n, m, k });
}

/** The divisors of a number up to a limit, in order. */
function divisors(number, limit) {
  const found = [];
  for (let i = 1; i <= limit && i * i <= number; i++) {
    if (number % i === 0) found.push(i, number / i);
  }
  return [...new Set(found)].filter((i) => i <= limit).sort((a, b) => a - b);
}

/** The factors by which a filter can be folded, and the rates to expect, up to one half. */
export function foldPlan({ layout, n, m, k, slice, series }) {
  if (layout === "ribbon" || slice || series) return []; // cannot be folded
  const units = layout === "blocked" ? m / 512 : m, plan = [];
  for (const factor of divisors(units, Math.min(units, 2 ** 20))) {
    const folded = sizeOf({ layout, n, m: m / factor, k });
    if (folded.fpr > 0.5 && factor > 1) break;
    plan.push({ factor, ...folded });
  }
  return plan;
}

/** For build.js, which is a part of this package. Not for other callers: it may change. */
export const internal = {
  BLOCKED, COUNTING, RIBBON, LAYOUTS, KINDS, MAGIC, PAGE, KeyKind, Layer, check, columnsOf, crc32, fold, high, highOf, lowOf,
  isBytes, keysOfOnes, mapKeys, multiply, popcount, reduce, ribbonMaybe, selfTest, top, xxh3,
};
