// SPDX-License-Identifier: MIT
// One chosen file: the open filter or its error, and the results of reading its body.

import { openBlob } from "../../bindings/js/bloomfile.js";
import { flippedBit } from "./flipped.js";
import { visible } from "./format.js";
import { headerFields } from "./header.js";
import { measure } from "./measure.js";

const KNOWN_HASH = 1;

/** The module's short information, with exact sums and the fields that only this page shows. */
function describe(filter) {
  const { info, layers } = filter;
  const sum = (get) => layers.reduce((total, layer) => total + get(layer), 0n);
  const [first] = layers;
  const k = layers.map((layer) => layer.header.k), [least, most] = [Math.min(...k), Math.max(...k)];
  const slice = info.slice && { ...info.slice, keysRead: first.slice.keysRead, keysElsewhere: first.slice.keysElsewhere };
  return {
    ...info, slice, kAll: least === most ? String(least) : `${least} to ${most}`, seriesFpr: first.series?.seriesFpr ?? 0, keyKind: info.keyKind,
    layersN: sum((layer) => layer.record.n), capacityExact: sum((layer) => layer.header.capacity),
    mUnfoldedExact: first.header.mUnfolded, foldedBy: first.header.mUnfolded / first.header.m,
    compat: first.header.compat, roCompat: first.header.roCompat, incompat: first.header.incompat,
  };
}

/** The argument of measure(). `ones` is the counted number, because a damaged header may have any number. */
function imageOf(layer, info, { ones }) {
  const { layout, m, k, bodySize } = info;
  return { layout, m, k, ones, bodyStart: layer.body, bodySize };
}

function sumUp(info, parts) {
  if (parts.length === 1) return { ...parts[0], empty: parts[0].ones === 0 || parts[0].keysEstimate === 0, parts };
  const sum = (name) => parts.reduce((total, part) => total + part[name], 0);
  const keysEstimate = parts.some((part) => part.keysEstimate === null) ? null : sum("keysEstimate");
  const rate = -Math.expm1(parts.reduce((total, part) => total + Math.log1p(-part.rate), 0));
  return { ones: sum("ones"), fill: sum("ones") / info.m, rate, keysEstimate, empty: sum("ones") === 0, folds: [], parts };
}

export class FilterFile {
  constructor(file) {
    Object.assign(this, { file, name: visible(file.name), filter: null, info: null, error: null, result: null, measured: null });
    Object.assign(this, { progress: null, fields: [], flipped: null, plainFilter: null, found: null });
  }

  /** Reads the header. Never throws: `error` is why the file was refused. */
  async open() {
    try {
      const head = new Uint8Array(await this.file.slice(0, 4096).arrayBuffer());
      this.fields = headerFields(head);
      this.flipped = flippedBit(head);
      this.filter = await openBlob(this.file, { applications: true });
      this.info = describe(this.filter);
    } catch (error) {
      this.error = error;
    }
    return this;
  }

  /** Reads the body twice: verifies it, and measures its bits. `progress` gets a share of 1. */
  async readBody(signal, progress) {
    const result = await this.filter.examine({
      progress: (share) => {
        signal.throwIfAborted();
        progress(share / 2);
      },
    });
    const parts = [];
    for (const [number, layer] of this.filter.layers.entries()) {
      const image = imageOf(layer, this.info.layers[number], result.layers[number]);
      parts.push(await measure(this.file, image, { signal,
        progress: (share) => progress(0.5 + (number + share) / (2 * this.filter.layers.length)) }));
    }
    [this.result, this.measured] = [result, sumUp(this.info, parts)];
  }

  /** Looks up keys, or digests if `digests` is true. Reads only the pages that the keys need. Keeps the error of a lost file. */
  async lookup(keys, options) {
    try {
      return await this.#answer(keys, options);
    } catch (error) {
      if (error instanceof DOMException || error.code === "BLOOMFILE_ECHANGED") this.error = error;
      throw error;
    }
  }

  async #answer(keys, { digests, plain }) {
    let { filter } = this;
    if (plain) filter = this.plainFilter ??= await openBlob(this.file, { applications: true, keys: "plain" });
    if (digests && this.info.hashId !== KNOWN_HASH) filter.nameHash(this.info.hashId, this.info.selfTest);
    const answers = await (digests ? filter.hasDigests(keys) : filter.hasAll(keys));
    // Damage of the whole body also counts for the plain filter, which did not verify it.
    this.found = this.filter.error ?? filter.error;
    return { answers: this.filter.doubted ? keys.map(() => true) : answers, error: this.found };
  }
}
