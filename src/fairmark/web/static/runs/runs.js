// The pages of a run and its rows: news of its progress, addresses without empty parts, keys to go from row to row.

import { copyText } from "../frame/fairmark.js";

const RETRY_MS = 5000;
const HOLD_MS = 4000; // the groups above may come late on a busy machine
const HOLD_AT_MOST_MS = 20000;

const place = () => document.getElementById("rows-title")?.getBoundingClientRect().top;

/** Where the rows stand, for whoever reads them; undefined where nobody does. */
function placeRead() {
  const top = globalThis.scrollY > 0 ? place() : undefined;
  return top < globalThis.innerHeight ? top : undefined;
}

/** Puts the rows back to where they stood before something above them changed. */
function putBack(before) {
  const drift = (place() ?? before) - before; // none where nobody reads them
  if (Math.abs(drift) >= 1) scrollBy({ top: drift, behavior: "instant" });
}

/** Until what was asked for is there, and for a moment more, nothing that comes in above the rows moves them away from
 * whoever reads them. */
function holdRows(asked) {
  const before = place();
  let held = true;
  for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(name, () => (held = false), { once: true });
  let last = performance.now() + HOLD_AT_MOST_MS;
  let end = last;
  asked.finally(() => {
    end = performance.now() + HOLD_MS;
    last = performance.now() + HOLD_AT_MOST_MS;
  });
  const hold = () => {
    // What is still asked for, such as the groups, will move them too.
    if (document.querySelector("#run .htmx-request")) end = Math.min(last, Math.max(end, performance.now() + HOLD_MS / 5));
    putBack(before);
    if (held && performance.now() < end) requestAnimationFrame(hold);
  };
  hold();
}

let news = new Map();

/** The numbers for what stands elsewhere on the page, out of what was just heard. */
function readNews(live) {
  const heard = [...live.querySelectorAll("template[data-live]")];
  news = new Map(heard.map((each) => [each.dataset.live, each.innerHTML]));
  for (const each of heard) each.remove();
}

/** What stands elsewhere on the page tells the same numbers at the same moment. */
function tellElsewhere() {
  for (const part of document.querySelectorAll("[data-live-part]")) {
    const told = news.get(part.dataset.livePart);
    if (told === undefined || part.contains(document.activeElement) || part.innerHTML === told) continue;
    part.innerHTML = told;
    htmx.process(part);
  }
}

// What was asked for by itself is of another moment than the header, and may be higher than what was there.
let stood;
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.target.id === "criteria") stood = placeRead();
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id !== "criteria") return;
  tellElsewhere();
  putBack(stood);
});

/** Asks for a part of this page anew. What does not come, since somebody asked for something else meanwhile or the server
 * is away, is asked for again with later news; the end, after which there are none, by itself. Parts that asked in one
 * name would queue behind each other, and be told to have come as soon as they queue. */
const renew = (target, more = {}) =>
  htmx.ajax("GET", location.pathname + location.search, { source: target, target, ...more }).catch(() => undefined);

const ROWS_EVERY_MS = 3000;
let rowsAsked = 0;

/** Whether somebody has asked for rows that are on their way: no others are to take their place. */
const isAsked = () => document.querySelector("#rows .htmx-request:not(#results)") !== null;

const due = new Set();

/** Now, or as soon as nobody waits for rows. */
function whenFree(act) {
  if (isAsked()) due.add(act);
  else act();
}

document.addEventListener("htmx:afterRequest", () => {
  if (isAsked()) return;
  const acts = [...due];
  due.clear();
  for (const act of acts) act();
});

const renewRows = () => renew("#results");

/** The whole of a run that has ended. */
function showEnd() {
  const asked = renew("#run", { select: "#run", swap: "outerHTML" });
  if (globalThis.scrollY > 0) holdRows(asked);
}

// Rows that somebody asked for while it was on its way would have no place in it.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.target.id !== "run" || !isAsked()) return;
  event.detail.shouldSwap = false;
  due.add(showEnd);
});

