// Tabs and addresses: the whole state is in the address, so reload, back and sharing work.
import { Breaking } from "./breaking.js";
import { Audit } from "./audit.js";
import { useDark } from "./chart.js";
import { questions, saved } from "./server.js";
import { copy, find } from "./words.js";
import { Worth } from "./worth.js";

const TABS = saved ? ["break"] : ["break", "worth", "audit"];
const problem = find("#problem");
const complain = (sentence) => {
  problem.textContent = sentence;
  problem.hidden = !sentence;
};

const read = () => (saved ? location.hash.slice(1) || saved.first : location.search.slice(1));
const write = (address, push) => {
  const url = saved ? `#${address}` : `${location.pathname}${address ? `?${address}` : ""}`;
  history[push ? "pushState" : "replaceState"](null, "", url);
};

const about = await questions();
useDark(about.dark);

let rooms = {};
const left = Object.fromEntries(TABS.map((name) => [name, `tab=${name}`])); // where each tab was left
const show = async (address, run) => {
  const settings = Object.fromEntries(new URLSearchParams(address));
  const tab = TABS.includes(settings.tab) ? settings.tab : TABS[0];
  if (address) left[tab] = address;
  for (const name of TABS) {
    find(`#${name}`).hidden = name !== tab;
    const button = find(`#tab-${name}`);
    button.setAttribute("aria-selected", name === tab);
    button.tabIndex = name === tab ? 0 : -1;
  }
  for (const id of ["#save"]) find(id).hidden = Boolean(saved) || tab !== "break";
  complain("");
  try {
    await rooms[tab].show(settings, run);
  } catch (error) {
    complain(error.message);
    if (tab === TABS[0]) await rooms.break.undo();
  }
  document.body.dataset.ready = "yes";
};

const go = (address, run = false) => {
  if (address !== read()) write(address, true);
  return show(address, run);
};

rooms = { break: new Breaking(about, go, complain), worth: new Worth(go, (address) => write(address, false), complain), audit: new Audit(go, complain) };

for (const name of TABS) {
  const button = find(`#tab-${name}`);
  button.addEventListener("click", () => go(left[name]));
  button.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = find(`#tab-${TABS[(TABS.indexOf(name) + step + TABS.length) % TABS.length]}`);
    next.focus();
    next.click();
  });
}
find("#share").addEventListener("click", (event) => copy(location.href, event.target));
find("#save").addEventListener("click", () => {
  location.assign(`api/saved?${rooms.break.view.address}`);
});
if (saved) for (const name of ["worth", "audit"]) find(`#tab-${name}`).remove(); // they need the server
// A file that misses its place must not take the page's place.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
addEventListener(saved ? "hashchange" : "popstate", () => show(read(), false));
await show(read(), false);
