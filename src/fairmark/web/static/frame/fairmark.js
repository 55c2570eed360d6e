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

async function copy(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
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
  else if (target.matches("[data-copy]")) copy(target);
  else if (target.matches("[data-open]")) document.getElementById(target.dataset.open).showModal();
  else target.closest("dialog").close();
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
