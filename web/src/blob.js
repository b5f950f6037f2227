// SPDX-License-Identifier: MIT
// Reading a file in pieces, so that a file of any size can be read in little memory.

const PIECE = 1 << 20;

/** Yields the bytes from start to end in pieces of 1 MiB, and reports progress from 0 to 1. Throws if the signal is aborted. */
export async function* pieces(blob, start, end, { progress, signal }) {
  for (let at = start; at < end; at += PIECE) {
    signal?.throwIfAborted();
    const stop = Math.min(at + PIECE, end);
    const buffer = await blob.slice(at, stop).arrayBuffer();
    if (buffer.byteLength !== stop - at) throw new Error("The file became shorter while it was read.");
    yield new Uint8Array(buffer);
    progress?.((stop - start) / (end - start));
  }
}
