// SPDX-License-Identifier: MIT
// The examples of the README run, and their comments are right.

import test from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createHash } from "node:crypto";
import { open as openFile } from "node:fs/promises";
import { open, openBlob, openURL } from "../bloomfile.js";
import { build } from "../build.js";

const README = readFileSync(fileURLToPath(new URL("../README.md", import.meta.url)), "utf8");
const [FIRST, DIGESTS, LARGE] = Array.from(README.matchAll(/```js\n([^]*?)```/g), ([, code]) => code);
const AsyncFunction = (async () => {}).constructor;

/** The example with each "// value" as an assertion. */
function checked(source) {
  return source
    .replace(/^import .*\n/gm, "")
    .replace(/^(?!const)(.*); \/\/ ([^:\n]+).*$/gm, "assert.deepEqual($1, $2); state.checked++;");
}

/** Runs an example with this filter at its URL. Returns the number of its assertions. */
async function run(t, example, image) {
  const server = createServer((request, response) => {
    const [first, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range).slice(1).map(Number);
    response.writeHead(206, { "Content-Range": `bytes ${first}-${Math.min(last, image.length - 1)}/${image.length}` });
    response.end(image.subarray(first, last + 1));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close(server.closeAllConnections()));
  const state = { checked: 0 }, names = { assert, state, open, readFileSync: () => image };
  names.openURL = (url) => openURL(url.replace("https://example.org", `http://127.0.0.1:${server.address().port}`));
  await new AsyncFunction(...Object.keys(names), checked(example))(...Object.values(names));
  return state.checked;
}

test("the first example of the README runs as shown", async (t) => {
  assert.equal(await run(t, FIRST, build(["apple", "pear"], { fpr: 0.0001 })), 5);
});

test("the README's lookup of a digest finds it", { skip: !globalThis.crypto }, async (t) => {
  assert.equal(await run(t, DIGESTS, build([createHash("sha1").update("password").digest()])), 1);
});

test("the README's source for large files reads a file", async () => {
  const path = fileURLToPath(new URL("../../../tests/golden/key-kind-text.bloom", import.meta.url));
  const code = LARGE.replace(/^import .*\n/gm, "").replace('"large.bloom"', "path") + "\nreturn [file, large];";
  const [file, large] = await new AsyncFunction("openFile", "openBlob", "path", code)(openFile, openBlob, path);
  await large.verify();
  assert.deepEqual([large.error, await large.has("no such key")], [null, open(readFileSync(path)).has("no such key")]);
  await file.close();
});
