// One row a screen, by keys: a key says it, keeps it and goes on. Nothing waits for the server.

import { csrfHeaders } from "../frame/fairmark.js";
import { prepareFormulas, setFormulas } from "../frame/reading.js";
import { newId, Queue } from "./queue.js";

const RETRY_MS = 2000;
const place = document.getElementById("labelling");
const batch = JSON.parse(place.dataset.batch);
const part = (id) => document.getElementById(id);
const rows = batch.rows.map((row) => ({ note: "", ...row }));
const pieces = new Map();
const undone = [];
let at = 0;
let shownAt = 0;
let away = 0;
let hiddenAt = 0;

const isDone = (row) => row.value !== undefined && row.value !== null ? true : row.skipped === true;
const firstOpen = (from) => {
  for (let step = 0; step < rows.length; step += 1) {
    const next = (from + step) % rows.length;
    if (!isDone(rows[next])) return next;
  }
  return -1;
};
const turned = (value) => ({ a: "b", b: "a" })[value] ?? value;
/** Of a pair, a is the answer that is shown first; what is kept is which answer it was. */
const meant = (row, value) => (batch.kind === "preferred" && row.side === "b" ? turned(value) : value);

const queue = new Queue(batch.id, batch.save, csrfHeaders, ({ waiting, problem, refused, status }) => {
  if (status) showStatus(status);
  if (waiting === undefined) return;
  place.dataset.waiting = waiting;
  const words = {
    offline: `No connection. ${waiting} ${waiting === 1 ? "label waits" : "labels wait"} in this browser and will be sent.`,
    "sign in": `Please sign in again and come back: ${waiting} ${waiting === 1 ? "label waits" : "labels wait"} in this browser.`,
    gone: "This run is gone: its labels cannot be kept any more.",
  };
  const text = problem ? words[problem] : refused ? `A label was refused: ${refused}` : "";
  part("waiting").hidden = !text;
  if (part("waiting").textContent !== text) part("waiting").textContent = text;
  if (!part("end").hidden) showEnd();
});

// What other tabs, or this one before, have left unsent is what was said last.
for (const entry of queue.entries()) {
  const row = rows[entry.at];
  if (!row) continue;
  if (entry.undo) Object.assign(row, { value: null, skipped: false, id: undefined });
  else Object.assign(row, { id: entry.id, value: entry.value, skipped: entry.value === null, note: entry.note ?? "" });
}

function showStatus({ labels, raters, median_s: median, agreement, sign, shared }) {
  const words = [`${labels} ${labels === 1 ? "label" : "labels"} in all`];
  if (raters > 1) words.push(`${raters} raters`);
  if (agreement !== null) words.push(`${sign} ${agreement.toFixed(2)} on ${shared} shared`);
  if (median !== null) words.push(`${median.toFixed(1)} s a row`);
  part("stands").textContent = words.join(" · ");
}

function seconds() {
  const now = performance.now();
  const out = hiddenAt ? now - hiddenAt : 0;
  return Math.round((now - shownAt - away - out) / 100) / 10;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) hiddenAt = performance.now();
  else {
    if (hiddenAt) away += performance.now() - hiddenAt;
    hiddenAt = 0;
  }
});

function showRow() {
  const row = rows[at];
  part("end").hidden = true;
  const done = rows.filter(isDone).length;
  part("count").textContent = `Row ${at + 1} of ${rows.length}, ${done} done`;
  part("bar").style.width = `${(100 * done) / rows.length}%`;
  for (const button of part("choices").children) {
    const choice = batch.choices[button.dataset.choice];
    const isSaid = isDone(row) && !row.skipped && meant(row, row.value) === choice.value;
    button.setAttribute("aria-pressed", isSaid);
  }
  const piece = pieces.get(at);
  if (piece !== undefined) part("row").innerHTML = piece; // a template's, like the rest of the page
  else part("row").innerHTML = '<p class="muted">This row comes as soon as there is a connection …</p>';
  part("row").dataset.at = at;
  setFormulas(part("row"));
  closeNote();
  shownAt = performance.now();
  away = 0;
  hiddenAt = document.hidden ? shownAt : 0;
}

function go(to) {
  at = to;
  showRow();
  scrollTo({ top: 0, behavior: "instant" });
}

function goOn() {
  const next = firstOpen(at + 1);
  if (next < 0) showEnd();
  else go(next);
}

function showEnd() {
  const skipped = rows.filter((row) => row.skipped).length;
  const waiting = queue.entries().length;
  const words = [`You have gone through all ${rows.length} rows${skipped ? `, and skipped ${skipped}` : ""}.`];
  words.push(waiting ? `${waiting} of your labels wait for the connection: leave this page open.` : "All of it is kept.");
  part("end-words").textContent = words.join(" ");
  part("count").textContent = `${rows.filter(isDone).length} of ${rows.length} done`;
  part("bar").style.width = "100%";
  if (part("end").hidden) {
    part("end").hidden = false;
    part("end").focus();
  }
}

