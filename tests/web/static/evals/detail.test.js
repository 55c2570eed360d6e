import assert from "node:assert/strict";
import test from "node:test";
import { fire, load, show } from "../page.js";

const BOXES = ["a", "b", "c", "d", "e", "f", "g"].map((name) => `<input type="checkbox" name="run" value="${name}">`).join("");

async function open() {
  show(`<form data-compare>${BOXES}<input name="other" type="checkbox"><p data-compare-hint></p><button data-compare-button>Compare</button></form>
    <button data-delete-run="/runs/a/delete" data-name="<b>first</b>">Delete</button>
    <dialog id="delete-run"><form><b data-delete-name></b></form></dialog>`);
  await load("evals/detail.js");
}
const box = (name) => document.querySelector(`[value="${name}"]`);
const chosen = () => [...document.querySelectorAll("[name=run]")].filter((each) => each.checked).map((each) => each.value);
const choose = (name, isChecked = true) => {
  box(name).checked = isChecked;
  fire(box(name), "change");
};
const state = () => [document.querySelector("[data-compare-hint]").textContent, document.querySelector("[data-compare-button]").disabled];

test("two runs can be compared, not one and not none", async () => {
  await open();
  assert.deepEqual(state(), ["Choose two to six runs to compare.", true]);
  choose("a");
  assert.deepEqual(state(), ["Choose one more.", true]);
  choose("b");
  assert.deepEqual(state(), ["2 chosen", false]);
  choose("a", false);
  assert.deepEqual(state(), ["Choose one more.", true]);
});

test("the seventh that is chosen takes the place of the first", async () => {
  await open();
  for (const name of ["b", "a", "c", "d", "e", "f", "g"]) choose(name);
  assert.deepEqual(chosen(), ["a", "c", "d", "e", "f", "g"]);
});

test("other boxes of the form do not count", async () => {
  await open();
  fire(document.querySelector("[name=other]"), "change");
  assert.deepEqual(state(), ["Choose two to six runs to compare.", true]);
});

test("the question before a deletion names the run, as a text, and sends to its address", async () => {
  await open();
  document.querySelector("[data-delete-run]").click();
  assert.equal(document.querySelector("[data-delete-name]").textContent, "<b>first</b>");
  assert.equal(new URL(document.querySelector("dialog form").action, location.href).pathname, "/runs/a/delete");
});
