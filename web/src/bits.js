// SPDX-License-Identifier: MIT
// Counting bits.

/** The number of one bits of a 32-bit integer. */
export function ones32(word) {
  let sum = word - ((word >>> 1) & 0x55555555);
  sum = (sum & 0x33333333) + ((sum >>> 2) & 0x33333333);
  return Math.imul((sum + (sum >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
