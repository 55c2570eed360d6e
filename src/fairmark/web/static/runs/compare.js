// Comparing: another run is shown as soon as it is chosen; the runs as lines; the address to share.
import { drawCharts } from "../evals/chart.js";
import { copyText } from "../frame/fairmark.js";

const form = document.querySelector("[data-sides]");
form?.addEventListener("change", () => form.requestSubmit());
// A place that is still free is not part of the address.
form?.addEventListener("formdata", (event) => {
  for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
});
document.querySelector("[data-copy-address]")?.addEventListener("click", () => copyText(location.href));
drawCharts();
