// Elements and small words.
export const find = (selector, root = document) => root.querySelector(selector);

// An element; properties that begin with "on" are listeners, texts are children as texts, never as HTML.
export const made = (kind, properties = {}, ...children) => {
  const element = document.createElement(kind);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
};

export const table = (head, lines, properties = {}) =>
  made(
    "table",
    properties,
    made("thead", {}, made("tr", {}, ...head.map((word) => made("th", { scope: "col" }, word)))),
    made(
      "tbody",
      {},
      ...lines.map((line) =>
        made("tr", {}, ...line.map((cell, place) => made(place ? "td" : "th", place ? { "data-label": head[place] } : { scope: "row" }, cell)))
      )
    )
  );

export const copy = async (text, button) => {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const area = made("textarea", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Not copied";
    area.remove();
  }
  setTimeout(() => (button.textContent = before), 1500);
};

export const download = (text, kind, name) => {
  const link = made("a", { href: URL.createObjectURL(new Blob([text], { type: kind })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
