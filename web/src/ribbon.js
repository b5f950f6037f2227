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
  return { solved: true, groups, keys, seed: (first >>> 16) & 127, enlarged: groups > groupsFor(keys),
    ...pageShape(groups, lines) };
}

/*
 * How many groups more than groupsFor(keys) the solver takes on average, because the 16 seeds of some pages fail. No formula
 * is known. These pairs of keys in a page and groups were counted in filters of 10^6 keys.
 */
const MORE_GROUPS = [[2000, 0], [2500, 0.005], [3000, 0.035], [3500, 0.115], [4000, 0.237], [4505, 0.41], [5000, 0.605],
  [5525, 0.872], [6024, 1.18], [7042, 1.95], [8000, 2.7], [9524, 4.19], [11111, 6.0], [13158, 8.35], [15152, 10.7]];

function moreGroups(keys) {
  const next = MORE_GROUPS.findIndex(([at]) => at > keys);
  if (next === 0) return 0;
  if (next < 0) return MORE_GROUPS[MORE_GROUPS.length - 1][1];
  const [[low, below], [high, above]] = [MORE_GROUPS[next - 1], MORE_GROUPS[next]];
  return below + ((above - below) * (keys - low)) / (high - low);
}

/** The mean rate of a whole page that holds so many keys. */
function fullPageRate(keys) {
  const exact = groupsFor(keys) + moreGroups(keys);
  const groups = Math.floor(exact);
  if (groups + 1 > 511) return 1;
  const part = exact - groups;
  return (1 - part) * pageShape(groups, 64).rate + part * pageShape(groups + 1, 64).rate;
}

/** The rate to expect of a ribbon filter with so many keys and whole pages. */
export function ribbonRate(keys, pages) {
  if (keys / pages > 2 * MOST_KEYS) return 1;
  return pages === 1 ? fullPageRate(keys) : binomialMean(keys, 1 / pages, fullPageRate);
}

/** The least number of pages that keep the rate. */
export function ribbonPages(keys, rate) {
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
