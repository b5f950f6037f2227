// SPDX-License-Identifier: MIT
// Filters at a URL and in a Blob, against servers that behave well and badly.

import test from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { open, openBlob, openURL } from "../bloomfile.js";
import { build } from "../build.js";
import { GOLDEN, REFUSED, digestsOf, linesOf, readFile, table } from "./suite.mjs";

const KEYS = Array.from({ length: 50000 }, (_, i) => `key ${i}`);
const IMAGE = build(KEYS, { fpr: 0.001 });

/** A static server of one file. `behave` may change how it answers a request. */
async function serve(t, data, behave = () => false) {
  const server = createServer((request, response) => {
    state.requests.push(request.headers.range);
    if (behave(request, response, state)) return;
    answerRange(request, response, state);
  });
  const state = { data, etag: '"one"', requests: [], sent: 0, server };
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  state.url = `http://127.0.0.1:${server.address().port}/filter.bloom`;
  return state;
}

function answerRange(request, response, state) {
  const { data, etag, date } = state, match = request.headers["if-match"];
  if (match && match !== etag && !state.careless) return response.writeHead(412).end();
  const [first, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range).slice(1).map(Number);
  if (first >= data.length) return response.writeHead(416, { "Content-Range": `bytes */${data.length}` }).end();
  const end = Math.min(last + 1, data.length), headers = { "Content-Range": `bytes ${first}-${end - 1}/${data.length}` };
  if (etag) headers.ETag = etag;
  if (date) headers["Last-Modified"] = date;
  response.writeHead(206, headers);
  state.sent += end - first;
  response.end(data.subarray(first, end));
}

test("a lookup at a URL reads one page, and 4 KiB of checksums once", async (t) => {
  const big = await serve(t, build(KEYS, { m: 512 * 64 * 2000, k: 4 }));
  const filter = await openURL(big.url);
  assert.equal(await filter.has("key 1"), true);
  assert.equal(big.requests.length, 3);
  assert.ok(big.sent <= 3 * 4096); // the header, the page, its checksums
  for (let i = 0; i < 8; i++) assert.equal(await filter.has(`key ${i}`), true);
  assert.ok(big.requests.length <= 12, "a page, and two pages of checksums, each once");
  const before = big.requests.length;
  assert.equal(await filter.has("key 1"), true);
  assert.equal(big.requests.length, before);
});

test("a batch at a URL answers like the filter in memory", async (t) => {
  const server = await serve(t, IMAGE), filter = await openURL(server.url), local = open(IMAGE);
  const keys = [...KEYS.slice(0, 700), ...Array.from({ length: 700 }, (_, i) => `absent ${i}`)];
  assert.deepEqual(await filter.hasAll(keys), local.hasAll(keys));
  assert.equal(filter.error, null);
  assert.ok(server.requests.length < 40);
  const { seed, layers, ...info } = filter.info;
  assert.equal(info.n, local.info.n);
  await filter.verify();
  assert.equal((await filter.examine()).rate, local.examine().rate);
});

test("every golden file answers as listed from a Blob", async () => {
  const absent = linesOf(`${GOLDEN}/keys/absent.keys`).slice(0, 200);
  for (const row of [...table(`${GOLDEN}/index.tsv`), ...table(`${GOLDEN}/series.tsv`)]) {
    if (row.file.startsWith("live/") || row.hash !== "xxh3") continue;
    const bytes = readFile(`${GOLDEN}/${row.file}`), local = open(bytes, { keys: "plain" });
    const filter = await openBlob(new Blob([bytes]), { keys: "plain", cache: 2 });
    assert.ok((await filter.hasAll(linesOf(`${GOLDEN}/${row.keys}`))).every(Boolean), row.file);
    assert.deepEqual(await filter.hasAll(absent), local.hasAll(absent), row.file);
    await filter.verify();
  }
});

test("every refused file is refused from a Blob, and every damaged body answers maybe", async () => {
  const attempt = async (bytes) => (await openBlob(new Blob([bytes]))).verify();
  for (const row of table(`${REFUSED}/index.tsv`)) {
    await assert.rejects(attempt(readFile(`${REFUSED}/${row.file}`)), { code: row.error }, row.file);
  }
  for (const row of table(`${REFUSED}/doubt.tsv`)) {
    if (row.names !== "-" || row.verify === "-" || row.keys.endsWith(".digests")) continue;
    const filter = await openBlob(new Blob([readFile(`${REFUSED}/${row.file}`)]), { keys: "plain" });
    const absent = linesOf(`${GOLDEN}/keys/absent.keys`);
    const maybes = async () => (await filter.hasAll(absent)).filter(Boolean).length;
    assert.equal(await maybes(), Number(row.maybes), row.file);
    await assert.rejects(filter.verify(), { code: row.verify }, row.file);
    assert.equal(await maybes(), Number(row.maybes_verified), row.file);
    assert.ok((await filter.hasAll(linesOf(`${GOLDEN}/${row.keys}`))).every(Boolean), row.file);
  }
});

