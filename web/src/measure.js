// SPDX-License-Identifier: MIT
// Measurements of a body's bits: the fill, the actual rate, a map of the fill and the fold plan.

import { ones32 } from "./bits.js";
import { pieces } from "./blob.js";
import { BlockFolds, CellFolds } from "./folding.js";
import { ribbonHead } from "./ribbon.js";

const MAP_CELLS = 128 * 64;

/** The map: the body in equal parts of at least one unit each. A unit is 512 bits or counters; in ribbon, a page. */
class FillMap {
  constructor(units) {
    this.units = units;
    this.length = Math.min(units, MAP_CELLS);
    this.sums = new Float64Array(this.length);
    this.sizes = new Float64Array(this.length);
  }

  /** The part of the map to which a unit belongs. */
  cellOf(unit) {
    return Math.floor((unit * this.length) / this.units);
  }

  add(unit, sum, size) {
    const cell = this.cellOf(unit);
    this.sums[cell] += sum;
    this.sizes[cell] += size;
  }
}

/** The number of keys that give a fill: each key sets as many different cells of `cells` as k throws hit on average. */
function keysEstimate(image, fill) {
  if (fill === 1) return null;
  const range = image.layout === "blocked" ? 512 : image.m;
  const empty = Math.log1p(-fill);
  if (image.layout === "blocked") return (-(image.m / 512) * empty) / -Math.expm1(image.k * Math.log1p(-1 / range));
  return image.m === 1 ? null : empty / (image.k * Math.log1p(-1 / range));
}

function summary(image, folds, map) {
  const results = folds.results();
  const { ones, fill, rate } = results[0];
  return { ones, fill, rate, keysEstimate: keysEstimate(image, fill), folds: results, map };
}

async function measureBlocked(body, image) {
  const blocks = image.m / 512;
  const folds = new BlockFolds(blocks, image.ones / image.m, image.k);
  const map = new FillMap(blocks);
  let block = 0;
  for await (const piece of body) {
    const words = new Uint32Array(piece.buffer);
    for (let at = 0; at < words.length && block < blocks; at += 16, block++) {
      folds.add(words, at);
      let sum = 0;
      for (let i = 0; i < 16; i++) sum += ones32(words[at + i]);
      map.add(block, sum, 512);
    }
  }
  return summary(image, folds, map);
}

/** The places of set cells in 32 bits of a body. Counters are nibbles, and are set if above 0. */
function eachSetCell(word, first, width, visit) {
  let rest = width === 1 ? word : (word | (word >>> 1) | (word >>> 2) | (word >>> 3)) & 0x11111111;
  while (rest !== 0) {
    const bit = 31 - Math.clz32(rest & -rest);
    visit(first + bit / width);
    rest &= rest - 1;
  }
}

async function measureCells(body, image) {
  const width = image.layout === "counting" ? 4 : 1;
  const folds = new CellFolds(image.m, image.ones / image.m, image.k);
  const map = new FillMap(Math.ceil(image.m / 512));
  for (let unit = 0; unit < map.units; unit++) map.add(unit, 0, Math.min(512, image.m - 512 * unit));
  const visit = (place) => {
    if (place >= image.m) return;
    folds.add(place);
    map.sums[map.cellOf(Math.floor(place / 512))]++;
  };
  let first = 0;
  for await (const piece of body) {
    const words = new Uint32Array(piece.buffer);
    for (let at = 0; at < words.length; at++, first += 32 / width) eachSetCell(words[at], first, width, visit);
  }
  return summary(image, folds, map);
}

/** The least and the most of a number, and its mean over pages that are solved. */
class Range {
  least = Infinity;
  most = 0;
  sum = 0;

  add(least, most, mean, weight) {
    this.least = Math.min(this.least, least);
    this.most = Math.max(this.most, most);
    this.sum += mean * weight;
    this.weight = (this.weight ?? 0) + weight;
  }

  get mean() {
    return this.sum / this.weight;
  }
}

/** Adds the head of a page to the sums of a ribbon filter. */
function addPage(total, head, share) {
  total.rate += head.rate * share;
  total.keys += head.keys;
  if (!head.solved) total.unsolved++;
  if (head.solved && head.seed !== 0) total.reseeded++;
  if (!head.solved) return;
  if (head.more) total.enlarged++;
  total.further += head.more;
  total.groups.add(head.groups, head.groups, head.groups, 1);
  total.columns.add(head.least, head.most, head.mean, head.groups);
}

async function measureRibbon(body, image) {
  const allLines = image.m / 512;
  const map = new FillMap(Math.ceil(allLines / 64));
  const total = { rate: 0, keys: 0, unsolved: 0, reseeded: 0, enlarged: 0, further: 0, pages: map.units };
  Object.assign(total, { groups: new Range(), columns: new Range() });
  let page = 0;
  for await (const piece of body) {
    const view = new DataView(piece.buffer);
    for (let at = 0; at < view.byteLength && page < map.units; at += 4096, page++) {
      const lines = Math.min(64, allLines - 64 * page);
      const head = ribbonHead(view.getUint32(at, true), view.getUint32(at + 4, true), lines);
      addPage(total, head, lines / allLines);
      map.add(page, head.mean * lines, lines);
    }
  }
  return { rate: total.rate, keysEstimate: total.keys, solution: total, map, folds: [] };
}

/**
 * Reads the whole body of an image and measures it. `image` has layout, m, k, ones, bodyStart and bodySize; the options are
 * progress(share) and signal, an AbortSignal.
 */
export function measure(blob, image, options) {
  const body = pieces(blob, image.bodyStart, image.bodyStart + image.bodySize, options);
  if (image.layout === "blocked") return measureBlocked(body, image);
  return image.layout === "ribbon" ? measureRibbon(body, image) : measureCells(body, image);
}
