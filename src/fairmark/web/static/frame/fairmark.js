// What every page does besides being read: colours, tokens for HTMX, toasts, dialogs, copying, local times.

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";

/** For requests by fetch: what shows the server that one of its own pages asks. */
export const csrfHeaders = () => ({ "X-CSRF-Token": meta("csrf-token") });

/** Says something in the corner, for a while. tone: "" or "error". */
export function toast(text, tone = "") {
  const region = document.querySelector("[data-toasts]");
  const shown = document.createElement("div");
  shown.className = tone ? `toast toast--${tone}` : "toast";
  shown.dataset.toast = "";
  shown.textContent = text;
  region.append(shown);
  fade(shown);
}

/** The words of an error that the server answered with, as a text. */
export function errorWords(body, status) {
  try {
    return JSON.parse(body).error.message;
  } catch {
    return status ? `The server answered ${status}.` : "The server cannot be reached. Is it still running?";
  }
}

function fade(shown) {
  const length = Math.min(12000, 3500 + 45 * shown.textContent.length);
  setTimeout(() => shown.remove(), length);
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function showTheme() {
  for (const button of document.querySelectorAll("[data-theme-toggle]")) button.setAttribute("aria-pressed", isDark());
}

function toggleTheme() {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("fairmark-theme", next);
  } catch {
    // It holds for this page.
  }
  showTheme();
  document.dispatchEvent(new CustomEvent("fairmark:theme", { detail: next }));
}

/** Puts a text where pasting finds it, and says so. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  } catch {
    toast("The browser did not allow copying. Select the text and copy it by hand.", "error");
  }
}

/** Titles of times in the reader's own time zone. */
function localTimes(root) {
  for (const each of root.querySelectorAll("time[datetime]")) {
    each.title = new Date(each.dateTime).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
  }
}

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-theme-toggle], [data-copy], [data-open], [data-close]");
  if (!target) return;
  if (target.matches("[data-theme-toggle]")) toggleTheme();
  else if (target.matches("[data-copy]")) copyText(target.dataset.copy);
  else if (target.matches("[data-open]")) document.getElementById(target.dataset.open).showModal();
  else target.closest("dialog").close();
});

// Keys: what they reach says so itself (data-key), and ? lists them.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest("input:not([type=checkbox], [type=radio]), select, textarea, dialog, [contenteditable], .cm-editor")) return;
  const target = event.key === "?" ? document.getElementById("keys") : document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!target) return;
  event.preventDefault();
  if (target.matches("dialog")) target.showModal();
  else if (target.matches("a, [type=checkbox]")) target.click();
  else target.focus();
});

// Whoever pages or sorts by the keyboard goes on from there. What has an id gets its focus back from HTMX; where it is
// gone, as after the last page, the focus stays with what was swapped.
let focused = null;
document.addEventListener("htmx:beforeSwap", (event) => {
  focused = event.target.contains(document.activeElement) ? event.target : null;
});
document.addEventListener("htmx:afterSettle", () => {
  if (!focused) return;
  if (document.activeElement === document.body) {
    const next = focused.matches("[tabindex]") ? focused : focused.querySelector('[tabindex="0"], a[href], button');
    next?.focus({ preventScroll: true });
  }
  focused = null;
});

document.addEventListener("htmx:configRequest", (event) => Object.assign(event.detail.headers, csrfHeaders()));
document.addEventListener("htmx:responseError", (event) => {
  toast(errorWords(event.detail.xhr.responseText, event.detail.xhr.status), "error");
});
document.addEventListener("htmx:sendError", () => toast(errorWords("", 0), "error"));
document.addEventListener("htmx:afterSwap", (event) => localTimes(event.target));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);

showTheme();
localTimes(document);
for (const shown of document.querySelectorAll("[data-toast]")) fade(shown);
