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
    : import("/assets/vega.js").then(() => window.vegaEmbed);

// Vega reads expressions with its interpreter (ast), so the page's policy can forbid that text becomes code.
const options = () => ({
  actions: false, renderer: "svg", ast: true, defaultStyle: false,
  tooltip: { theme: night.matches ? "dark" : "light" },
});

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
    this.#legend(chart.spec.usermeta.whyconv.arms);
  }

  #legend(arms) {
    const buttons = arms.map((arm) => {
      const tone = night.matches ? dark.colours[arm.color] ?? arm.color : arm.color;
      const mark = made("span", { class: `mark ${arm.shape}`, "aria-hidden": "true" });
      mark.style.setProperty("--tone", tone);
      return made("button", { type: "button", "aria-pressed": "false", onclick: (e) => this.#single(e.currentTarget) }, mark, arm.name);
    });
    this.legend.replaceChildren(...buttons);
  }

  #single(button) {
    button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
    const shown = [...this.legend.querySelectorAll("[aria-pressed=true]")].map((each) => each.textContent);
    this.drawn.view.signal("shown", shown).runAsync();
  }

  // The chart as it is printed: fixed width, with title and legend, on white.
  async svg() {
    const embed = await vega();
    const slot = made("div", { class: "aside" });
    document.body.append(slot);
    try {
      const result = await embed(slot, { ...this.chart.print, datasets: this.chart.data }, { ...options(), tooltip: false });
      const text = await result.view.toSVG();
      result.finalize();
      return text;
    } finally {
      slot.remove();
    }
  }
}

// A chart of the report with its rows inside, as wide as its column.
export const still = async (slot, spec) => {
  const embed = await vega();
  return embed(slot, themed(spec), options());
};
