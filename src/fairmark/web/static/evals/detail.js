// The eval's page: the chart of its runs, runs to compare, and which run is to be deleted.
import { drawCharts } from "./chart.js";

const MOST = 6;

/** Two to six of the runs: the seventh that is chosen takes the place of the first. */
export function comparing(form) {
  const button = form.querySelector("[data-compare-button]");
  const hint = form.querySelector("[data-compare-hint]");
  if (!button) return;
  let chosen = [];
  const tell = () => {
    button.disabled = chosen.length < 2;
    hint.textContent = ["Choose two to six runs to compare.", "Choose one more."][chosen.length] ?? `${chosen.length} chosen`;
  };
  form.addEventListener("change", (event) => {
    const box = event.target;
    if (box.name !== "run") return;
    chosen = chosen.filter((each) => each !== box);
    if (box.checked) chosen.push(box);
    if (chosen.length > MOST) chosen.shift().checked = false;
    tell();
  });
  for (const box of form.querySelectorAll("[name=run]:checked")) box.checked = false;
  tell();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-delete-run]");
  if (!button) return;
  const dialog = document.getElementById("delete-run");
  dialog.querySelector("form").action = button.dataset.deleteRun;
  dialog.querySelector("[data-delete-name]").textContent = button.dataset.name;
});

drawCharts();
for (const form of document.querySelectorAll("[data-compare]")) comparing(form);
