// SPDX-License-Identifier: MIT
// The deviation that chance gives the rate of a single filter.

import { binomialMean } from "./chance.js";

const EXACT_THROWS = 2048;
const MOST_THROWS = 4096;

/** Yields the mean of (hit / cells)^power after 0, 1, 2, ... throws: the chance that `power` more throws hit only hit cells. */
function* powerMeans(cells, power) {
  let missing = new Float64Array(power + 1);
  missing[0] = 1;
  for (let i = 0; i < power; i++) {
    const next = new Float64Array(power + 1);
    for (let d = 0; d <= i; d++) {
      next[d] += (missing[d] * d) / cells;
      next[d + 1] += missing[d] * (1 - d / cells);
    }
    missing = next;
  }
  for (;;) {
    yield missing[0];
    for (let d = 0; d <= power; d++) {
      missing[d] = missing[d] * (1 - d / cells) + (d < power ? (missing[d + 1] * (d + 1)) / cells : 0);
    }
  }
}

function powerMean(throws, cells, power) {
  let done = 0;
  for (const mean of powerMeans(cells, power)) if (done++ === throws) return mean;
}

/** The mean of (hit / 512)^power over the blocks of a filter. */
function blocksMean(n, blocks, k, power) {
  const most = Math.floor(MOST_THROWS / k);
  if (n / blocks > 4 * most) return 1; // a block with fewer keys than `most` is too rare to count
  const table = [];
  let throws = 0;
  for (const mean of powerMeans(512, power)) {
    if (throws % k === 0) table.push(mean);
    if (throws++ === most * k) break;
  }
  const value = (crowd) => table[crowd] ?? 1;
  return blocks === 1 ? value(n) : binomialMean(n, 1 / blocks, value);
}

function cellsDeviation(n, m, k) {
  if (n * k <= EXACT_THROWS) return Math.sqrt(Math.max(0, powerMean(n * k, m, 2 * k) - powerMean(n * k, m, k) ** 2));
  const load = (n * k) / m;
  const empty = Math.exp(-load);
  const fill = -Math.expm1(-load);
  return k * fill ** (k - 1) * Math.sqrt(Math.max(0, (empty * (fill - load * empty)) / m));
}

/** The standard deviation of the rate of a filter with n keys, over all seeds. */
export function rateDeviation({ layout, n, m, k }) {
  if (layout !== "blocked") return cellsDeviation(n, m, k);
  const variance = blocksMean(n, m / 512, k, 2 * k) - blocksMean(n, m / 512, k, k) ** 2;
  return Math.sqrt(Math.max(0, variance) / (m / 512));
}
