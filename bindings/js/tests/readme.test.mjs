// SPDX-License-Identifier: MIT
// The example of the README runs, and its comments are right.

import test from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { open, openURL } from "../bloomfile.js";
import { build } from "../build.js";

const README = readFileSync(fileURLToPath(new URL("../README.md", import.meta.url)), "utf8");
const EXAMPLE = /```js\n([^]*?)```/.exec(README)[1];

/** The example with each "// value" as an assertion. */
function checked(source) {
  return source
    .replace(/^import .*\n/gm, "")
    .replace(/^(?!const)(.*); \/\/ ([^:\n]+).*$/gm, "assert.deepEqual($1, $2); state.checked++;");
}

test("the first example of the README runs as shown", async (t) => {
  const image = build(["apple", "pear"], { fpr: 0.0001 });
  const server = createServer((request, response) => {
    const [first, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range).slice(1).map(Number);
    response.writeHead(206, { "Content-Range": `bytes ${first}-${Math.min(last, image.length - 1)}/${image.length}` });
    response.end(image.subarray(first, last + 1));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close(server.closeAllConnections()));
  const state = { checked: 0 }, names = { assert, state, open, readFileSync: () => image };
  names.openURL = (url) => openURL(url.replace("https://example.org", `http://127.0.0.1:${server.address().port}`));
  const AsyncFunction = (async () => {}).constructor;
  await new AsyncFunction(...Object.keys(names), checked(EXAMPLE))(...Object.values(names));
  assert.equal(state.checked, 5);
});
