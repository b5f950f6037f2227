// SPDX-License-Identifier: MIT
// The picture of how full each part of a body is.

import { percent, plural } from "./format.js";
import { byId } from "./page.js";

const SIDE = 8;
const LIGHT = ["#20508f", "#4f80bd", "#93b4dc", "#d8e0ea", "#ece0d8", "#e3b095", "#cb7350", "#9c3a1e"];
const DARK = ["#7fb2f0", "#5a8cc9", "#3e648f", "#303c49", "#463a34", "#8a5a44", "#c67a57", "#f0a07e"];
const STEPS = [-3, -2, -1, 0, 1, 2, 3];

/** Returns the standard deviation of the number of ones in a part with `size` cells. */
function deviation(image, fill, size) {
  if (image.layout === "ribbon") return (fill * size) / Math.sqrt(Math.max(1, image.n / (image.pages || 1)));
  const empty = 1 - fill;
  if (image.layout !== "blocked") return Math.sqrt(size * fill * empty);
  const load = -Math.log(Math.max(empty, 1e-9));
  const left = (511 / 512) ** image.k;
  const crowd = load / (1 - left);
  const between = 512 ** 2 * (Math.exp(-crowd * (1 - left ** 2)) - Math.exp(-2 * crowd * (1 - left)));
  const within = 512 * empty * (1 - (1 + load) * empty);
  return Math.sqrt(Math.max(0, (between + within) * (size / 512)));
}

function median(values) {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor(sorted.length / 2)] : 0;
}

function grid(length) {
  const columns = length <= 16 ? length : Math.min(128, Math.ceil(Math.sqrt(2 * length)));
  return { columns, rows: Math.ceil(length / columns) };
}

/** The cells of the map that have a damaged page. */
function damagedCells(map, image, pages) {
  const unitsOfPage = image.layout === "ribbon" ? 1 : image.layout === "counting" ? 16 : 64;
  const cells = new Set();
  for (const page of pages) {
    const last = Math.min(map.units, (page + 1) * unitsOfPage) - 1;
    for (let cell = map.cellOf(Math.min(page * unitsOfPage, last)); cell <= map.cellOf(last); cell++) cells.add(cell);
  }
  return cells;
}

function cross(context, x, y, ink) {
  context.strokeStyle = ink;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(x + 1, y + 1);
  context.lineTo(x + SIDE - 1, y + SIDE - 1);
  context.moveTo(x + SIDE - 1, y + 1);
  context.lineTo(x + 1, y + SIDE - 1);
  context.stroke();
}

function drawLegend(colours) {
  const scale = document.createElement("canvas");
  scale.width = colours.length;
  scale.height = 1;
  const context = scale.getContext("2d");
  colours.forEach((colour, i) => {
    context.fillStyle = colour;
    context.fillRect(i, 0, 1, 1);
  });
  byId("map-legend").replaceChildren("emptier", scale, "fuller than the median");
}

function describe(map, fills, damaged, ribbon) {
  const value = (share) => (ribbon ? `${share.toFixed(1)} columns` : percent(share));
  const parts = `${plural(map.length, "part")} of the body in order, row by row. `;
  const range = `Lowest ${value(Math.min(...fills))}, median ${value(median([...fills]))}, highest ${value(Math.max(...fills))}.`;
  return parts + range + (damaged.size ? ` Damage in ${plural(damaged.size, "part")}, crossed out.` : "");
}

/** Draws the map of an image. `pages` are the numbers of its damaged pages. */
export function drawMap(image, map, pages) {
  const canvas = byId("map-canvas");
  const colours = matchMedia("(prefers-color-scheme: dark)").matches ? DARK : LIGHT;
  const ink = getComputedStyle(document.body).color;
  const fills = Array.from(map.sums, (sum, cell) => sum / map.sizes[cell]);
  const middle = median([...fills]);
  const damaged = damagedCells(map, image, pages);
  const { columns, rows } = grid(map.length);
  canvas.width = columns * SIDE;
  canvas.height = rows * SIDE;
  canvas.style.maxWidth = `${Math.min(768, columns * 3 * SIDE)}px`;
  const context = canvas.getContext("2d");
  fills.forEach((fill, cell) => {
    const size = map.sizes[cell];
    const chance = deviation(image, middle, size) || 1;
    const off = ((fill - middle) * size) / chance;
    const [x, y] = [(cell % columns) * SIDE, Math.floor(cell / columns) * SIDE];
    context.fillStyle = fill === 0 && off < -4 ? ink : colours[STEPS.filter((step) => off > step).length];
    context.fillRect(x, y, SIDE, SIDE);
    if (damaged.has(cell)) cross(context, x, y, ink);
  });
  const text = describe(map, fills, damaged, image.layout === "ribbon");
  canvas.setAttribute("aria-label", text);
  byId("map-note").textContent = `${text} The unit of the shades is the deviation that chance gives a part of this size.`;
  drawLegend(colours);
}
