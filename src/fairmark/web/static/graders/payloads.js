// The test payload panel (templates/payloads.html): rows to try a grader on, and what comes out.
import { csrfHeaders, errorWords } from "../frame/fairmark.js";
import { edit, setText } from "../frame/editor.js";

const json = { "content-type": "application/json" };

/**
 * Makes the panel work.
 * grader(): the grader's JSON as text; it may throw an error whose words are shown. onRefused(body): the server took the grader for wrong; body.problems says where.
 * onRan(): something was graded. Returns {payloads, put, run}: what stands in the panel as the server takes it, the same put
 * there, and what its button does.
 */
export function mountPayloads(panel, { grader, onRefused = () => {}, onRan = () => {} }) {
  const place = panel.querySelector("[data-payload-list]");
  const pattern = place.querySelector("[data-payload]").cloneNode(true);
  const [run, stop] = [panel.querySelector("[data-run]"), panel.querySelector("[data-stop]")];
  const words = panel.querySelector("[data-run-words]");
  const results = panel.querySelector("[data-results]");
  let payloads = [];
  let asked = null;

  function bind(node) {
    const item = node.querySelector("[data-item]");
    const sample = node.querySelector("[data-sample]");
    const isJson = node.querySelector("[data-sample-json]");
    const view = edit(item, { language: "json" });
    isJson.addEventListener("change", () => sample.classList.toggle("input--code", isJson.checked));
    const toggle = node.querySelector("[data-payload-toggle]");
    const made = {
      node,
      open(isOpen) {
        toggle.setAttribute("aria-expanded", String(isOpen));
        const preview = `${sample.value} · ${item.value}`.replace(/\s+/g, " ");
        node.querySelector("[data-payload-preview]").textContent = preview.slice(0, 200);
      },
      put([text, given]) {
        setText(view, text);
        isJson.checked = typeof given === "object";
        sample.value = isJson.checked ? given.json : given;
        sample.classList.toggle("input--code", isJson.checked);
      },
      set(row) {
        const isObject = typeof row.sample === "object" && row.sample !== null;
        made.put([JSON.stringify(row.item ?? {}, null, 2), isObject ? { json: JSON.stringify(row.sample, null, 2) } : (row.sample ?? "")]);
      },
      get: () => [item.value, isJson.checked ? { json: sample.value } : sample.value],
      tell(field, message) {
        if (message) made.open(true);
        const slot = node.querySelector(`[data-${field}-problems]`);
        slot.replaceChildren(...(message ? [Object.assign(document.createElement("p"), { className: "field__error", textContent: message })] : []));
      },
    };
    node.querySelector("[data-payload-remove]").addEventListener("click", () => {
      payloads = payloads.filter((each) => each !== made);
      node.remove();
      name();
    });
    toggle.addEventListener("click", () => made.open(toggle.getAttribute("aria-expanded") === "false"));
    payloads.push(made);
    return made;
  }

  function add(row) {
    const node = pattern.cloneNode(true);
    const id = String(Math.random()).slice(2);
    for (const part of ["item", "sample"]) {
      node.querySelector(`[data-${part}]`).id = `payload-${part}-${id}`;
      node.querySelector(`label[for^="payload-${part}"]`).htmlFor = `payload-${part}-${id}`;
    }
    node.querySelector("[data-item]").value = "{}";
    node.querySelector("[data-sample]").value = "";
    place.append(node);
    const made = bind(node);
    if (row) made.set(row);
    name();
    return made;
  }

  function name() {
    payloads.forEach(({ node }, index) => {
      node.querySelector("[data-payload-name]").textContent = `Payload ${index + 1}`;
      node.querySelector("[data-payload-remove]").setAttribute("aria-label", `Remove payload ${index + 1}`);
    });
    place.classList.toggle("payloads__list--one", payloads.length === 1);
    if (payloads.length === 1) payloads[0].open(true);
  }

  function clear() {
    for (const { node } of payloads) node.remove();
    payloads = [];
    results.replaceChildren();
  }

  function put(given) {
    clear();
    for (const each of given) add(null).put(each);
  }

  async function tryThem() {
    let text;
    try {
      text = grader();
    } catch (error) {
      tell(error.message);
      return;
    }
    asked?.abort();
    const mine = new AbortController();
    asked = mine;
    for (const each of payloads) for (const field of ["item", "sample"]) each.tell(field, "");
    const began = performance.now();
    const clock = setInterval(() => (words.textContent = `Running, ${Math.round((performance.now() - began) / 1000)} s`), 1000);
    words.textContent = "Running…";
    results.setAttribute("aria-busy", "true");
    [run.disabled, stop.hidden] = [true, false];
    try {
      const answer = await fetch("/payloads/run", {
        method: "POST",
        headers: { ...json, ...csrfHeaders(), accept: "*/*" },
        body: JSON.stringify({ grader: text, payloads: payloads.map((each) => each.get()) }),
        signal: mine.signal,
      });
      const body = await answer.text();
      words.textContent = "";
      if (answer.ok) {
        results.innerHTML = body; // made and escaped by the server
        onRan();
      } else refused(body, answer.status);
    } catch (error) {
      words.textContent = error.name === "AbortError" ? "Stopped." : errorWords("", 0);
    } finally {
      clearInterval(clock);
      if (mine === asked) {
        [run.disabled, stop.hidden] = [false, true];
        results.setAttribute("aria-busy", "false");
      }
    }
  }

  function refused(body, status) {
    let told = {};
    try {
      told = JSON.parse(body);
    } catch {
      // errorWords has words for it
    }
    for (const { index, field, message } of told.payloads ?? []) payloads[index]?.tell(field, message);
    tell(told.problems ? "The grader has problems. They are shown beside it." : errorWords(body, status));
    onRefused(told);
  }

  function tell(message) {
    const notice = Object.assign(document.createElement("div"), { className: "notice notice--error", textContent: message });
    notice.setAttribute("role", "alert");
    results.replaceChildren(notice);
  }

  // ---- Rows from elsewhere

  const source = panel.querySelector("[data-source]");
  const opener = panel.querySelector("[data-take]");
  const choice = panel.querySelector("[data-source-choice]");
  const sourceWords = panel.querySelector("[data-source-words]");
  let isLoaded = false;

  opener.addEventListener("click", async () => {
    source.hidden = !source.hidden;
    opener.setAttribute("aria-expanded", String(!source.hidden));
    if (source.hidden || isLoaded) return;
    const answer = await ask("/payloads/sources");
    if (!answer) return;
    isLoaded = true;
    const groups = [["Files", answer.files.map((each) => ({ ...each, id: `file ${each.id}` }))]];
    for (const { name: of, runs } of answer.evals) groups.push([of, runs.map((each) => ({ ...each, id: `run ${each.id}` }))]);
    for (const [label, entries] of groups) {
      if (!entries.length) continue;
      const group = document.createElement("optgroup");
      group.label = label;
      group.append(...entries.map((each) => new Option(`${each.name} (${each.note})`, each.id)));
      choice.append(group);
    }
    if (!choice.options.length) sourceWords.textContent = "There is no file and no run here yet.";
    choice.focus();
  });

  panel.querySelector("[data-source-take]").addEventListener("click", async () => {
    if (!choice.value) return;
    const [kind, id] = choice.value.split(" ");
    const query = new URLSearchParams({ [kind]: id, row: panel.querySelector("#payload-row").value.trim(), count: panel.querySelector("#payload-count").value.trim() });
    const answer = await ask(`/payloads/rows?${query}`);
    if (!answer) return;
    clear();
    for (const row of answer.rows) add(row);
    for (const each of payloads) each.open(payloads.length === 1);
    sourceWords.textContent = answer.rows.length === 1 ? "Taken." : `${answer.rows.length} rows taken.`;
  });

  /** The server's answer; where it is an error, its words are shown. */
  async function ask(path) {
    sourceWords.textContent = "";
    try {
      const answer = await fetch(path, { headers: { accept: "application/json" } });
      const body = await answer.text();
      if (answer.ok) return JSON.parse(body);
      sourceWords.textContent = errorWords(body, answer.status);
    } catch {
      sourceWords.textContent = errorWords("", 0);
    }
    return null;
  }

  run.addEventListener("click", tryThem);
  stop.addEventListener("click", () => asked?.abort());
  panel.querySelector("[data-payload-add]").addEventListener("click", () => {
    for (const each of payloads) each.open(false);
    add(null).node.querySelector(".cm-content").focus();
  });
  results.addEventListener("click", (event) => {
    const button = event.target.closest("[aria-controls]");
    if (!button) return;
    const details = document.getElementById(button.getAttribute("aria-controls"));
    details.hidden = !details.hidden;
    button.setAttribute("aria-expanded", String(!details.hidden));
  });
  bind(place.querySelector("[data-payload]"));
  name();
  return { payloads: () => payloads.map((each) => each.get()), put, run: tryThem };
}
