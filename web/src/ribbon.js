// SPDX-License-Identifier: MIT
// Ribbon filters: the rate of a page from its head, and the size for a number of keys and a rate.

import { binomialMean } from "./chance.js";

const MOST_COLUMNS = 32;
const MOST_KEYS = 16000; // of a page: more are not solved

/** The columns of a page with these groups: the least, the number of groups with so few, and the mean rate. */
function pageShape(groups, lines) {
  const words = 16 * lines - 2;
  const least = Math.min(MOST_COLUMNS, Math.floor(words / groups));
  const few = least === MOST_COLUMNS ? groups : groups * (least + 1) - words;
  const low = Math.min(few, groups - 1);
  const high = groups - 1 - low;
  return {
    least,
    most: few < groups ? least + 1 : least,
    mean: least + (groups - few) / groups,
    rate: (low * 2 ** -least + high * 2 ** -(least + 1)) / (groups - 1),
  };
}

const groupsFor = (keys) => Math.max(2, Math.ceil((41 * keys) / 1280));

/** The head of a page from its first two words. A head that is not valid counts as not solved. */
export function ribbonHead(first, keys, lines) {
  const groups = first & 0xffff;
  const valid = first >>> 23 === 0 && groups >= 2 && groups <= (16 * lines - 2) / 2;
  if (!valid) return { solved: false, groups: 0, keys, least: 0, most: 0, mean: 0, rate: 1 };
  return { solved: true, groups, keys, seed: (first >>> 16) & 127, more: Math.max(0, groups - groupsFor(keys)),
    ...pageShape(groups, lines) };
}

/* As lib/sizing/rates.c: how many groups more than groupsFor(keys) a page takes on average, measured for every 1000 keys. */
const MORE_GROUPS = [0, 0, 0.008, 0.05, 0.23, 0.58, 1.07, 1.75, 2.8, 3.75, 4.4, 5.5, 6.8, 8.2, 9.6, 11, 12.4];
const MOST_RATE = 0.24; // a target above it is taken for it: a page has two columns or more

function moreGroups(keys) {
  const place = Math.min(keys / 1000, MORE_GROUPS.length - 1);
  const i = Math.min(Math.floor(place), MORE_GROUPS.length - 2);
  return MORE_GROUPS[i] + (MORE_GROUPS[i + 1] - MORE_GROUPS[i]) * (place - i);
}

const wholePageRate = (groups) => (groups > 511 ? 1 : pageShape(groups, 64).rate);

/** Returns the mean rate of a whole page with this number of keys. */
function fullPageRate(keys) {
  const more = moreGroups(keys);
  const groups = groupsFor(keys) + Math.floor(more);
  const now = wholePageRate(groups);
  return now + (wholePageRate(groups + 1) - now) * (more - Math.floor(more));
}

/** Returns the expected rate of a ribbon filter with this number of keys and whole pages. */
export function ribbonRate(keys, pages) {
  if (keys / pages > 2 * MOST_KEYS) return 1;
  const rate = pages === 1 ? fullPageRate(keys) : binomialMean(keys, 1 / pages, fullPageRate);
  return rate + ((1 - rate) * keys) / 2 ** 64; // digests may be equal
}

/** The least number of pages that keep the target rate. */
export function ribbonPages(keys, target) {
  const rate = Math.min(target, MOST_RATE) * (1 + 2 ** -26); // smaller differences count as equal
  let high = 1;
  while (ribbonRate(keys, high) > rate) {
    high *= 2;
    if (high > 2 ** 45) return NaN;
  }
  let low = Math.floor(high / 2);
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (ribbonRate(keys, middle) > rate) low = middle;
    else high = middle;
  }
  return high;
}
