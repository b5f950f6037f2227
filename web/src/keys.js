// SPDX-License-Identifier: MIT
// Lines of text as keys of a filter.

/** Each form: a word for messages, and a function from a line to a key of the module, or null. */
const FORMS = {
  text: { example: "any text", read: (line) => line },
  hex: { example: "pairs of hexadecimal digits, such as 00ff", read: readHex },
  integers: { example: "decimal integers from -2^63 to 2^64 - 1", read: readInteger },
  digests: { example: "digests of 16 hexadecimal digits", read: readDigest },
};

function readHex(line) {
  const digits = line.replace(/[\s:]/g, "");
  if (!/^([0-9a-f]{2})*$/i.test(digits)) return null;
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function readInteger(line) {
  if (!/^\s*[-+]?\d+\s*$/.test(line)) return null;
  const value = BigInt(line.trim().replace(/^\+/, ""));
  return value >= -(2n ** 63n) && value < 2n ** 64n ? value : null;
}

function readDigest(line) {
  return /^\s*(0x)?[0-9a-f]{16}\s*$/i.test(line) ? BigInt(`0x${line.trim().replace(/^0x/i, "")}`) : null;
}

/** The keys of a text, one a line without empty lines: { lines, keys }. Throws an Error that names the first wrong line. */
export function readKeys(text, form) {
  const lines = text.split("\n").filter((line) => line !== "");
  const keys = lines.map((line, number) => {
    const key = FORMS[form].read(line);
    if (key === null) throw new Error(`Key ${number + 1} is not of this form: ${FORMS[form].example}.`);
    return key;
  });
  return { lines, keys };
}

/** The form that fits the kind of keys of a filter. */
export function formFor(info) {
  if (info.hashId !== 1) return "digests";
  return { integers: "integers", fixed: "hex", bytes: "hex" }[info.keyKind] ?? "text";
}
