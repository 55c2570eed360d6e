import assert from "node:assert/strict";
import test from "node:test";
import { fire, load, show } from "../page.js";

/** A queue whose server answers as told: each answer is a function of the entries sent, or an error to throw. */
async function open(answers, left = {}) {
  show("");
  globalThis.addEventListener = (name, heard) => document.addEventListener(name, heard);
  for (const [key, value] of Object.entries(left)) localStorage.setItem(key, JSON.stringify(value));
  const { Queue, newId } = await load("labels/queue.js");
  const sent = [];
  const heard = [];
  const queue = new Queue("b", "/save", () => ({ "X-CSRF-Token": "t" }), (news) => heard.push(news), async (_url, asked) => {
    const { entries } = JSON.parse(asked.body);
    sent.push(entries.map((entry) => entry.id));
    const next = answers.shift() ?? kept;
    if (next instanceof Error) throw next;
    return next(entries);
  });
  return { queue, newId, sent, heard };
}
const kept = (entries) => ({ ok: true, json: async () => ({ became: Object.fromEntries(entries.map(({ id }) => [id, "kept"])), refused: {} }) });
const refusing = (status) => () => ({ ok: false, status });
const settled = async (queue) => {
  while (queue.busy) await new Promise((done) => setImmediate(done));
};

test("what is answered leaves the browser, in the order in which it was said", async () => {
  const { queue, sent, heard } = await open([]);
  queue.add({ id: "label_1", at: 0, value: "pass" });
  queue.add({ id: "label_2", at: 1, value: "fail" });
  await settled(queue);
  assert.deepEqual(sent.flat(), ["label_1", "label_2"]);
  assert.deepEqual(queue.entries(), []);
  assert.deepEqual(heard.at(-1), { waiting: 0, problem: "", refused: undefined });
});

test("what is not answered stays in the browser, and is sent again under the same id", async () => {
  const { queue, sent, heard } = await open([new TypeError("no connection")]);
  queue.add({ id: "label_1", at: 0, value: "pass" });
  await settled(queue);
  clearTimeout(queue.timer);
  assert.equal(heard.at(-1).problem, "offline");
  assert.deepEqual(queue.entries().map(({ id, value }) => [id, value]), [["label_1", "pass"]]);
  await queue.flush();
  await settled(queue);
  assert.deepEqual(sent, [["label_1"], ["label_1"]]);
  assert.deepEqual(queue.entries(), []);
});

test("what is said while a request is slow to arrive is never told as older than the request", async () => {
  const SLOW_MS = 60;
  const slow = async (entries) => {
    await new Promise((done) => setTimeout(done, SLOW_MS));
    return kept(entries);
  };
  let seen;
  const { queue } = await open([slow, (entries) => {
    seen = { at: Date.now(), entry: entries[0] };
    return kept(entries);
  }]);
  queue.add({ id: "label_1", at: 0, value: "pass" });
  const said = Date.now();
  queue.add({ id: "label_2", at: 0, value: "fail" });
  await settled(queue);
  assert.equal(seen.entry.id, "label_2");
  // The first one arrived, at the latest, when it was answered: the server's word for the second is not before that.
  assert.ok(seen.at - 1000 * seen.entry.ago_s >= said + SLOW_MS - 2, `${seen.entry.ago_s} s ago`);
});

test("what corrects something that was never answered counts from when it arrives; nothing else does", async () => {
  const LATER_MS = 30;
  const told = [];
  const lost = (entries) => {
    told.push(Object.fromEntries(entries.map(({ id, ago_s: ago }) => [id, ago])));
    throw new TypeError("given up");
  };
  const { queue } = await open([lost, lost, lost]);
  const later = async () => {
    await settled(queue);
    clearTimeout(queue.timer);
    await new Promise((done) => setTimeout(done, LATER_MS));
  };
  queue.add({ id: "label_1", at: 0, value: "pass" });
  await later();
  queue.add({ id: "label_2", at: 0, value: "fail" });
  queue.add({ id: "label_3", at: 1, value: "fail" });
  await later();
  await queue.flush();
  await later();
  const [, , last] = told;
  assert.deepEqual(Object.keys(last), ["label_1", "label_2", "label_3"]); // what is corrected comes first
  assert.equal(last.label_2, 0);
  assert.ok(last.label_1 > last.label_3, `${last.label_1} s, ${last.label_3} s`);
  assert.ok(1000 * last.label_3 >= LATER_MS - 2, `${last.label_3} s`);
});

test("what another tab has left is sent too, and other batches are left alone", async () => {
  const left = { "fairmark-label b label_9": { id: "label_9", at: 0, value: "fail", when: 1, order: 1 }, "fairmark-label c label_8": { id: "label_8", when: 1 } };
  const { queue, sent } = await open([], left);
  await queue.flush();
  await settled(queue);
  assert.deepEqual(sent, [["label_9"]]);
  assert.ok(localStorage.getItem("fairmark-label c label_8"));
});

test("who has to sign in again is told so, and nothing is lost", async () => {
  const { queue, heard } = await open([refusing(403)]);
  queue.add({ id: "label_1", at: 0, value: "pass" });
  await settled(queue);
  clearTimeout(queue.timer);
  assert.equal(heard.at(-1).problem, "sign in");
  assert.equal(queue.entries().length, 1);
});

test("one that is refused is told, stays, and holds up no other", async () => {
  const refused = () => ({ ok: true, json: async () => ({ became: {}, refused: { label_1: "too long" } }) });
  const { queue, sent, heard } = await open([refused]);
  queue.add({ id: "label_1", at: 0, value: "pass" });
  await settled(queue);
  queue.add({ id: "label_2", at: 1, value: "pass" });
  await settled(queue);
  assert.deepEqual(sent, [["label_1"], ["label_2"]]);
  assert.deepEqual([heard.at(-1).waiting, heard.at(-1).refused], [1, "too long"]);
});

test("as soon as the connection is back, what waits is sent", async () => {
  const { queue, sent } = await open([new TypeError("no connection")]);
  queue.add({ id: "label_1", at: 0, value: "pass" });
  await settled(queue);
  clearTimeout(queue.timer);
  fire(document, "online");
  await settled(queue);
  assert.equal(sent.length, 2);
});

test("ids are labels' and never the same", async () => {
  const { newId } = await open([]);
  const ids = new Set(Array.from({ length: 100 }, newId));
  assert.equal(ids.size, 100);
  for (const id of ids) assert.match(id, /^label_[0-9a-f]{32}$/);
});
