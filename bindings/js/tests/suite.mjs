// SPDX-License-Identifier: MIT
// Reads the tables and keys of the conformance suite.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const TESTS = fileURLToPath(new URL("../../../tests", import.meta.url));
export const GOLDEN = `${TESTS}/golden`;
export const REFUSED = `${TESTS}/golden-refused`;
export const VECTORS = `${TESTS}/vectors.tsv`;

export function readFile(path) {
  return new Uint8Array(readFileSync(path));
}

export function table(path) {
  const [names, ...rows] = readFileSync(path, "utf8").trimEnd().split("\n").map((line) => line.split("\t"));
  return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
}

/** The lines of a file, as bytes: a key may hold anything but a newline. */
export function linesOf(path) {
  const bytes = readFileSync(path), keys = [];
  for (let at = 0; at < bytes.length; at = bytes.indexOf(10, at) + 1) keys.push(bytes.subarray(at, bytes.indexOf(10, at)));
  return keys;
}

export function digestsOf(path) {
  return linesOf(path).map((line) => BigInt("0x" + line.toString("latin1")));
}
