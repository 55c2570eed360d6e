// Rows of a key and a value: more of them, fewer of them.

for (const editor of document.querySelectorAll("[data-pairs]")) {
  const rows = editor.querySelector("[data-pairs-rows]");
  const add = editor.querySelector("[data-pair-add]");
  const most = Number(editor.dataset.pairs);
  const all = () => [...rows.querySelectorAll("[data-pair]")];

  const clear = (row) => {
    for (const input of row.querySelectorAll("input")) input.value = "";
  };
  const count = () => {
    add.disabled = all().length >= most;
  };

  add.addEventListener("click", () => {
    const row = all().at(-1).cloneNode(true);
    clear(row);
    rows.append(row);
    row.querySelector("input").focus();
    count();
  });
  rows.addEventListener("click", (event) => {
    const row = event.target.closest("[data-pair-remove]")?.closest("[data-pair]");
    if (!row) return;
    const next = row.nextElementSibling ?? row.previousElementSibling;
    if (next) row.remove();
    else clear(row);
    (next ?? row).querySelector("input").focus();
    count();
  });
  count();
}

/** Other pairs in place of those that are there: [[key, value]]. */
export function setPairs(editor, pairs) {
  const rows = editor.querySelector("[data-pairs-rows]");
  const empty = rows.querySelector("[data-pair]").cloneNode(true);
  rows.replaceChildren(
    ...pairs.map(([key, value]) => {
      const row = empty.cloneNode(true);
      const [name, text] = row.querySelectorAll("input");
      name.value = key;
      text.value = value;
      return row;
    }),
  );
  editor.querySelector("[data-pair-add]").disabled = pairs.length >= Number(editor.dataset.pairs);
}
