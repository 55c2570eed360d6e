// A job's curves: rewards, what could not be graded, and how long steps took. While it goes on, new steps are asked for.
import uPlot from "../vendor/uplot.js";

const EVERY_MS = 3000;
const COLOURS = 8;
const element = (name, className, text = "") => Object.assign(document.createElement(name), { className, textContent: text });
const percent = (share) => `${Math.round(share * 1000) / 10}%`;
const plain = (value) => `${Number(value.toPrecision(4))}`;
const seconds = (value) => `${Number(value.toPrecision(3))} s`;

/** What each chart draws: its lines out of the points, by step. */
const CHARTS = {
  reward: {
    show: plain,
    lines: (points) => [
      { name: "Training", value: (point) => point.train },
      { name: "Validation", value: (point) => point.valid },
      ...partNames(points).flatMap((name) => [
        { name, isPart: true, value: (point) => partOf(point, name)?.train ?? null },
        { name: `${name}, validation`, isPart: true, value: (point) => partOf(point, name)?.valid ?? null },
      ]),
    ],
  },
  errors: {
    show: percent,
    range: [0, 1],
    lines: () => [
      { name: "Training", value: (point) => point.failed.train },
      { name: "Validation", value: (point) => point.failed.valid },
    ],
  },
  time: {
    show: seconds,
    lines: () =>
      [
        ["The whole step", "full_iteration"],
        ["Sampling", "sampling"],
        ["Training", "training"],
        ["Validation", "eval"],
      ].map(([name, key]) => ({ name, value: (point) => point.seconds[key] })),
  },
};

const partOf = (point, name) => point.parts.find((part) => part.name === name);

/** Those of a grader with parts; a grader without has one, which is the whole. */
function partNames(points) {
  const names = [...new Set(points.flatMap((point) => point.parts.map((part) => part.name)))];
  return names.length > 1 ? names : [];
}

