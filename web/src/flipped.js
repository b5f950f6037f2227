// SPDX-License-Identifier: MIT
// Finds the single flipped bit that explains a wrong checksum of a header.

const POLYNOMIAL = 0xedb88320;

function shiftByte(register) {
  let shifted = register;
  for (let i = 0; i < 8; i++) shifted = shifted & 1 ? (shifted >>> 1) ^ POLYNOMIAL : shifted >>> 1;
  return shifted;
}

function crc32(bytes) {
  let register = -1;
  for (const byte of bytes) register = shiftByte((register ^ byte) & 255) ^ (register >>> 8);
  return ~register;
}

/** The offset and the number of the flipped bit in the static header at the start of these bytes, or null. */
export function flippedBit(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const half = view.byteLength < 512 ? 0 : { 512: 256, 4096: 2048 }[view.getUint32(12, true)] ?? 0;
  if (half === 0 || half > view.byteLength) return null;
  const wrong = crc32(bytes.subarray(0, half - 4)) ^ view.getInt32(half - 4, true);
  for (let bit = 0; bit < 32; bit++) if (wrong === 1 << bit) return { offset: half - 4 + (bit >>> 3), bit: bit & 7 };
  for (let bit = 0; bit < 8; bit++) {
    let effect = 1 << bit;
    for (let offset = half - 5; offset >= 0; offset--) {
      effect = shiftByte(effect);
      if ((effect | 0) === wrong) return { offset, bit };
    }
  }
  return null;
}
