// The editor of a grader: form and JSON in step, checked while somebody types, tried on payloads, saved.
import { csrfHeaders, errorWords } from "../frame/fairmark.js";
import { place } from "./checking.js";
import { edit, forceLinting, setText } from "../frame/editor.js";
import { mountForm, Unreadable } from "./form.js";
import { isObject, locate, parse, steps, write } from "../frame/jsontree.js";
import { mountPayloads } from "./payloads.js";

const CHECK_AFTER_MS = 350;
const SANDBOX_AFTER_MS = 1800;

const page = document.querySelector("[data-grader-page]");
const form = document.getElementById("grader-form");
const textarea = document.getElementById("grader-json");
const status = document.querySelector("[data-status]");
const refusal = document.querySelector("[data-refusal]");
const formRoot = document.querySelector("[data-form]");
const formNotice = document.querySelector("[data-form-notice]");
const isLocked = "locked" in page.dataset;
const saved = { json: textarea.value, form: "" };

let showAll = !("new" in page.dataset);
let fromForm = false;
/** What the server said last: {text, problems, functions}; the JSON editor waits for the next one. */
let last = null;
const waiting = [];
/** What in the form cannot be written down, and so is not in the JSON. */
let unreadable = null;

// ---- Form and JSON

const jsonView = edit(textarea, { language: "json", readOnly: isLocked, check: diagnostics, onChange: jsonChanged });
const controls = formRoot && mountForm(formRoot, { names: page.dataset.names.split(" "), readOnly: isLocked, onChange: formChanged });

function read() {
  try {
    const value = parse(textarea.value);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function jsonChanged() {
  unreadable = null;
  if (!fromForm) fillForm();
  schedule();
}

function fillForm() {
  if (!controls) return;
  const grader = read();
  const kind = grader?.type;
  const fits = grader && kind === page.dataset.kind;
  const told = grader
    ? `The JSON is of the kind ${JSON.stringify(kind)}, and this form is for ${page.dataset.kind}. Go on in the JSON, or put the type back.`
    : "The JSON cannot be read just now. Go on there; the form comes back when it is whole again.";
  formNotice.hidden = fits;
  formNotice.querySelector(".notice > div").textContent = fits ? "" : told;
  formRoot.inert = !fits;
  formRoot.classList.toggle("is-off", !fits);
  if (fits) controls.set(grader);
}

function formChanged() {
  const grader = read();
  if (!grader) return;
  let made;
  try {
    made = controls.get(grader);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    unreadable = error;
    tell([{ text: "1 problem", tone: "fail" }]);
    controls.show([{ path: error.path, message: error.message, isWarning: false }], true);
    return;
  }
  unreadable = null;
  const text = write(made);
  if (text === textarea.value) {
    if (last) show();
    return;
  }
  fromForm = true;
  setText(jsonView, text);
  fromForm = false;
}

// ---- Checking

let timer = 0;
let sandboxTimer = 0;
let asked = null;

function schedule() {
  clearTimeout(timer);
  clearTimeout(sandboxTimer);
  asked?.abort();
  timer = setTimeout(check, CHECK_AFTER_MS);
}

async function check({ sandbox = false } = {}) {
  const text = textarea.value;
  asked?.abort();
  const mine = new AbortController();
  asked = mine;
  if (sandbox) showChecks(last?.functions ?? [], true);
  let answer;
  try {
    const got = await fetch("/graders/check", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...csrfHeaders() },
      body: JSON.stringify({ grader: text, sandbox }),
      signal: mine.signal,
    });
    const body = await got.text();
    if (!got.ok) throw new Error(errorWords(body, got.status));
    answer = JSON.parse(body);
  } catch (error) {
    if (error.name !== "AbortError") tell([{ text: error instanceof TypeError ? errorWords("", 0) : error.message, tone: "error" }]);
    return;
  }
  if (mine !== asked || text !== textarea.value) return; // somebody has typed on
  take({ text, ...answer });
  const isPending = answer.valid && answer.functions.some(({ checks }) => checks.length < 6);
  if (isPending && !sandbox) sandboxTimer = setTimeout(() => check({ sandbox: true }), SANDBOX_AFTER_MS);
}

