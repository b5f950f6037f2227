// SPDX-License-Identifier: MIT
// The fields of a header as they are in the file, valid or not, for display. The module bloomfile decides what is valid.

import { hexadecimal, visible } from "./format.js";

const u32 = (view, at) => view.getUint32(at, true);
const u64 = (view, at) => view.getBigUint64(at, true);
const hex = (digits) => (value) => `0x${hexadecimal(value, digits)}`;
const plain = (value) => String(value);
const named = (names) => (value) => (names[value] ? `${value} (${names[value]})` : String(value));

const STATIC = [
  [8, 4, "version", plain], [12, 4, "header_size", plain], [16, 4, "compat", hex(8)], [20, 4, "ro_compat", hex(8)],
  [24, 4, "incompat", hex(8)], [28, 4, "provenance", hex(8)],
  [32, 4, "layout", named({ 1: "blocked", 2: "classic", 3: "counting", 4: "ribbon" })], [36, 4, "hash_id", hex(8)],
  [40, 4, "k", plain], [44, 4, "key_kind", hex(8)], [48, 8, "m", plain], [56, 8, "seed", hex(16)],
  [64, 8, "self_test", hex(16)], [72, 8, "body_offset", plain], [80, 8, "body_size", plain], [88, 8, "capacity", plain],
  [96, 8, "fpr", "rate"], [104, 8, "m_unfolded", plain], [112, 16, "tag", "bytes"], [128, 112, "label", "text"],
];
const LAYER = [
  [240, 8, "series", hex(16)], [248, 8, "layer", plain], [256, 4, "generations", plain], [260, 4, "layers", plain],
  [264, 8, "rest_size", plain], [272, 8, "link", hex(16)], [280, 8, "series_fpr", "rate"], [288, 8, "period", plain],
  [296, 8, "began", plain],
];
const SLICE = [
  [240, 8, "first_block", plain], [248, 8, "whole_blocks", plain], [256, 8, "keys_read", plain],
  [264, 8, "keys_elsewhere", plain], [272, 8, "digest_sum", hex(16)],
];
const RECORD = [
  [0, 8, "sequence", hex(16)], [8, 4, "state", named({ 1: "live", 2: "sealed", 3: "poisoned" })], [12, 4, "flags", hex(8)],
  [16, 8, "n", plain], [24, 8, "ones", plain], [32, 8, "overflow", plain], [40, 16, "boot_id", "bytes"],
  [56, 4, "body_crc", hex(8)], [60, 4, "header_crc", hex(8)], [64, 4, "writers", plain], [72, 32, "watermark", "bytes"],
];

function byteText(view, at, size) {
  let text = "";
  for (let i = 0; i < size; i++) text += hexadecimal(view.getUint8(at + i), 2);
  return text;
}

/** The label for display. Bytes that are not UTF-8 are replaced. */
function labelText(view, at, size) {
  const all = new Uint8Array(view.buffer, view.byteOffset + at, size);
  const end = all.indexOf(0);
  return visible(new TextDecoder().decode(end < 0 ? all : all.subarray(0, end)));
}

function row(view, base, [at, size, name, form]) {
  if (base + at + size > view.byteLength) return [];
  const offset = base + at;
  const raw = size === 4 ? u32(view, offset) : size === 8 ? u64(view, offset) : null;
  let text;
  if (form === "bytes") text = byteText(view, offset, size);
  else if (form === "text") text = labelText(view, offset, size);
  else if (form === "rate") text = String(view.getFloat64(offset, true));
  else text = form(raw);
  return [{ offset, end: offset + size, name, raw, text }];
}

/** Rows { offset, end, name, raw, text } of the header at the start of these bytes, as far as the bytes go. */
export function headerFields(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const rows = [];
  if (view.byteLength >= 8) rows.push({ offset: 0, end: 8, name: "magic", raw: null, text: byteText(view, 0, 8) });
  for (const field of STATIC) rows.push(...row(view, 0, field));
  const value = (name) => rows.find((field) => field.name === name)?.raw;
  const half = { 512: 256, 4096: 2048 }[value("header_size")];
  if (half === undefined) return rows;
  if (value("incompat") & 1) for (const field of LAYER) rows.push(...row(view, 0, field));
  else if (value("incompat") & 2) for (const field of SLICE) rows.push(...row(view, 0, field));
  rows.push(...row(view, 0, [half - 4, 4, "header_crc", hex(8)]));
  for (let number = 0; number < 2; number++) rows.push(...recordFields(view, half, number));
  return rows;
}

function recordFields(view, half, number) {
  const base = half + (number * half) / 2;
  const fields = [...RECORD, [half / 2 - 4, 4, "record_crc", hex(8)]];
  if (half === 2048) fields.splice(-1, 0, [128, 16, "identity", "bytes"]);
  return fields.flatMap((field) => row(view, base, field)).map((field) => ({ ...field, name: `record ${number}: ${field.name}` }));
}
