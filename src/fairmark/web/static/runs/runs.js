// The pages of a run and its rows: news of its progress, addresses without empty parts, keys to go from row to row.

const RETRY_MS = 5000;
const HOLD_MS = 1500;

/** For a moment, what comes in above the rows does not move them away from whoever reads them. */
function holdRows() {
  const place = () => document.getElementById("rows-title")?.getBoundingClientRect().top;
  const before = place();
  let held = true;
  for (const name of ["wheel", "touchmove", "keydown"]) addEventListener(name, () => (held = false), { once: true });
  const end = performance.now() + HOLD_MS;
  const hold = () => {
    const drift = (place() ?? before) - before;
    if (Math.abs(drift) >= 1) scrollBy({ top: drift, behavior: "instant" });
    if (held && performance.now() < end) requestAnimationFrame(hold);
  };
  hold();
}

/** Listens to a run that goes on, and shows what it hears. */
function follow() {
  const live = document.getElementById("live");
  if (!live?.dataset.events) return;
  const source = new EventSource(live.dataset.events);
  const here = () => location.pathname + location.search;
  source.addEventListener("progress", (event) => {
    live.innerHTML = event.data; // a template's, like the rest of the page
  });
  source.addEventListener("rows", () => {
    for (const target of ["#results", "#criteria"]) htmx.ajax("GET", here(), { target });
  });
  source.addEventListener("ended", () => {
    source.close();
    if (globalThis.scrollY > 0) holdRows();
    htmx.ajax("GET", here(), { target: "#run", select: "#run", swap: "outerHTML" });
  });
  // The browser tries again by itself, but not where the answer was an error.
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, RETRY_MS);
  });
}

// ?status=&q=Paris&criterion= says no more than ?q=Paris.
document.addEventListener("htmx:configRequest", (event) => {
  if (event.target.id !== "filter") return;
  for (const [name, value] of [...event.detail.formData]) if (value === "") event.detail.formData.delete(name);
});

// The form shows what the address says, also where a link has changed it.
function showChoice() {
  const form = document.getElementById("filter");
  if (!form) return;
  const given = new URLSearchParams(location.search);
  for (const control of form.elements) {
    if (!control.name || control === document.activeElement) continue;
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
