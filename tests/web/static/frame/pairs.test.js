import assert from "node:assert/strict";
import test from "node:test";
import { load, show } from "../page.js";

const ROW = (key, value) => `<li data-pair><input name="key" value="${key}"><input name="value" value="${value}"><button data-pair-remove>x</button></li>`;

async function open(most, ...rows) {
  show(`<div data-pairs="${most}"><ul data-pairs-rows>${rows.map((row) => ROW(...row)).join("")}</ul><button data-pair-add>Add</button></div>`);
  await load("frame/pairs.js");
}
const add = () => document.querySelector("[data-pair-add]");
const remove = (at) => document.querySelectorAll("[data-pair-remove]")[at].click();
const rows = () => [...document.querySelectorAll("[data-pair]")].map((row) => [...row.querySelectorAll("input")].map((input) => input.value));

test("a new row is empty and has the focus", async () => {
  await open(16, ["team", "geo"]);
  add().click();
  assert.deepEqual(rows(), [["team", "geo"], ["", ""]]);
  assert.equal(document.activeElement, document.querySelectorAll("[data-pair] input")[2]);
});

test("no more rows than the server takes, and one again when one has gone", async () => {
  await open(2, ["a", "1"], ["b", "2"]);
  assert.equal(add().disabled, true);
  remove(0);
  assert.deepEqual([rows(), add().disabled], [[["b", "2"]], false]);
});

test("the last row is emptied and stays", async () => {
  await open(16, ["a", "1"]);
  remove(0);
  assert.deepEqual(rows(), [["", ""]]);
});

test("after a row has gone, the next has the focus, else the one before", async () => {
  await open(16, ["a", "1"], ["b", "2"], ["c", "3"]);
  remove(1);
  assert.equal(document.activeElement.value, "c");
  remove(1);
  assert.equal(document.activeElement.value, "a");
});
