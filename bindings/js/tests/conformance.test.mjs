// SPDX-License-Identifier: MIT
// The conformance suite of the specification: tests/golden, tests/golden-refused and tests/vectors.tsv.

import test from "node:test";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { open } from "../bloomfile.js";
import { GOLDEN, REFUSED, digestsOf, linesOf, readFile, table } from "./suite.mjs";

const OPTIONS = { applications: true, keys: "plain" };

function openNamed(bytes, hash) {
  const filter = open(bytes, OPTIONS);
  if (hash !== "xxh3") filter.nameHash(...nameOf(hash));
  return filter;
}

function nameOf(hash) {
  const [id, selfTest] = hash.split(" ");
  return [parseInt(id, 16), BigInt("0x" + selfTest)];
}

/** How many lines of a file of keys are maybe, looked up singly and in a batch. */
function maybes(filter, keys, digests) {
  const lines = digests ? digestsOf(`${GOLDEN}/${keys}`) : linesOf(`${GOLDEN}/${keys}`);
  const single = lines.filter((line) => (digests ? filter.hasDigest(line) : filter.has(line))).length;
  const batch = (digests ? filter.hasDigests(lines) : filter.hasAll(lines)).filter(Boolean).length;
  assert.equal(batch, single);
  return { maybes: single, all: lines.length };
}

function checkLookups(filter, row, expected, digests) {
  const present = maybes(filter, row.keys, digests);
  assert.equal(present.maybes, present.all, "a key of the filter is a no");
  assert.equal(maybes(filter, digests ? "keys/absent.digests" : "keys/absent.keys", digests).maybes, Number(expected));
}

function checkHeader(filter, row) {
  const { layout, form, keyKind, keySize, nEstimated, slice } = filter.info;
  const list = (value) => filter.layers.map(value).join(",");
  assert.equal(list((l) => l.record.n), row.n);
  assert.equal(list((l) => l.header.m), row.m);
  assert.equal(list((l) => l.k), row.k);
  assert.equal(layout, row.layout);
  assert.equal(filter.layers[0].header.seed, BigInt(row.seed));
  assert.equal(keyKind === "fixed" ? `fixed ${keySize}` : keyKind, row.key_kind);
  if (row.form) assert.equal(form, row.form);
  if (row.n_estimated) assert.equal(nEstimated ? "1" : "0", row.n_estimated);
  if (row.first_block) assert.equal(slice ? String(slice.firstBlock) : "-", row.first_block);
  if (row.whole_blocks) assert.equal(slice ? String(slice.wholeBlocks) : "-", row.whole_blocks);
}

for (const row of table(`${GOLDEN}/index.tsv`)) {
  test(`${row.file} opens, verifies and answers as listed`, () => {
    const bytes = readFile(`${GOLDEN}/${row.file}`);
    assert.equal(createHash("sha256").update(bytes).digest("hex"), row.sha256);
    const filter = openNamed(bytes, row.hash);
    checkHeader(filter, row);
    checkLookups(filter, row, row.maybes, row.hash !== "xxh3");
    filter.verify();
    assert.equal(filter.error, null);
  });
}

for (const row of table(`${GOLDEN}/series.tsv`)) {
  test(`series ${row.file} answers as listed, or is refused because it is live`, () => {
    const bytes = readFile(`${GOLDEN}/${row.file}`);
    if (row.file.startsWith("live/")) return assert.throws(() => open(bytes, OPTIONS), { code: "BLOOMFILE_ELIVE" });
    const filter = openNamed(bytes, row.hash);
    checkHeader(filter, row);
    checkLookups(filter, row, row.maybes, row.hash !== "xxh3");
    filter.verify();
  });
}

for (const row of table(`${REFUSED}/index.tsv`)) {
  test(`${row.file} is refused by ${row.rule}`, () => {
    const bytes = readFile(`${REFUSED}/${row.file}`);
    const attempt = () => open(bytes, { keys: "plain" }).verify();
    assert.throws(attempt, { code: row.error });
  });
}

for (const row of table(`${REFUSED}/series.tsv`)) {
  test(`live series ${row.file} is refused`, () => {
    const early = ["BLOOMFILE_ELIVE", "BLOOMFILE_EFEATURE", row.error];
    assert.throws(() => open(readFile(`${REFUSED}/${row.file}`), OPTIONS), ({ code }) => early.includes(code));
  });
}

for (const [number, row] of table(`${REFUSED}/doubt.tsv`).entries()) {
  const names = row.names === "-" ? [] : row.names.split(",");
  const load = () => {
    const path = `${REFUSED}/${row.file}`;
    const filter = open(readFile(existsSync(path) ? path : `${GOLDEN}/${row.file}`), OPTIONS);
    const errors = row.name_errors.split(",");
    names.forEach((name, i) => {
      if (errors[i] === "-") filter.nameHash(...nameOf(name));
      else assert.throws(() => filter.nameHash(...nameOf(name)), { code: errors[i] });
    });
    return filter;
  };
  const verify = (filter) => {
    if (row.verify === "-") return filter.verify();
    assert.throws(() => filter.verify(), (error) => error.code === row.verify && (row.page === "-" || error.page === Number(row.page)));
    assert.notEqual(filter.error, null);
  };
  test(`doubt ${number}: ${row.file} with hashes ${row.names} answers as listed`, () => {
    const digests = row.keys.endsWith(".digests");
    const filter = load();
    checkLookups(filter, row, row.maybes, digests);
    verify(filter);
    checkLookups(filter, row, row.maybes_verified, digests);
    const fresh = load();
    verify(fresh);
    checkLookups(fresh, row, row.maybes_verified, digests);
  });
}
