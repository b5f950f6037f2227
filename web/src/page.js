// SPDX-License-Identifier: MIT
// Small helpers for elements of the page.

export const byId = (id) => document.getElementById(id);

/** An element with attributes and children. Text is never parsed as HTML. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A row of a table. Its first cell is a header of the row. */
export function tableRow(cells, attributes = {}) {
  const made = cells.map((cell, i) => element(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : {}, cell));
  return element("tr", attributes, ...made);
}

export function fillTable(id, rows) {
  byId(id).tBodies[0].replaceChildren(...rows);
}

/** Shows text, or hides the element if there is nothing to show. */
export function showText(id, text) {
  byId(id).textContent = text;
  byId(id).hidden = !text;
}
