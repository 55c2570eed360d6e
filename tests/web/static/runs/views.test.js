import assert from "node:assert/strict";
import test from "node:test";
import { fire, load, show } from "../page.js";

const PAGE = `<button data-save-view hidden>Save</button><ul data-views="eval_1" hidden></ul>
  <template id="view-chip"><li><a></a><button></button></li></template>
  <form data-view-form><input name="view"></form>`;

async function open(url, kept) {
  show(PAGE, url);
  if (kept !== undefined) localStorage.setItem("fairmark-views:eval_1", kept);
  return load("runs/views.js");
}
const links = () => [...document.querySelectorAll("[data-views] a")].map((each) => [each.textContent, each.getAttribute("href")]);
const save = (name) => {
  document.querySelector("[name=view]").value = name;
  fire(document.querySelector("form"), "submit");
};

test("a view is what the address chooses, without where in the rows somebody is", async () => {
  await open("http://localhost/evals/eval_1/runs/r?status=fail&at=after_3&n=50&show=sample");
  save("  <b>mine</b> ");
  assert.deepEqual(links(), [["<b>mine</b>", "/evals/eval_1/runs/r?status=fail&show=sample#rows"]]);
  assert.equal(document.querySelector("[data-views] a").getAttribute("aria-current"), "true");
  save("<b>mine</b>");
  assert.equal(links().length, 1);
  document.querySelector("[data-views] button").click();
  assert.deepEqual([links().length, document.querySelector("[data-views]").hidden], [0, true]);
});

test("what is kept and not ours is no view", async () => {
  for (const kept of ["{", "7", '[null, {"name": 1}, {"name": "a"}]']) {
    const { kept: found } = await open("http://localhost/evals/eval_1/runs/r", kept);
    assert.deepEqual(found(), []);
  }
});
