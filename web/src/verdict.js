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

const SATURATED = 0.99; // a fill above it does not show the number of keys

/** The message of an error. Browsers end theirs with a full stop, which is removed. */
export const reason = ({ message }) => message.replace(/\.$/, "");

const sentence = (text) => text[0].toUpperCase() + text.slice(1);

/** The verdict on a file that was refused. `details` are appended to the meaning of the error. */
export function refusal(error, details) {
  if (!error.code?.startsWith?.("BLOOMFILE_")) {
    return { level: "bad", text: `The file cannot be read: ${reason(error)}`, advice: "Choose it again." };
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

/** The relative standard deviation of the actual rate. A series varies at most as much as the layer that varies most. */
function spread(info, { solution, rate: actual }) {
  if (info.series) return Math.max(...info.layers.map((layer) => spread(layer, {})));
  if (solution) { // of a page's keys and groups: its rate is 2^-columns
    const { pages, further } = solution, groups = Math.max(solution.groups.mean || 0, 1);
    const ofKeys = ((1 - 1 / pages) * pages) / Math.max(info.n, 1), solved = solution.pages - solution.unsolved;
    const more = solved ? further / solved : 0;
    return -Math.log(actual) * Math.sqrt((ofKeys + (more * (1 + more)) / groups ** 2) / pages);
  }
  const share = info.slice ? info.slice.blocks / info.slice.wholeBlocks : 1;
  const shape = { layout: info.layout, n: Math.max(1, Math.floor(info.capacity * share)), m: info.m, k: info.k };
  return rateDeviation(shape) / rate(shape);
}

/** Whether chance explains the rate: at most four standard deviations of its logarithm, in a filter at capacity. */
function isKept(info, measured, target, full) {
  const ratio = measured.rate / target / 1.1;
  return ratio <= 1 || (!full && ratio <= Math.exp(4 * Math.sqrt(Math.log1p(spread(info, measured) ** 2))));
}

function tooMany(info, keys, measured, target) {
  const saturated = info.layout !== "ribbon" && measured.fill > SATURATED && -Math.expm1((-info.k * info.n) / info.m) < SATURATED;
  const [more, found] = saturated ? ["more than ", info.n] : ["", keys];
  return { level: "warn", advice: saturated ? "Its bits do not show the number of keys: rebuild it without -n, and bfcreate counts them."
    : `Rebuild it for ${count(found)} keys or more.`,
    text: `Too many keys: ${more}${count(found)} in a filter sized for ${count(info.capacity)}; ` +
      `actual rate ${percent(measured.rate)}${target ? `, target ${percent(target)}` : ""}` };
}

function rateVerdict(info, measured) {
  const keys = likelyKeys(info, measured), full = keys > info.capacity && !info.series;
  const target = info.series ? info.seriesFpr : info.fpr;
  if (target ? !isKept(info, measured, target, full) : full) {
    return full ? tooMany(info, keys, measured, target) : { level: "warn", advice: "Rebuild it larger.",
      text: `Rate above target; actual rate ${percent(measured.rate)}, target ${percent(target)}` };
  }
  if (info.n === 0 && measured.empty) {
    const most = info.layout === "ribbon" ? "nearly every" : "every";
    return { level: "warn", text: `Empty: lookups return no for ${most} key`, advice: "" };
  }
  if (target || measured.rate <= 0.5) return null;
  return { level: "warn", text: `Over capacity: its actual rate is ${percent(measured.rate)}`, advice: "Rebuild it larger." };
}

/**
 * The verdict on an open filter. `result` is that of examine(), `measured` that of the bits; both are null if not read.
 * `error` is the damage that lookups found.
 */
export function verdict(info, result, measured, error) {
  if (result?.error) return damage(result);
  if (/EPAGE|EBODY/.test(error?.code)) return { level: "bad", text: `Damaged: ${error.message} (${error.code})`, advice: "Verify the body." };
  if (!result || !measured) return { level: "good", text: "Healthy header, body not read", advice: "" };
  const rated = rateVerdict(info, measured);
  if (rated) return rated;
  const only = info.provenance.includes("intersection") ? "; an intersection, so its rate is only an estimate" : "";
  return { level: "good", text: `Healthy${only}`, advice: "" };
}
