// SPDX-License-Identifier: MIT
// Checks the list of files that npm would publish: reads the output of npm pack --json.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const read = (path) => readFileSync(fileURLToPath(new URL(path, import.meta.url)), "utf8");
const output = JSON.parse(readFileSync(0, "utf8")), [packed] = Array.isArray(output) ? output : Object.values(output);

assert.deepEqual(packed.files.map(({ path }) => path).sort(), [
  "LICENSE", "README.md", "bloomfile.d.ts", "bloomfile.js", "build.d.ts", "build.js", "package.json",
]);
assert.ok(!/^import /m.test(read("../bloomfile.js")), "bloomfile.js is self-contained: pages inline it");
