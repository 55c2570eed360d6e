// The form of a grader: controls that hold parts of its JSON. Each says by data-path where its value stands.
import { edit, setText, showProblems } from "../frame/editor.js";
import { isObject, locate, number, parse, write, written } from "../frame/jsontree.js";

/** Nothing is set: the key is left out. */
const NOTHING = undefined;
/** What stands in a control cannot be written down. `path` is where its value would stand. */
export class Unreadable extends Error {
  constructor(path, message) {
    super(message);
    this.path = path;
  }
}

const copy = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
const element = (tag, name, text) => Object.assign(document.createElement(tag), { className: name, textContent: text });

/**
 * Makes a form work. onChange(): somebody changed something in it, and get() is to be asked.
 * Returns {set(grader), get(grader), show(problems), readOnly()}.
 */
export function mountForm(root, { names, readOnly, onChange }) {
  let quiet = false;
  const touched = new Set();
  const fields = [...root.querySelectorAll("[data-path]")].map((host) => {
    const path = host.dataset.path.split(".");
    const changed = () => {
      if (quiet) return;
      touched.add(host.dataset.path);
      onChange();
    };
    const control = WIDGETS[host.dataset.widget](host, { changed, readOnly, path: host.dataset.path });
    return { host, path, control, required: "required" in host.dataset };
  });
  if (readOnly) for (const each of root.querySelectorAll("input, select, textarea, button")) each.disabled = true;

  function set(grader) {
    quiet = true;
    for (const { path, control } of fields) {
      let value = grader;
      for (const step of path) value = isObject(value) ? value[step] : NOTHING;
      control.set(value === null ? NOTHING : value);
    }
    quiet = false;
    showWhen(grader);
  }

  /** The grader with what stands in the form. Raises Unreadable; its field shows why. */
  function get(grader) {
    const made = structured(grader);
    for (const { path, control, required } of fields) {
      let value = control.get();
      if (value === NOTHING && required) value = control.empty ?? "";
      put(made, path, value);
    }
    showWhen(made);
    return ordered(made, names);
  }

  function showWhen(grader) {
    for (const { host } of fields) {
      if (!host.dataset.when) continue;
      const [name, value] = host.dataset.when.split("=");
      host.hidden = grader[name] !== value;
    }
  }

  /** Puts problems to their places: [{path: [steps], message, isWarning}]. With `all` also where nobody has been yet. */
  function show(problems, all) {
    const slots = [...root.querySelectorAll("[data-problems-at]")];
    const told = new Map(slots.map((slot) => [slot, []]));
    for (const problem of problems) {
      const best = slots
        .map((slot) => [slot, slot.dataset.problemsAt === "" ? [] : slot.dataset.problemsAt.split(".")])
        .filter(([, at]) => at.every((step, index) => problem.path[index] === step))
        .sort((one, other) => other[1].length - one[1].length)[0];
      if (!best) continue;
      const field = best[0].closest("[data-path]");
      const rest = problem.path.slice(best[1].length);
      told.get(best[0]).push({ ...problem, rest });
      if (field && !all && !touched.has(field.dataset.path) && !problem.isWarning) told.get(best[0]).pop();
    }
    for (const [slot, found] of told) {
      const messages = found.map(({ message, rest, isWarning }) =>
        element("p", isWarning ? "field__warning" : "field__error", rest.length ? `${rest.join(".")}: ${message}` : message),
      );
      if (slot.textContent !== messages.map((each) => each.textContent).join("")) slot.replaceChildren(...messages);
      const isWrong = found.some((each) => !each.isWarning);
      const owner = slot.closest(".entry") ?? slot.closest(".field");
      owner?.classList.toggle("field--wrong", isWrong);
    }
    for (const { host, control } of fields) {
      const mine = [...told].filter(([slot]) => host.contains(slot)).flatMap(([, found]) => found);
      const isWrong = mine.some((each) => !each.isWarning);
      const input = host.querySelector("[data-control]");
      if (isWrong) input?.setAttribute("aria-invalid", "true");
      else input?.removeAttribute("aria-invalid");
      control.mark?.(mine);
      if (isWrong) host.closest("details")?.setAttribute("open", "");
    }
  }

  return { set, get, show };
}

/** A copy that may be changed; what is no object is begun anew. */
function structured(grader) {
  return isObject(grader) ? { ...grader } : {};
}

