import assert from "node:assert/strict";
import test, { mock } from "node:test";
import { fire, load, show } from "../page.js";

const PAGE = `<meta name="csrf-token" content="a token"><div data-toasts></div>
  <button data-theme-toggle>Dark</button> <button data-copy="fm-key">Copy</button>
  <button data-open="ask">Open</button> <dialog id="ask"><button data-close>Close</button></dialog>
  <time datetime="2026-01-02T03:04:05Z">a while ago</time>`;
const toasts = () => [...document.querySelectorAll("[data-toast]")].map((each) => [each.className, each.textContent]);

async function open() {
  show(PAGE);
  return load("frame/fairmark.js");
}

/** Node 18 takes a list, later ones an object. */
function stopClock(timers) {
  try {
    timers?.enable({ apis: ["setTimeout"] });
  } catch {
    timers.enable(["setTimeout"]);
  }
}

test("errors are told in the server's words, else by their status, else as a server that is gone", async () => {
  const { errorWords } = await open();
  assert.equal(errorWords('{"error": {"message": "No such eval."}}', 404), "No such eval.");
  for (const body of ["", "<html>", "null", '{"error": null}']) assert.equal(errorWords(body, 500), "The server answered 500.");
  assert.equal(errorWords("", 0), "The server cannot be reached. Is it still running?");
});

test("a toast goes by itself, a long one later, none later than after twelve seconds", async () => {
  stopClock(mock.timers);
  const { toast } = await open();
  toast("Copied.");
  toast("x".repeat(100), "error");
  toast("x".repeat(10_000));
  assert.deepEqual(toasts().map(([name]) => name), ["toast", "toast toast--error", "toast"]);
  if (!mock.timers) return; // this Node cannot turn the clock
  for (const [ms, left] of [[3814, 3], [1, 2], [4185, 1], [3999, 1], [1, 0]]) {
    mock.timers.tick(ms);
    assert.equal(toasts().length, left);
  }
  mock.timers.reset();
});

test("the page's token goes with every request of HTMX", async () => {
  await open();
  const detail = { headers: { accept: "text/html" } };
  fire(document, "htmx:configRequest", { detail });
  assert.deepEqual(detail.headers, { accept: "text/html", "X-CSRF-Token": "a token" });
});

test("a request of HTMX that fails is told in a toast", async () => {
  await open();
  fire(document, "htmx:responseError", { detail: { xhr: { responseText: '{"error": {"message": "<b>no</b>"}}', status: 400 } } });
  fire(document, "htmx:sendError");
  assert.deepEqual(toasts(), [
    ["toast toast--error", "<b>no</b>"], // as a text
    ["toast toast--error", "The server cannot be reached. Is it still running?"],
  ]);
});

test("colours are turned over, told to the chart, and kept", async () => {
  await open();
  const told = [];
  document.addEventListener("fairmark:theme", (event) => told.push(event.detail));
  const button = document.querySelector("[data-theme-toggle]");
  assert.equal(button.getAttribute("aria-pressed"), "false");
  button.click();
  assert.deepEqual([document.documentElement.dataset.theme, localStorage.getItem("fairmark-theme")], ["dark", "dark"]);
  assert.equal(button.getAttribute("aria-pressed"), "true");
  button.click();
  assert.deepEqual(told, ["dark", "light"]);
});

test("colours turn over where the browser keeps nothing", async () => {
  await open();
  localStorage.setItem = () => {
    throw new Error("forbidden");
  };
  document.querySelector("[data-theme-toggle]").click();
  assert.equal(document.documentElement.dataset.theme, "dark");
});

test("what is copied is what the button says, and a refusal is told", async () => {
  await open();
  const copied = [];
  const clipboard = { writeText: async (text) => void copied.push(text) };
  Object.defineProperty(navigator, "clipboard", { value: clipboard, configurable: true });
  document.querySelector("[data-copy]").click();
  await new Promise(setImmediate);
  clipboard.writeText = async () => Promise.reject(new Error("not allowed"));
  document.querySelector("[data-copy]").click();
  await new Promise(setImmediate);
  assert.deepEqual(copied, ["fm-key"]);
  assert.deepEqual(toasts().map(([name]) => name), ["toast", "toast toast--error"]);
});

test("a dialog opens and closes by its buttons", async () => {
  await open();
  const dialog = document.getElementById("ask");
  document.querySelector("[data-open]").click();
  assert.equal(dialog.open, true);
  document.querySelector("[data-close]").click();
  assert.equal(dialog.open, false);
});

test("times have a title in the reader's zone, also those that came later", async () => {
  await open();
  const [first] = document.querySelectorAll("time");
  assert.equal(first.title, new Date("2026-01-02T03:04:05Z").toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" }));
  document.body.insertAdjacentHTML("beforeend", '<p id="later"><time datetime="2026-02-02T03:04:05Z"></time></p>');
  fire(document.getElementById("later"), "htmx:afterSwap");
  assert.notEqual(document.querySelector("#later time").title, "");
});
