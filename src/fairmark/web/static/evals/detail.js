// The eval's page: the chart of its runs, two runs to compare, and which run is to be deleted.
import uPlot from "../vendor/uplot.js";

const percent = (share) => (share === null ? "–" : `${Math.round(share * 1000) / 10}%`);
const element = (name, className, text = "") => Object.assign(document.createElement(name), { className, textContent: text });

/** Draws again from scratch with every change of colours: uPlot paints on a canvas, which knows no style sheet. */
function drawChart(host) {
  const { runs, lines } = JSON.parse(host.dataset.chart);
  const plot = host.querySelector("[data-chart-plot]");
  const legend = host.querySelector("[data-chart-legend]");
  const tip = host.querySelector("[data-chart-tip]");
  const hidden = new Set();
  // The whole comes last, and so lies above the criteria.
  const drawn = [...lines.keys()].slice(1).concat(0);
  let chart = null;

  const colour = (name) => getComputedStyle(host).getPropertyValue(name).trim();
  // A custom property is a text; asked for as a colour it is one that a canvas understands.
  const paint = (name) => {
    const probe = element("span", "");
    probe.style.color = `var(${name})`;
    host.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  const lineColour = (index) => paint(`--chart-${index}`);

  function showTip(index) {
    const run = runs[index];
    tip.replaceChildren(element("strong", "chart__tip-name", run.name), element("span", "chart__tip-when", when(run)));
    lines.forEach((line, at) => {
      if (hidden.has(at)) return;
      const row = element("span", "chart__tip-line");
      const dot = element("i", "chart__dot");
      dot.style.background = `var(--chart-${at})`;
      row.append(dot, element("span", "chart__tip-label", line.name), element("b", "", percent(line.rates[index])));
      tip.append(row);
    });
    tip.hidden = false;
    const left = chart.valToPos(index, "x") + chart.over.offsetLeft;
    const room = plot.clientWidth - tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(room, left > plot.clientWidth / 2 ? left - tip.offsetWidth - 14 : left + 14))}px`;
    tip.style.top = `${plot.offsetTop + 8}px`;
  }

  const when = (run) => {
    const date = new Date(run.at * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    const errors = run.errors ? `, ${run.errors} not graded` : "";
    return `${date} · ${run.rows.toLocaleString()} ${run.rows === 1 ? "row" : "rows"}${errors}`;
  };

  function draw() {
    chart?.destroy();
    const ink = paint("--ink-3");
    const grid = paint("--line");
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: `12px ${colour("--font")}` };
    const few = runs.length <= 40;
    chart = new uPlot(
      {
        width: plot.clientWidth,
        height: plot.clientHeight,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 8, width: 2, fill: (self, at) => self.series[at].stroke(self, at) } },
        scales: { x: { time: false, range: [-0.35, Math.max(0.65, runs.length - 0.65)] }, y: { range: [0, 1.02] } },
        axes: [
          {
            ...axis,
            size: 30,
            grid: { show: false },
            splits: () => labelled(runs.length, plot.clientWidth),
            values: (_, splits) => splits.map((at) => `${runs[at].number}`),
          },
          { ...axis, size: 46, splits: () => [0, 0.25, 0.5, 0.75, 1], values: (_, splits) => splits.map((at) => `${at * 100}%`) },
        ],
        series: [
          {},
          ...drawn.map((at) => ({
            label: lines[at].name,
            show: !hidden.has(at),
            stroke: lineColour(at),
            width: at ? 1.5 : 2.5,
            dash: at ? [5, 4] : undefined,
            spanGaps: true,
            points: { show: few, size: at ? 5 : 7, fill: at ? paint("--surface") : lineColour(at) },
          })),
        ],
        hooks: {
          setCursor: [
            (self) => {
              const at = self.cursor.idx;
              if (at === null || at === undefined || self.cursor.left < 0) tip.hidden = true;
              else showTip(at);
            },
          ],
        },
      },
      [runs.map((_, at) => at), ...drawn.map((at) => lines[at].rates)],
      plot,
    );
    chart.over.addEventListener("click", () => {
      if (chart.cursor.idx !== null) location.assign(runs[chart.cursor.idx].path);
    });
  }

  lines.forEach((line, at) => {
    const entry = element("li", "");
    const button = element("button", "chart__series");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    const dot = element("i", at ? "chart__dot chart__dot--dashed" : "chart__dot");
    dot.style.setProperty("--dot", `var(--chart-${at})`);
    button.append(dot, element("span", "", line.name), element("b", "", percent(line.rates.at(-1))));
    button.addEventListener("click", () => {
      if (!hidden.delete(at)) hidden.add(at);
      button.setAttribute("aria-pressed", String(!hidden.has(at)));
      chart.setSeries(drawn.indexOf(at) + 1, { show: !hidden.has(at) });
    });
    entry.append(button);
    legend.append(entry);
  });

  draw();
  new ResizeObserver(() => {
    if (plot.clientWidth !== chart.width || plot.clientHeight !== chart.height) {
      chart.setSize({ width: plot.clientWidth, height: plot.clientHeight });
    }
  }).observe(plot);
  document.addEventListener("fairmark:theme", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

/** Which runs have their number below the line: all where there is room, else every so many, and the last. */
function labelled(count, width) {
  const step = Math.max(1, Math.ceil((count * 34) / Math.max(1, width)));
  const found = [];
  for (let at = count - 1; at >= 0; at -= step) found.unshift(at);
  return found;
}

/** Two of the runs: the third that is chosen takes the place of the first. */
function comparing(form) {
  const button = form.querySelector("[data-compare-button]");
  const hint = form.querySelector("[data-compare-hint]");
  if (!button) return;
  let chosen = [];
  const tell = () => {
    button.disabled = chosen.length !== 2;
    hint.textContent = ["Choose two runs to compare.", "Choose one more.", ""][chosen.length];
  };
  form.addEventListener("change", (event) => {
    const box = event.target;
    if (box.name !== "run") return;
    chosen = chosen.filter((each) => each !== box);
    if (box.checked) chosen.push(box);
    if (chosen.length > 2) chosen.shift().checked = false;
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

for (const host of document.querySelectorAll("[data-chart]")) drawChart(host);
for (const form of document.querySelectorAll("[data-compare]")) comparing(form);
