// SPDX-License-Identifier: MIT
// Checks that slices form a whole filter: steps 1 to 4 of joining (doc/format/slices.md 1.3).

const SAME = ["hashId", "selfTest", "k", "seed", "capacity", "fpr", "label"];
const KNOWN_PROVENANCE = 7;

function order(slices) {
  return [...slices].sort((a, b) => (a.place.firstBlock < b.place.firstBlock ? -1 : 1));
}

function coverError(slices, whole) {
  let next = 0n;
  for (const { name, place, header } of slices) {
    if (place.firstBlock > next) return `Blocks ${next} to ${place.firstBlock - 1n} are missing.`;
    if (place.firstBlock < next) return `${name} has blocks that another slice also has.`;
    next += header.m / 512n;
  }
  return next < whole ? `Blocks ${next} to ${whole - 1n} are missing.` : null;
}

function equal(first, other) {
  const kind = (header) => (header.compat & 1 && header.keyKind & 255 ? header.keyKind : 0);
  return SAME.every((field) => first[field] === other[field]) && first.tag.every((byte, i) => byte === other.tag[i]) &&
    kind(first) === kind(other) && (first.provenance & KNOWN_PROVENANCE) === (other.provenance & KNOWN_PROVENANCE);
}

/** Slices in order, and why they do not form one filter, or null: { ordered, error }. A slice has name, place and header. */
export function joining(slices) {
  const ordered = order(slices);
  const [first] = ordered;
  const whole = first.place.wholeBlocks;
  const foreign = ordered.find((slice) => slice.place.wholeBlocks !== whole || !equal(first.header, slice.header));
  if (foreign) return { ordered, error: `${foreign.name} belongs to another filter than ${first.name}.` };
  const error = coverError(ordered, whole);
  if (error) return { ordered, error };
  const complete = ordered.every((slice) => slice.place.keysElsewhere === 0n) || ordered.every((slice) =>
    slice.place.keysRead === first.place.keysRead && slice.place.digestSum === first.place.digestSum);
  return { ordered, error: complete ? null : "The slices were not made from the same keys, so keys may be missing." };
}
