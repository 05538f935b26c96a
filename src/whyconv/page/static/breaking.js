// Break the prior: settings, headline, figure, run.
import { Chart } from "./chart.js";
import { fill } from "./controls.js";
import { ask, follow, known, possible, saved, stop } from "./server.js";
import { copy, download, find, made, table } from "./words.js";

const asText = ({ tab, ...settings }) => JSON.stringify(Object.entries(settings).sort());
const unseeded = ({ seeds, task = "", ...settings }) => asText({ ...settings, task });
const POINT = "The point of this story";
const SIGNS = { helps: "▲", costs: "▼", same: "=", open: "?" };

export class Breaking {
  constructor(about, go, complain) {
    Object.assign(this, { about, go, complain, running: null, starting: null, address: null, view: null, before: null, settings: {} });
    this.root = find("#break");
    this.chart = new Chart(find(".chart", this.root), find(".legend", this.root));
    this.#stories();
    find("#run").addEventListener("click", () => this.run());
    find("#more").addEventListener("click", () => this.more());
    find("#stop").addEventListener("click", () => this.halt().then(() => this.#busy(false)));
    find("#svg").addEventListener("click", async () => download(await this.chart.svg(this.#told()), "image/svg+xml", `${this.view.name}.svg`));
    find(".controls", this.root).addEventListener("submit", (event) => event.preventDefault());
    find(".command button", this.root).addEventListener("click", (e) => copy(this.view.command, e.target));
    if (saved) for (const id of ["#run", "#more", "#stop"]) find(id).remove();
  }

  #stories() {
    const buttons = this.about.stories.filter((story) => possible(story.address)).map((story) =>
      made(
        "button",
        { type: "button", class: "story", "data-title": story.title, "data-address": story.address, onclick: () => this.#story(story.address) },
        made("strong", {}, story.title),
        made("span", {}, story.says)
      )
    );
    find(".stories", this.root).replaceChildren(...buttons);
  }

  #story(address) {
    this.before = null;
    return this.go(address, true);
  }

  get question() {
    return this.about.questions.find((each) => each.task === this.settings.task) ?? this.about.questions[0];
  }

  // Show the question of these settings (an object of texts); `run`: also begin what is missing.
  async show(settings, run = false) {
    if (this.running?.asked === asText(settings)) return; // back from another tab
    const turn = (this.turn = Symbol());
    this.#busy(true);
    try {
      await this.halt();
      const { tab, ...own } = settings;
      const view = await known(new URLSearchParams({ tab: "break", task: this.about.questions[0].task, ...own }).toString());
      if (turn !== this.turn) return;
      this.settings = own;
      if (this.before?.next !== unseeded(own)) this.before = null;
      this.address = view.address;
      this.#controls(view);
      await this.#view(view);
      if (saved || turn !== this.turn) return;
      await this.#resume();
      if (run && turn === this.turn && view.done < view.total) await this.run();
    } finally {
      if (turn === this.turn) this.#busy(Boolean(this.running));
    }
  }

  #busy(on) {
    this.root.setAttribute("aria-busy", on);
  }

  #controls(task) {
    this.task = task;
    const moved = (name, value) => {
      const next = name === "task" ? { task: value } : { task: this.question.task, ...this.settings, [name]: value };
      const knob = this.question.knobs.find((each) => each.name === name);
      if (knob && value === knob.default) delete next[name];
      return new URLSearchParams({ tab: "break", ...next }).toString();
    };
    const change = (name, value) => {
      const address = moved(name, value);
      this.before = name === "task" ? null : { next: unseeded(Object.fromEntries(new URLSearchParams(address))), worths: this.#known() };
      return this.go(address, true);
    };
    const open = (name, value) => possible(moved(name, value));
    fill(find(".controls", this.root), this.about.questions, this.question, this.settings, task, change, open);
    find("figcaption", this.root).replaceChildren(made("h2", {}, task.heading));
    find(".networks", this.root).replaceChildren(...this.question.networks.flatMap(([name, is]) => [made("dt", {}, name), made("dd", {}, is)]));
    find(".rule", this.root).textContent = `${this.question.rule} Source: ${this.question.source}.`;
  }

  // The controls as they were, or those of the first question: what was asked for was refused.
  async undo() {
    if (this.view) this.#controls(this.task);
    else await this.show(saved ? Object.fromEntries(new URLSearchParams(saved.first)) : {});
  }

  // Show a view, unless it is of other settings than those that the controls show.
  async #view(view) {
    if (view.address !== this.address) return;
    this.view = { ...this.view, ...view };
    for (const story of this.root.querySelectorAll(".story")) {
      const pressed = String(story.dataset.title === view.story);
      if (pressed === story.getAttribute("aria-pressed")) continue;
      story.setAttribute("aria-pressed", pressed);
      if (pressed === "true") story.parentElement.scrollLeft = story.offsetLeft - story.parentElement.offsetLeft; // on a phone they are a row
    }
    find(".numbers div", this.root).replaceChildren(table(view.table.head, view.table.lines));
    find(".command code", this.root).textContent = view.command;
    this.#status();
    await this.chart.show(view.chart);
    if (view.address === this.address) this.root.dataset.done = view.done;
  }

  // Lines that stay are left alone: a screen reader says what has changed, and not how it was measured.
  #headline(lines) {
    const place = find(".headline", this.root);
    const shown = new Map([...place.children].map((each) => [each.dataset.told, each]));
    const open = this.running ? "being measured" : this.view.done ? null : "not measured yet";
    const now = lines.map((line) => {
      const worth = line.state === "open" ? open ?? line.worth : line.worth;
      const told = `${line.prior}: ${worth}`;
      const kept = shown.get(told);
      const earlier = this.before?.worths[line.prior];
      const before = earlier ? `before: ${earlier}` : "";
      if (!kept)
        return made(
          "div",
          { class: `prior ${line.state}`, "data-prior": line.prior, "data-told": told },
          made("p", { class: "point", hidden: !line.point }, POINT),
          made("p", { class: "worth" }, made("span", { class: "sign", "aria-hidden": "true" }, SIGNS[line.state]), made("b", {}, line.prior), ": ", made("strong", {}, worth)),
          made("p", { class: "before", "aria-live": "off", hidden: !before }, before),
          made("p", { class: "says", "aria-live": "off" }, line.says)
        );
      kept.className = `prior ${line.state}`;
      find(".point", kept).hidden = !line.point;
      find(".says", kept).textContent = line.says;
      find(".before", kept).textContent = before;
      find(".before", kept).hidden = !before;
      return kept;
    });
    if (now.some((each, number) => each !== place.children[number]) || now.length !== place.children.length) place.replaceChildren(...now);
  }

  // What the headline says now, by prior: it is shown as "before" once a setting has been changed.
  #known() {
    return Object.fromEntries(this.view.headline.filter((line) => line.state !== "open").map((line) => [line.prior, line.worth]));
  }

