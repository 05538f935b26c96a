// Audit mine: drop a file, follow the audit, open its report.
import { follow, stop, upload } from "./server.js";
import { find, made, table } from "./words.js";

const ENDINGS = [".npz", ".csv", ".zip"];

export class Audit {
  constructor(go, complain) {
    Object.assign(this, { go, complain, followed: null, leave: () => {} });
    this.root = find("#audit");
  }

  // `run`: the audit in the address, which a reload goes on following.
  async show({ run }) {
    if (!this.file) this.#page();
    if (run && run !== this.followed) this.#follow(run);
  }

  #page() {
    this.file = made("input", { type: "file", id: "file", accept: ENDINGS.join(","), onchange: () => this.#take(this.file.files[0]) });
    this.label = made("input", { type: "text", id: "label", maxlength: "100", placeholder: "label, class, target or y" });
    this.minutes = made("select", { id: "minutes" }, ...["1", "2", "5", "15"].map((each) => made("option", { value: each, selected: each === "2" }, each)));
    this.place = made(
      "div",
      { class: "drop", ondragover: () => this.place.classList.add("over"), ondragleave: () => this.place.classList.remove("over"), ondrop: (e) => this.#dropped(e) },
      made("p", {}, made("strong", {}, "Drop a file here"), ", or choose one: "),
      made("label", { for: "file", class: "file" }, "A file (.npz, .csv, .zip)"),
      this.file
    );
    this.told = made("section", { class: "told", "aria-live": "polite" });
    this.root.replaceChildren(
      made("h1", {}, "Would these priors help on your data?"),
      made("p", { class: "lead" }, "Arrays in an .npz (X and y), a table in a .csv with a column of labels, or a .zip with a folder of images per class. Nothing leaves this machine; the copy of the file is deleted when the audit ends."),
      made("div", { class: "filters" }, made("span", {}, made("label", { for: "label" }, "Labels are in"), this.label), made("span", {}, made("label", { for: "minutes" }, "Minutes"), this.minutes)),
      this.place,
      this.told
    );
  }

  #dropped(event) {
    this.place.classList.remove("over");
    if (event.dataTransfer.files.length) this.#take(event.dataTransfer.files[0]);
  }

  async #take(file) {
    if (!file) return;
    this.complain("");
    const ending = file.name.slice(file.name.lastIndexOf(".")).toLowerCase();
    if (!ENDINGS.includes(ending)) return this.complain(`${file.name} was given; give a file that ends in ${ENDINGS.join(", ")}.`);
    const query = new URLSearchParams({ kind: ending.slice(1), name: file.name.slice(0, 100), minutes: this.minutes.value });
    if (this.label.value) query.set("label", this.label.value);
    this.told.replaceChildren(made("p", {}, `Sending ${file.name} …`));
    try {
      const { id } = await upload(file, query);
      this.#follow(id);
      if (!this.root.hidden) await this.go(new URLSearchParams({ tab: "audit", run: id }).toString());
    } catch (error) {
      this.told.replaceChildren();
      this.complain(error.message);
    } finally {
      this.file.value = "";
    }
  }

  #follow(id) {
    this.leave();
    this.followed = id;
    const halt = made("button", { type: "button", onclick: () => stop(id).catch((error) => this.complain(error.message)) }, "Stop");
    const body = made("div");
    this.told.replaceChildren(body, halt); // the button stays where it is: one that is put in anew loses a click
    const over = (sentence) => sentence && this.complain(sentence);
    this.leave = follow(id, (view) => this.#tell(id, view, body, halt), over, { gone: "There is no such audit any more; send the file again." });
  }

  #tell(id, view, body, halt) {
    halt.hidden = ["refused", "ended", "stopped"].includes(view.status);
    const parts = [made("h2", {}, view.title)];
    if (view.status === "refused") {
      this.complain(view.sentence);
      parts.push(made("p", {}, "The audit has ended without an answer."));
    } else if (view.status === "ended") {
      parts.push(made("p", {}, made("a", { class: "primary", href: `api/audits/${id}/report`, target: "_blank", rel: "noopener" }, "Open the report")));
    } else if (view.status === "stopped") {
      parts.push(made("p", {}, "Stopped."));
    } else {
      parts.push(made("progress", { max: "1", value: String(view.fraction), "aria-label": "This phase" }), made("p", { role: "status" }, view.said));
    }
    parts.push(...view.lead.map((sentence) => made("p", { class: "lead" }, sentence)));
    if (view.savings.length) parts.push(table(["prior", "saves a factor of", "verdict"], view.savings.map((line) => line.map((cell) => cell || "–"))));
    body.replaceChildren(...parts);
  }
}
