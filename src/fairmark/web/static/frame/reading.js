// What models say: formulas are set once somebody sees them, and long texts unfold.

const MOST_FORMULAS = 500;

const library = () => import("../vendor/temml.js").catch(() => null);

/** Gets the library while there is a connection, where a piece of a page has formulas. */
export function prepareFormulas(html) {
  if (html.includes('class="math')) library();
}

/** Sets the formulas below an element, as far as the library can be had. It is asked for only where there are some. */
export async function setFormulas(root) {
  const formulas = [...root.querySelectorAll(".math:not([data-set])")].slice(0, MOST_FORMULAS);
  const temml = formulas.length ? (await library())?.default : null;
  if (!temml) return;
  for (const formula of formulas) {
    const text = formula.textContent;
    formula.dataset.set = "";
    try {
      // No links, no pictures, no macros without end: a model wrote it.
      temml.render(text, formula, { displayMode: formula.matches(".math--display"), trust: false, maxExpand: 500, maxSize: [20, 20], throwOnError: true });
      formula.title = text;
    } catch {
      formula.textContent = text;
      formula.classList.add("math--wrong");
    }
  }
}

function fold(root) {
  for (const long of root.querySelectorAll(".long:not([data-folded])")) {
    long.dataset.folded = "";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button button--small long__more";
    button.setAttribute("aria-expanded", "false");
    button.textContent = "Show all";
    button.addEventListener("click", () => {
      const open = long.classList.toggle("long--open");
      button.setAttribute("aria-expanded", String(open));
      button.textContent = open ? "Show less" : "Show all";
    });
    long.after(button);
  }
}

function read(root) {
  setFormulas(root);
  fold(root);
}

document.addEventListener("htmx:afterSwap", (event) => read(event.target));
read(document);
