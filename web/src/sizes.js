// SPDX-License-Identifier: MIT
// The rate of a filter and the choice of m and k, by doc/format/sizes.md.

import { binomialMean } from "./chance.js";

export const MOST_CELLS = 2 ** 60;
const MOST_K = 64;
const MOST_THROWS = { blocked: 4096, classic: 2048, counting: 2048 };
const TIE = 2 ** -26;
const DIVISORS = [1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520, 5040, 7560, 10080, 15120,
  20160, 25200, 27720, 45360, 50400, 55440, 83160, 110880, 166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720];

/** Yields the mean of (hit / cells)^k after 0, 1, 2, ... throws: the chance that k more throws hit only cells hit before. */
function* cellRates(cells, k) {
  let missing = new Float64Array(k + 1);
  missing[0] = 1;
  for (let i = 0; i < k; i++) {
    const next = new Float64Array(k + 1);
    for (let d = 0; d <= i; d++) {
      next[d] += (missing[d] * d) / cells;
      if (d < k) next[d + 1] += missing[d] * (1 - d / cells);
    }
    missing = next;
  }
  for (;;) {
    yield missing[0];
    for (let d = 0; d <= k; d++) {
      missing[d] = missing[d] * (1 - d / cells) + (d < k ? (missing[d + 1] * (d + 1)) / cells : 0);
    }
  }
}

export function cellRate(throws, cells, k) {
  let done = 0;
  for (const rate of cellRates(cells, k)) if (done++ === throws) return rate;
}

const blockTables = new Map();

/** The rate of a block by its number of keys, of `power` positions of which each key sets k. */
function blockTable(k, power) {
  const name = 1000 * k + power;
  if (!blockTables.has(name)) {
    const most = Math.floor(MOST_THROWS.blocked / k);
    const table = new Float64Array(most + 1);
    let throws = 0;
    for (const rate of cellRates(512, power)) {
      if (throws % k === 0) table[throws / k] = rate;
      if (throws++ === most * k) break;
    }
    blockTables.set(name, table);
  }
  return blockTables.get(name);
}

/** The mean over blocks of (hit / 512)^power. */
function blockedRate(n, blocks, k, power) {
  const table = blockTable(k, power);
  const value = (crowd) => (crowd < table.length ? table[crowd] : 1);
  return blocks === 1 ? value(n) : binomialMean(n, 1 / blocks, value);
}

function manyKeysRate(n, m, k) {
  const load = (n * k) / m;
  const empty = Math.exp(-load);
  const fill = -Math.expm1(-load);
  const spread = (empty * (fill - load * empty)) / (m * fill ** 2);
  return (fill + (empty * load) / (2 * m)) ** k * Math.exp((spread * k * (k - 1)) / 2);
}

function bodyRate(layout, n, m, k) {
  if (layout === "blocked") return blockedRate(n, m / 512, k, k);
  return n > MOST_THROWS.classic / k ? manyKeysRate(n, m, k) : cellRate(n * k, m, k);
}

/** The false-positive rate to expect of n distinct keys. */
export function rate(layout, n, m, k) {
  if (n === 0) return 0;
  const body = bodyRate(layout, n, m, k);
  return Math.min(1, body + ((1 - body) * n) / 2 ** 64);
}

/** The standard deviation that chance gives the rate of a single filter. */
export function rateDeviation(layout, n, m, k) {
  if (layout === "blocked") {
    const variance = blockedRate(n, m / 512, k, 2 * k) - blockedRate(n, m / 512, k, k) ** 2;
    return Math.sqrt(Math.max(0, variance) / (m / 512));
  }
  if (n <= MOST_THROWS.classic / k) {
    return Math.sqrt(Math.max(0, cellRate(n * k, m, 2 * k) - cellRate(n * k, m, k) ** 2));
  }
  const load = (n * k) / m;
  const empty = Math.exp(-load);
  const fill = -Math.expm1(-load);
  return k * fill ** (k - 1) * Math.sqrt(Math.max(0, (empty * (fill - load * empty)) / m));
}

/** least(k): the smallest number of units that keeps the target; NaN if no number does. The search starts at `guess`. */
function leastUnits(layout, n, target, k, unit, guess) {
  const limit = target * (1 + TIE);
  const enough = (units) => rate(layout, n, units * unit, k) <= limit;
  let high = guess;
  let low = 0;
  for (; !enough(high); low = high, high *= 2) if (high * unit >= MOST_CELLS) return NaN;
  for (let step = Math.ceil(high / 64); low === 0 && high > 1; step *= 2) {
    const lower = Math.max(1, high - step);
    if (enough(lower)) high = lower;
    else low = lower;
  }
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (enough(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Rounds up, so that the filter folds in many ways. */
function roundUnits(units, unit) {
  const spare = Math.floor(units / 200);
  let best = units;
  const divisors = [...DIVISORS];
  for (let next = 2 * 720720; next <= units + spare; next *= 2) divisors.push(next);
  for (const divisor of divisors) {
    const multiple = Math.ceil(units / divisor) * divisor;
    if (multiple - units <= spare && multiple * unit <= MOST_CELLS) best = multiple;
  }
  return best;
}

/** m and k for n keys and a target rate, or null if no size reaches the rate. */
export function sizeFor(layout, n, target) {
  if (target <= n / 2 ** 64) return null;
  const unit = layout === "blocked" ? 512 : 1;
  let guess = Math.ceil((2 * n) / unit);
  let best = null;
  for (let k = 1; k <= MOST_K && !(best && k > best.k + 3); k++) {
    const units = leastUnits(layout, n, target, k, unit, guess);
    guess = units || guess;
    if (units < (best?.units ?? Infinity)) best = { units, k };
  }
  return best && { m: roundUnits(best.units, unit) * unit, k: best.k };
}

/** The k of the lowest rate for n keys in m bits or counters. */
export function bestK(layout, n, m) {
  let best = { k: 1, rate: rate(layout, n, m, 1) };
  for (let k = 2; k <= MOST_K && k <= best.k + 3; k++) {
    const next = rate(layout, n, m, k);
    if (next < best.rate * (1 - TIE)) best = { k, rate: next };
  }
  return best;
}
