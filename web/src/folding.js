// SPDX-License-Identifier: MIT
// The fold plan: the fill and the rate of a filter folded by each factor, in one pass over its bits.

import { ones32 } from "./bits.js";

const HIGHEST_RATE = 0.5;
const MOST_FACTORS = 400;

function divisors(number) {
  const found = [];
  for (let low = 1; low * low <= number && found.length < MOST_FACTORS; low++) {
    if (number % low === 0) found.push(low, number / low);
  }
  return [...new Set(found)].sort((a, b) => a - b);
}

function smallestPrime(number) {
  for (let prime = 2; prime * prime <= number; prime++) if (number % prime === 0) return prime;
  return number;
}

/** Factors whose rate may be 50% or less. A fold has at least the fill of folding each cell with empty or equal cells. */
function usefulFactors(units, fill, k) {
  const least = (factor) => (1 - (1 - fill) ** factor) ** k;
  return divisors(units).filter((factor) => factor === 1 || least(factor) <= HIGHEST_RATE * 1.2);
}

/** One factor of the blocked layout. It ORs `step` blocks of its parent to one block and passes that on. */
class BlockFold {
  constructor(factor, k) {
    Object.assign(this, { factor, k, step: 1, children: [], waiting: 0 });
    this.block = new Uint32Array(16);
    this.counts = new Float64Array(513);
  }

  add(words, at) {
    for (let i = 0; i < 16; i++) this.block[i] |= words[at + i];
    if (++this.waiting < this.step) return;
    let ones = 0;
    for (let i = 0; i < 16; i++) ones += ones32(this.block[i]);
    this.counts[ones]++;
    for (const child of this.children) child.add(this.block, 0);
    this.block.fill(0);
    this.waiting = 0;
  }

  result() {
    let [blocks, ones, rate] = [0, 0, 0];
    this.counts.forEach((number, full) => {
      blocks += number;
      ones += number * full;
      rate += number * (full / 512) ** this.k;
    });
    return { factor: this.factor, ones, cells: 512 * blocks, fill: ones / (512 * blocks), rate: rate / blocks };
  }
}

/** The folds of a blocked filter. Each factor folds the result of a smaller factor. */
export class BlockFolds {
  constructor(blocks, fill, k) {
    const folds = new Map(usefulFactors(blocks, fill, k).map((factor) => [factor, new BlockFold(factor, k)]));
    for (const fold of folds.values()) {
      if (fold.factor === 1) continue;
      let step = smallestPrime(fold.factor);
      while (!folds.has(fold.factor / step)) step = fold.factor;
      fold.step = step;
      folds.get(fold.factor / step).children.push(fold);
    }
    this.first = folds.get(1);
    this.folds = [...folds.values()];
  }

  add(words, at) {
    this.first.add(words, at);
  }

  results() {
    return this.folds.map((fold) => fold.result());
  }
}

/** The folds of a classic or counting filter, from the places of its set cells in ascending order. */
export class CellFolds {
  constructor(cells, fill, k) {
    Object.assign(this, { cells, k, factors: usefulFactors(cells, fill, k) });
    this.last = this.factors.map(() => -1);
    this.ones = this.factors.map(() => 0);
  }

  add(place) {
    for (let i = 0; i < this.factors.length; i++) {
      if (place < this.last[i]) continue;
      const factor = this.factors[i];
      this.last[i] = (Math.floor(place / factor) + 1) * factor;
      this.ones[i]++;
    }
  }

  results() {
    return this.factors.map((factor, i) => {
      const cells = this.cells / factor;
      const fill = this.ones[i] / cells;
      return { factor, ones: this.ones[i], cells, fill, rate: fill ** this.k };
    });
  }
}
