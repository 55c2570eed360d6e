// A new eval: its criteria as forms and as JSON, in step, checked while somebody types; and what was pasted.
import { edit, setText } from "../frame/editor.js";
import { csrfHeaders, errorWords } from "../frame/fairmark.js";
import { isObject, parse, steps, write } from "../frame/jsontree.js";
import { mountPasting } from "../frame/pasting.js";
import { mountForm, Unreadable } from "../graders/form.js";

const CHECK_AFTER_MS = 350;
const page = document.querySelector("[data-new-eval]");
const textarea = document.querySelector("[data-graders]");
const place = document.querySelector("[data-drafts]");
const asJson = document.querySelector("[data-as-json]");
const jsonProblem = document.querySelector("[data-json-problem]");
const schema = document.querySelector("[data-schema]");
const kinds = document.querySelector("[data-add-kind]");

// ---- Editors; not before they can be seen: an editor measures itself

const views = new Map();

function editWhenSeen(area, onChange) {
  const disclosure = area.closest("details");
  const open = () => {
    if (disclosure.open && !views.has(area)) views.set(area, edit(area, { language: "json", onChange }));
  };
  disclosure.addEventListener("toggle", open);
  open();
}

function put(area, text) {
  if (views.has(area)) setText(views.get(area), text);
  else area.value = text;
}

// ---- Drafts: a criterion each, with the form of its kind

/** What the JSON holds: a list of graders, or null where it cannot be read. */
let graders = [];
let drafts = [];
let made = 0;
let turn = 0;
let writing = false;
let showAll = false;
const forms = new Map();

function read() {
  if (!textarea.value.trim()) return [];
  try {
    const value = parse(textarea.value);
    return Array.isArray(value) ? value : [value];
  } catch {
    return null;
  }
}

/** The form of a kind; null where the page offers no such kind, or the server cannot be asked. */
function formOf(kind) {
  if (![...kinds.options].some((each) => each.value === kind)) return null;
  if (!forms.has(kind)) {
    const asked = fetch(`/evals/new/forms/${encodeURIComponent(kind)}`, { headers: { accept: "text/html" } });
    forms.set(kind, asked.then((answer) => (answer.ok ? answer.text() : null)).catch(() => null));
  }
  return forms.get(kind);
}

/** Ids of its own for every draft, also where two are of one kind. */
function rename(root, prefix) {
  for (const name of ["id", "for", "list", "aria-describedby", "aria-labelledby"]) {
    for (const each of root.querySelectorAll(`[${name}]`)) {
      const ids = each.getAttribute(name).split(/\s+/).filter(Boolean);
      each.setAttribute(name, ids.map((id) => prefix + id).join(" "));
    }
  }
}

async function draftOf(grader) {
  const kind = isObject(grader) && typeof grader.type === "string" ? grader.type : "";
  const html = kind ? await formOf(kind) : null;
  const holder = document.createElement("template");
  holder.innerHTML = html ?? plain(kind); // the server's own, and escaped there
  const element = holder.content.querySelector("[data-draft]");
  if (!html) element.querySelector("[data-draft-kind]").textContent = kind || "?";
  made += 1;
  rename(element, `d${made}-`);
  return { kind, element, hasForm: Boolean(html) };
}

const plain = () =>
  '<article class="card draft" data-draft><div class="draft__head"><strong data-draft-kind></strong></div><p class="muted small">It has no form here: change it in the JSON below.</p><div class="field__problems" data-problems-at="" role="status"></div></article>';

function mount(draft) {
  const { element } = draft;
  const changed = () => draftChanged(draft);
  draft.name = element.querySelector("[data-draft-name]");
  draft.name?.addEventListener("input", changed);
  const options = { names: (element.dataset.names ?? "").split(" "), readOnly: false, onChange: changed };
  draft.controls = mountForm(element, options);
  element.querySelector("[data-draft-remove]")?.addEventListener("click", () => remove(draft));
}

function fill(draft, grader) {
  if (!isObject(grader)) return;
  draft.controls.set(grader);
  if (draft.name && draft.name.value !== (grader.name ?? "")) draft.name.value = grader.name ?? "";
}

function draftChanged(draft) {
  const at = drafts.indexOf(draft);
  try {
    graders[at] = { ...draft.controls.get(graders[at]), ...(draft.name ? { name: draft.name.value } : {}) };
    draft.unreadable = null;
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    draft.unreadable = error;
    draft.controls.show([{ path: error.path, message: error.message, isWarning: false }], true);
    return;
  }
  save();
}

/** The graders as they are now, into the JSON. */
function save() {
  writing = true;
  put(textarea, graders.length ? write(graders.length === 1 ? graders[0] : graders) : "");
  writing = false;
  schedule();
}