class Chart {
  constructor(host) {
    this.host = host;
    this.kind = CHARTS[host.dataset.curves];
    this.plot = host.querySelector("[data-chart-plot]");
    this.legend = host.querySelector("[data-chart-legend]");
    this.tip = host.querySelector("[data-chart-tip]");
    this.none = host.querySelector("[data-chart-none]");
    this.hidden = new Set();
    this.points = [];
    this.lines = [];
    new ResizeObserver(() => {
      if (this.chart && (this.plot.clientWidth !== this.chart.width || this.plot.clientHeight !== this.chart.height)) {
        this.chart.setSize({ width: this.plot.clientWidth, height: this.plot.clientHeight });
      }
    }).observe(this.plot);
    document.addEventListener("fairmark:theme", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** A custom property is a text; asked for as a colour it is one that a canvas understands. */
  paint(name) {
    const probe = element("span", "");
    probe.style.color = `var(${name})`;
    this.host.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }

  take(points) {
    this.points = points;
    // A line that no point has anything for says nothing.
    this.lines = this.kind.lines(points).filter((line) => points.some((point) => line.value(point) !== null));
    const isEmpty = this.lines.length === 0;
    this.none.hidden = !isEmpty;
    this.plot.hidden = this.legend.hidden = isEmpty;
    this.writeLegend();
    this.draw();
  }

  writeLegend() {
    this.legend.replaceChildren();
    this.lines.forEach((line, at) => {
      const button = element("button", "chart__series");
      button.type = "button";
      button.setAttribute("aria-pressed", String(!this.hidden.has(line.name)));
      const dot = element("i", line.isPart ? "chart__dot chart__dot--dashed" : "chart__dot");
      dot.style.setProperty("--dot", `var(--chart-${at % COLOURS})`);
      const last = this.points.map(line.value).findLast((value) => value !== null);
      button.append(dot, element("span", "", line.name), element("b", "", this.kind.show(last)));
      button.addEventListener("click", () => {
        if (!this.hidden.delete(line.name)) this.hidden.add(line.name);
        button.setAttribute("aria-pressed", String(!this.hidden.has(line.name)));
        this.chart.setSeries(at + 1, { show: !this.hidden.has(line.name) });
      });
      const entry = element("li", "");
      entry.append(button);
      this.legend.append(entry);
    });
  }

  showTip(index) {
    const point = this.points[index];
    const total = point.total_steps ? ` of ${point.total_steps}` : "";
    this.tip.replaceChildren(element("strong", "chart__tip-name", `Step ${point.step}${total}`));
    this.lines.forEach((line, at) => {
      const value = line.value(point);
      if (this.hidden.has(line.name) || value === null) return;
      const row = element("span", "chart__tip-line");
      const dot = element("i", "chart__dot");
      dot.style.background = `var(--chart-${at % COLOURS})`;
      row.append(dot, element("span", "chart__tip-label", line.name), element("b", "", this.kind.show(value)));
      this.tip.append(row);
    });
    if (this.host.dataset.curves === "errors" && point.reason) this.tip.append(element("span", "chart__tip-when", point.reason));
    this.tip.hidden = false;
    const left = this.chart.valToPos(point.step, "x") + this.chart.over.offsetLeft;
    const room = this.plot.clientWidth - this.tip.offsetWidth;
    const beside = left > this.plot.clientWidth / 2 ? left - this.tip.offsetWidth - 14 : left + 14;
    this.tip.style.left = `${Math.max(0, Math.min(room, beside))}px`;
    this.tip.style.top = `${this.plot.offsetTop + 8}px`;
  }

  /** Draws again from scratch with every change of colours: uPlot paints on a canvas, which knows no style sheet. */
  draw() {
    this.chart?.destroy();
    this.chart = null;
    if (!this.lines.length) return;
    const font = `12px ${getComputedStyle(this.host).getPropertyValue("--font").trim()}`;
    const axis = { stroke: this.paint("--ink-3"), grid: { stroke: this.paint("--line"), width: 1 }, ticks: { show: false }, font };
    const few = this.points.length <= 60;
    const steps = this.points.map((point) => point.step);
    this.chart = new uPlot(
      {
        width: this.plot.clientWidth,
        height: this.plot.clientHeight,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        scales: {
          x: { time: false, range: (_, low, high) => [low - 0.3, Math.max(high, low + 1) + 0.3] },
          y: this.kind.range ? { range: [0, 1.02] } : {},
        },
        axes: [
          { ...axis, size: 30, grid: { show: false }, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] },
          { ...axis, size: 56, values: (_, splits) => splits.map((at) => this.kind.show(at)) },
        ],
        series: [
          {},
          ...this.lines.map((line, at) => ({
            label: line.name,
            show: !this.hidden.has(line.name),
            stroke: this.paint(`--chart-${at % COLOURS}`),
            width: line.isPart ? 1.5 : 2.5,
            dash: line.isPart ? [5, 4] : undefined,
            spanGaps: true,
            points: { show: few, size: line.isPart ? 4 : 6 },
          })),
        ],
        hooks: {
          setCursor: [
            (self) => {
              const at = self.cursor.idx;
              if (at === null || at === undefined || self.cursor.left < 0) this.tip.hidden = true;
              else this.showTip(at);
            },
          ],
        },
      },
      [steps, ...this.lines.map((line) => this.points.map(line.value))],
      this.plot,
    );
  }
}

/** Asks for what is new, again and again while the job goes on. A step that is told again takes its former's place. */
async function follow(host, charts) {
  const byStep = new Map();
  let newest = "";
  for (;;) {
    let isActive = host.dataset.curvesLive !== undefined;
    try {
      const response = await fetch(`${host.dataset.curvesPath}?after=${encodeURIComponent(newest)}`, {
        signal: AbortSignal.timeout(20_000),
      });
      if (response.ok) {
        const told = await response.json();
        newest = told.newest ?? "";
        isActive = told.is_active;
        for (const point of told.points) byStep.set(point.step, point);
        if (told.points.length || !byStep.size) {
          const points = [...byStep.values()].sort((one, other) => one.step - other.step);
          for (const chart of charts) chart.take(points);
        }
      }
    } catch {
      // The server is away for a moment, or the page is being left.
    }
    if (!isActive) return;
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

for (const host of document.querySelectorAll("[data-curves-path]")) {
  follow(
    host,
    [...host.querySelectorAll("[data-curves]")].map((one) => new Chart(one)),
  );
}