test("digests of an application hash are looked up in a Blob", async () => {
  const filter = await openBlob(new Blob([readFile(`${GOLDEN}/application-blocked.bloom`)]), { applications: true });
  const digests = digestsOf(`${GOLDEN}/keys/few.digests`);
  assert.ok((await filter.hasDigests([1n, 2n])).every(Boolean));
  filter.nameHash(0x80536841, 0x62aeed19e25dac49n);
  assert.ok((await filter.hasDigests(digests)).every(Boolean));
  assert.equal(await filter.hasDigest(1n), false);
});

test("a server without range requests gives an error that explains it", async (t) => {
  const server = await serve(t, IMAGE, (_, response) => response.end(IMAGE));
  await assert.rejects(openURL(server.url), /does not support range requests/);
});

test("a server that hides Content-Range gives an error that explains it", async (t) => {
  const server = await serve(t, IMAGE, (_, response) => response.writeHead(206).end(IMAGE.subarray(0, 4096)));
  await assert.rejects(openURL(server.url), /must expose Content-Range/);
});

test("a missing file, an empty file and a file of another format are errors", async (t) => {
  await assert.rejects(openURL((await serve(t, IMAGE, (_, response) => response.writeHead(404).end())).url), /status 404/);
  await assert.rejects(openURL((await serve(t, new Uint8Array())).url), { code: "BLOOMFILE_EEMPTY" });
  await assert.rejects(openURL((await serve(t, new TextEncoder().encode("<html>not a filter"))).url), { code: "BLOOMFILE_EMAGIC" });
});

const OTHER = build(["only"], { m: 8 * (IMAGE.length - 4096 - 4 * Math.ceil((IMAGE.length - 4096) / 4100)), k: 9 });

for (const [name, change] of Object.entries({
  "a new ETag": (state) => Object.assign(state, { data: OTHER, etag: '"two"' }),
  "a new ETag, by a server that ignores If-Match": (state) => Object.assign(state, { data: OTHER, etag: '"two"', careless: true }),
  "a new size": (state) => Object.assign(state, { data: IMAGE.subarray(0, IMAGE.length - 100) }),
  "no ETag any more": (state) => Object.assign(state, { data: OTHER, etag: null }),
})) {
  test(`a file replaced and served with ${name} is an error from then on`, async (t) => {
    const server = await serve(t, IMAGE), filter = await openURL(server.url, { cache: 1 });
    assert.equal(await filter.has("key 1"), true);
    change(server);
    await assert.rejects(filter.hasAll(KEYS.slice(0, 100)), { code: "BLOOMFILE_ECHANGED" });
    assert.equal(filter.error.code, "BLOOMFILE_ECHANGED");
    const before = server.requests.length;
    await assert.rejects(filter.hasAll(KEYS.slice(100, 200)), { code: "BLOOMFILE_ECHANGED" });
    assert.equal(server.requests.length, before);
  });
}

test("a file with a new date on a server without ETags is an error", async (t) => {
  const server = await serve(t, IMAGE);
  Object.assign(server, { etag: null, date: "Mon, 30 Nov 2026 08:00:00 GMT" });
  const filter = await openURL(server.url);
  assert.equal(await filter.has("key 1"), true);
  server.date = "Mon, 30 Nov 2026 08:00:01 GMT";
  await assert.rejects(filter.hasAll(KEYS.slice(0, 100)), { code: "BLOOMFILE_ECHANGED" });
});

test("a file replaced on a server without ETags and dates answers maybe", async (t) => {
  const server = await serve(t, IMAGE);
  server.etag = null;
  assert.equal(OTHER.length, IMAGE.length);
  const filter = await openURL(server.url);
  server.data = OTHER;
  assert.ok((await filter.hasAll(KEYS.slice(0, 1000))).every(Boolean));
  assert.equal(filter.error.code, "BLOOMFILE_EPAGE");
});