/** The forms as the JSON says. Those whose kind is as it was stay, with the cursor in them. */
async function show() {
  const found = read();
  schedule();
  if (found === null) return;
  graders = found;
  const kinds = found.map((grader) => (isObject(grader) ? grader.type : ""));
  if (kinds.length !== drafts.length || kinds.some((kind, at) => kind !== drafts[at].kind)) {
    const mine = ++turn;
    const next = await Promise.all(found.map(draftOf));
    if (mine !== turn) return; // the JSON has changed meanwhile
    place.replaceChildren(...next.map((draft) => draft.element));
    drafts = next;
    place.hidden = !drafts.length;
    for (const draft of drafts) mount(draft);
  }
  for (const [at, draft] of drafts.entries()) fill(draft, graders[at]);
}

async function add(grader) {
  graders = [...(read() ?? []), { ...grader, name: ownName(grader.name ?? grader.type) }];
  save();
  await show();
  const last = drafts.at(-1);
  last?.element.scrollIntoView({ block: "nearest" });
  last?.name?.focus();
}

function ownName(wished) {
  const taken = new Set(graders.filter(isObject).map((grader) => grader.name));
  let name = wished;
  for (let number = 2; taken.has(name); number += 1) name = `${wished} ${number}`;
  return name;
}

async function remove(draft) {
  const at = drafts.indexOf(draft);
  graders = graders.filter((_, index) => index !== at);
  save();
  await show();
  (drafts[Math.min(at, drafts.length - 1)]?.name ?? document.querySelector("[data-specimen]")).focus();
}

// ---- Checking

let timer = 0;
let asked = null;

function schedule() {
  clearTimeout(timer);
  timer = setTimeout(check, CHECK_AFTER_MS);
}

/** What is wrong, shown at its place; null where the server could not be asked, or was asked again meanwhile. */
async function check() {
  asked?.abort();
  asked = new AbortController();
  let problems;
  try {
    const answer = await fetch("/evals/new/check", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...csrfHeaders() },
      body: JSON.stringify({ graders: textarea.value }),
      signal: asked.signal,
    });
    const body = await answer.text();
    if (!answer.ok) throw new Error(errorWords(body, answer.status));
    ({ problems } = JSON.parse(body));
  } catch {
    return null; // the server says it again when the eval is created
  }
  const whole = problems.filter((each) => each.grader === null);
  jsonProblem.textContent = whole.map((each) => each.message).join("\n");
  jsonProblem.hidden = !whole.length;
  drafts.forEach((draft, at) => {
    if (draft.unreadable) return;
    const mine = problems.filter((each) => each.grader === at).map((each) => ({ ...each, path: steps(each.path) }));
    draft.controls.show(mine, showAll || !draft.hasForm);
    const named = mine.some((each) => each.path[0] === "name" && !each.isWarning);
    draft.name?.closest(".field").classList.toggle("field--wrong", named);
  });
  return problems;
}

let isChecked = false;
page.addEventListener("submit", async (event) => {
  if (isChecked) return;
  event.preventDefault();
  showAll = true;
  clearTimeout(timer);
  const unreadable = drafts.find((draft) => draft.unreadable);
  const problems = unreadable ? [] : ((await check()) ?? []);
  // What is no JSON at all is told by the page that comes back, at the text.
  const wrong = problems.filter((each) => !each.isWarning && drafts[each.grader]);
  if (unreadable || wrong.length) {
    const first = (unreadable ?? drafts[wrong[0].grader]).element;
    const at = first.querySelector(".field--wrong :is(input, select, .cm-content, textarea)") ?? first.querySelector("input");
    (at ?? first).scrollIntoView({ block: "center" });
    at?.focus();
    return;
  }
  isChecked = true;
  page.requestSubmit(event.submitter);
});

// ---- Start

document.querySelector("[data-adder]").hidden = false;
if (!page.querySelector("#field-graders-error")) asJson.open = false;
editWhenSeen(textarea, () => {
  if (!writing) show();
});
editWhenSeen(schema, null);

document.querySelector("[data-adder]").addEventListener("click", (event) => {
  const text = event.target.closest("[data-specimen]")?.dataset.specimen;
  if (text) add(JSON.parse(text));
});
kinds.addEventListener("change", async () => {
  const kind = kinds.value;
  kinds.value = "";
  const html = kind && (await formOf(kind));
  if (!html) return;
  const holder = document.createElement("template");
  holder.innerHTML = html;
  await add(JSON.parse(holder.content.querySelector("[data-draft]").dataset.start));
});

mountPasting(document.querySelector("[data-paste]"), async (found) => {
  const before = found.what === "graders" ? (read() ?? []) : [];
  const pasted = found.graders ? parse(found.graders) : [];
  const together = [...before, ...(Array.isArray(pasted) ? pasted : [pasted])];
  if (found.name) page.elements.namedItem("name").value = found.name;
  const boxes = [...page.querySelectorAll("[name=picked]")];
  const missing = found.picked.filter((key) => !boxes.some((box) => box.value === key));
  for (const box of boxes) if (found.picked.includes(box.value)) box.checked = true;
  if (found.schema) {
    put(schema, found.schema);
    schema.closest("details").open = true;
  }
  graders = together;
  save();
  await show();
  return missing.length ? `${found.words} There is no registered grader ${missing.join(", ")} here.` : found.words;
});

show();
