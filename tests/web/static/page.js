// A document outside of any browser, and the page's modules in it.
import { webcrypto } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import zlib from "node:zlib";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const STATIC = join(ROOT, "src/fairmark/web/static");
const { Window } = createRequire(join(ROOT, ".venv-clients/javascript/package.json"))("happy-dom");
const GLOBALS = ["CustomEvent", "Event", "document", "history", "localStorage", "location", "matchMedia", "navigator"];
let pages = 0;

// Every browser knows this format, Node 18 only by another name.
try {
  new CompressionStream("deflate-raw");
} catch {
  globalThis.CompressionStream = function CompressionStream() {
    return Duplex.toWeb(zlib.createDeflateRaw());
  };
  globalThis.DecompressionStream = function DecompressionStream() {
    return Duplex.toWeb(zlib.createInflateRaw());
  };
}

globalThis.crypto ??= webcrypto; // Node 18 does not have it there

globalThis.Option = function Option(text, value) {
  return Object.assign(document.createElement("option"), { textContent: text, value });
};

/** Shows a page of this HTML, with nothing left of the one before. Returns its window. */
export function show(html, url = "http://localhost/") {
  const window = new Window({ url });
  for (const name of GLOBALS) Object.defineProperty(globalThis, name, { value: window[name], configurable: true, writable: true });
  window.document.write(`<!doctype html><html><head></head><body>${html}</body></html>`);
  pages += 1;
  return window;
}

/** Runs a module of the static folder in the page that is shown, as if the page had asked for it. Returns what it exports. */
export async function load(name) {
  return import(`${pathToFileURL(join(STATIC, name))}?page=${pages}`);
}

/** What somebody does at an element. */
export const fire = (target, kind, more = {}) => target.dispatchEvent(Object.assign(new Event(kind, { bubbles: true, cancelable: true }), more));

export const type = (input, text) => {
  input.value = text;
  fire(input, "input");
};