test("a page found right before and wrong when fetched again is reported as a replaced file", async (t) => {
  for (const look of [(filter) => filter.hasAll(KEYS.slice(0, 1000)), (filter) => filter.verify()]) {
    const server = await serve(t, IMAGE);
    server.etag = null;
    const filter = await openURL(server.url, { cache: 1 });
    assert.ok((await filter.hasAll(KEYS.slice(0, 1000))).every(Boolean));
    server.data = OTHER;
    await assert.rejects(look(filter), { code: "BLOOMFILE_ECHANGED" });
    await assert.rejects(filter.has("absent"), { code: "BLOOMFILE_ECHANGED" });
  }
});

test("a truncated response is an error, and the next try succeeds", async (t) => {
  let cut = false;
  const server = await serve(t, IMAGE, (request, response) => {
    if (!cut) return false;
    const first = Number(/bytes=(\d+)/.exec(request.headers.range)[1]);
    response.writeHead(206, { "Content-Range": `bytes ${first}-${first + 4095}/${IMAGE.length}`, ETag: '"one"' });
    response.end(IMAGE.subarray(first, first + 100));
    return true;
  });
  const filter = await openURL(server.url);
  cut = true;
  await assert.rejects(filter.has("key 1"), /ended after 100 of \d+ bytes/);
  cut = false;
  assert.equal(await filter.has("key 1"), true);
  assert.equal(filter.error, null);
});

test("a response with another range or more bytes is an error", async (t) => {
  let wrong = null;
  const server = await serve(t, IMAGE, (request, response) => {
    if (!wrong) return false;
    response.writeHead(206, { "Content-Range": wrong, ETag: '"one"' }).end(IMAGE);
    return true;
  });
  const filter = await openURL(server.url);
  wrong = `bytes 0-4095/${IMAGE.length}`;
  await assert.rejects(filter.has("key 1"), /another range/);
  const more = await serve(t, IMAGE, (_, response) => {
    response.writeHead(206, { "Content-Range": `bytes 0-4095/${IMAGE.length}` }).end(IMAGE);
    return true;
  });
  await assert.rejects(openURL(more.url), /more bytes than were requested/);
});

test("a slow server is an error after the timeout", async (t) => {
  const server = await serve(t, IMAGE, () => true);
  await assert.rejects(openURL(server.url, { timeout: 100 }), /no answer in 100 ms/);
});

test("a fetch that ignores its signal is an error after the timeout", async () => {
  const headers = { "Content-Range": "bytes 0-4095/9000" };
  const answers = [() => new Promise(() => {}), async () => new Response(new ReadableStream(), { status: 206, headers })];
  for (const fetch of answers) {
    const stuck = new Promise((resolve) => setTimeout(resolve, 5000, "stuck"));
    await assert.rejects(Promise.race([openURL("http://host/", { fetch, timeout: 50 }), stuck]), /no answer in 50 ms/);
  }
});

test("a timeout of Infinity disables the timeout", async (t) => {
  const server = await serve(t, IMAGE, (request, response, state) => {
    setTimeout(() => answerRange(request, response, state), 50);
    return true;
  });
  assert.equal(await (await openURL(server.url, { timeout: Infinity })).has("key 1"), true);
});

test("a replaced file ends the waiting requests", async (t) => {
  const server = await serve(t, IMAGE), filter = await openURL(server.url);
  server.etag = '"two"';
  const before = server.requests.length;
  await assert.rejects(filter.hasAll(KEYS), { code: "BLOOMFILE_ECHANGED" });
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.ok(server.requests.length - before <= 8, `${server.requests.length - before} requests`);
});

test("damage on the server answers maybe for the keys of the page and is reported", async (t) => {
  const data = IMAGE.slice();
  data.fill(0, 8192, 12288);
  const filter = await openURL((await serve(t, data)).url);
  assert.ok((await filter.hasAll(KEYS)).every(Boolean));
  assert.equal(filter.error.code, "BLOOMFILE_EPAGE");
  assert.deepEqual(filter.damagedPages, [{ layer: 0, page: 1 }]);
});

test("requests send the caller's headers through the caller's fetch", async (t) => {
  const server = await serve(t, IMAGE, (request, response) => request.headers.authorization !== "x" && response.writeHead(401).end());
  const calls = [];
  const counting = (...args) => calls.push(args) && fetch(...args);
  const filter = await openURL(server.url, { headers: { Authorization: "x" }, fetch: counting });
  assert.equal(await filter.has("key 1"), true);
  assert.equal(calls.length, 3);
  assert.ok(calls.every(([, { cache }]) => cache === "no-store"), "a browser's cache may have pages of a file that was replaced");
  await openURL(server.url, { headers: new Headers({ Authorization: "x" }) });
});