// The server may be away, or too busy, at the very moment the run ends. A run that is not there any more stays away.
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"])
  document.addEventListener(name, (event) => {
    const status = event.detail?.xhr?.status ?? 0;
    if (event.target.id === "run" && (status === 0 || status === 429 || status >= 500)) setTimeout(() => whenFree(showEnd), RETRY_MS);
  });

/** The first page of rows, as they come in; nobody who reads or types is disturbed. */
function refreshRows() {
  const results = document.getElementById("results");
  const busy = !results || results.contains(document.activeElement) || results.matches(":hover, .htmx-request") || isAsked();
  if (busy || new URLSearchParams(location.search).has("at") || performance.now() - rowsAsked < ROWS_EVERY_MS) return;
  rowsAsked = performance.now();
  renewRows();
}

/** Listens to a run that goes on, and shows what it hears. */
function follow() {
  const live = document.getElementById("live");
  if (!live?.dataset.events) return;
  const source = new EventSource(live.dataset.events);
  source.addEventListener("progress", (event) => {
    const before = placeRead();
    live.innerHTML = event.data; // a template's, like the rest of the page
    readNews(live);
    tellElsewhere();
    putBack(before);
    refreshRows();
  });
  source.addEventListener("rows", () => {
    whenFree(renewRows);
    renew("#criteria");
  });
  source.addEventListener("ended", () => {
    source.close();
    news.clear();
    whenFree(showEnd);
  });
  // The browser tries again by itself, but not where the answer was an error.
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, RETRY_MS);
  });
}

// The address of what is shown now; and an end to a search that goes on by itself.
document.addEventListener("click", async (event) => {
  const copier = event.target.closest("[data-copy-address]");
  if (copier) await copyText(location.href);
  const stop = event.target.closest("[data-stop]");
  if (!stop) return;
  const searching = document.getElementById(stop.dataset.stop);
  htmx.trigger("#results", "htmx:abort"); // all that asks for rows does so there
  stop.remove();
  searching.outerHTML = searching.innerHTML.replace("the search goes on by itself until it finds some", "the search was stopped");
  document.querySelector('#results .pagination [data-key="n"]')?.focus(); // "Search on"
});

// ?status=&q=Paris&criterion= says no more than ?q=Paris.
document.addEventListener("htmx:configRequest", (event) => {
  if (event.target.id !== "filter") return;
  for (const [name, value] of [...event.detail.formData]) if (value === "") event.detail.formData.delete(name);
  // The usual columns need not be named, nor can a table have none.
  const boxes = [...event.target.querySelectorAll("[name=show]")];
  const isUsual = boxes.every((box) => box.checked === Boolean(box.dataset.usual)) || !boxes.some((box) => box.checked);
  if (isUsual) event.detail.formData.delete("show");
});

// The form shows what the address says, also where a link has changed it.
function showChoice() {
  const form = document.getElementById("filter");
  if (!form) return;
  const given = new URLSearchParams(location.search);
  for (const control of form.elements) {
    if (!control.name || control.type === "hidden" || control === document.activeElement) continue;
    if (control.type === "checkbox") {
      control.checked = given.has("show") ? given.getAll("show").includes(control.value) : Boolean(control.dataset.usual);
      continue;
    }
    const value = given.get(control.name) ?? "";
    if (control.type === "radio") control.checked = control.value === value;
    else control.value = value;
  }
}
document.addEventListener("htmx:pushedIntoHistory", showChoice);

const KEYS = { j: "next", ArrowRight: "next", k: "prev", ArrowLeft: "prev" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target.closest("input, select, textarea, dialog, [contenteditable], pre, .table-wrap, .md__table")) return;
  document.querySelector(`a[rel="${KEYS[event.key]}"]`)?.click();
});

// A menu closes where people expect it to.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target) || event.target.closest("a")) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

follow();