function put(target, [step, ...rest], value) {
  if (!rest.length) {
    if (value === NOTHING) delete target[step];
    else target[step] = value;
    return;
  }
  if (value === NOTHING && !isObject(target[step])) return;
  const inner = isObject(target[step]) ? { ...target[step] } : {};
  put(inner, rest, value);
  if (Object.keys(inner).length) target[step] = inner;
  else delete target[step];
}

/** Known keys in the order of the spec where they are new; those that were there keep their places. */
function ordered(grader, names) {
  const place = (name) => (name === "type" ? -1 : names.indexOf(name) < 0 ? names.length : names.indexOf(name));
  const made = {};
  for (const name of Object.keys(grader).sort((one, other) => place(one) - place(other))) made[name] = grader[name];
  return made;
}

/** A textarea as an editor. */
function textEditor(textarea, changed, readOnly, check = null) {
  const view = edit(textarea, { language: textarea.dataset.language, readOnly, onChange: changed, check });
  return {
    view,
    get: () => textarea.value,
    set: (text) => {
      if (textarea.value !== text) setText(view, text);
    },
  };
}

const text = (empty) => (host, { changed }) => {
  const input = host.querySelector("[data-control]");
  input.addEventListener("input", changed);
  return {
    set: (value) => {
      const shown = value === NOTHING ? "" : typeof value === "string" ? value : write(value);
      if (input.value !== shown) input.value = shown;
    },
    get: () => (input.value === "" ? NOTHING : input.value),
    empty,
  };
};

const editor = (host, { changed, readOnly }) => {
  const made = textEditor(host.querySelector("textarea"), changed, readOnly);
  return {
    set: (value) => made.set(value === NOTHING ? "" : typeof value === "string" ? value : write(value)),
    get: () => (made.get() === "" ? NOTHING : made.get()),
    // Python's and Handlebars' problems name a line.
    mark: (problems) => showProblems(made.view, problems.filter((each) => /^(\w+: )?line \d+/.test(each.message)).map((each) => atLine(made.view, each))),
  };
};

function atLine(view, { message, isWarning }) {
  const wanted = Number(message.match(/line (\d+)/)[1]);
  const line = view.state.doc.line(Math.min(Math.max(1, wanted), view.state.doc.lines));
  return { from: line.from, to: line.to, severity: isWarning ? "warning" : "error", message };
}

