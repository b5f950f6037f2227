// SPDX-License-Identifier: MIT
// The driver of the proof across languages: reads commands from standard input and writes an answer for each.

import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { open, BloomfileError } from "./bloomfile.js";
import { build, fold, intersection, join, union } from "./build.js";

const ABILITIES =
  "blocked classic counting ribbon slices series applications verify build-blocked build-classic build-ribbon " +
  "fold union intersection join";
let filter = null;
let digests = false;

/** The lines of a file, as bytes: a key may hold anything but a newline. */
function lines(path) {
  const bytes = readFileSync(path), keys = [];
  for (let at = 0, end; at < bytes.length; at = end + 1) {
    end = bytes.indexOf(10, at);
    if (end < 0) end = bytes.length;
    keys.push(bytes.subarray(at, end));
  }
  return keys;
}

const digestOf = (line) => BigInt("0x" + line.toString("latin1"));

function openFile(path, id, selfTest) {
  filter = open(readFileSync(path), { applications: true, keys: "plain" });
  digests = filter.layers[0].header.hashId !== 1;
  if (id !== undefined) filter.nameHash(parseInt(id, 16), BigInt("0x" + selfTest));
  const { layers } = filter, h = layers[0].header;
  const list = (value) => layers.map(value).join(",");
  const seed = h.seed.toString();
  const { layout, form, keyKind, keySize } = filter.info;
  const kind = keyKind === "fixed" ? `fixed ${keySize}` : keyKind;
  return ["ok", layout, list((l) => l.record.n), list((l) => l.header.m), list((l) => l.k), seed, form, kind].join("\t");
}

function count(answers, keys) {
  return `ok\t${answers.filter(Boolean).length}\t${keys.length}`;
}

function lookup(path) {
  const keys = lines(path);
  return count(keys.map((line) => (digests ? filter.hasDigest(digestOf(line)) : filter.has(line))), keys);
}

function batch(path) {
  const keys = lines(path);
  return count(digests ? filter.hasDigests(keys.map(digestOf)) : filter.hasAll(keys), keys);
}

/** The outputs of SplitMix64. */
function* splitmix(state) {
  for (;;) {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let z = BigInt.asUintN(64, (state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    yield z ^ (z >> 31n);
  }
}

function crc32(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (~crc >>> 0).toString(16).padStart(8, "0");
}

function random(seed, amount) {
  const outputs = splitmix(BigInt(seed)), answers = Buffer.alloc(Number(amount));
  const key = Buffer.alloc(8);
  for (let i = 0; i < answers.length; i++) {
    const value = outputs.next().value;
    key.writeBigUInt64LE(value);
    answers[i] = (digests ? filter.hasDigest(value) : filter.has(key)) ? 49 : 48;
  }
  return `ok\t${answers.filter((b) => b === 49).length}\t${crc32(answers)}`;
}

function buildFile(layout, n, m, k, seed, fpr, capacity, form, keys, out) {
  const options = { layout, m: Number(m), k: Number(k), seed: BigInt(seed), fpr: Number(fpr) || undefined, capacity: Number(capacity), form };
  writeFileSync(out, build(lines(keys), { ...options, keyKind: "unknown" }));
  return "ok";
}

const source = (path) => open(readFileSync(path), { applications: true });

/** An operation on several sources. */
function combine(operation) {
  return (out, ...paths) => {
    writeFileSync(out, operation(paths.map(source)));
    return "ok";
  };
}

function foldFile(factor, path, out) {
  writeFileSync(out, fold(source(path), Number(factor)));
  return "ok";
}

const COMMANDS = {
  abilities: () => ABILITIES,
  open: openFile,
  lookup,
  batch,
  random,
  verify: () => (filter.verify(), "ok"),
  build: buildFile,
  fold: foldFile,
  union: combine(union),
  intersection: combine(intersection),
  join: combine(join),
  error: () => (filter.error ? `error\t${filter.error.code}` : "ok"),
};

function answer(line) {
  const [name, ...words] = line.split("\t");
  try {
    if (!COMMANDS[name]) return "error\t-\tno such operation";
    return COMMANDS[name](...words);
  } catch (error) {
    if (!(error instanceof BloomfileError)) return `error\t-\t${error.message.split("\n")[0]}`;
    return `error\t${error.code}${name === "verify" ? `\t${error.page ?? "-"}` : ""}`;
  }
}

for await (const line of createInterface({ input: process.stdin })) process.stdout.write(answer(line) + "\n");
