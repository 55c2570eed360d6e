// What models say: formulas are set once somebody sees them, and long texts unfold.

const MOST_FORMULAS = 500;

/** Sets the formulas below an element. The library is asked for only where there are some. */
async function setFormulas(root) {
  const formulas = [...root.querySelectorAll(".math:not([data-set])")].slice(0, MOST_FORMULAS);
  if (!formulas.length) return;
  const { default: temml } = await import("../vendor/temml.js");
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
