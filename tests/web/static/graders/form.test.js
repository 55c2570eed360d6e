import assert from "node:assert/strict";
import test from "node:test";
import { fire, load, show, type } from "../page.js";

const field = (path, widget, control, more = "") =>
  `<div class="field" data-path="${path}" data-widget="${widget}" ${more}>${control}<div data-problems-at="${path}"></div></div>`;
const FORM = `<form>
  ${field("name", "text", "<input data-control>", "data-required")}
  ${field("pass_threshold", "number", "<input data-control>")}
  ${field("operation", "choice", '<select data-control><option value="eq">eq</option><option value="ne">ne</option></select>')}
  ${field("strict", "check", '<input type="checkbox" data-control>')}
  ${field("range", "range", "<input data-low><input data-high>")}
  ${field("labels", "lines", "<textarea data-control></textarea>")}
  ${field("sampling_params.seed", "whole", "<input data-control>")}
  ${field("only_ne", "text", "<input data-control>", 'data-when="operation=ne"')}
  ${field("headers", "pairs", '<ul data-list></ul><button type="button" data-add="pair">Add</button>')}
  <details>${field("hidden_away", "text", "<input data-control>")}</details>
  <template id="entry-pair"><li class="entry"><input data-part="name"><input data-part="value">
    <button type="button" data-remove>x</button><div data-problems></div></li></template>
</form>`;
const NAMES = ["name", "operation", "range", "pass_threshold"];

async function open(grader, { readOnly = false } = {}) {
  show(FORM);
  const { mountForm } = await load("graders/form.js");
  const changes = [];
  const form = mountForm(document.querySelector("form"), { names: NAMES, readOnly, onChange: () => changes.push(1) });
  form.set(grader);
  return { form, changes };
}
const control = (path) => document.querySelector(`[data-path="${path}"] [data-control]`);
const problems = (path) => [...document.querySelector(`[data-problems-at="${path}"]`).children].map((each) => each.textContent);

test("a grader comes out of the form as it went in, unknown keys and their order too", async () => {
  const grader = {
    zebra: [1], type: "t", name: "n", operation: "ne", range: [0, 1], labels: ["a", "b"], strict: false,
    sampling_params: { seed: 7, other: "kept" }, headers: { x: "1" }, only_ne: "o", hidden_away: "h", pass_threshold: 0.5,
  };
  const { form, changes } = await open(grader);
  assert.deepEqual(form.get(grader), grader);
  assert.equal(changes.length, 0); // filling it in is nobody's change
});

test("known keys are written in the order of the spec, after the type and before all others", async () => {
  const { form } = await open({});
  assert.deepEqual(Object.keys(form.get({ zebra: 1, pass_threshold: 1, operation: "eq", type: "t" })), ["type", "name", "zebra"]);
  type(control("pass_threshold"), "1");
  fire(control("operation"), "change");
  assert.deepEqual(Object.keys(form.get({ zebra: 1, type: "t" })), ["type", "name", "pass_threshold", "zebra"]);
});

test("what is emptied is left out, but for what is required", async () => {
  const { form } = await open({ name: "n", pass_threshold: 1, labels: ["a"], sampling_params: { seed: 1 }, headers: { a: "b" } });
  for (const path of ["name", "pass_threshold", "labels", "sampling_params.seed"]) type(control(path), "");
  document.querySelector("[data-remove]").click();
  assert.deepEqual(form.get({ name: "n", pass_threshold: 1, labels: ["a"], sampling_params: { seed: 1 }, headers: { a: "b" } }), { name: "" });
});

test("null is shown as nothing", async () => {
  const { form } = await open({ name: "n", pass_threshold: null });
  assert.equal(control("pass_threshold").value, "");
  assert.deepEqual(form.get({ name: "n", pass_threshold: null }), { name: "n" });
});

