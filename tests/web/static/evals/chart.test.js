import assert from "node:assert/strict";
import test from "node:test";
import { load, show } from "../page.js";

show("");
const { below, labelled } = await load("evals/chart.js");
const at = (...parts) => new Date(...parts).getTime() / 1000;

test("a run has its date below it, or its time where the one before is of the same day", () => {
  const first = { at: at(2026, 10, 14, 9, 5), name: "first" };
  const second = { at: at(2026, 10, 14, 18, 30), name: "second" };
  const third = { at: at(2026, 10, 15, 0, 30), name: "a name that is longer than there is room" };
  const day = (run) => new Date(run.at * 1000).toLocaleDateString(undefined, { day: "numeric", month: "short" });
  assert.equal(below(first, undefined, false), day(first));
  assert.equal(below(second, first, false), new Date(second.at * 1000).toLocaleTimeString(undefined, { timeStyle: "short" }));
  assert.equal(below(third, second, true), `${day(third)}\na name that is …`);
});

test("where there is no room for every run, every so many is named, and the last", () => {
  assert.deepEqual(labelled(4, 400), [0, 1, 2, 3]);
  assert.deepEqual(labelled(10, 160), [1, 5, 9]);
});
