// A new eval: editors for its JSON, and graders to begin with.
import { edit, setText } from "../frame/editor.js";

const graders = edit(document.querySelector("[data-graders]"), { language: "json" });
const schema = document.querySelector("[data-schema]");
const disclosure = schema.closest("details");

// Not before it can be seen: an editor measures itself.
const openSchema = () => {
  if (disclosure.open && !schema.hidden) edit(schema, { language: "json" });
};
disclosure.addEventListener("toggle", openSchema);
openSchema();

const specimens = document.querySelector("[data-specimens]");
specimens.hidden = false;
specimens.addEventListener("click", (event) => {
  const text = event.target.closest("[data-specimen]")?.dataset.specimen;
  if (!text) return;
  setText(graders, joined(graders.state.doc.toString(), text));
  graders.focus();
});

/** The grader alone, or behind those that are there already. What is no JSON is replaced. */
function joined(before, text) {
  if (!before.trim()) return text;
  try {
    return JSON.stringify([].concat(JSON.parse(before), JSON.parse(text)), null, 2);
  } catch {
    return text;
  }
}
