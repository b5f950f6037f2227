// SPDX-License-Identifier: MIT
// Lookups per second of this module and two rivals: BUILD=folder-with-node_modules node bench.mjs [--smoke]

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { open } from "./bloomfile.js";
import { build } from "./build.js";

const smoke = process.argv.includes("--smoke");
const COUNT = smoke ? 1000 : 1000000, ROUNDS = smoke ? 1 : 3;
const present = Array.from({ length: COUNT }, (_, i) => `key ${i}`);
const absent = Array.from({ length: COUNT }, (_, i) => `absent ${i}`);

/** Millions of calls a second of processor time, the best of some rounds: other work on the machine does not count. */
function speed(has, keys) {
  let best = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.cpuUsage().user;
    for (const key of keys) has(key);
    best = Math.max(best, keys.length / Math.max(1, process.cpuUsage().user - start));
  }
  return best.toFixed(2);
}

function row(name, count, bits, has) {
  const keys = present.slice(0, count), missing = absent.slice(0, count);
  if (!keys.every((key) => has(key))) throw new Error(`${name} has lost a key`);
  const rate = missing.filter((key) => has(key)).length / count;
  const words = [name.padEnd(20), (bits / count).toFixed(2), `${(100 * rate).toFixed(2)}%`, speed(has, keys), speed(has, missing)];
  console.log(words.join("\t"));
}

async function load(name) {
  try {
    return await import(pathToFileURL(createRequire(`${process.env.BUILD || "."}/bench.js`).resolve(name)));
  } catch {
    console.log(`${name} is not installed`);
    return null;
  }
}

console.log(["filter".padEnd(20), "bits/key", "rate", "M present/s", "M absent/s"].join("\t"));
for (const layout of ["blocked", "classic", "ribbon"]) {
  const m = 512 * Math.ceil((COUNT * 7.4) / 512); // what 1% takes in a ribbon
  const filter = open(build(present, layout === "ribbon" ? { layout, m } : { layout, fpr: 0.01 }));
  row(`bloomfile ${layout}`, COUNT, filter.info.m, (key) => filter.has(key));
}

const peer = await load("bloomfilter");
if (peer) {
  const filter = peer.BloomFilter.withTargetError(COUNT, 0.01);
  present.forEach((key) => filter.add(key));
  row("bloomfilter", COUNT, filter.m, (key) => filter.test(key));
}
const slow = await load("bloom-filters");
if (slow) {
  const count = COUNT / 20, filter = slow.default.BloomFilter.create(count, 0.01); // so slow that fewer keys suffice
  present.slice(0, count).forEach((key) => filter.add(key));
  row("bloom-filters", count, filter.size, (key) => filter.has(key));
}