  // What stands below the title of a figure for slides.
  #told() {
    return [...this.view.headline.map((line) => `${line.prior}: ${line.worth}`), `${this.view.seeds} seeds`];
  }

  #status() {
    const { done, total, seeds, failed, headline } = this.view;
    this.#headline(headline);
    const bar = find("progress", this.root);
    bar.max = total;
    bar.value = done;
    const open = total - done;
    let said = open ? `${done} of ${total} trials` : `all ${total} trials, ${seeds} seeds each`;
    if (failed) said += `, ${failed} failed`;
    if (this.running) said = this.waiting ? "waiting for another run to end" : `running: ${said}`;
    find(".status", this.root).ariaLive = this.running ? "off" : "polite";
    find(".status", this.root).textContent = said;
    if (saved) return;
    find("#run").hidden = Boolean(this.running) || !open;
    find("#run").textContent = done ? "Run what is missing" : "Run";
    find("#stop").hidden = !this.running;
    find("#more").disabled = seeds + this.about.more_seeds > this.about.most_seeds;
    find("#more").textContent = `Add ${this.about.more_seeds} seeds`;
  }

  async run() {
    if (this.running || this.starting === this.turn) return;
    const turn = (this.starting = this.turn);
    this.#busy(true);
    try {
      const { id } = await ask(this.settings);
      if (turn !== this.turn) {
        await stop(id).catch(() => {}); // the settings have changed meanwhile
        return;
      }
      this.#follow(id);
    } catch (error) {
      if (turn !== this.turn) return;
      this.#busy(false);
      this.complain(error.message);
    } finally {
      if (this.starting === turn) this.starting = null;
    }
  }

  // A run goes on while its tab is read anew: follow it, or stop it if the tab now shows something else.
  async #resume() {
    const { id, asked } = JSON.parse(sessionStorage.getItem("run") ?? "{}");
    if (!id || this.running) return;
    if (asked === asText(this.settings)) return this.#follow(id);
    sessionStorage.removeItem("run");
    await stop(id).catch(() => {}); // it may be of an earlier start of the server
  }

  #follow(id) {
    const run = { id, asked: asText(this.settings) };
    sessionStorage.setItem("run", JSON.stringify(run));
    this.running = run;
    this.waiting = false;
    this.#busy(true);
    this.#status();
    const each = (view) => {
      if (this.running !== run) return;
      this.waiting = view.status === "waiting";
      if (view.status === "refused") this.complain(view.sentence);
      if (view.chart) run.last = this.#view(view);
      else this.#status();
    };
    const over = async (sentence) => {
      await run.last;
      if (this.running !== run) return;
      if (sentence) this.running = null; // the connection ends when a tab is read anew, too
      else this.#ended();
      this.#busy(false);
      if (sentence) this.complain(sentence);
      this.#status();
    };
    run.leave = follow(id, each, over, { done: this.view.done });
  }

  #ended() {
    this.running = null;
    sessionStorage.removeItem("run");
  }

  async more() {
    const seeds = String(this.view.seeds + this.about.more_seeds);
    await this.go(new URLSearchParams({ tab: "break", ...this.settings, seeds }).toString(), true);
  }

  async halt() {
    const run = this.running;
    if (!run) return;
    this.#ended();
    run.leave();
    this.#status();
    await stop(run.id).catch((error) => this.complain(error.message));
  }
}
