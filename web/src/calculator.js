// SPDX-License-Identifier: MIT
// The size calculator: the form, the result, the table of layouts and the curves.

import { size } from "../../bindings/js/bloomfile.js";
import { drawChart } from "./chart.js";
import { bytes, count, exactRate, nanoseconds, percent, readCount, readRate, shortCount, threeDigits } from "./format.js";
import { byId, fillTable, tableRow } from "./page.js";
import { fileSize } from "./report.js";
import { ribbonPages, ribbonRate } from "./ribbon.js";
import { MACHINE, TIMES } from "./times.js";

const LAYOUTS = ["blocked", "classic", "counting", "ribbon"];
const MOST_CELLS = 2 ** 60;
const RIBBON_PAGE_BITS = 32768;
const CURVE_POINTS = 40;

const width = (layout) => (layout === "counting" ? 4 : 1);

function ribbonPlan(keys, target) {
  const pages = ribbonPages(keys, target);
  const m = pages * RIBBON_PAGE_BITS;
  if (!(m <= MOST_CELLS)) return null;
  return { layout: "ribbon", m, k: 0, expected: ribbonRate(keys, pages), perKey: m / keys, size: fileSize(m) };
}

/** The plan of one layout: m, k, the expected rate and the sizes; null if no size reaches the rate. */
function planFor(layout, keys, target) {
  if (layout === "ribbon") return ribbonPlan(keys, target);
  try {
    const plan = size({ layout, n: keys, fpr: target });
    return { layout, m: plan.m, k: plan.k, expected: plan.fpr, perKey: plan.bitsPerKey, size: plan.bytes };
  } catch (error) {
    if (error.code === "BLOOMFILE_EUNREACHABLE") return null;
    throw error;
  }
}

/**
 * Returns the times of a lookup in a filter of fileBytes bytes: [single, batch] in ns, interpolated between the
 * measured sizes on a log scale.
 */
function timesFor(layout, fileBytes) {
  const rows = TIMES[layout];
  const mb = fileBytes / 1e6;
  const next = rows.findIndex(([at]) => at >= mb);
  if (next === 0) return { single: rows[0][1], batch: rows[0][2], beyond: false };
  if (next < 0) return { single: rows[rows.length - 1][1], batch: rows[rows.length - 1][2], beyond: true };
  const [low, high] = [rows[next - 1], rows[next]];
  const part = Math.log(mb / low[0]) / Math.log(high[0] / low[0]);
  const between = (i) => low[i] + part * (high[i] - low[i]);
  return { single: between(1), batch: between(2), beyond: false };
}

function timeText(times, name) {
  return `${times.beyond ? "over " : ""}${nanoseconds(times[name])}`;
}

function planRow(layout, plan, chosen) {
  const attributes = layout === chosen ? { class: "chosen" } : {};
  if (!plan) return tableRow([layout, "-", "-", "out of reach", "-", "-", "-"], attributes);
  const times = timesFor(layout, plan.size);
  return tableRow([layout, plan.perKey.toFixed(2), plan.k ? String(plan.k) : "-", percent(plan.expected),
    `${count(plan.size)} bytes, ${bytes(plan.size)}`, timeText(times, "single"), timeText(times, "batch")], attributes);
}

function resultText(plan) {
  if (!plan) return "No filter of this layout reaches this rate for so many keys (BLOOMFILE_EUNREACHABLE).";
  const times = timesFor(plan.layout, plan.size);
  const unit = plan.layout === "counting" ? "counters" : "bits";
  return `${bytes(plan.size)}: m = ${count(plan.m)} ${unit}${plan.k ? `, k = ${plan.k}` : ""}, ` +
    `${plan.perKey.toFixed(2)} bits per key. A single lookup took ${timeText(times, "single")} on the machine below.`;
}

function curvePoint(layout, keys, perKey) {
  if (layout === "ribbon") {
    const pages = Math.round((perKey * keys) / RIBBON_PAGE_BITS);
    return pages < 1 ? null : [(pages * RIBBON_PAGE_BITS) / keys, ribbonRate(keys, pages)];
  }
  const m = Math.max(1, Math.round((perKey * keys) / width(layout)));
  if (m > MOST_CELLS) return null;
  const plan = size({ layout, n: keys, m });
  return [plan.bitsPerKey, plan.fpr];
}

const curveCache = new Map();

/** Returns the curve of a layout for a number of keys, up to `most` bits per key. */
function curvePoints(layout, keys, most) {
  const name = `${layout} ${keys} ${most}`;
  if (!curveCache.has(name)) {
    if (curveCache.size > 200) curveCache.clear();
    const points = Array.from({ length: CURVE_POINTS }, (_, i) => curvePoint(layout, keys, (most * (i + 1)) / CURVE_POINTS));
    curveCache.set(name, points.filter((point, i) => point && point[0] !== points[i - 1]?.[0]));
  }
  return curveCache.get(name);
}

function powersOfTen(from, to, text) {
  const step = Math.ceil((to - from) / 6);
  const ticks = [];
  for (let power = from; power <= to; power += step) ticks.push([10 ** power, text(10 ** power)]);
  return ticks;
}

const CURVE_WIDTHS = [12, 20, 32, 48, 80, 120, 200, 400, 800, 1600];

