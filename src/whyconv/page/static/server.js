// The server, or what a saved page has in its place.
const kept = document.getElementById("saved");
export const saved = kept ? JSON.parse(kept.textContent) : null;
const token = document.querySelector("meta[name=token]")?.content ?? "";

// Addresses say the same in any order.
const ordered = (address) => [...new URLSearchParams(address)].map(String).sort().join("&");
const keptViews = new Map(Object.entries(saved?.views ?? {}).map(([address, view]) => [ordered(address), view]));
export const possible = (address) => !saved || keptViews.has(ordered(address));

export class Refused extends Error {}

const answer = async (response) => {
  if (response.ok) return response.status === 204 ? null : response.json();
  const text = await response.text();
  let sentence = text;
  try {
    sentence = JSON.parse(text).error;
  } catch {
    // A plain sentence.
  }
  throw new Refused(sentence || `The server answered ${response.status}.`);
};

const asked = async (path, options = {}) => {
  let response;
  try {
    response = await fetch(path, { ...options, headers: { "x-whyconv-token": token, ...options.headers } });
  } catch {
    throw new Refused("The server does not answer; start it again with whyconv page.");
  }
  return answer(response);
};

export const questions = () => (saved ? Promise.resolve(saved.questions) : asked("api/questions"));

// What is known of a question. A saved page knows only what it was saved with.
export const known = async (address) => {
  if (!saved) return asked(`api/spec?${address}`);
  const view = keptViews.get(ordered(address));
  if (!view) throw new Refused("This saved page has no rows for these settings; choose others.");
  return view;
};

export const ask = (settings) =>
  asked("api/runs", { method: "POST", body: JSON.stringify(settings), headers: { "content-type": "application/json" } });
export const stop = (id) => asked(`api/runs/${id}`, { method: "DELETE" });
export const worths = () => asked("api/worths");
export const figures = (number) => asked(`api/worths/${encodeURIComponent(number)}`);
export const compared = (first, second) => asked(`api/compare?first=${first}&second=${second}`);
export const upload = (file, query) => asked(`api/data?${query}`, { method: "POST", body: file });

// The events of a run: `each` gets every view, `over` is called once at the end, with `gone` if there is no such run.
// If so many rows are `done` on the page, views begin with the next one; before it `each` gets the status alone.
export const follow = (id, each, over, { gone, done = "" } = {}) => {
  const source = new EventSource(`api/runs/${encodeURIComponent(id)}/events?done=${done}`);
  let failures = 0, heard = false;
  source.addEventListener("view", (event) => {
    failures = 0;
    heard = true;
    each(JSON.parse(event.data));
  });
  source.addEventListener("over", () => {
    source.close();
    over("");
  });
  source.addEventListener("error", () => {
    failures += 1;
    if (source.readyState === EventSource.CLOSED || failures > 3) {
      source.close();
      over(heard ? "The server does not answer any more; start it again with whyconv page." : gone);
    }
  });
  return () => source.close();
};
