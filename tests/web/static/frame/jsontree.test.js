import assert from "node:assert/strict";
import test from "node:test";
import { load } from "../page.js";

const { isObject, locate, number, parse, steps, write, written } = await load("frame/jsontree.js");
// Numbers keep their writing only where the engine can do it; Chromium can, and old versions of Node cannot.
const remembers = { skip: !JSON.rawJSON && "this Node has no JSON.rawJSON" };

for (const [path, expected] of [
  ["$", []],
  ["$.graders.a.input[0]", ["graders", "a", "input", "0"]],
  ['$.graders["a b"].input', ["graders", "a b", "input"]],
  ['$["a.b"]', ["a.b"]],
  ['$["say \\"hi\\""]', ['say "hi"']],
  ['$["a]b"].c', ["a]b", "c"]],
]) {
  test(`the steps of ${path}`, () => assert.deepEqual(steps(path), expected));
}

const TEXT = '{"a": {"b": [1, {"c": "x, }y"}]}, "n": null, "e\\u0066": 2.50}';
for (const [path, expected] of [
  [["n"], "null"],
  [["a", "b", "0"], "1"],
  [["a", "b", "1", "c"], '"x, }y"'],
  [["ef"], "2.50"], // a name is compared as what it means
  [["a"], "{"], // of a block only its first sign
  [["a", "b", "9"], "["], // what is missing is marked at what is nearest
  [["nothing"], "{"],
  [[], "{"],
]) {
  test(`the place of ${path.join(".") || "the whole"}`, () => {
    const { from, to } = locate(TEXT, path);
    assert.equal(TEXT.slice(from, to), expected);
  });
}

test("the place in a broken text is in the text, and found in the end", () => {
  for (const text of ["", "{", '{"a', '{"a"', '{"a": ', '{"a": [1', '{"a": "\\', "[[[[", "{]", '{"\\u": 1}', "}"]) {
    const { from, to } = locate(text, ["a", "0"]);
    assert.ok(from >= 0 && from <= to && to <= text.length, `${text}: ${from} to ${to}`);
  }
});

test("of two equal names the one that leads further counts", () => {
  const text = '{"a": 1, "a": {"b": 2}}';
  const { from, to } = locate(text, ["a", "b"]);
  assert.equal(text.slice(from, to), "2");
});

for (const typed of ["", " ", "1.", ".5", "+1", "01", "0x10", "1e", "NaN", "Infinity", "1,5", "1 2", "--1"]) {
  test(`"${typed}" is no number`, () => assert.equal(number(typed), undefined));
}

test("a number is one with spaces around it too", () => assert.equal(number(" -12.5e3 "), -12500));

test("numbers are written as they were read", remembers, () => {
  const text = '{\n  "a": 1.0,\n  "b": 9007199254740993,\n  "c": 1e2,\n  "d": -0,\n  "e": 0.1\n}';
  assert.equal(write(parse(text)), text);
  assert.equal(written(parse("1.50")), "1.50");
  assert.equal(written(number("2.0")), "2.0");
});

test("a number that is kept as it was written is no object", remembers, () => assert.equal(isObject(parse("1.0")), false));

for (const [value, expected] of [[{}, true], [[], false], [null, false], ["{}", false], [1, false]]) {
  test(`${JSON.stringify(value)} is ${expected ? "an" : "no"} object`, () => assert.equal(isObject(value), expected));
}
