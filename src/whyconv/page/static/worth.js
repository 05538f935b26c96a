// What is it worth: the table of worths of a folder, its figures, two runs side by side.
import { still } from "./chart.js";
import { compared, figures, worths } from "./server.js";
import { copy, find, made, table } from "./words.js";

export class Worth {
  constructor(go, note, complain) {
    Object.assign(this, { go, note, complain, picked: [] });
    this.root = find("#worth");
  }

  async show(settings) {
    this.settings = settings;
    this.root.replaceChildren(made("h1", {}, "What is it worth?"), made("p", { class: "status" }, "Reading the folder …"));
    const found = await worths();
    this.found = found;
    this.picked = (settings.compare ?? "").split(",").filter(Boolean);
    this.#page();
    if (this.picked.length === 2) await this.#compare();
    else if (settings.run) await this.#figures(settings.run);
  }

  #page() {
    const { runs, folder, problems } = this.found;
    const priors = [...new Set(runs.flatMap((run) => run.answers.map((answer) => answer.prior)))].sort();
    const { words = "", prior = "" } = this.settings;
    this.words = made("input", { type: "search", id: "words", value: words, oninput: () => this.#rows(), onchange: () => this.#note() });
    this.prior = made("select", { id: "prior", onchange: () => { this.#rows(); this.#note(); } }, made("option", { value: "" }, "all"), ...priors.map((each) => made("option", { value: each, selected: each === prior }, each)));
    this.body = made("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of worths" });
    this.side = made("section", { class: "figures", "aria-live": "polite" });
    this.both = made("button", { type: "button", disabled: true, onclick: () => this.go(this.#address({ compare: this.picked.join(",") })) }, "Compare two");
    this.root.replaceChildren(
      made("h1", {}, "What is it worth?"),
      made("p", { class: "lead" }, `From all rows in ${folder}: what is needed without a prior over what is needed with it. Above 1×, or above 0 points, a prior helps. Brackets are 95 % intervals.`),
      ...problems.map((sentence) => made("p", { class: "problem" }, sentence)),
      made("div", { class: "filters" }, made("span", {}, made("label", { for: "words" }, "Filter"), this.words), made("span", {}, made("label", { for: "prior" }, "Prior"), this.prior), this.both),
      this.body,
      this.side
    );
    this.#rows();
  }

  // The address of this table with its filters and what is opened below it.
  #address(opened) {
    const filters = { words: this.words.value, prior: this.prior.value };
    const parts = Object.entries({ tab: "worth", ...filters, ...opened }).filter(([, value]) => value);
    return new URLSearchParams(parts).toString();
  }

  // The table stays as it is: leaving the filter by a click on a line must not take that line away.
  #note() {
    const { run = "", compare = "" } = this.settings;
    this.note(this.#address({ run, compare }));
  }

  #rows() {
    const words = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const lines = [];
    for (const run of this.found.runs)
      for (const answer of run.answers) {
        const text = `${answer.prior} ${answer.worth} ${answer.range} ${answer.data} ${run.study} ${run.settings}`.toLowerCase();
        if (this.prior.value && answer.prior !== this.prior.value) continue;
        if (!words.every((word) => text.includes(word))) continue;
        const box = made("input", { type: "checkbox", "aria-label": `Compare run ${run.number}, ${run.study}`, onchange: (e) => this.#pick(run.number, e.target.checked) });
        box.checked = this.picked.includes(run.number);
        const open = made("button", { type: "button", class: "link", onclick: () => this.go(this.#address({ run: run.number })) }, run.study);
        lines.push([answer.prior, answer.worth, answer.unit, answer.range, answer.data, run.settings, open, box]);
      }
    const head = ["prior", "worth", "in", "where", "data", "settings", "figure", "compare"];
    const nothing = made("p", {}, "No answer here yet. Run something on the first tab, or whyconv run brutzkus.fig3a.");
    this.both.disabled = this.picked.length !== 2;
    this.body.replaceChildren(lines.length ? table(head, lines, { class: "cards" }) : nothing);
  }

  #pick(number, on) {
    this.picked = this.picked.filter((each) => each !== number);
    if (on) this.picked = [...this.picked, number].slice(-2);
    this.#rows();
  }

  async #compare() {
    try {
      const found = await compared(...this.picked);
      this.side.replaceChildren(made("h2", {}, "Side by side"), made("div", { class: "scroll", tabindex: "0" }, table(found.head, found.lines)));
      this.side.scrollIntoView();
    } catch (error) {
      this.complain(error.message);
    }
  }

  async #figures(number) {
    const found = await figures(number);
    const command = () => {
      const button = made("button", { type: "button", onclick: (e) => copy(found.command, e.target) }, "Copy");
      return made("div", { class: "command" }, made("p", {}, "The same trials from the command line"), made("code", {}, found.command), button);
    };
    const drawing = (place) => made("a", { href: `api/worths/${encodeURIComponent(number)}/${place}.svg`, download: "" }, "SVG for slides");
    this.side.replaceChildren(
      made("h2", {}, found.title),
      ...found.sentences.map((sentence) => made("p", {}, sentence)),
      ...found.figures.map((figure, place) =>
        made(
          "figure",
          {},
          made("figcaption", {}, made("h3", {}, figure.title)),
          made("div", { class: "legend", role: "group", "aria-label": "Networks; press to show some alone" }),
          ...figure.panels.map(() => made("div", { class: "chart" })),
          made("p", {}, drawing(place)),
          command()
        )
      ),
      ...(found.figures.length ? [] : [command()])
    );
    for (const [place, figure] of [...this.side.querySelectorAll("figure")].entries())
      await still([...figure.querySelectorAll(".chart")], find(".legend", figure), found.figures[place].panels);
    this.side.scrollIntoView();
  }
}
