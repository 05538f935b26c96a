// The controls of a question: a switch beside the prior it breaks, sliders with a few values.
import { made } from "./words.js";

const breaks = (knob) => (knob.breaks ? made("span", { class: "breaks" }, `breaks ${knob.breaks}`) : null);

// `open(value)`: whether a choice leads anywhere; in a saved page some do not.
const control = (knob, value, change, open) => {
  const id = `knob-${knob.name}`, help = `${id}-help`;
  const described = { id, name: knob.name, "aria-describedby": help };
  const hint = made("span", { id: help, class: "help" }, knob.help);
  if (knob.shape === "switch") {
    const box = made("input", { type: "checkbox", role: "switch", ...described, onchange: (e) => change(String(e.target.checked)) });
    box.checked = value === "true";
    box.disabled = !open(String(!box.checked));
    return made("div", { class: "knob" }, made("label", { for: id }, box, made("span", {}, knob.label), breaks(knob)), hint);
  }
  if (knob.shape === "choice") {
    const choices = knob.values.map((each, place) => made("option", { value: each, selected: each === value, disabled: !open(each) }, knob.words[place]));
    const list = made("select", { ...described, onchange: (e) => change(e.target.value) }, ...choices);
    return made("div", { class: "knob" }, made("label", { for: id }, made("span", {}, knob.label), breaks(knob)), list, hint);
  }
  const place = knob.values.indexOf(value);
  const shown = made("output", { for: id }, knob.words[place]);
  const slider = made("input", {
    type: "range", min: 0, max: knob.values.length - 1, step: 1, value: place, "aria-valuetext": knob.words[place], ...described,
    oninput: (e) => {
      shown.textContent = knob.words[e.target.value];
      e.target.setAttribute("aria-valuetext", shown.textContent);
    },
    onchange: (e) => change(knob.values[e.target.value]),
  });
  slider.disabled = !knob.values.some((each) => each !== value && open(each));
  return made("div", { class: "knob" }, made("label", { for: id }, made("span", {}, knob.label), shown), slider, hint);
};

// Fill a form with the controls of `question`; `change(name, value)` is called for each change.
export const fill = (form, questions, question, settings, { about, picture }, change, open) => {
  const focused = document.activeElement?.id;
  const tasks = questions.map((each) => made("option", { value: each.task, selected: each.task === question.task, disabled: !open("task", each.task) }, each.label));
  form.replaceChildren(
    made("div", { class: "knob" }, made("label", { for: "task" }, "Task"), made("select", { id: "task", onchange: (e) => change("task", e.target.value) }, ...tasks)),
    made("p", { class: "about" }, about),
    made("img", { class: "picture", alt: /aria-label="([^"]*)"/.exec(picture)[1], src: `data:image/svg+xml,${encodeURIComponent(picture)}` }),
    ...question.knobs.map((knob) => control(knob, settings[knob.name] ?? knob.default, (value) => change(knob.name, value), (value) => open(knob.name, value)))
  );
  if (focused) document.getElementById(focused)?.focus();
};
