import assert from "node:assert/strict";
import test from "node:test";
import { load, show } from "../page.js";

const PAGE = `<meta name="csrf-token" content="t"><section data-paste="/x/paste" hidden><textarea data-paste-text></textarea>
  <button data-paste-button>Fill in</button><p data-paste-words></p></section>`;
const words = () => document.querySelector("[data-paste-words]").textContent;
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

async function open(answers) {
  show(PAGE);
  const sent = [];
  globalThis.fetch = async (path, { body }) => {
    sent.push([path, JSON.parse(body).text]);
    return answers.shift();
  };
  const { mountPasting } = await load("frame/pasting.js");
  const filled = [];
  mountPasting(document.querySelector("[data-paste]"), async (found) => {
    filled.push(found);
    return "Filled in.";
  });
  return { sent, filled };
}
const answer = (ok, body, status = ok ? 200 : 400) => ({ ok, status, text: async () => JSON.stringify(body) });

test("what the server makes of a text fills the form in", async () => {
  const { sent, filled } = await open([answer(true, { name: "E" })]);
  document.querySelector("textarea").value = "{}";
  document.querySelector("button").click();
  await settled();
  assert.deepEqual([sent, filled, words()], [[["/x/paste", "{}"]], [{ name: "E" }], "Filled in."]);
});

test("what is refused is said, and fills nothing in", async () => {
  const { filled } = await open([answer(false, { error: { message: "This is a run." } })]);
  document.querySelector("button").click();
  await settled();
  assert.deepEqual([filled, words(), document.querySelector("textarea").hasAttribute("aria-invalid")], [[], "This is a run.", true]);
});

test("of two in a row only the last counts", async () => {
  const late = {};
  const first = new Promise((resolve) => (late.arrive = () => resolve(answer(true, { name: "first" }))));
  const { filled } = await open([first, answer(true, { name: "second" })]);
  document.querySelector("button").click();
  document.querySelector("button").click();
  await settled();
  late.arrive();
  await settled();
  assert.deepEqual(filled, [{ name: "second" }]);
});
