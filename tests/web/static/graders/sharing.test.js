import assert from "node:assert/strict";
import test from "node:test";
import { load } from "../page.js";

const { pack, unpack } = await load("graders/sharing.js");

for (const value of [null, 0, "", "Grüße, 世界 🎉", { grader: '{"type": "string_check"}', payloads: [["{}", "Paris"], ["{}", { json: "[]" }]] }]) {
  test(`${JSON.stringify(value)} comes back`, async () => assert.deepEqual(await unpack(await pack(value)), value));
}

test("the text needs no escaping in an address", async () => {
  const noise = Array.from({ length: 300 }, (_, at) => (at * 7919) % 1009).join("~");
  assert.match(await pack(noise), /^[A-Za-z0-9_-]+$/);
});

test("repetition makes a short link", async () => assert.ok((await pack("again ".repeat(10_000))).length < 300));

for (const text of ["", "!", "AAAA", "not packed", "%00", "a".repeat(5000)]) {
  test(`"${text.slice(0, 12)}" holds nothing`, async () => assert.equal(await unpack(text), null));
}

test("half a link holds nothing", async () => {
  const whole = await pack({ grader: "x".repeat(50), payloads: [1, 2, 3] });
  assert.equal(await unpack(whole.slice(0, whole.length / 2)), null);
});

test("a link that would unfold to more than four megabytes holds nothing", async () => {
  assert.equal((await unpack(await pack("x".repeat(3_999_000)))).length, 3_999_000);
  const deflated = new Blob([JSON.stringify("x".repeat(4_000_001))]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = Buffer.from(await new Response(deflated).arrayBuffer());
  assert.ok(bytes.length < 10_000);
  assert.equal(await unpack(bytes.toString("base64url")), null);
});
