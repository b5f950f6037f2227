// SPDX-License-Identifier: MIT
// The report on one file.

import { facts } from "./facts.js";
import { bytes, count, percent, plural } from "./format.js";
import { drawMap } from "./map.js";
import { byId, element, fillTable, showText, tableRow } from "./page.js";
import { likelyKeys, refusal, verdict } from "./verdict.js";

const PAGE_SIZE = 4096;

/** Describes the flipped bit that explains a damaged header. */
function flippedText({ error, flipped, fields }) {
  if (error.code !== "BLOOMFILE_EHEADER" || !flipped) return "";
  const field = fields.findLast(({ offset }) => offset <= flipped.offset);
  const place = `bit ${flipped.bit} of byte ${flipped.offset}`;
  return `: one flipped bit, ${place}, ${flipped.offset < field.end ? `in ${field.name}` : "in reserved bytes"}`;
}

function showVerdict(entry) {
  const found = entry.error ? refusal(entry.error, flippedText(entry)) : verdict(entry.info, entry.result, entry.measured, entry.found);
  byId("verdict").className = `verdict ${found.level}`;
  byId("verdict").textContent = found.text;
  showText("advice", found.advice);
}

function showFacts(entry) {
  const pairs = entry.error ? [["size", bytes(entry.file.size)]] : facts(entry.info, entry.result, entry.measured);
  byId("facts").replaceChildren(...pairs.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}

/** The field of an error, if the error's name determines it. */
const WRONG_FIELD = { EFORM: "header_size", EVERSION: "version", EFEATURE: "incompat", ELAYOUT: "layout", EHASH: "hash_id",
  ESELFTEST: "self_test", EHASHCOUNT: "k", EBITS: "m", EOFFSET: "body_size", ECAPACITY: "capacity", ERATE: "fpr",
  EUNFOLDED: "m_unfolded", ELABEL: "label", EHEADER: "header_crc", EMAGIC: "magic", ETEXTMODE: "magic" };

function showFields(entry) {
  const wrong = WRONG_FIELD[entry.error?.code?.replace?.("BLOOMFILE_", "")];
  fillTable("fields-table", entry.fields.map(({ offset, name, text }) =>
    tableRow([String(offset), name, name === wrong ? `${text}  ← wrong` : text], name === wrong ? { class: "wrong" } : {})));
  byId("fields").hidden = entry.fields.length === 0;
}

function showMap(entry) {
  const single = entry.measured?.parts.length === 1;
  byId("map").hidden = !single;
  if (single) drawMap(entry.info, entry.measured.map, entry.result.layers[0].damagedPages);
}

/** The size of a folded filter as a file. */
export function fileSize(bits) {
  const body = Math.ceil(bits / 8 / PAGE_SIZE) * PAGE_SIZE;
  return PAGE_SIZE + body + (4 * body) / PAGE_SIZE;
}

function showFolds(entry) {
  const { info, measured, result } = entry;
  const shown = measured && !result.error && !info.slice && measured.folds.length > 0;
  byId("folds").hidden = !shown;
  if (!shown) return;
  const width = info.layout === "counting" ? 4 : 1;
  const keys = likelyKeys(info, measured);
  const possible = measured.folds.filter((fold) => fold.rate <= 0.5 || fold.factor === 1);
  const chosen = possible.filter((fold) => info.fpr > 0 && fold.rate <= info.fpr).pop()?.factor;
  byId("folds-note").textContent = "A filter can be folded to a smaller filter with the same keys and a higher rate. " +
    "Factors with a rate above 50% are not shown. " + (chosen > 1
    ? `Factor ${chosen} is the largest that keeps the target rate of ${percent(info.fpr)}.`
    : "No factor above 1 keeps the target rate.").replace(/^No.*/, info.fpr ? "$&" : "The file records no target rate.");
  fillTable("folds-table", possible.map(({ factor, cells, fill, rate }) => tableRow(
    [count(factor), bytes(fileSize(cells * width)), keys ? ((cells * width) / keys).toFixed(2) : "-",
      `${(100 * fill).toFixed(1)}%`, percent(rate)], factor === chosen ? { class: "chosen" } : {})));
}

function showLayers(entry) {
  byId("layers").hidden = !entry.info?.series;
  if (!entry.info?.series) return;
  fillTable("layers-table", entry.info.layers.map((layer, number) => {
    const part = entry.measured?.parts[number];
    const damaged = entry.result?.layers[number];
    const state = !damaged ? "not verified" : damaged.error ? `${plural(damaged.damagedPages.length, "page")} damaged` : "good";
    return tableRow([String(number), String(layer.offset), count(layer.n), count(layer.capacity), part ? percent(part.fill) : "-",
      part ? percent(part.rate) : "-", layer.fpr ? percent(layer.fpr) : "none", String(layer.k), bytes(layer.size), state]);
  }));
}

export function showProgress(entry) {
  byId("work").hidden = entry.progress === null;
  byId("work-bar").value = entry.progress ?? 0;
  byId("work-label").textContent = `Reading ${bytes(entry.file.size)}`;
  byId("actions").hidden = !entry.filter || entry.result !== null || entry.progress !== null;
  byId("verify").textContent = `Verify the body (reads ${bytes(entry.file.size)} twice)`;
}

export function showReport(entry) {
  byId("report").hidden = false;
  byId("report-title").textContent = entry.name;
  showVerdict(entry);
  showProgress(entry);
  showFacts(entry);
  showMap(entry);
  showFolds(entry);
  showLayers(entry);
  showFields(entry);
}
