// SPDX-License-Identifier: MIT
// Types of the module.

/** Text is looked up as UTF-8, integers as 8 bytes, little-endian. */
export type Key = string | Uint8Array | number | bigint;

export type LayoutName = "blocked" | "classic" | "counting" | "ribbon";

export interface OpenOptions {
  /** Open filters whose digests an application makes. State its function with `nameHash`; lookups are maybe until then. */
  applications?: boolean;
  /** "plain": do not compare the type of a key with the filter's kind of keys. Filters of the kind "lower" still ignore case (ASCII). */
  keys?: "plain";
}

export interface RemoteOptions extends OpenOptions {
  /** The number of pages (4 KiB each) to keep in memory. Default 1024. */
  cache?: number;
}

export interface URLOptions extends RemoteOptions {
  /** Headers of every request. */
  headers?: Record<string, string> | [string, string][] | Headers;
  /** Milliseconds until a request fails. Default 30000; Infinity: never. */
  timeout?: number;
  /** In place of the global fetch. */
  fetch?: typeof globalThis.fetch;
}

/** A refusal or damage. */
export class BloomfileError extends Error {
  /** The name in the specification: "BLOOMFILE_EPAGE". */
  code: string;
  /** The damaged page, counted from 0 in its layer, or null. */
  page: number | null;
  layer: number | null;
}

/** The fields of one image. Numbers above 2^53 are rounded. */
export interface LayerInfo {
  /** Where the image begins in the file, and its size in bytes. */
  offset: number;
  size: number;
  layout: LayoutName;
  form: "file" | "embedded";
  /** Bits, or counters. */
  m: number;
  /** Positions per key; ribbon: 0. */
  k: number;
  /** Distinct keys. */
  n: number;
  nEstimated: boolean;
  seed: bigint;
  capacity: number;
  /** The target rate, or 0 if it was not recorded. */
  fpr: number;
  hashId: number;
  selfTest: bigint;
  label: string;
  /** 32 hexadecimal digits. */
  tag: string;
  keyKind: "unknown" | "text" | "lower" | "integers" | "fixed" | "bytes" | "newer";
  /** Bytes of a key of the kind fixed. */
  keySize: number;
  mUnfolded: number;
  /** One bits, or counters above 0. */
  ones: number;
  /** Counters of 15. */
  overflow: number;
  bodySize: number;
  pages: number;
  provenance: ("intersection" | "union" | "projection")[];
  /** 64 hexadecimal digits. */
  watermark: string;
  bodyCrc: number;
  slice: { firstBlock: number; blocks: number; wholeBlocks: number } | null;
}

/** The first layer's fields; counts and sizes are sums. */
export interface Info extends LayerInfo {
  series: boolean;
  layers: LayerInfo[];
}

export interface LayerExamination {
  error: BloomfileError | null;
  damagedPages: number[];
  ones: number;
  overflow: number;
  /** For each page, the fraction of its bits that are one (counters above 0). */
  fill: Float32Array;
  /** The actual false-positive rate, from all bits. */
  rate: number;
  /** The number of keys, estimated from the bits; of a ribbon, the sum of its pages. */
  keysEstimated: number;
}

export interface Examination {
  error: BloomfileError | null;
  /** The actual rate of all layers together. */
  rate: number;
  /** Whether the filter keeps its target rate, in the words of bfinspect. Close to a limit the two may differ. */
  verdict: "healthy" | "damaged" | "empty" | "over capacity" | "too many keys" | "rate above target";
  layers: LayerExamination[];
}

/** The fields of a static header, named as in the specification. */
export interface Header {
  headerSize: number;
  headerCrc: number;
  version: number;
  compat: number;
  roCompat: number;
  incompat: number;
  provenance: number;
  layout: number;
  hashId: number;
  k: number;
  keyKind: number;
  m: bigint;
  seed: bigint;
  selfTest: bigint;
  bodyOffset: bigint;
  bodySize: bigint;
  capacity: bigint;
  fpr: number;
  mUnfolded: bigint;
  tag: Uint8Array;
  label: string;
}