/** Puts what a row's rater says now where it is kept, and on its way. */
function keep(to, value, note) {
  const row = rows[to];
  const entry = { id: newId(), at: to, value, note: note || null, seconds: to === at ? Math.min(seconds(), 86400) : null };
  undone.push({ at: to, before: isDone(row) ? { value: row.value, note: row.note } : null, id: entry.id });
  Object.assign(row, { id: entry.id, value, skipped: value === null, note: note || "" });
  queue.add(entry);
}

function say(number) {
  const choice = batch.choices[number];
  if (!choice || !part("end").hidden) return;
  const row = rows[at];
  keep(at, meant(row, choice.value), row.note);
  goOn();
}

function skip() {
  if (!part("end").hidden) return;
  keep(at, null, rows[at].note);
  goOn();
}

function undo() {
  const last = undone.pop();
  if (!last) return;
  const row = rows[last.at];
  if (last.before) {
    const id = newId();
    Object.assign(row, { id, value: last.before.value, skipped: last.before.value === null, note: last.before.note });
    queue.add({ id, at: last.at, value: last.before.value, note: last.before.note || null, seconds: null });
  } else {
    Object.assign(row, { id: undefined, value: null, skipped: false });
    queue.add({ id: newId(), at: last.at, undo: last.id });
  }
  go(last.at);
}

function openNote() {
  part("note-field").hidden = false;
  place.querySelector('[data-do="note"]').setAttribute("aria-expanded", "true");
  part("note").value = rows[at].note;
  part("note").focus();
}

function closeNote() {
  part("note-field").hidden = true;
  place.querySelector('[data-do="note"]').setAttribute("aria-expanded", "false");
  if (document.activeElement === part("note")) part("row").focus({ preventScroll: true });
}

/** A note goes with what is said; on a row of which something is said already, it is said again with the note. */
function keepNote() {
  const note = part("note").value.trim();
  const row = rows[at];
  if (note !== row.note) {
    if (isDone(row)) keep(at, row.value, note);
    else row.note = note;
  }
  closeNote();
}

const DO = {
  previous: () => go(part("end").hidden ? Math.max(0, at - 1) : at),
  next: () => part("end").hidden && go(Math.min(rows.length - 1, at + 1)),
  undo,
  skip,
  note: () => part("end").hidden && (part("note-field").hidden ? openNote() : closeNote()),
  back: () => go(0),
};
const KEYS = { ArrowLeft: "previous", ArrowRight: "next", u: "undo", s: "skip", n: "note" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target === part("note")) {
    if (event.key === "Escape") closeNote();
    else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      keepNote();
    }
    return;
  }
  if (event.target.closest("input, select, textarea, dialog, [contenteditable]")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const number = batch.choices.findIndex((choice) => choice.key === key);
  const isPlain = /^[1-9]$/.test(key) && !batch.choices.some((choice) => /^[0-9]$/.test(choice.key));
  if (number >= 0) say(number);
  else if (isPlain) say(Number(key) - 1);
  else if (KEYS[key]) DO[KEYS[key]]();
  else return;
  event.preventDefault();
});

place.addEventListener("click", (event) => {
  const button = event.target.closest("[data-choice], [data-do]");
  if (!button) return;
  if (button.dataset.choice !== undefined) say(Number(button.dataset.choice));
  else DO[button.dataset.do]();
});
part("note").addEventListener("blur", () => !part("note-field").hidden && keepNote());

/** All rows of the batch, from the one that is shown on: so that labelling goes on where the connection does not. */
async function fetchRows() {
  for (let step = 0; step < rows.length; step += 1) {
    const from = (at + step) % rows.length;
    const start = from - (from % batch.page);
    if (pieces.has(from)) continue;
    try {
      const answer = await fetch(`${batch.parts}?from=${start}`, { signal: AbortSignal.timeout(20000) });
      if (!answer.ok) throw new Error(answer.status);
      const { rows: found, gone } = await answer.json();
      for (const [number, piece] of Object.entries(found)) {
        pieces.set(Number(number), piece);
        prepareFormulas(piece);
      }
      for (const number of gone) pieces.set(number, '<p class="muted">This row is gone. Skip it.</p>');
      if (Number(part("row").dataset.at) === at && pieces.has(at) && from <= at && at < start + batch.page) showRow();
    } catch {
      setTimeout(fetchRows, RETRY_MS);
      return;
    }
  }
  place.dataset.whole = "";
}

const open = firstOpen(0);
if (open < 0) showEnd();
else go(open);
fetchRows();
queue.flush();
addEventListener("online", fetchRows);
