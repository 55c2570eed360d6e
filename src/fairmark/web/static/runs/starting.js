// Starting a run: a file by drop or choice, a look at its first rows, and its way to the server.
import { csrfHeaders, errorWords } from "../frame/fairmark.js";
import { setPairs } from "../frame/pairs.js";
import { mountPasting } from "../frame/pasting.js";

const form = document.querySelector("[data-new-run]");
const drop = form.querySelector("[data-drop]");
const words = form.querySelector("[data-drop-words]");
const input = form.querySelector("[name=file]");
const stored = form.querySelector("[name=file_id]");
const place = form.querySelector("[data-preview-place]");
const progress = form.querySelector("[data-progress]");
const submit = form.querySelector("[type=submit]");
const invitation = [...words.childNodes];

const size = (bytes) => {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
};

/** Only what is asked of a model is required where a model is asked. */
function showAnswers() {
  const asks = form.elements.answers.value === "model";
  const isWhole = Boolean(form.elements.messages.value.trim());
  for (const field of form.querySelectorAll("[data-answers]")) field.required = asks && !(isWhole && field.name === "prompt");
}

function showFile() {
  const [file] = input.files;
  drop.classList.toggle("new-run__drop--full", Boolean(file));
  if (!file) {
    words.replaceChildren(...invitation);
    return;
  }
  const name = Object.assign(document.createElement("strong"), { textContent: file.name, className: "break" });
  const detail = Object.assign(document.createElement("span"), { textContent: ` ${size(file.size)} `, className: "muted" });
  const other = Object.assign(document.createElement("label"), { textContent: "Choose another", htmlFor: input.id, className: "new-run__pick" });
  words.replaceChildren(name, detail, other);
}

/** Says what is wrong at its field, and nothing at the others. */
function showErrors(errors) {
  for (const shown of form.querySelectorAll("[data-script-error]")) shown.remove();
  for (const each of form.querySelectorAll("[data-error]")) each.hidden = true;
  for (const each of form.querySelectorAll(".field--wrong")) each.classList.remove("field--wrong");
  for (const [at, message] of Object.entries(errors)) {
    const known = form.querySelector(`[data-error="${at}"]`);
    if (known) {
      (known.querySelector("span") ?? known).textContent = message;
      known.hidden = false;
      known.scrollIntoView({ block: "center" });
      continue;
    }
    const field = at === "metadata" ? form.querySelector("[data-pairs] input") : form.elements[at];
    const shown = Object.assign(document.createElement("p"), { className: "field__error", textContent: message, id: `error-${at}` });
    shown.dataset.scriptError = "";
    shown.setAttribute("role", "alert");
    field.closest(".field, .pairs").append(shown);
    field.closest(".field, .pairs").classList.add("field--wrong");
    const disclosure = field.closest("details");
    if (disclosure) disclosure.open = true;
    field.setAttribute("aria-describedby", shown.id);
    field.focus();
  }
}

let asked = 0;

/** The server reads the first rows, as it will read all of them. */
async function look() {
  const turn = ++asked;
  const [file] = input.files;
  if (!file && !stored?.value) {
    place.replaceChildren();
    return;
  }
  const body = new FormData();
  const bytes = Number(form.dataset.previewBytes);
  if (file) {
    body.append("start", file.slice(0, bytes), "start");
    body.append("name", file.name);
    body.append("is_part", String(file.size > bytes));
  } else {
    body.append("file_id", stored.value);
  }
  body.append("answers", form.elements.answers.value);
  body.append("prompt", form.elements.prompt.value);
  for (const each of place.querySelectorAll("[name^=map]")) if (each.value) body.append(each.name, each.value);
  place.setAttribute("aria-busy", "true");
  let shown;
  try {
    const answer = await fetch(form.dataset.preview, { method: "POST", body, headers: csrfHeaders() });
    const text = await answer.text();
    shown = answer.ok ? text : null;
    if (!answer.ok && turn === asked) showErrors({ file: errorWords(text, answer.status) });
  } catch {
    if (turn === asked) showErrors({ file: file ? "The file cannot be read. Was it moved or changed?" : errorWords("", 0) });
  }
  if (turn !== asked) return;
  place.removeAttribute("aria-busy");
  // The server escapes what the file says.
  const at = place.contains(document.activeElement) ? document.activeElement.id : "";
  if (shown === undefined || shown === null) place.replaceChildren();
  else place.innerHTML = shown;
  if (at) document.getElementById(at)?.focus();
}
place.addEventListener("change", (event) => {
  if (event.target.matches("[name^=map]")) look();
});

// ---- What is asked of a model, checked while somebody types

const CHECK_AFTER_MS = 350;
let timer = 0;
let checks = 0;
const CHECKED = "#field-model, #field-prompt, #field-messages, #field-parameters, #field-temperature, #field-top_p, #field-max_tokens, #field-seed";

