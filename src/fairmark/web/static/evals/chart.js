// Runs as lines over time: what is drawn can be chosen, lines can be hidden, and a click opens a run.
import uPlot from "../vendor/uplot.js";

const percent = (share) => `${Math.round(share * 1000) / 10}%`;
const element = (name, className, text = "") => Object.assign(document.createElement(name), { className, textContent: text });

const WORDS = {
  share: percent,
  reward: (value) => `${Math.round(value * 1000) / 1000}`,
  money: (value) => `$${value < 0.01 && value > 0 ? value.toPrecision(2) : value.toFixed(2)}`,
  seconds: (value) => (value < 1 ? `${Math.round(value * 1000)} ms` : `${Math.round(value * 10) / 10} s`),
};
const words = (unit, value) => (value === null || value === undefined ? "–" : WORDS[unit](value));

/** Draws again from scratch with every change of colours: uPlot paints on a canvas, which knows no style sheet. */
function drawChart(host) {
  const { runs, measures } = JSON.parse(host.dataset.chart);
  const select = host.querySelector("[data-chart-measure]");
  let { unit, lines } = measures[0];
  const plot = host.querySelector("[data-chart-plot]");
  const legend = host.querySelector("[data-chart-legend]");
  const tip = host.querySelector("[data-chart-tip]");
  const hidden = new Set();
  let drawn = [];
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
      row.append(dot, element("span", "chart__tip-label", line.name), element("b", "", words(unit, line.values[index])));
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

  /** Below each run its name, where there is room for names. */
  const named = () => plot.clientWidth / runs.length >= 110;
  // Shares of 1 have the same height on every page; what has no end begins at 0 too, unless it goes below.
  const scale = (_, low, high) => (unit === "share" ? [0, 1.02] : [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.08 : 1]);

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
        scales: { x: { time: false, range: [-0.35, Math.max(0.65, runs.length - 0.65)] }, y: { range: scale } },
        axes: [
          {
            ...axis,
            size: named() ? 46 : 30,
            grid: { show: false },
            splits: () => labelled(runs.length, plot.clientWidth),
            values: (_, splits) => splits.map((at, index) => below(runs[at], runs[splits[index - 1]], named())),
          },
          { ...axis, size: 58, ...(unit === "share" ? { splits: () => [0, 0.25, 0.5, 0.75, 1] } : {}), values: (_, splits) => splits.map((at) => words(unit, at)) },
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
      [runs.map((_, at) => at), ...drawn.map((at) => lines[at].values)],
      plot,
    );
    chart.over.addEventListener("click", () => {
      if (chart.cursor.idx !== null) location.assign(runs[chart.cursor.idx].path);
    });
  }

  function list() {
    legend.replaceChildren();
    lines.forEach((line, at) => {
      const entry = element("li", "");
      const button = element("button", "chart__series");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      const dot = element("i", at ? "chart__dot chart__dot--dashed" : "chart__dot");
      dot.style.setProperty("--dot", `var(--chart-${at})`);
      button.append(dot, element("span", "", line.name), element("b", "", words(unit, line.values.at(-1))));
      button.addEventListener("click", () => {
        if (!hidden.delete(at)) hidden.add(at);
        button.setAttribute("aria-pressed", String(!hidden.has(at)));
        chart.setSeries(drawn.indexOf(at) + 1, { show: !hidden.has(at) });
      });
      entry.append(button);
      legend.append(entry);
    });
  }

  function show(measure) {
    ({ unit, lines } = measures[measure]);
    hidden.clear();
    // The whole comes last, and so lies above the criteria.
    drawn = [...lines.keys()].slice(1).concat(0);
    tip.hidden = true;
    list();
    draw();
  }

  select?.addEventListener("change", () => show(Number(select.value)));
  show(Number(select?.value ?? 0));
  new ResizeObserver(() => {
    if (plot.clientWidth !== chart.width || plot.clientHeight !== chart.height) {
      chart.setSize({ width: plot.clientWidth, height: plot.clientHeight });
    }
  }).observe(plot);
  document.addEventListener("fairmark:theme", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

/** Which runs have their date below the line: all where there is room, else every so many, and the last. */
export function labelled(count, width) {
  const step = Math.max(1, Math.ceil((count * 64) / Math.max(1, width)));
  const found = [];
  for (let at = count - 1; at >= 0; at -= step) found.unshift(at);
  return found;
}

/** What stands below a run: its date, or its time where the one before is of the same day; and its name. */
export function below(run, before, withName) {
  const date = new Date(run.at * 1000);
  const isSameDay = before && new Date(before.at * 1000).toDateString() === date.toDateString();
  const when = isSameDay ? date.toLocaleTimeString(undefined, { timeStyle: "short" }) : date.toLocaleDateString(undefined, { day: "numeric", month: "short" });
  if (!withName) return when;
  const letters = [...run.name];
  return `${when}\n${letters.length > 16 ? `${letters.slice(0, 15).join("")}…` : run.name}`;
}

export function drawCharts() {
  for (const host of document.querySelectorAll("[data-chart]")) drawChart(host);
}