const WIDGETS = {
  text: text(""),
  paragraph: text(""),
  template: editor,
  handlebars: editor,
  formula: editor,
  python: editor,

  choice: (host, { changed }) => {
    const select = host.querySelector("select");
    select.addEventListener("change", changed);
    return {
      set: (value) => {
        const shown = value === NOTHING ? "" : String(value);
        // What is no choice is shown, so that nothing is changed behind anybody's back.
        if (![...select.options].some((each) => each.value === shown)) select.add(new Option(shown || "not set", shown));
        select.value = shown;
      },
      get: () => (select.value === "" ? NOTHING : select.value),
    };
  },

  check: (host, { changed }) => {
    const box = host.querySelector("input");
    let was = NOTHING;
    box.addEventListener("change", changed);
    return {
      set: (value) => {
        was = value;
        box.checked = value === true;
      },
      get: () => (box.checked ? true : was === NOTHING ? NOTHING : false),
      empty: false,
    };
  },

  number: numeric,
  whole: numeric,

  range: (host, { changed }) => {
    const [low, high] = [host.querySelector("[data-low]"), host.querySelector("[data-high]")];
    for (const each of [low, high]) each.addEventListener("input", changed);
    return {
      set: (value) => {
        const pair = Array.isArray(value) ? value : [];
        for (const [input, bound] of [[low, pair[0]], [high, pair[1]]]) {
          const shown = bound === NOTHING ? "" : written(bound);
          if (String(number(input.value) ?? input.value) !== shown) input.value = shown;
        }
      },
      get: () => (low.value.trim() || high.value.trim() ? [asNumber(low.value), asNumber(high.value)] : NOTHING),
    };
  },

  lines: (host, { changed }) => {
    const area = host.querySelector("textarea");
    const read = () => area.value.split("\n").map((line) => line.trim()).filter(Boolean);
    area.addEventListener("input", changed);
    return {
      set: (value) => {
        const lines = Array.isArray(value) ? value.map((each) => (typeof each === "string" ? each : write(each))) : [];
        if (read().join("\n") !== lines.join("\n")) area.value = lines.join("\n");
      },
      get: () => (read().length ? read() : NOTHING),
      empty: [],
    };
  },

  json: (host, { changed, readOnly, path }) => {
    // The editor asks by itself after each change: what was found then still holds for the same text.
    let marks = { text: "", found: [] };
    const made = textEditor(host.querySelector("textarea"), changed, readOnly, async (text) => (marks.text === text ? marks.found : []));
    let value = NOTHING;
    return {
      set: (given) => {
        const shown = given === NOTHING ? "" : write(given);
        if (write(value) !== shown || made.get().trim() === "") made.set(shown);
        value = given;
      },
      get: () => {
        try {
          value = made.get().trim() ? parse(made.get()) : NOTHING;
        } catch (error) {
          throw new Unreadable(path.split("."), `this is not JSON: ${error.message}`);
        }
        return value;
      },
      mark: (problems) => {
        const found = problems.map(({ message, rest, isWarning }) => ({
          ...locate(made.get(), rest), severity: isWarning ? "warning" : "error", message,
        }));
        marks = { text: made.get(), found };
        showProblems(made.view, found);
      },
      empty: {},
    };
  },

  pairs: (host, { changed, readOnly, path }) =>
    list(host, { changed, readOnly, path, kind: "pair", name: (value) => value[0] }, {
      read: (value) => (isObject(value) ? Object.entries(value) : []),
      write: (entries) => {
        const pairs = entries.filter(([name]) => name !== "");
        return pairs.length ? Object.fromEntries(pairs) : NOTHING;
      },
      entry: (node) => {
        const [name, value] = [node.querySelector('[data-part="name"]'), node.querySelector('[data-part="value"]')];
        for (const each of [name, value]) each.addEventListener("input", changed);
        return {
          set: ([first, second]) => {
            name.value = first;
            value.value = typeof second === "string" ? second : write(second);
          },
          get: () => [name.value.trim(), value.value],
        };
      },
      fresh: () => ["", ""],
      empty: {},
    }),

  messages: (host, { changed, readOnly, path }) =>
    list(host, { changed, readOnly, path, kind: "message" }, {
      read: (value) => (Array.isArray(value) ? value : []),
      write: (entries) => (entries.length ? entries : NOTHING),
      entry: (node) => {
        const role = node.querySelector("select");
        const area = node.querySelector("textarea");
        role.addEventListener("change", changed);
        let given = {};
        const made = textEditor(area, changed, readOnly);
        return {
          set: (value) => {
            given = isObject(value) ? value : { content: value };
            setRole(role, given.role);
            made.set(contentText(given.content));
          },
          get: () => ({ ...given, role: role.value, content: content(given.content, made.get()) }),
        };
      },
      fresh: (_kind, entries) => ({ role: entries.length ? "user" : "system", content: "" }),
      empty: [],
    }),

  examples: (host, { changed, readOnly, path }) =>
    list(host, { changed, readOnly, path, kind: "example" }, {
      read: (value) => (Array.isArray(value) ? value.filter(isObject) : []),
      write: (entries) => (entries.length ? entries : NOTHING),
      entry: (node) => example(node, changed),
      fresh: (kind) => ({ input: [{ role: "user", content: "" }], output: "", passes: kind === "pass", reasoning: "" }),
      empty: [],
    }),
};

function numeric(host, { changed }) {
  const input = host.querySelector("[data-control]");
  input.addEventListener("input", changed);
  return {
    set: (value) => {
      const shown = value === NOTHING ? "" : typeof value === "string" ? JSON.stringify(value) : written(value);
      const typed = number(input.value);
      if ((typed === NOTHING ? input.value : written(typed)) !== shown) input.value = shown;
    },
    get: () => (input.value.trim() === "" ? NOTHING : asNumber(input.value)),
  };
}

/** A number, or the text that is none: the server says what it thinks of it, at its place. */
const asNumber = (typed) => number(typed) ?? typed.replace(/^"(.*)"$/, "$1");

/** A message's content as a text: a block of text is its text, anything else is JSON. */
const contentText = (content) =>
  typeof content === "string" ? content : isBlock(content) ? content.text : write(content ?? "");

const isBlock = (content) => isObject(content) && typeof content.text === "string";

/** The content for what was typed, in the form that it had before. */
function content(before, typed) {
  if (isBlock(before)) return { ...before, text: typed };
  if (typeof before === "string" || before === NOTHING) return typed;
  try {
    return parse(typed);
  } catch {
    return typed;
  }
}

