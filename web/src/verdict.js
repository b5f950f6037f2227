// SPDX-License-Identifier: MIT
// The verdict on a filter in words, by the rules of bfinspect(1).

import { rate } from "../../bindings/js/bloomfile.js";
import { rateDeviation } from "./deviation.js";
import { count, percent, plural } from "./format.js";

const ADVICE = {
  BLOOMFILE_EEMPTY: "A copy or a build was cut off. Copy or build the file again.",
  BLOOMFILE_EMAGIC: "Check that this is the right file. Decompress a compressed file first.",
  BLOOMFILE_EVERSION: "Use a later version of this page.",
  BLOOMFILE_EFEATURE: "Use a later version of this page.",
  BLOOMFILE_ELAYOUT: "Use a later version of this page.",
  BLOOMFILE_EHASH: "Use a later version of this page.",
  BLOOMFILE_ELIVE: "This page reads sealed filters. Make a sealed copy: bfseal FILE COPY.",
  BLOOMFILE_EPOISONED: "A write to the disk failed, so keys may be missing. Rebuild the filter.",
  BLOOMFILE_ESERIES: "Copy all layers again, or seal the series to one file: bfseal SERIES FILE.",
  BLOOMFILE_ETRAILING: "The file has more bytes than its header describes. Copy it again.",
  BLOOMFILE_ECHANGED: "Choose the file again, and repeat the lookups.",
};
const FOREIGN = ["EMAGIC", "EVERSION", "EFEATURE", "ELAYOUT", "EHASH", "ELIVE"].map((name) => `BLOOMFILE_${name}`);

const sentence = (text) => text[0].toUpperCase() + text.slice(1);

/** The verdict on a file that was refused. `details` are appended to the meaning of the error. */
export function refusal(error, details) {
  if (!error.code?.startsWith?.("BLOOMFILE_")) {
    return { level: "bad", text: `The file cannot be read: ${error.message}`, advice: "Choose it again." };
  }
  return {
    level: FOREIGN.includes(error.code) ? "warn" : "bad",
    text: `${sentence(error.message)}${details} (${error.code})`,
    advice: `${ADVICE[error.code] ?? "Restore the file from a copy, or rebuild it."} Every lookup returns maybe.`,
  };
}

function damage(result) {
  const wrong = result.layers.flatMap((layer) => layer.damagedPages);
  const pages = result.layers.reduce((sum, layer) => sum + layer.fill.length, 0);
  const where = result.error.layer !== null && result.layers.length > 1 ? ` of layer ${result.error.layer}` : "";
  const text = wrong.length
    ? `Damaged: page ${result.error.page}${where}, ${count(wrong.length)} of ${plural(pages, "page")} in all (${result.error.code})`
    : `Damaged: ${result.error.message}${where} (${result.error.code})`;
  const advice = wrong.length ? "Lookups that need a damaged page return maybe." : "Every lookup returns maybe.";
  return { level: "bad", text, advice: `${advice} Rebuild the filter, or restore a copy.` };
}

/** The number of keys: as recorded, or if that is an estimate, as the bits show. */
export function likelyKeys(info, measured) {
  return (info.nEstimated || info.provenance.includes("intersection")) && measured.keysEstimate !== null ? Math.round(measured.keysEstimate) : info.n;
}

/**
 * The maximum ratio of the rate to its target. Allows for chance: four standard deviations of the rate's logarithm, in
 * a filter at capacity.
 */
function leeway(info, keys, sizedFor) {
  if (keys > sizedFor || info.layout === "ribbon" || info.series) return 1.1;
  const share = info.slice ? info.slice.blocks / info.slice.wholeBlocks : 1;
  const shape = { layout: info.layout, n: Math.max(1, Math.floor(sizedFor * share)), m: info.m, k: info.k };
  return 1.1 * Math.exp(4 * Math.sqrt(Math.log1p((rateDeviation(shape) / rate(shape)) ** 2)));
}

function tooMany(info, keys, sizedFor, measured) {
  return { level: "warn", advice: `Rebuild it for ${count(keys)} keys or more.`,
    text: `Too many keys: ${count(keys)} in a filter sized for ${count(sizedFor)}; actual rate ${percent(measured.rate)}` };
}

function rateVerdict(info, measured) {
  const sizedFor = info.capacity;
  const keys = likelyKeys(info, measured);
  const target = info.series ? info.seriesFpr : info.fpr;
  if (info.n === 0 && measured.empty) {
    const most = info.layout === "ribbon" ? "nearly every" : "every";
    return { level: "warn", text: `Empty: lookups return no for ${most} key`, advice: "" };
  }
  if (target === 0 && measured.rate >= 0.5) {
    return { level: "warn", text: `Over capacity: its actual rate is ${percent(measured.rate)}`, advice: "Rebuild it larger." };
  }
  if (target === 0) return keys > sizedFor ? tooMany(info, keys, sizedFor, measured) : null;
  if (measured.rate <= target * leeway(info, keys, sizedFor)) return null;
  if (keys > sizedFor) return tooMany(info, keys, sizedFor, measured);
  return { level: "warn", text: `Rate above target; actual rate ${percent(measured.rate)}, target ${percent(target)}`,
    advice: "Rebuild it larger." };
}

/** The verdict on an open filter. `result` is that of examine(), `measured` that of the bits; both are null if not read. */
export function verdict(info, result, measured) {
  if (!result || !measured) return { level: "good", text: "Healthy header, body not read", advice: "" };
  if (result.error) return damage(result);
  const found = rateVerdict(info, measured);
  if (found) return found;
  const only = info.provenance.includes("intersection") ? "; an intersection, so its rate is only an estimate" : "";
  return { level: "good", text: `Healthy${only}`, advice: "" };
}
