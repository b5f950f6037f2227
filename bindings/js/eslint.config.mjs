// SPDX-License-Identifier: MIT
// Rules of the linter.

import js from "@eslint/js";

const globals = [
  "AbortController", "Blob", "Buffer", "Headers", "ReadableStream", "Response", "TextDecoder", "TextEncoder", "URL", "WebAssembly",
  "clearTimeout", "console", "fetch", "performance", "process", "setTimeout", "structuredClone",
];

export default [
  js.configs.recommended,
  {
    languageOptions: { globals: Object.fromEntries(globals.map((name) => [name, "readonly"])) },
    rules: { "no-var": "error", "prefer-const": ["error", { destructuring: "all" }], eqeqeq: "error", "no-control-regex": "off", "no-unused-vars": ["error", { ignoreRestSiblings: true }] },
  },
  { ignores: ["**/*.ts"] },
];
