// Editors for code, JSON and prompts: a <textarea> stays the form's field, and the editor stands in its place.
import {
  Compartment, Decoration, EditorState, EditorView, HighlightStyle, MatchDecorator, ViewPlugin, forceLinting, indentUnit,
  indentWithTab, json, jsonParseLinter, keymap, linter, lintGutter, placeholder, python, setDiagnostics, setup,
  syntaxHighlighting, tags,
} from "../vendor/codemirror.js";

const languages = { python: () => [python(), indentUnit.of("    ")], json: () => [json(), indentUnit.of("  ")], prompt: () => [] };

const variables = new MatchDecorator({
  regexp: /\{\{[^{}]*\}\}/g,
  decoration: Decoration.mark({ class: "cm-variable" }),
});
const templates = ViewPlugin.fromClass(
  class {
    constructor(view) {
      this.marks = variables.createDeco(view);
    }
    update(update) {
      this.marks = variables.updateDeco(update, this.marks);
    }
  },
  { decorations: (plugin) => plugin.marks },
);

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.propertyName, tags.function(tags.variableName), tags.function(tags.definition(tags.variableName))], color: "var(--code-name)" },
  { tag: tags.comment, color: "var(--ink-3)", fontStyle: "italic" },
]);

const look = EditorView.theme({
  "&": { fontSize: "var(--text-s)", backgroundColor: "var(--surface)", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)", padding: "var(--s2) 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--ink-3)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selected)" },
  ".cm-variable": { backgroundColor: "var(--accent-soft)", color: "var(--accent)", borderRadius: "3px" },
  ".cm-placeholder": { color: "var(--ink-3)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line-strong)", borderRadius: "var(--radius)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--fail)" },
});

// Typing over a selection, done by us: the browser would give the new text the look of the old one by a style attribute,
// which the page's policy forbids and the console tells of.
const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const selected = document.getSelection(); // the editor may not have heard of it yet
    const range = selected.rangeCount ? selected.getRangeAt(0) : null;
    if (event.inputType !== "insertText" || !event.data || !range || range.collapsed || view.composing || view.state.readOnly) return false;
    event.preventDefault();
    const from = view.posAtDOM(range.startContainer, range.startOffset);
    const to = view.posAtDOM(range.endContainer, range.endOffset);
    const insert = () =>
      view.state.update({ changes: { from, to, insert: event.data }, selection: { anchor: from + event.data.length }, userEvent: "input.type", scrollIntoView: true });
    const isTaken = view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, event.data, insert));
    if (!isTaken) view.dispatch(insert());
    return true;
  },
});

/**
 * Puts an editor in a textarea's place and keeps its text in it, so that the form sends it.
 * language: "python", "json" or "prompt"; check: async (text) => [{from, to, severity, message}], asked while typing.
 */
export function edit(textarea, { language = "prompt", check = null, readOnly = false, onChange = null } = {}) {
  const label = document.querySelector(`label[for="${textarea.id}"]`);
  const editable = new Compartment();
  const host = document.createElement("div");
  host.className = "editor";
  textarea.after(host);
  textarea.hidden = true;
  const sources = check ? [linter((view) => check(view.state.doc.toString()), { delay: 400 })] : [];
  if (!check && language === "json") sources.push(linter(whereJsonIs(jsonParseLinter()), { delay: 400 }));
  const view = new EditorView({
    parent: host,
    doc: textarea.value,
    extensions: [
      EditorView.cspNonce.of(document.querySelector('meta[name="style-nonce"]').content),
      setup,
      typedOver,
      keymap.of([indentWithTab]),
      languages[language](),
      language === "python" ? [] : templates,
      language === "prompt" ? EditorView.lineWrapping : [],
      syntaxHighlighting(colours),
      look,
      sources.length ? [lintGutter(), ...sources] : [],
      textarea.placeholder ? placeholder(textarea.placeholder) : [],
      editable.of([EditorState.readOnly.of(readOnly), EditorView.editable.of(!readOnly)]),
      // Reached by the tab key anyway; said aloud for those who look for what can be.
      EditorView.contentAttributes.of({ tabindex: "0", "aria-label": label ? label.textContent.trim() : (textarea.ariaLabel ?? textarea.name) }),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        textarea.value = update.state.doc.toString();
        textarea.dispatchEvent(new Event("input", { bubbles: true }));
        onChange?.(textarea.value);
      }),
    ],
  });
  label?.addEventListener("click", () => view.focus());
  return view;
}

/** Replaces an editor's whole text. */
export function setText(view, text) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

/** Shows problems that were found elsewhere, such as by the server: [{from, to, severity, message}]. */
export function showProblems(view, problems) {
  view.dispatch(setDiagnostics(view.state, problems));
}

export { forceLinting };

function whereJsonIs(lint) {
  return (view) => (view.state.doc.toString().trim() ? lint(view) : []);
}
