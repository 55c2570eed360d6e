// What the server finds wrong with a grader while somebody types it, and where in its text that is.
import { csrfHeaders, errorWords } from "../frame/fairmark.js";
import { locate, steps } from "../frame/jsontree.js";

/** The server's problems and warnings with a grader's text: [{path, message, isWarning, from, to}]. Raises Error with words. */
export async function check(text) {
  let answer;
  try {
    answer = await fetch("/graders/check", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...csrfHeaders() },
      body: JSON.stringify({ grader: text }),
    });
  } catch {
    throw new Error(errorWords("", 0));
  }
  const body = await answer.text();
  if (!answer.ok) throw new Error(errorWords(body, answer.status));
  const { problems, warnings } = JSON.parse(body);
  return [...placed(text, problems, false), ...placed(text, warnings, true)];
}

/** Problems with their places in the text. A path may begin as the editor's do ($) or as the API's do (grader). */
export function placed(text, problems, isWarning) {
  return problems.map(({ path, message }) => ({ path, message, isWarning, ...place(text, steps(path.replace(/^grader/, "$")), message) }));
}

/** Where in the text a problem is: {from, to}. `path` is its steps; a text that is no JSON has none, but a line and a column. */
export function place(text, path, message) {
  const where = message.match(/not JSON: .* at (?:line (\d+) )?column (\d+)/);
  if (!where) return locate(text, path);
  const lines = text.split("\n");
  const line = Math.min(Number(where[1] ?? 1), lines.length);
  const before = lines.slice(0, line - 1).reduce((length, each) => length + each.length + 1, 0);
  const from = Math.min(before + Number(where[2]) - 1, Math.max(0, text.length - 1));
  return { from, to: Math.min(text.length, from + 1) };
}
