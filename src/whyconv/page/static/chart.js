// A chart whose rows come later: the definition is drawn once, its tables are replaced.
import { made } from "./words.js";

const night = matchMedia("(prefers-color-scheme: dark)");
let dark = { config: {}, colours: {} };
export const useDark = (found) => (dark = found);

const themed = (spec) => {
  const plain = { ...spec, background: "transparent" };
  if (!night.matches) return plain;
  const text = JSON.stringify({ ...plain, config: { ...dark.config, background: "transparent" } });
  return JSON.parse(text.replace(/#[0-9A-Fa-f]{6}\b/g, (colour) => dark.colours[colour] ?? colour));
};

const vega = () =>
  window.vegaEmbed
    ? Promise.resolve(window.vegaEmbed)
    : import("./vega.js").then(() => window.vegaEmbed);

// Vega reads expressions with its interpreter (ast), so the page's policy can forbid that text becomes code.
const options = () => ({
  actions: false, renderer: "svg", ast: true, defaultStyle: false,
  tooltip: { theme: night.matches ? "dark" : "light" },
});

// Fill `place` with the networks of a chart; pressing some shows these alone in all `views`.
const legend = (place, spec, views) => {
  const single = (button) => {
    button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
    const shown = [...place.querySelectorAll("[aria-pressed=true]")].map((each) => each.textContent);
    for (const view of views) view.signal("shown", shown).runAsync();
  };
  const buttons = (spec.usermeta?.whyconv?.arms ?? []).map((arm) => {
    const mark = made("span", { class: `mark ${arm.shape}`, "aria-hidden": "true" });
    const line = made("span", { class: arm.dash[1] ? "line dashed" : "line", "aria-hidden": "true" }, mark);
    line.style.setProperty("--tone", night.matches ? dark.colours[arm.color] ?? arm.color : arm.color);
    return made("button", { type: "button", "aria-pressed": "false", onclick: (e) => single(e.currentTarget) }, line, arm.name);
  });
  place.replaceChildren(...buttons);
};

export class Chart {
  constructor(slot, legend) {
    this.slot = slot;
    this.legend = legend;
    this.drawn = null;
    night.addEventListener("change", () => this.chart && this.#draw(this.chart));
  }

  // Show a chart {id, spec, print, data}; one with the same id only gets other rows.
  async show(chart) {
    const began = performance.now();
    this.chart = { ...this.chart, ...chart };
    if (this.drawn?.id === chart.id) {
      for (const [name, rows] of Object.entries(chart.data)) this.drawn.view.data(name, rows);
      await this.drawn.view.runAsync();
    } else {
      await this.#draw(this.chart);
    }
    performance.measure("draw", { start: began, detail: chart.data.runs.length });
  }

  async #draw(chart) {
    const embed = await vega();
    const turn = (this.turn = Symbol());
    const spec = themed({ ...chart.spec, datasets: chart.data });
    spec.height = Math.round(Math.min(340, Math.max(220, this.slot.clientWidth * 0.55)));
    const result = await embed(this.slot, spec, options());
    if (turn !== this.turn) return result.finalize();
    this.drawn?.result.finalize();
    this.drawn = { id: chart.id, view: result.view, result };
    legend(this.legend, chart.spec, [result.view]);
  }

  // The chart as it is printed: fixed width, with title and legend, on white; `lines` stand below the title.
  async svg(lines) {
    const embed = await vega();
    const slot = made("div", { class: "aside" });
    document.body.append(slot);
    try {
      const { print, data } = this.chart;
      const title = { text: print.title, subtitle: lines };
      const result = await embed(slot, { ...print, title, datasets: data }, { ...options(), tooltip: false });
      const text = await result.view.toSVG();
      result.finalize();
      return text;
    } finally {
      slot.remove();
    }
  }
}

// Figures with their rows inside that are on the page: when the page turns dark or light, they are drawn again.
const stills = new Map();
night.addEventListener("change", () => {
  for (const [place, draw] of stills) if (place.isConnected) draw();
});

// A figure of the report with its rows inside: its panels, as wide as their column, and one legend.
export const still = async (slots, place, panels) => {
  const embed = await vega();
  const results = [];
  const draw = async () => {
    for (const each of results.splice(0)) each.finalize();
    for (const [number, spec] of panels.entries()) results.push(await embed(slots[number], themed(spec), options()));
    if (panels.length) legend(place, panels[0], results.map((each) => each.view));
  };
  for (const old of stills.keys()) if (!old.isConnected) stills.delete(old);
  stills.set(place, draw);
  await draw();
};