function drawRates(plans, { keys, target, layout }) {
  const chosen = plans[layout];
  const widest = 1.5 * (chosen?.perKey ?? 40);
  const most = CURVE_WIDTHS.find((bits) => bits >= widest) ?? widest;
  const lowest = Math.max(-30, Math.floor(Math.log10(target)) - 1);
  const axes = {
    x: { min: 0, max: most, log: false, label: "bits per key",
      ticks: [0, 1, 2, 3, 4].map((i) => [(most * i) / 4, String((most * i) / 4)]) },
    y: { min: 10 ** lowest, max: 1, log: true, ticks: powersOfTen(lowest, 0, percent) },
  };
  const curves = LAYOUTS.map((name) => ({ layout: name, chosen: name === layout, points: curvePoints(name, keys, most) }));
  const mark = { layout, point: chosen ? [chosen.perKey, chosen.expected] : [NaN, NaN] };
  const label = `False-positive rate against bits per key for ${count(keys)} keys. ` +
    LAYOUTS.map((name) => `${name} needs ${plans[name] ? `${plans[name].perKey.toFixed(2)} bits per key` : "more than is possible"}`)
      .join(", ") + ` for ${percent(target)}.`;
  drawChart(byId("rate-chart"), { axes, curves, mark, label });
}

function drawTimes(plans, { layout }) {
  const chosen = plans[layout];
  const times = chosen && timesFor(layout, chosen.size);
  const slowest = Math.max(...Object.values(TIMES).flat().map(([, single]) => single));
  const top = Math.ceil(slowest / 20) * 20;
  const axes = {
    x: { min: 0.08, max: 1000, log: true, label: "size of the filter, MB", ticks: [0.1, 1, 10, 100, 1000].map((mb) => [mb, String(mb)]) },
    y: { min: 0, max: top, log: false, ticks: [0, 1, 2, 3, 4].map((i) => [(top * i) / 4, `${threeDigits((top * i) / 4)} ns`]) },
  };
  const curves = LAYOUTS.map((name) => ({ layout: name, chosen: name === layout, dots: true,
    points: TIMES[name].map(([mb, single]) => [mb, single]) }));
  const mb = chosen && Math.max(0.1, chosen.size / 1e6);
  const mark = { layout, point: chosen && !times.beyond ? [mb, times.single] : [NaN, NaN] };
  const label = `Time of a single lookup against the size of the filter. ${chosen
    ? `${layout}, ${bytes(chosen.size)}: ${timeText(times, "single")}.` : ""}`;
  drawChart(byId("time-chart"), { axes, curves, mark, label });
}

/** The form's values; those that are not valid are NaN. */
function readPlan() {
  return { keys: readCount(byId("plan-keys").value), target: readRate(byId("plan-rate").value),
    layout: new FormData(byId("plan")).get("layout") };
}

function problem({ keys, target }) {
  if (Number.isNaN(keys)) return "The number of keys must be a whole number from 1 to 2^60.";
  return Number.isNaN(target) ? "The rate must be between 0 and 1, such as 1% or 0.01." : "";
}

function update() {
  const plan = readPlan();
  byId("plan-keys").setAttribute("aria-invalid", String(Number.isNaN(plan.keys)));
  byId("plan-rate").setAttribute("aria-invalid", String(Number.isNaN(plan.target)));
  byId("plan-error").textContent = problem(plan);
  byId("plan-shown").hidden = problem(plan) !== "";
  if (problem(plan)) return;
  const plans = Object.fromEntries(LAYOUTS.map((layout) => [layout, planFor(layout, plan.keys, plan.target)]));
  byId("plan-result").textContent = resultText(plans[plan.layout]);
  byId("plan-command").textContent = `bfcreate -l ${plan.layout} -n ${shortCount(plan.keys)} -p ${exactRate(plan.target)} ` +
    "FILE KEYFILE";
  fillTable("plan-table", LAYOUTS.map((layout) => planRow(layout, plans[layout], plan.layout)));
  drawRates(plans, plan);
  drawTimes(plans, plan);
}

let waiting = false;

/** Updates once before the next frame, however many events come. */
function updateSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    update();
  });
}

/** Joins a slider and a text field. `toText` is of the slider's value, `toValue` of the text. */
function joinFields(name, toText, toValue) {
  const [field, slider] = [byId(name), byId(`${name}-slider`)];
  const follow = () => {
    slider.value = toValue(field.value);
    slider.setAttribute("aria-valuetext", field.value);
  };
  field.addEventListener("input", follow);
  slider.addEventListener("input", () => {
    field.value = toText(Number(slider.value));
    slider.setAttribute("aria-valuetext", field.value);
  });
  follow();
}

export function startCalculator() {
  joinFields("plan-keys", (power) => shortCount(Number((10 ** power).toPrecision(2))), (text) => Math.log10(readCount(text) || 1));
  joinFields("plan-rate", (power) => percent(Number((10 ** -power).toPrecision(2))), (text) => -Math.log10(readRate(text) || 1));
  byId("plan").addEventListener("input", updateSoon);
  byId("plan").addEventListener("submit", (event) => event.preventDefault());
  byId("time-note").textContent = `Times were measured on one machine, ${MACHINE}, with filters of 10 bits per key ` +
    "(counters: 40) and absent keys that were hashed before. Dots are measured, lines between them are guesses. " +
    "Your machine will differ: scripts/bench --quick measures it.";
  update();
}
