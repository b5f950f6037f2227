// SPDX-License-Identifier: MIT
// The page: choosing files, the tabs, and starting work on the file that is shown.

import { startCalculator } from "./calculator.js";
import { FilterFile } from "./filter-file.js";
import { count, plural } from "./format.js";
import { lookUp, resetLookup } from "./lookup.js";
import { byId, element, fillTable, tableRow } from "./page.js";
import { showProgress, showReport } from "./report.js";
import { joining } from "./slices.js";

/** Files up to this size are verified when they are opened. */
const READ_AT_OPEN = 64 * 2 ** 20;

let opening = 0; // the number of the choice whose files may be shown
let entries = [];
let current = null;
let joined = null; // the slices of one filter, if all of them are open
let aborter = null;

async function readBody(entry) {
  aborter?.abort();
  const mine = (aborter = new AbortController());
  entry.progress = 0;
  showProgress(entry);
  try {
    await entry.readBody(mine.signal, (share) => {
      entry.progress = share;
      if (entry === current) byId("work-bar").value = share;
    });
  } catch (error) {
    if (error.name !== "AbortError") entry.error = error;
  }
  if (mine !== aborter && entry === current) return; // it was started again
  entry.progress = null;
  if (entry === current) showReport(entry);
}

function select(entry) {
  current = entry;
  for (const tab of byId("tabs").children) {
    const selected = tab.entry === entry;
    tab.setAttribute("aria-selected", String(selected));
    tab.tabIndex = selected ? 0 : -1;
    if (selected) byId("report").setAttribute("aria-labelledby", tab.id);
  }
  showReport(entry);
  resetLookup(entry);
  if (entry.filter && !entry.result && entry.file.size <= READ_AT_OPEN) readBody(entry);
}

function makeTabs() {
  byId("tabs").replaceChildren(...entries.map((entry, i) => {
    const tab = element("button", { type: "button", role: "tab", id: `tab-${i}`, "aria-controls": "report" }, entry.name);
    tab.entry = entry;
    tab.addEventListener("click", () => select(entry));
    return tab;
  }));
  byId("tabs").hidden = entries.length < 2;
}

function moveTab(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const tabs = [...byId("tabs").children];
  const at = tabs.findIndex((tab) => tab.entry === current);
  const to = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : step && (at + step + tabs.length) % tabs.length;
  if (to === undefined) return;
  event.preventDefault();
  select(tabs[to].entry);
  tabs[to].focus();
}

/** Compares the slices among the open files. */
function showSlices() {
  const slices = entries.filter((entry) => entry.info?.slice).map((entry) =>
    ({ entry, name: entry.name, place: entry.filter.layers[0].slice, header: entry.filter.layers[0].header }));
  byId("slices").hidden = slices.length < 2;
  joined = null;
  if (slices.length < 2) return;
  const { ordered, error } = joining(slices);
  if (!error) joined = ordered.map((slice) => slice.entry);
  byId("slices-verdict").textContent = error ? `No. ${error} (BLOOMFILE_EINCOMPLETE)`
    : `Yes, these ${slices.length} slices are all of one filter. Lookups use all of them.`;
  fillTable("slices-table", ordered.map(({ name, place, header, entry }) => tableRow([name,
    `${count(place.firstBlock)} to ${count(place.firstBlock + header.m / 512n - 1n)} of ${count(place.wholeBlocks)}`,
    count(entry.info.layersN), count(place.keysRead), count(place.keysElsewhere)])));
}

async function openFiles(files) {
  if (files.length === 0) return;
  const mine = ++opening;
  aborter?.abort();
  const opened = await Promise.all(Array.from(files, (file) => new FilterFile(file).open()));
  if (mine !== opening) return;
  entries = opened.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
  byId("status").textContent = `${plural(entries.length, "file")} opened.`;
  makeTabs();
  showSlices();
  select(entries[0]);
}

function startFiles() {
  const drop = byId("drop");
  byId("choose").addEventListener("change", async (event) => {
    await openFiles([...event.target.files]);
    event.target.value = "";
  });
  // The whole page accepts a drop: a file that misses the frame would otherwise replace the page.
  addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", (event) => event.relatedTarget ?? drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    openFiles([...event.dataTransfer.files]);
  });
  byId("tabs").addEventListener("keydown", moveTab);
  byId("verify").addEventListener("click", () => readBody(current));
  byId("work-stop").addEventListener("click", () => aborter.abort());
  byId("lookup-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const entry = current, slices = joined?.includes(entry) ? joined : null;
    await lookUp(entry, slices);
    if (entry === current && (entry.error ?? entry.found)) showReport(entry);
  });
  byId("keys").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("lookup-form").requestSubmit();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => current && showReport(current));
}

startFiles();
startCalculator();
