// SPDX-License-Identifier: MIT
// Types of the module that makes filters.

import type { Filter, Key } from "./bloomfile.js";

export interface FormOptions {
  /** The form with a header of 4096 bytes, or of 512. Default "file". */
  form?: "file" | "embedded";
}

export interface BuildOptions extends FormOptions {
  layout?: "blocked" | "classic" | "counting" | "ribbon";
  /** The target rate. Default 0.01, unless m is given. */
  fpr?: number;
  /** Bits, or counters; needed for ribbon. Default: from the number of keys and fpr. */
  m?: number;
  k?: number;
  seed?: bigint | number;
  /** The number of keys to plan for. Default: the number of keys. */
  capacity?: number;
  /** Text for people, at most 112 bytes of UTF-8. */
  label?: string;
  /** At most 16 bytes. */
  tag?: ArrayLike<number>;
  /** The kind of the keys. Default: from their types. */
  keyKind?: "unknown" | "text" | "lower" | "integers" | "bytes";
}

/** A Uint8Array of an ArrayBuffer; before TypeScript 5.7 a plain Uint8Array. */
export type Bytes = ReturnType<Uint8Array["slice"]>;

/** Builds a sealed filter of keys, all of one type, and returns its bytes. At most 256 MiB; all keys are held in an array. */
export function build(keys: Iterable<Key>, options?: BuildOptions): Bytes;

/** Folds a filter: the same keys in a filter smaller by the factor, at a higher rate. Factor 1 copies. */
export function fold(filter: Filter, factor: number, options?: FormOptions): Bytes;

/** A filter of the keys of all filters. Their layout, k, seed and hash are equal; their m may differ. */
export function union(filters: Filter[], options?: FormOptions): Bytes;

/** A filter of the keys that all filters have, with more false positives than a build of these keys. */
export function intersection(filters: Filter[], options?: FormOptions): Bytes;

/** Joins all slices of a filter, in any order, to the whole. */
export function join(filters: Filter[], options?: FormOptions): Bytes;