function take(answer) {
  const problems = [
    ...answer.problems.map((each) => ({ ...each, isWarning: false })),
    ...(answer.warnings ?? []).map((each) => ({ ...each, isWarning: true })),
  ].map((each) => ({ ...each, where: each.path, path: steps(each.path) }));
  last = { ...answer, problems };
  for (const each of waiting.splice(0)) each();
  show();
}

function show() {
  const wrong = last.problems.filter((each) => !each.isWarning).length;
  const doubtful = last.problems.length - wrong;
  const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
  tell([
    wrong ? { text: count(wrong, "problem"), tone: "fail" } : { text: "Valid", tone: "pass" },
    ...(doubtful ? [{ text: count(doubtful, "warning"), tone: "error" }] : []),
  ]);
  controls?.show(last.problems, showAll);
  showChecks(last.functions ?? [], false);
  listProblems();
  forceLinting(jsonView);
}

function tell(words) {
  status.replaceChildren(
    ...words.map(({ text, tone }) => {
      const made = document.createElement("span");
      made.className = `savebar__word tone-${tone}`;
      made.append(icon({ pass: "check", fail: "cross", error: "alert" }[tone]), text);
      return made;
    }),
  );
}

function listProblems() {
  const place = document.querySelector("[data-all-problems]");
  place.replaceChildren(
    ...last.problems.map((each) => {
      const entry = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.className = `problems__problem tone-${each.isWarning ? "error" : "fail"}`;
      const path = document.createElement("code");
      path.textContent = each.where;
      button.append(icon(each.isWarning ? "alert" : "cross"), path, ` ${each.message}`);
      button.addEventListener("click", () => {
        jsonView.dispatch({ selection: { anchor: locate(textarea.value, each.path).from }, scrollIntoView: true });
        jsonView.focus();
      });
      entry.append(button);
      return entry;
    }),
  );
}

/** For the JSON editor: what the server says about this very text, once it has. */
async function diagnostics(text) {
  if (last?.text !== text) await new Promise((resolve) => waiting.push(resolve));
  if (last.text !== text) return [];
  return last.problems.map((each) => ({ ...place(text, each.path, each.message), severity: each.isWarning ? "warning" : "error", message: each.message }));
}

function showChecks(functions, isRunning) {
  const place_ = document.querySelector("[data-checks]");
  if (!place_) return;
  const checks = functions[0]?.checks ?? [];
  for (const entry of place_.children) {
    const found = checks.find((each) => each.name === entry.dataset.check);
    const state = found ? (found.passed ? "pass" : "fail") : "";
    entry.className = `checks__check${state ? ` tone-${state}` : ""}${isRunning && !found ? " is-running" : ""}`;
    entry.querySelector("[data-sign]").replaceChildren(icon(state ? { pass: "check", fail: "cross" }[state] : "dash"));
    entry.querySelector("[data-check-words]").textContent = found ? (found.passed ? " passed" : " failed") : isRunning ? " is running" : " was not run yet";
    const message = entry.querySelector("pre");
    message.textContent = found?.message ?? "";
    message.hidden = !found?.message;
  }
}

function icon(name) {
  return document.getElementById("icons").content.querySelector(`[data-icon="${name}"] svg`).cloneNode(true);
}

// ---- Tabs

const tabs = [...page.querySelectorAll('[role="tab"]')];

function choose(tab) {
  for (const each of tabs) {
    const isChosen = each === tab;
    each.setAttribute("aria-selected", String(isChosen));
    each.tabIndex = isChosen ? 0 : -1;
    document.getElementById(each.getAttribute("aria-controls")).hidden = !isChosen;
  }
  if (tab.id === "tab-json") jsonView.requestMeasure();
}

for (const tab of tabs) {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const next = tabs[(tabs.indexOf(tab) + 1) % tabs.length];
    choose(next);
    next.focus();
  });
}

// ---- Key, connection, saving

const name = form.elements.namedItem("name");
const key = form.elements.namedItem("key");
let ownKey = Boolean(key?.value);

function suggestion(text) {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.replace(/[^a-z0-9._]+/g, "-").replace(/^[^a-z0-9]+|-+$/g, "").slice(0, 128);
}

