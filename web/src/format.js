// SPDX-License-Identifier: MIT
// Numbers as text, written as the command-line tools write them, and back.

/** A number with three significant digits, as printf's %.3g. */
export function threeDigits(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const [mantissa, exponent] = value.toExponential(2).split("e");
  const power = Number(exponent);
  const trim = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (power >= -4 && power < 3) return trim(value.toFixed(2 - power));
  const tens = String(Math.abs(power)).padStart(2, "0");
  return `${trim(mantissa)}e${power < 0 ? "-" : "+"}${tens}`;
}

/** A share of 1 in percent: "5.67e-06%". */
export function percent(share) {
  return `${threeDigits(100 * share)}%`;
}

/** A rate for a command line: in percent, if that does not round it. */
export function exactRate(share) {
  return readRate(percent(share)) === share ? percent(share) : String(share);
}

/** All digits of an integer (Number or BigInt): String would round a Number above 2^53. */
export function digits(number) {
  return String(Number.isInteger(number) ? BigInt(number) : number);
}

/** An integer (Number or BigInt) with a comma before every three digits. */
export function count(number) {
  return digits(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A size in bytes: "580 bytes", "12.0 KiB". */
export function bytes(size) {
  if (size < 1024) return `${size} bytes`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let value = size / 1024;
  let unit = 0;
  for (; value >= 1024 && unit + 1 < units.length; unit++) value /= 1024;
  return `${value.toFixed(1)} ${units[unit]}`;
}

export function plural(number, noun) {
  return `${count(number)} ${noun}${String(number) === "1" ? "" : "s"}`;
}

/** A duration of one lookup. */
export function nanoseconds(value) {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ns`;
}

export function hexadecimal(number, digits) {
  return number.toString(16).padStart(digits, "0");
}

const MULTIPLES = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40,
  Pi: 2 ** 50 };

/** Reads "80k", "1.5M", "2Gi" or "1e9"; returns NaN for anything but a whole number from 1 to 2^60. */
export function readCount(text) {
  const match = /^(\d+(?:\.\d+)?(?:e\d+)?)([kMGTP]i?)?$/.exec(text.replace(/[, _]/g, ""));
  const value = match ? Math.round(Number(match[1]) * (MULTIPLES[match[2] ?? ""] ?? NaN) * 1e6) / 1e6 : NaN;
  return Number.isInteger(value) && value >= 1 && value <= 2 ** 60 ? value : NaN;
}

/** Reads "0.01", "1e-2" or "1%"; returns NaN for anything but a number between 0 and 1. */
export function readRate(text) {
  const match = /^(\d*\.?\d+(?:e-?\d+)?)(%?)$/i.exec(text.trim().replace(/ %$/, "%"));
  const value = match ? Number(match[1]) / (match[2] ? 100 : 1) : NaN;
  return value > 0 && value < 1 ? value : NaN;
}

/** The shortest form of a count that readCount reads: "1.5M". */
export function shortCount(value) {
  for (const unit of ["T", "G", "M", "k"]) {
    const share = value / MULTIPLES[unit];
    if (share >= 1 && Number(share.toPrecision(4)) * MULTIPLES[unit] === value) return `${share}${unit}`;
  }
  return digits(value);
}

/** Text of another's for display: characters that control or turn text around are replaced. */
export function visible(text) {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, "\uFFFD");
}
