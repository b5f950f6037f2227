// SPDX-License-Identifier: MIT
// Looking up keys in the file that is shown, or in all slices of its filter.

import { count, hexadecimal, plural } from "./format.js";
import { formFor, readKeys } from "./keys.js";
import { byId, element, fillTable } from "./page.js";
import { reason } from "./verdict.js";

const MOST_ROWS = 1000;

let latest = 0; // the number of the lookup whose answers may be shown

const form = () => new FormData(byId("lookup-form")).get("form");

/** Prepares the form for another file. */
export function resetLookup(entry) {
  const { info } = entry;
  const own = info && info.hashId !== 1;
  byId("digest-form").hidden = !own;
  const fitting = info ? formFor(info) : "text";
  for (const input of byId("forms").querySelectorAll("input")) input.checked = input.value === fitting;
  byId("keys-note").textContent = own
    ? `The filter uses an application's own hash function, ${hexadecimal(info.hashId, 8)} with the self-test ` +
      `${hexadecimal(info.selfTest, 16)}. Only that function's digests can be looked up.`
    : kindNote(info);
  byId("skip-kind").checked = false;
  byId("skip-kind").parentElement.hidden = !info || own || info.keyKind === "unknown";
  clear();
}

function kindNote(info) {
  if (!info) return "The file was refused, so every answer is maybe.";
  const kinds = { text: "The keys of this filter are text.", lower: "Letters A to Z are looked up as a to z.",
    integers: "The keys of this filter are integers.", bytes: "The keys of this filter are bytes.",
    fixed: `The keys of this filter have ${plural(info.keySize, "byte")} each.`,
    newer: "The filter has a newer kind of keys. Ignore the kind to look up plain keys." };
  return kinds[info.keyKind] ?? "Each line is a key, without its line end. Empty lines are skipped.";
}

const codeOf = ({ code }) => (code?.startsWith?.("BLOOMFILE_") ? ` (${code})` : "");

/** Removes the answers, and gives up a lookup that still runs: another file may be shown when it ends. */
function clear(message = "") {
  latest++;
  byId("answers-summary").textContent = message;
  byId("answers-summary").className = message ? "error" : "";
  byId("answers-region").hidden = true;
}

function answerRow(line, maybe) {
  const cell = element("td", { class: maybe ? "maybe" : "no" }, maybe ? "maybe" : "certainly not");
  return element("tr", {}, element("td", {}, line), cell);
}

function show(lines, answers, note) {
  const maybes = answers.filter(Boolean).length;
  clear();
  byId("answers-summary").textContent = `${plural(lines.length, "key")}: ${count(maybes)} maybe, ` +
    `${count(lines.length - maybes)} certainly not.${note}` +
    (lines.length > MOST_ROWS ? ` The table shows the first ${count(MOST_ROWS)}.` : "");
  byId("answers-region").hidden = false;
  fillTable("answers", lines.slice(0, MOST_ROWS).map((line, i) => answerRow(line, answers[i])));
}

function errorNote({ code, message }) {
  if (code === "BLOOMFILE_EHASH") return ` Only digests of the application's function can be looked up (${code}).`;
  return ` The filter is damaged: ${message} (${code}).`;
}

/** Looks up the keys of the form in these files. A key is absent if it is absent in any file. */
async function answersOf(entries, keys, options) {
  const found = await Promise.all(entries.map((entry) => entry.lookup(keys, options)));
  const answers = keys.map((_, i) => found.every((file) => file.answers[i]));
  const error = found.find((file) => file.error)?.error;
  return { answers, note: error ? errorNote(error) : "" };
}

/** Answers the form for one file; `slices` are all slices of the same filter, if they are open. */
export async function lookUp(entry, slices) {
  let read;
  try {
    read = readKeys(byId("keys").value, form());
  } catch (error) {
    return clear(error.message);
  }
  const { lines, keys } = read;
  if (lines.length === 0) return clear("Enter a key first.");
  if (entry.error) return show(lines, lines.map(() => true), ` The file was refused${codeOf(entry.error)}.`);
  if (form() === "hex" && /text|lower/.test(entry.info.keyKind) && !byId("skip-kind").checked) {
    return clear("No answer: the keys of this filter are text, not hexadecimal bytes (BLOOMFILE_EKEYKIND). Treat every key as maybe.");
  }
  clear();
  byId("answers-summary").textContent = `Looking up ${plural(keys.length, "key")}…`;
  const mine = latest;
  try {
    const options = { digests: form() === "digests", plain: byId("skip-kind").checked };
    const { answers, note } = await answersOf(slices ?? [entry], keys, options);
    if (mine !== latest) return undefined;
    return show(lines, answers, (slices ? ` Looked up in all ${slices.length} slices.` : "") + note);
  } catch (error) {
    if (mine !== latest) return undefined;
    return clear(`No answer: ${reason(error)}${codeOf(error)}. Treat every key as maybe.`);
  }
}
