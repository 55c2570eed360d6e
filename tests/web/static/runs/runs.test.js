import assert from "node:assert/strict";
import test from "node:test";
import { fire, load, show } from "../page.js";

const PAGE = `<form id="filter"><input name="q"><input type="radio" name="status" value=""><input type="radio" name="status" value="fail"></form>
  <a rel="next" href="#next">next</a><a rel="prev" href="#prev">previous</a><textarea></textarea>
  <details class="menu" open><summary>Menu</summary><a href="#x">a link</a><button>a button</button></details>`;

/** The page at an address; the streams it opens and what it asks HTMX for are kept. */
async function open(html = PAGE, url = "http://localhost/evals/e/runs/r") {
  show(html, url);
  const streams = [];
  const asked = [];
  globalThis.EventSource = class extends EventTarget {
    static CLOSED = 2;
    constructor(path) {
      super();
      streams.push(Object.assign(this, { path, readyState: 1 }));
    }
    close() {
      this.readyState = 2;
    }
  };
  const ajax = async (method, path, { target }) => asked.push([method, path, target]);
  globalThis.htmx = { ajax };
  await load("runs/runs.js");
  return { streams, asked };
}
const hear = (stream, kind, data) => stream.dispatchEvent(Object.assign(new globalThis.MessageEvent(kind, { data })));
const press = (key, target = document.body, more = {}) => fire(target, "keydown", { key, ...more });

test("a run that goes on is followed, and shown whole when it has ended", async () => {
  const { streams, asked } = await open('<div id="live" data-events="/events">0%</div>', "http://localhost/runs/r?q=x");
  assert.deepEqual(streams.map(({ path }) => path), ["/events"]);
  hear(streams[0], "progress", "<b>50%</b>");
  assert.equal(document.querySelector("#live b").textContent, "50%");
  hear(streams[0], "rows");
  hear(streams[0], "ended");
  const here = "/runs/r?q=x";
  assert.deepEqual(asked, [["GET", here, "#results"], ["GET", here, "#criteria"], ["GET", here, "#run"]]);
  assert.equal(streams[0].readyState, 2);
});

test("rows that somebody asked for come first, then those of now and the end", async () => {
  const { streams, asked } = await open(`<div id="live" data-events="/events"></div>
    <div id="run"><div id="rows"><form id="filter" class="htmx-request"></form><div id="results"></div></div></div>`);
  const [run, filter] = ["run", "filter"].map((id) => document.getElementById(id));
  const targets = () => asked.splice(0).map(([, , target]) => target);
  hear(streams[0], "rows");
  hear(streams[0], "ended");
  assert.deepEqual(targets(), ["#criteria"]);
  fire(filter, "htmx:afterRequest");
  assert.deepEqual(targets(), []);
  filter.className = "";
  for (let times = 0; times < 2; times++) fire(filter, "htmx:afterRequest");
  assert.deepEqual(targets(), ["#results", "#run"]);
  // Asked for while the end is on its way.
  const detail = { shouldSwap: true };
  fire(run, "htmx:beforeSwap", { detail });
  assert.deepEqual(detail, { shouldSwap: true });
  filter.className = "htmx-request";
  fire(run, "htmx:beforeSwap", { detail });
  assert.deepEqual(detail, { shouldSwap: false });
  filter.className = "";
  fire(filter, "htmx:afterRequest");
  assert.deepEqual(targets(), ["#run"]);
});