if (key) {
  name.addEventListener("input", () => {
    if (!ownKey) key.value = suggestion(name.value);
  });
  key.addEventListener("input", () => (ownKey = key.value !== ""));
}

page.querySelector("[data-test-endpoint]")?.addEventListener("click", async (event) => {
  const words = page.querySelector("[data-connection]");
  const button = event.target.closest("button");
  const { url, headers } = read() ?? {};
  button.disabled = true;
  words.className = "small muted";
  words.textContent = "Asking…";
  try {
    const answer = await fetch("/graders/endpoint", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...csrfHeaders() },
      body: JSON.stringify({ url, headers }),
    });
    const body = await answer.text();
    const told = answer.ok ? JSON.parse(body) : { online: false, words: errorWords(body, answer.status) };
    words.className = `small tone-${told.online ? "pass" : "fail"}`;
    words.textContent = told.words;
  } catch {
    words.textContent = errorWords("", 0);
  }
  button.disabled = false;
});

const values = () => new URLSearchParams(new FormData(form));
const unsaved = () => {
  const now = values();
  now.delete("grader");
  return textarea.value !== saved.json || now.toString() !== saved.form;
};
let isLeaving = false;

async function save(event) {
  event.preventDefault();
  showAll = true;
  refuse(unreadable ? ["Not saved: something in the form cannot be read."] : []);
  if (unreadable) return;
  const button = event.submitter ?? form.querySelector('[type="submit"]');
  button.disabled = true;
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      headers: { accept: "application/json", ...csrfHeaders() },
      body: values(),
    });
    const body = await answer.text();
    if (answer.ok) {
      isLeaving = true;
      location.assign(JSON.parse(body).location);
      return;
    }
    notSaved(body, answer.status);
  } catch {
    refuse([errorWords("", 0)]);
  }
  button.disabled = false;
}

function notSaved(body, answered) {
  let told = {};
  try {
    told = JSON.parse(body);
  } catch {
    // errorWords has words for it
  }
  const { param, code } = told.error ?? {};
  if (told.problems) {
    take({ text: textarea.value, problems: told.problems.map(unrooted), warnings: [], functions: last?.functions ?? [] });
    refuse([`Not saved: the grader has ${told.problems.length === 1 ? "a problem" : "problems"}.`]);
    page.querySelector(".panel:not([hidden]) .field--wrong")?.scrollIntoView({ block: "center" });
  } else if (code === "function_check_failed") {
    const path = unrooted({ path: param }).path;
    take({ text: textarea.value, problems: [{ path, message: told.error.message }], warnings: [], functions: [{ path, checks: told.checks }] });
    refuse(["Not saved: the function did not pass its checks."]);
  } else if (told.conflict) {
    const link = Object.assign(document.createElement("a"), { href: told.conflict.url, target: "_blank", textContent: "See what changed" });
    const anyway = Object.assign(document.createElement("button"), { type: "button", className: "button button--small", textContent: "Save mine as the newest" });
    anyway.addEventListener("click", () => {
      form.elements.namedItem("version").value = told.conflict.now;
      form.requestSubmit();
    });
    refuse([`${told.error.message} `, link, anyway]);
  } else {
    refuse([errorWords(body, answered)]);
    if (param === "key") key?.focus();
  }
}

/** A problem whose path begins as the API's do. */
const unrooted = (problem) => ({ ...problem, path: problem.path.replace(/^grader/, "$") });

function refuse(parts) {
  refusal.hidden = !parts.length;
  refusal.replaceChildren(...parts);
}

form.addEventListener("submit", save);
addEventListener("beforeunload", (event) => {
  if (!isLeaving && !isLocked && unsaved()) event.preventDefault();
});

// ---- Start

mountPayloads(document.querySelector("[data-payloads]"), {
  grader: () => {
    if (unreadable) throw new Error("Something in the form cannot be read.");
    return textarea.value;
  },
  onRefused: (told) => {
    if (!told.problems) return;
    showAll = true;
    take({ text: textarea.value, problems: told.problems.map(unrooted), warnings: [], functions: last?.functions ?? [] });
  },
});
fillForm();
saved.form = (() => {
  const now = values();
  now.delete("grader");
  return now.toString();
})();
check();