/** The fields of the commit record in force. */
export interface CommitRecord {
  sequence: bigint;
  state: number;
  flags: number;
  n: bigint;
  ones: bigint;
  overflow: bigint;
  bodyCrc: number;
  writers: number;
  watermark: Uint8Array;
}

export interface Layer {
  header: Header;
  record: CommitRecord;
  /** The fields of a slice (slices.md 1.1). */
  slice: {
    firstBlock: bigint;
    wholeBlocks: bigint;
    keysRead: bigint;
    keysElsewhere: bigint;
    digestSum: bigint;
  } | null;
  /** The fields of a layer of a sealed series (slices.md 2.1). */
  series: { layer: bigint; layers: number; restSize: bigint; link: bigint; seriesFpr: number } | null;
}

declare class Opened {
  /** All fields, exactly. One layer, unless it is a series. */
  readonly layers: Layer[];
  /** The first damage that was found, or the error of a wrong hash function, or null. */
  readonly error: BloomfileError | null;
  readonly info: Info;
  readonly damagedPages: { layer: number; page: number }[];
  /** The bytes of the file. */
  readonly size: number;
  /** States which function makes the digests. Throws if it is not the filter's function. */
  nameHash(id: number, selfTest: bigint): void;
}

/** A filter in memory. */
export class Filter extends Opened {
  private constructor();
  /** False if the key is certainly not in the filter. */
  has(key: Key): boolean;
  /** Like has(), for a list of keys. A string or a Uint8Array is a single key, not a list: a TypeError. */
  hasAll(keys: Iterable<Key>): boolean[];
  /** Like has(), for a 64-bit digest. */
  hasDigest(digest: bigint): boolean;
  hasDigests(digests: Iterable<bigint>): boolean[];
  /** Checks the whole body, and returns its damage, its rate and how full it is. */
  examine(): Examination;
  /** Checks the whole body, and throws the first damage. */
  verify(): void;
}

/** A filter in a Blob or on a server. If a read fails, the lookup rejects. */
export class RemoteFilter extends Opened {
  private constructor();
  has(key: Key): Promise<boolean>;
  hasAll(keys: Iterable<Key>): Promise<boolean[]>;
  hasDigest(digest: bigint): Promise<boolean>;
  hasDigests(digests: Iterable<bigint>): Promise<boolean[]>;
  /** Reads the whole body. `progress` is called with the share that is done, 0 to 1. */
  examine(options?: { progress?: (done: number) => void }): Promise<Examination>;
  verify(): Promise<void>;
}

/** Opens a filter in memory. The bytes must not change from then on. A resizable ArrayBuffer is a TypeError. */
export function open(data: ArrayBuffer | ArrayBufferView, options?: OpenOptions): Filter;
/** The part of a Blob that openBlob uses. */
export interface BlobLike {
  readonly size: number;
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

/** Opens a File or Blob. Only the header is read (of a sealed series, the header of each layer). */
export function openBlob(blob: BlobLike, options?: RemoteOptions): Promise<RemoteFilter>;
/** Opens a URL by HTTP range requests. Only the header is read (of a sealed series, the header of each layer). */
export function openURL(url: string | URL, options?: URLOptions): Promise<RemoteFilter>;

export interface Size {
  layout: LayoutName;
  n: number;
  m: number;
  k: number;
  bitsPerKey: number;
  /** The rate to expect of n keys. */
  fpr: number;
  /** The size of the file. */
  bytes: number;
}

/** Chooses m and k for n keys, as bfcreate does. Give `fpr` (default 0.01) or `m`. */
export function size(plan: {
  layout?: "blocked" | "classic" | "counting";
  n?: number;
  fpr?: number;
  m?: number;
  k?: number;
}): Size;

/** The false-positive rate to expect of n distinct keys. */
export function rate(filter: { layout?: "blocked" | "classic" | "counting"; n: number; m: number; k: number }): number;

/** The factors by which a filter can be folded, and the rates to expect, up to one half. Takes the `info` of a filter. */
export function foldPlan(filter: {
  layout: LayoutName;
  n: number;
  m: number;
  k: number;
  slice?: object | null;
  series?: boolean;
}): (Size & { factor: number })[];