test("a box that was never set stays out of the JSON, and one that was set is false when it is empty", async () => {
  const { form } = await open({ name: "n" });
  assert.equal("strict" in form.get({ name: "n" }), false);
  form.set({ name: "n", strict: true });
  control("strict").checked = false;
  assert.equal(form.get({ name: "n", strict: true }).strict, false);
});

test("what is typed for a number and is none goes to the server as the text it is", async () => {
  const { form } = await open({ name: "n" });
  for (const [typed, value] of [["0.5", 0.5], ["half", "half"], ['"1"', "1"], [" 3 ", 3]]) {
    type(control("pass_threshold"), typed);
    assert.equal(form.get({}).pass_threshold, value);
  }
});

test("a number that was a text is shown as one", async () => {
  await open({ name: "n", pass_threshold: "1" });
  assert.equal(control("pass_threshold").value, '"1"');
});

test("while somebody types 1. or an empty line, the form does not type over it", async () => {
  const { form } = await open({ name: "n", labels: ["a"] });
  type(control("labels"), "a\n  \n");
  form.set(form.get({ name: "n" }));
  assert.equal(control("labels").value, "a\n  \n");
});

test("a choice that is none of the list is shown and kept", async () => {
  const { form } = await open({ name: "n", operation: "equals" });
  assert.equal(control("operation").value, "equals");
  assert.equal(form.get({ name: "n", operation: "equals" }).operation, "equals");
});

test("a field that belongs to a choice is shown with it", async () => {
  const { form } = await open({ name: "n", operation: "eq" });
  const host = document.querySelector('[data-path="only_ne"]');
  assert.equal(host.hidden, true);
  control("operation").value = "ne";
  form.get({ name: "n" });
  assert.equal(host.hidden, false);
});

test("pairs without a name are left out", async () => {
  const { form, changes } = await open({ name: "n" });
  document.querySelector("[data-add]").click();
  assert.equal(form.get({ name: "n" }).headers, undefined);
  const [name, value] = document.querySelectorAll("[data-part]");
  type(name, " x-team ");
  type(value, "geo");
  assert.deepEqual(form.get({ name: "n" }).headers, { "x-team": "geo" });
  assert.ok(changes.length >= 3);
});

test("a problem is told at the field that is nearest, with the rest of its path", async () => {
  const { form } = await open({ name: "n", headers: { a: "b" } });
  const wrong = (path, message, isWarning = false) => ({ path, message, isWarning });
  form.show([wrong(["headers", "a", "deep"], "no"), wrong(["range", "1"], "too low"), wrong(["nowhere"], "lost")], true);
  assert.deepEqual(problems("headers.a"), ["deep: no"]);
  assert.deepEqual(problems("headers"), []);
  assert.deepEqual(problems("range"), ["1: too low"]);
  assert.equal(document.querySelector(".entry").classList.contains("field--wrong"), true);
});

test("nobody is blamed for a field where they have not been yet, but warned", async () => {
  const { form } = await open({ name: "" });
  const told = [{ path: ["name"], message: "it is empty", isWarning: false }, { path: ["labels"], message: "are there none?", isWarning: true }];
  form.show(told, false);
  assert.deepEqual([problems("name"), problems("labels")], [[], ["are there none?"]]);
  type(control("name"), "");
  form.show(told, false);
  assert.deepEqual(problems("name"), ["it is empty"]);
  assert.equal(control("name").getAttribute("aria-invalid"), "true");
  form.show([], false);
  assert.deepEqual([problems("name"), control("name").hasAttribute("aria-invalid")], [[], false]);
});

test("a problem in what is folded away opens it", async () => {
  const { form } = await open({ name: "n" });
  form.show([{ path: ["hidden_away"], message: "no", isWarning: false }], true);
  assert.equal(document.querySelector("details").open, true);
});

test("a locked form can be read and not changed", async () => {
  await open({ name: "n" }, { readOnly: true });
  assert.deepEqual([...document.querySelectorAll("form input, form button, form select")].filter((each) => !each.disabled), []);
});
