// The playground: a grader checked while somebody types, its payloads, the same as commands, and links to all of it.
import { csrfHeaders, errorWords, toast } from "../frame/fairmark.js";
import { check, placed } from "./checking.js";
import { edit, setText, showProblems } from "../frame/editor.js";
import { mountPayloads } from "./payloads.js";
import { pack, unpack } from "./sharing.js";

const COMMANDS_AFTER_MS = 300;
const LONG_LINK = 8000;

const root = document.querySelector("[data-playground]");
const textarea = document.getElementById("grader-json");
const status = document.querySelector("[data-status]");
const problems = document.querySelector("[data-problems]");
const linked = document.querySelector("[data-linked]");
const commands = document.querySelector(".playground__commands");
const commandsWords = document.querySelector("[data-commands-words]");
const ready = commandsWords.textContent;

// ---- The grader

const view = edit(textarea, { language: "json", check: checked });

/** For the editor, which asks when somebody pauses. */
async function checked(text) {
  let found;
  try {
    found = await check(text);
  } catch (error) {
    tell([[error.message, "error"]]);
    return [];
  }
  if (text !== textarea.value) return []; // somebody has typed on
  list(found);
  return diagnostics(found);
}

const diagnostics = (found) => found.map((each) => ({ ...each, severity: each.isWarning ? "warning" : "error" }));
const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

function list(found) {
  const doubtful = found.filter((each) => each.isWarning).length;
  const wrong = found.length - doubtful;
  const words = [wrong ? [count(wrong, "problem"), "fail"] : ["Valid", "pass"]];
  if (doubtful) words.push([count(doubtful, "warning"), "error"]);
  tell(words);
  problems.replaceChildren(
    ...found.map((each) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = `problems__problem tone-${each.isWarning ? "error" : "fail"}`;
      const path = document.createElement("code");
      path.textContent = each.path;
      button.append(icon(each.isWarning ? "alert" : "cross"), path, ` ${each.message}`);
      button.addEventListener("click", () => {
        view.dispatch({ selection: { anchor: Math.min(each.from, view.state.doc.length) }, scrollIntoView: true });
        view.focus();
      });
      const entry = document.createElement("li");
      entry.append(button);
      return entry;
    }),
  );
}

function tell(words) {
  const keys = Object.assign(document.createElement("span"), { className: "playground__keys", textContent: "Ctrl+Enter runs it" });
  status.replaceChildren(
    ...words.map(([text, tone]) => {
      const made = document.createElement("span");
      made.className = `playground__word tone-${tone}`;
      made.append(icon({ pass: "check", fail: "cross", error: "alert" }[tone]), text);
      return made;
    }),
    keys,
  );
}

function icon(name) {
  return document.getElementById("icons").content.querySelector(`[data-icon="${name}"] svg`).cloneNode(true);
}

// ---- Payloads

const panel = mountPayloads(document.querySelector("[data-payloads]"), {
  grader: () => textarea.value,
  onRefused: (told) => {
    if (!told.problems) return;
    const found = placed(textarea.value, told.problems, false);
    list(found);
    showProblems(view, diagnostics(found));
  },
  onRan: () => (linked.hidden = true),
});

addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    panel.run();
  },
  { capture: true },
);

// ---- Commands

let timer = 0;
let asked = null;

function changed() {
  commands.classList.add("is-stale");
  clearTimeout(timer);
  asked?.abort();
  timer = setTimeout(rewrite, COMMANDS_AFTER_MS);
}

async function rewrite() {
  const mine = new AbortController();
  asked = mine;
  const [payload] = panel.payloads();
  if (!payload) {
    commandsWords.textContent = "There is no payload.";
    return;
  }
  try {
    const answer = await fetch("/playground/commands", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...csrfHeaders() },
      body: JSON.stringify({ grader: textarea.value, payload }),
      signal: mine.signal,
    });
    const body = await answer.text();
    if (mine !== asked) return;
    if (!answer.ok) {
      commandsWords.textContent = errorWords(body, answer.status);
      return;
    }
    const { commands: written } = JSON.parse(body);
    if (!written) {
      commandsWords.textContent = "They follow once the grader and the payload can be read.";
      return;
    }
    for (const [name, text] of Object.entries(written)) {
      const place = commands.querySelector(`[data-command="${name}"]`);
      place.querySelector("pre").textContent = text;
      place.querySelector("[data-copy]").dataset.copy = text;
    }
    commandsWords.textContent = ready;
    commands.classList.remove("is-stale");
  } catch (error) {
    if (error.name !== "AbortError") commandsWords.textContent = errorWords("", 0);
  }
}

for (const event of ["input", "change"]) {
  root.addEventListener(event, ({ target }) => {
    if (target === textarea || target.closest("[data-payload-list]")) changed();
  });
}
root.addEventListener("click", ({ target }) => {
  if (target.closest("[data-payload-remove]")) changed();
});

const tabs = [...commands.querySelectorAll('[role="tab"]')];

function choose(tab) {
  for (const each of tabs) {
    each.setAttribute("aria-selected", String(each === tab));
    each.tabIndex = each === tab ? 0 : -1;
    document.getElementById(each.getAttribute("aria-controls")).hidden = each !== tab;
  }
}

for (const tab of tabs) {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", ({ key }) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  });
}

// ---- Examples and links

function fill({ grader, payloads }) {
  setText(view, grader);
  panel.put(payloads);
  changed();
}

document.getElementById("example").addEventListener("change", async ({ target }) => {
  try {
    const answer = await fetch(`/playground/examples/${encodeURIComponent(target.value)}`, { headers: { accept: "application/json" } });
    const body = await answer.text();
    if (!answer.ok) throw new Error(errorWords(body, answer.status));
    fill(JSON.parse(body));
    linked.hidden = true;
    history.replaceState(null, "", location.pathname);
  } catch (error) {
    toast(error instanceof TypeError ? errorWords("", 0) : error.message, "error");
  }
});

document.querySelector("[data-share]").addEventListener("click", async () => {
  const packed = await pack({ grader: textarea.value, payloads: panel.payloads() });
  const link = `${location.origin}${location.pathname}#${packed}`;
  history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(link);
    const more = link.length > LONG_LINK ? ` It has ${link.length.toLocaleString("en")} characters; some programs cut such links.` : "";
    toast(`The link is copied. The grader and the payloads are in it.${more}`);
  } catch {
    toast("The browser did not allow copying. The link is in the address bar.", "error");
  }
});

const isText = (value) => typeof value === "string";
const isPayload = (given) => Array.isArray(given) && given.length === 2 && isText(given[0]) && (isText(given[1]) || isText(given[1]?.json));

/** Puts what a link holds into the editors. Nothing runs by that. */
async function open() {
  if (location.hash.length < 2) return;
  const found = await unpack(location.hash.slice(1));
  const isGood = isText(found?.grader) && Array.isArray(found.payloads) && found.payloads.length > 0 && found.payloads.every(isPayload);
  if (!isGood) {
    toast("The link cannot be read. It may have been cut off on its way.", "error");
    return;
  }
  fill(found);
  linked.hidden = false;
}

addEventListener("hashchange", open);
open();