function setRole(select, role) {
  const shown = typeof role === "string" ? role : "user";
  if (![...select.options].some((each) => each.value === shown)) select.add(new Option(shown, shown));
  select.value = shown;
}

function example(node, changed) {
  const part = (name) => node.querySelector(`[data-part="${name}"]`);
  const turns = node.querySelector("[data-turns]");
  const passes = part("passes");
  let given = {};
  const verdict = () => {
    node.querySelector("[data-verdict]").textContent = passes.value === "true" ? "passes" : "fails";
    node.classList.toggle("entry--pass", passes.value === "true");
    node.classList.toggle("entry--fail", passes.value !== "true");
  };
  const addTurn = (turn) => {
    const made = copy("entry-turn");
    setRole(made.querySelector("select"), turn.role);
    made.querySelector("textarea").value = contentText(turn.content);
    made.querySelector("[data-remove]").addEventListener("click", (event) => {
      event.stopPropagation();
      made.remove();
      changed();
    });
    turns.append(made);
    return made;
  };
  passes.addEventListener("change", () => {
    verdict();
    changed();
  });
  node.addEventListener("input", changed);
  node.querySelector("[data-add-turn]").addEventListener("click", () => {
    addTurn({ role: turns.children.length % 2 ? "assistant" : "user", content: "" }).querySelector("textarea").focus();
    changed();
  });
  return {
    set: (value) => {
      given = value;
      passes.value = String(value.passes !== false);
      part("output").value = typeof value.output === "string" ? value.output : "";
      part("reasoning").value = typeof value.reasoning === "string" ? value.reasoning : "";
      turns.replaceChildren();
      for (const turn of Array.isArray(value.input) ? value.input : []) addTurn(isObject(turn) ? turn : { content: turn });
      verdict();
    },
    get: () => {
      const input = [...turns.children].map((turn, index) => ({
        role: turn.querySelector("select").value,
        content: content(given.input?.[index]?.content, turn.querySelector("textarea").value),
      }));
      const made = { ...given, input, output: part("output").value, passes: passes.value === "true", reasoning: part("reasoning").value };
      if (!made.reasoning && given.reasoning === NOTHING) delete made.reasoning;
      return made;
    },
  };
}

/** Entries that can be added, removed and moved. Each has a place for problems with it. */
function list(host, { changed, readOnly, path, kind, name }, { read, write: make, entry, fresh, empty }) {
  const place = host.querySelector("[data-list]");
  let entries = [];

  function add(value) {
    const node = copy(`entry-${kind}`);
    place.append(node);
    const made = { node, ...entry(node) };
    made.set(value);
    entries.push(made);
    return made;
  }

  function number_() {
    entries.forEach(({ node, get }, index) => {
      [...node.children].find((child) => child.matches("[data-problems]")).dataset.problemsAt = `${path}.${name ? name(get()) : index}`;
      node.setAttribute("role", "group");
      node.setAttribute("aria-label", `${kind} ${index + 1}`);
      const [up, down] = [node.querySelector('[data-move="-1"]'), node.querySelector('[data-move="1"]')];
      if (up) [up.disabled, down.disabled] = [readOnly || index === 0, readOnly || index === entries.length - 1];
    });
  }

  place.addEventListener("click", (event) => {
    const button = event.target.closest("[data-move], [data-remove]");
    const index = entries.findIndex(({ node }) => node.contains(event.target));
    if (!button || index < 0 || button.closest(".turn")) return;
    const [moved] = entries.splice(index, 1);
    if (button.matches("[data-remove]")) moved.node.remove();
    else {
      const to = index + Number(button.dataset.move);
      entries.splice(to, 0, moved);
      place.append(...entries.map(({ node }) => node));
      button.focus();
    }
    number_();
    changed();
  });
  for (const button of host.querySelectorAll("[data-add]")) {
    button.addEventListener("click", () => {
      const made = add(fresh(button.dataset.add, entries));
      number_();
      changed();
      (made.node.querySelector("textarea:not([hidden]), input, .cm-content") ?? made.node).focus();
    });
  }
  const now = () => make(entries.map((each) => each.get()));
  return {
    set: (value) => {
      if (JSON.stringify(now()) === JSON.stringify(value)) return;
      for (const { node } of entries) node.remove();
      entries = [];
      for (const each of read(value)) add(each);
      number_();
    },
    get: () => {
      number_();
      return now();
    },
    empty,
  };
}
