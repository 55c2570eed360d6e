// What the page's editors are made of, as one module. Only what is named here is in the bundle.
import { autocompletion, closeBrackets, closeBracketsKeymap, completeFromList, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { pythonLanguage } from "@codemirror/lang-python";
import { HighlightStyle, LanguageSupport, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { forceLinting, lintGutter, lintKeymap, linter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import {
  Decoration, EditorView, MatchDecorator, ViewPlugin, drawSelection, highlightActiveLine, highlightActiveLineGutter,
  highlightSpecialChars, keymap, lineNumbers, placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

// codemirror's basicSetup but for search, folding and several cursors, which texts of this length do without.
export const setup = [
  lineNumbers(),
  highlightActiveLineGutter(),
  highlightSpecialChars(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  autocompletion(),
  highlightActiveLine(),
  keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
];

// Without its snippets: graders are short, and read more often than written.
export const python = () => new LanguageSupport(pythonLanguage);

export {
  Compartment, Decoration, EditorState, EditorView, HighlightStyle, MatchDecorator, Prec, ViewPlugin, completeFromList,
  forceLinting, indentUnit, indentWithTab, json, jsonParseLinter, keymap, lintGutter, linter, placeholder,
  setDiagnostics, syntaxHighlighting, tags,
};