async function check() {
  const turn = ++checks;
  const body = new FormData(form);
  body.delete("file");
  let errors;
  try {
    const answer = await fetch(form.dataset.check, { method: "POST", body: new URLSearchParams(body), headers: { accept: "application/json", ...csrfHeaders() } });
    if (!answer.ok) return; // it is told when the run is started
    ({ errors } = await answer.json());
  } catch {
    return;
  }
  if (turn !== checks) return;
  for (const field of form.querySelectorAll(CHECKED)) tellAt(field, errors[field.name]);
}

/** A word below a field, or none. */
function tellAt(field, message) {
  const host = field.closest(".field");
  host.querySelector("[data-typed]")?.remove();
  host.classList.toggle("field--wrong", Boolean(message));
  field.toggleAttribute("aria-invalid", Boolean(message));
  if (!message) return;
  const shown = Object.assign(document.createElement("p"), { className: "field__error", textContent: message, id: `typed-${field.name}` });
  shown.dataset.typed = "";
  shown.setAttribute("role", "status");
  field.setAttribute("aria-describedby", shown.id);
  host.append(shown);
}

form.addEventListener("input", (event) => {
  if (!event.target.matches(CHECKED)) return;
  clearTimeout(timer);
  timer = setTimeout(check, CHECK_AFTER_MS);
  if (event.target.name === "messages") showAnswers();
});

function choose(files) {
  if (files) input.files = files;
  if (stored && input.files.length) stored.value = "";
  showErrors({});
  showFile();
  look();
}

for (const kind of ["dragenter", "dragover"]) {
  drop.addEventListener(kind, (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    drop.classList.add("drop--over");
  });
}
for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("drop--over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  const { files } = event.dataTransfer;
  if (files.length > 1) showErrors({ file: `These are ${files.length} files. A run takes one.` });
  else if (files.length) choose(files);
});
// A file that misses the place must not make the browser leave the page.
for (const kind of ["dragover", "drop"]) {
  addEventListener(kind, (event) => {
    if (!drop.contains(event.target)) event.preventDefault();
  });
}

input.addEventListener("change", () => choose(null));
stored?.addEventListener("change", () => {
  if (stored.value) input.value = "";
  choose(null);
});
for (const each of form.elements.answers) {
  each.addEventListener("change", () => {
    showAnswers();
    look();
  });
}
form.elements.prompt.addEventListener("change", look);

form.addEventListener("submit", (event) => {
  event.preventDefault();
  showErrors({});
  const [file] = input.files;
  const request = new XMLHttpRequest();
  const bar = progress.querySelector("progress");
  const label = progress.querySelector("[data-progress-words]");
  const done = (errors) => {
    submit.disabled = false;
    progress.hidden = true;
    showErrors(errors);
  };
  request.open("POST", form.action);
  request.setRequestHeader("accept", "application/json");
  for (const [name, value] of Object.entries(csrfHeaders())) request.setRequestHeader(name, value);
  request.upload.addEventListener("progress", (sent) => {
    bar.value = sent.total ? sent.loaded / sent.total : 1;
    label.textContent = sent.loaded < sent.total ? `Uploading ${file?.name ?? ""}: ${Math.floor(bar.value * 100)}%` : "Reading the rows";
  });
  request.addEventListener("error", () => done({ form: file ? "The upload broke off. Was the file changed, or is the server gone?" : errorWords("", 0) }));
  request.addEventListener("load", () => {
    let found = null;
    try {
      found = JSON.parse(request.responseText);
    } catch {
      // Told below.
    }
    if (found?.to) location.assign(found.to);
    else done(found?.errors ?? { form: errorWords(request.responseText, request.status) });
  });
  submit.disabled = true;
  progress.hidden = false;
  bar.value = 0;
  label.textContent = "Uploading";
  request.send(new FormData(form));
});

mountPasting(document.querySelector("[data-paste]"), async ({ fields, rows, metadata, words: told }) => {
  let more = "";
  for (const [name, value] of Object.entries(fields)) {
    const field = form.elements.namedItem(name);
    if (!field || !value) continue;
    if (name === "file_id" && ![...field.options].some((each) => each.value === value)) more = ` The file ${value} is not on this server.`;
    else field.value = value;
  }
  if (fields.file_id && !stored) more = ` The file ${fields.file_id} is not on this server.`;
  for (const each of form.querySelectorAll("details.fold")) {
    const isFilled = [...each.querySelectorAll("input, textarea, select")].some((field) => fields[field.name]);
    if (isFilled || (metadata.length && each.querySelector("[data-pairs]"))) each.open = true;
  }
  if (metadata.length) setPairs(form.querySelector("[data-pairs]"), metadata);
  showAnswers();
  if (rows) {
    const files = new DataTransfer();
    files.items.add(new File([rows], "pasted.jsonl", { type: "application/jsonl" }));
    choose(files.files);
  } else {
    look();
  }
  check();
  return told + more;
});

showAnswers();
showFile();
if (input.files.length || stored?.value) look();
