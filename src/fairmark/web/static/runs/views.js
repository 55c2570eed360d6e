// Views of a run's rows under names: what an address chooses, kept in this browser for all runs of the eval.

const MOST = 20;
const PASSING = ["at", "n"]; // where in the rows somebody is, which is no part of a view

const list = document.querySelector("[data-views]");
const key = `fairmark-views:${list?.dataset.views}`;

/** The views that are kept: [{name, query}]; none where the browser keeps nothing, or what it has is not ours. */
export function kept() {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(found) ? found.filter((each) => typeof each?.name === "string" && typeof each?.query === "string") : [];
  } catch {
    return [];
  }
}

function keep(views) {
  try {
    localStorage.setItem(key, JSON.stringify(views.slice(-MOST)));
  } catch {
    // Private windows keep nothing; the address still can be copied.
  }
  show();
}

/** What of an address makes a view. */
export function queryOf(search) {
  const query = new URLSearchParams(search);
  for (const name of PASSING) query.delete(name);
  return query.toString();
}

function show() {
  const views = kept();
  list.hidden = !views.length;
  list.replaceChildren(
    ...views.map((view) => {
      const chip = document.getElementById("view-chip").content.firstElementChild.cloneNode(true);
      const link = chip.querySelector("a");
      link.textContent = view.name;
      link.href = `${location.pathname}${view.query ? `?${view.query}` : ""}#rows`;
      if (view.query === queryOf(location.search)) link.setAttribute("aria-current", "true");
      const off = chip.querySelector("button");
      off.setAttribute("aria-label", `Forget the view ${view.name}`);
      off.addEventListener("click", () => {
        keep(kept().filter((each) => each.name !== view.name));
        (list.querySelector("a") ?? document.querySelector("[data-save-view]")).focus();
      });
      return chip;
    }),
  );
}

if (list) {
  document.querySelector("[data-save-view]").hidden = false;
  document.querySelector("[data-view-form]").addEventListener("submit", (event) => {
    const name = event.target.elements.namedItem("view").value.trim();
    if (!name) return;
    keep([...kept().filter((each) => each.name !== name), { name, query: queryOf(location.search) }]);
    event.target.reset();
  });
  document.addEventListener("htmx:pushedIntoHistory", show);
  show();
}
