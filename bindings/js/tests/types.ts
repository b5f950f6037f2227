// SPDX-License-Identifier: MIT
// Uses every export with its types; tsc checks this file, and it never runs.

import { BloomfileError, foldPlan, open, openBlob, openURL, rate, size } from "bloomfile";
import type { Examination, Filter, Info, Key, RemoteFilter } from "bloomfile";
import { build, fold, intersection, join, union } from "bloomfile/build";

const keys: Key[] = ["text", new Uint8Array(8), 7, 7n];
const bytes: Uint8Array = build(["a", "b"], { layout: "ribbon", m: 512, seed: 1n, form: "embedded", keyKind: "text" });
const blob = new Blob([build(["a"])]);
const filter: Filter = open(bytes.buffer as ArrayBuffer, { keys: "plain" });
const answer: boolean = filter.has(keys[0]);
const answers: boolean[] = filter.hasDigests([1n]);
const exact: bigint = filter.layers[0].record.n + filter.layers[0].header.m;
const info: Info = filter.info;
const range: number | undefined = info.layers[0].slice?.firstBlock;
const found: Examination = filter.examine();
const plan: number[] = foldPlan(info).map(({ factor, fpr }) => factor * fpr);
const made: Uint8Array[] = [fold(filter, 2), union([filter]), intersection([filter]), join([filter], { form: "file" })];
const bits: number = size({ n: 1000, fpr: 0.01 }).bitsPerKey + rate({ n: 1, m: 512, k: 1 });

export async function remote(file: File): Promise<boolean> {
  const opened: RemoteFilter = await openBlob(file, { cache: 10 });
  const far = await openURL("https://example.org/a.bloom", { headers: { Authorization: "x" }, timeout: 1000, applications: true });
  await openURL(new URL("https://example.org/a.bloom"), { headers: new Headers({ Authorization: "x" }) });
  await openBlob({ size: 0, slice: () => ({ arrayBuffer: async () => new ArrayBuffer(0) }) });
  far.nameHash(0x80000000, 1n);
  await opened.examine({ progress: (done) => console.log(done) });
  if (far.error instanceof BloomfileError) console.log(far.error.code, far.error.page);
  // @ts-expect-error: an answer is a promise
  const wrong: boolean = opened.has("a");
  return wrong || (await far.hasAll(keys))[0];
}

// @ts-expect-error: null is no key
filter.has(null);
// @ts-expect-error: no sizes for ribbon
size({ layout: "ribbon" });
console.log(exact, answer, answers, range, found.verdict, plan, made, bits, blob);
