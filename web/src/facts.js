// SPDX-License-Identifier: MIT
// The facts about a filter as pairs of a name and a text, with the names and numbers of bfinspect.

import { bytes, count, hexadecimal, percent, plural, visible } from "./format.js";

function keysFact(info, measured) {
  const recorded = `${info.nEstimated ? "about " : ""}${count(info.layersN)} recorded`;
  const sized = `sized for ${count(info.capacityExact)}${info.slice ? " in all slices" : ""}`;
  if (!measured) return `${recorded}, ${sized}`;
  if (info.layout === "ribbon") return `${recorded}, ${count(measured.keysEstimate)} by its pages, ${sized}`;
  const seen = measured.keysEstimate === null ? "more than can be estimated from the one bits"
    : `${count(Math.round(measured.keysEstimate))} estimated from the one bits`;
  return `${recorded}, ${seen}, ${sized}`;
}

function bodyFact(result) {
  if (!result) return "not verified";
  const damaged = result.layers.reduce((sum, layer) => sum + layer.damagedPages.length, 0);
  const pages = result.layers.reduce((sum, layer) => sum + layer.fill.length, 0);
  if (damaged) return `${count(damaged)} of ${plural(pages, "page")} damaged`;
  if (result.error) return "every page is good, but the body contradicts the header";
  return pages === 1 ? "verified, its only page is good" : `verified, all ${count(pages)} pages good`;
}

function mFact(info) {
  if (info.layout === "classic") return plural(info.m, "bit");
  if (info.layout === "counting") return plural(info.m, "counter");
  const units = info.m / 512;
  return `${plural(info.m, "bit")}, ${info.layout === "ribbon" ? plural(units, "line") : `${plural(units, "block")} of 512`}`;
}

function sliceFacts(slice) {
  const last = slice.firstBlock + slice.blocks - 1;
  return [
    ["slice", `blocks ${count(slice.firstBlock)} to ${count(last)} of ${count(slice.wholeBlocks)}; ` +
      "lookups of other blocks return maybe"],
    ["made from", `${plural(slice.keysRead, "key")}, of which ${count(slice.keysElsewhere)} ` +
      `${slice.keysElsewhere === 1n ? "belongs" : "belong"} to other slices`],
  ];
}

function ribbonFacts(solution) {
  const { pages, unsolved } = solution;
  const lost = unsolved ? [["not solved", `${count(unsolved)} of ${plural(pages, "page")}, ` +
    `which ${unsolved === 1 ? "returns" : "return"} maybe for every key`]] : [];
  if (unsolved === pages) return lost;
  const of = ({ least, most, mean }, noun) => (least === most ? `${least} of each ${noun}`
    : `${least} to ${most} of a ${noun}, ${mean.toFixed(2)} on average`);
  return [["groups", of(solution.groups, "page")], ["columns", of(solution.columns, "group")],
    ["retries", `${plural(solution.reseeded, "page")} took another seed, ${count(solution.enlarged)} more groups`], ...lost];
}

/** The watermark as text if it is printable ASCII, otherwise in hexadecimal. */
function watermarkText(digits) {
  const text = digits.replace(/(00)+$/, "");
  return /^([2-7][0-9a-f])+$/.test(text) && !/7f/.test(text)
    ? text.replace(/../g, (pair) => String.fromCharCode(parseInt(pair, 16))) : text;
}

function rateFact(info, measured) {
  if (!measured) return "not computed yet";
  const how = info.provenance.includes("intersection") ? "only an estimate: the filter is an intersection"
    : `computed from ${info.layout === "ribbon" ? "the heads of all pages" : "all bits"}`;
  return `${percent(measured.rate)}, ${how}`;
}

function optionalFacts(info) {
  const facts = [];
  if (info.overflow) facts.push(["overflow", `${plural(info.overflow, "counter")} stuck at 15`]);
  if (info.foldedBy !== 1n && !info.series) facts.push(["folded", `by ${info.foldedBy}, from m = ${count(info.mUnfoldedExact)}`]);
  if (info.label) facts.push(["label", visible(info.label)]);
  if (/[^0]/.test(info.tag)) facts.push(["tag", info.tag]);
  if (/[^0]/.test(info.watermark)) facts.push(["watermark", watermarkText(info.watermark)]);
  facts.push(["seed", info.seed === 0n ? "0" : `0x${hexadecimal(info.seed, 16)}`]);
  if (info.hashId !== 1) {
    facts.push(["hash", `an application's own: id 0x${hexadecimal(info.hashId, 8)}, ` +
      `self-test 0x${hexadecimal(info.selfTest, 16)}`]);
  }
  if (info.keyKind !== "unknown") facts.push(["key kind", info.keyKind + (info.keyKind === "fixed" ? ` ${info.keySize}` : "")]);
  const made = { intersection: "intersection of filters", union: "union of filters",
    projection: "projection of a counting filter" };
  if (info.provenance.length) facts.push(["made as", info.provenance.map((name) => made[name]).join(", ")]);
  return facts;
}

/** The feature words, if they have bits that this page does not know. */
function featureFacts({ compat, roCompat, incompat }) {
  if (!(compat & ~1) && !roCompat) return [];
  const word = (value) => `0x${hexadecimal(value, 8)}`;
  return [["features", `compat ${word(compat)}, ro_compat ${word(roCompat)}, incompat ${word(incompat)}`]];
}

/** The facts of an open filter. `result` is that of examine(), `measured` that of the bits; both may be null. */
export function facts(info, result, measured) {
  const target = info.series ? info.seriesFpr : info.fpr;
  const width = info.layout === "counting" ? 4 : 1;
  return [
    ...(info.series ? [["series", `${plural(info.layers.length, "layer")}, sealed`]] : []),
    ["keys", keysFact(info, measured)],
    ...(measured && info.layout !== "ribbon" ? [["fill", percent(measured.fill)]] : []),
    ["actual rate", rateFact(info, measured)],
    ["target rate", target === 0 ? "none" : percent(target)],
    ["body", bodyFact(result)],
    ["layout", info.layout],
    ["m", mFact(info)],
    ...(info.slice ? sliceFacts(info.slice) : []),
    ...(info.layout === "ribbon" ? [] : [["k", info.kAll]]),
    ...(measured?.solution ? ribbonFacts(measured.solution) : []),
    ...(info.n ? [["bits per key", ((width * info.m) / info.n).toFixed(2)]] : []),
    ["size", `${bytes(info.size)}, body ${bytes(info.bodySize)} in ${plural(info.pages, "page")}`],
    ...optionalFacts(info),
    ...featureFacts(info),
    ["state", "sealed"],
  ];
}
