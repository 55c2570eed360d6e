import assert from "node:assert/strict";
import test from "node:test";
import { load, show } from "../page.js";

show("");
const { check, place, placed } = await load("graders/checking.js");
const TEXT = '{\n  "type": "string_check",\n  "name": 5\n}';
const at = (text, { from, to }) => text.slice(from, to);

/** Answers the next question as the server would; returns what was asked. */
function answer(status, body) {
  const asked = [];
  globalThis.fetch = async (path, options) => {
    asked.push({ path, ...options });
    return new Response(body, { status });
  };
  return asked;
}

test("a problem is at the value that its path names, in the editor's words and in the API's", () => {
  for (const path of ["$.name", "grader.name"]) {
    const [problem] = placed(TEXT, [{ path, message: "found 5" }], false);
    assert.deepEqual([problem.path, problem.message, problem.isWarning, at(TEXT, problem)], [path, "found 5", false, "5"]);
  }
});

test("a text that is no JSON is marked where the server stopped reading", () => {
  const text = '{"a": 1,\n"b" 2}';
  assert.equal(at(text, place(text, [], "not JSON: it wants a colon at line 2 column 5")), "2");
  assert.equal(at("{'a'}", place("{'a'}", [], "not JSON: it wants a name at column 2")), "'");
});

test("a place beyond the end is the last sign, and an empty text has an empty place", () => {
  assert.equal(at("{", place("{", [], "not JSON: it ends too soon at line 9 column 80")), "{");
  assert.deepEqual(place("", [], "not JSON: it is empty at column 1"), { from: 0, to: 0 });
});

test("problems and warnings of the server come with their places", async () => {
  show('<meta name="csrf-token" content="a token">');
  const asked = answer(200, JSON.stringify({ problems: [{ path: "$.name", message: "no" }], warnings: [{ path: "$.type", message: "hm" }] }));
  const found = await check(TEXT);
  assert.deepEqual(found.map((each) => [each.message, each.isWarning, at(TEXT, each)]), [["no", false, "5"], ["hm", true, '"string_check"']]);
  assert.deepEqual(JSON.parse(asked[0].body), { grader: TEXT });
  assert.equal(asked[0].headers["X-CSRF-Token"], "a token");
});

test("a refusal is told in the server's words, and a dead server in ours", async () => {
  answer(413, '{"error": {"message": "Too long."}}');
  await assert.rejects(check("{}"), { message: "Too long." });
  answer(502, "<html>");
  await assert.rejects(check("{}"), { message: "The server answered 502." });
  globalThis.fetch = async () => Promise.reject(new TypeError("no connection"));
  await assert.rejects(check("{}"), { message: "The server cannot be reached. Is it still running?" });
});