test("the end is asked for again where the server is away as it comes, and not where the run is gone", async () => {
  const { asked } = await open('<div id="run"><div id="results"></div></div>');
  const run = document.getElementById("run");
  const { setTimeout } = globalThis;
  const askedAfter = (name, status, target = run) => {
    const later = [];
    globalThis.setTimeout = (act) => later.push(act);
    fire(target, name, { detail: { xhr: { status } } });
    globalThis.setTimeout = setTimeout;
    assert.deepEqual(asked, []); // not at once
    for (const act of later) act();
    return asked.splice(0).map(([, , part]) => part);
  };
  assert.deepEqual(askedAfter("htmx:sendError", 0), ["#run"]);
  assert.deepEqual(askedAfter("htmx:timeout", 0), ["#run"]);
  assert.deepEqual(askedAfter("htmx:responseError", 503), ["#run"]);
  assert.deepEqual(askedAfter("htmx:responseError", 404), []);
  assert.deepEqual(askedAfter("htmx:responseError", 503, document.getElementById("results")), []);
});

test("what does not come makes no noise", async () => {
  const { streams } = await open('<div id="live" data-events="/events"></div>');
  globalThis.htmx.ajax = () => Promise.reject(undefined);
  const noises = [];
  const note = (why) => noises.push(why);
  process.on("unhandledRejection", note);
  hear(streams[0], "rows");
  await new Promise((done) => setTimeout(done, 10));
  process.off("unhandledRejection", note);
  assert.deepEqual(noises, []);
});

test("numbers that are asked for by themselves are those of the header, until the run has ended", async () => {
  const { streams } = await open('<div id="live" data-events="/events"></div><div id="criteria"></div>');
  globalThis.htmx.process = () => {};
  const swap = (rows) => {
    const criteria = document.getElementById("criteria");
    criteria.innerHTML = `<b data-live-part="counts-1">${rows}</b>`;
    fire(criteria, "htmx:afterSwap");
    return criteria.textContent;
  };
  hear(streams[0], "progress", '<b>5 done</b><template data-live="counts-1">5 rows</template>');
  assert.equal(document.querySelector("#live template"), null);
  assert.equal(swap("8 rows"), "5 rows");
  hear(streams[0], "progress", '<b>9 done</b><template data-live="counts-1">9 rows</template>');
  assert.equal(document.getElementById("criteria").textContent, "9 rows");
  hear(streams[0], "ended");
  assert.equal(swap("10 rows"), "10 rows");
});

test("a run that has ended is not followed", async () => assert.deepEqual((await open('<div id="live"></div>')).streams, []));

test("empty parts of the filter stay out of the address", async () => {
  await open();
  const formData = new FormData();
  for (const [name, value] of [["status", ""], ["q", "Paris"], ["criterion", ""]]) formData.append(name, value);
  fire(document.getElementById("filter"), "htmx:configRequest", { detail: { formData } });
  assert.deepEqual([...formData], [["q", "Paris"]]);
});

test("the filter shows what the address says", async () => {
  await open(PAGE, "http://localhost/runs/r?status=fail&q=Rome");
  fire(document, "htmx:pushedIntoHistory");
  assert.equal(document.querySelector("[name=q]").value, "Rome");
  assert.equal(document.querySelector("[name=status][value=fail]").checked, true);
});

test("keys lead from row to row, but not while somebody types or holds another key", async () => {
  await open();
  const went = [];
  for (const link of document.querySelectorAll("a[rel]")) link.addEventListener("click", () => went.push(link.rel));
  for (const key of ["j", "k", "ArrowRight", "ArrowLeft", "x"]) press(key);
  press("j", document.querySelector("textarea"));
  for (const held of ["ctrlKey", "metaKey", "altKey", "shiftKey"]) press("j", document.body, { [held]: true });
  assert.deepEqual(went, ["next", "prev", "next", "prev"]);
});

test("a menu closes by a click elsewhere or on a link, and by Escape; a click on its button leaves it open", async () => {
  await open();
  const menu = document.querySelector("details");
  const click = (selector) => {
    menu.open = true;
    fire(document.querySelector(selector), "click");
    return menu.open;
  };
  assert.deepEqual([click("details button"), click("details a"), click("textarea")], [true, false, false]);
  menu.open = true;
  press("Escape");
  assert.equal(menu.open, false);
});
