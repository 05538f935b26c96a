// Charts in both colour schemes, legends, search, copying of commands. Loads nothing from the network.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const dark = JSON.parse(document.getElementById("dark").textContent);
  const night = matchMedia("(prefers-color-scheme: dark)");

  const themed = (spec) => {
    spec.background = "transparent";
    if (!night.matches) return spec;
    const text = JSON.stringify({ ...spec, config: dark.config });
    return JSON.parse(text.replace(/#[0-9A-Fa-f]{6}\b/g, (colour) => dark.colours[colour] ?? colour));
  };

  const draw = async (figure) => {
    const specs = JSON.parse(figure.querySelector(".specs").textContent);
    const slots = all(".chart", figure);
    (figure.results ?? []).forEach((result) => result.finalize());
    figure.results = await Promise.all(
      specs.map((spec, place) => {
        const width = slots[place].clientWidth;
        if (spec.height > 100) spec.height = Math.round(Math.min(spec.height * 1.1, Math.max(220, width * 0.62)));
        const options = { actions: false, renderer: "svg", tooltip: { theme: night.matches ? "dark" : "light" } };
        return vegaEmbed(slots[place], themed(spec), options);
      })
    );
    single(figure);
  };

  // The arms pressed in the legend are shown; with none pressed, all.
  const single = (figure) => {
    if (!figure.querySelector(".legend")) return;
    const names = all(".legend [aria-pressed=true]", figure).map((button) => button.dataset.arm);
    (figure.results ?? []).forEach(({ view }) => view.signal("shown", names).runAsync());
  };

  const still = (figure, error) => {
    console.error(error);
    figure.classList.add("unable");
  };

  const figures = all("figure").filter((figure) => figure.querySelector(".specs"));
  const drawAll = () => figures.forEach((figure) => draw(figure).catch((error) => still(figure, error)));
  drawAll();
  night.addEventListener("change", drawAll);

  for (const figure of figures) {
    for (const button of all(".legend button", figure))
      button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
        single(figure);
      });
  }

  // A figure as a file: its SVG, or a PNG at three times its size.
  for (const link of all("a.svg")) {
    const drawing = link.closest("figure").querySelector("img");
    link.href = drawing.src;
    link.parentNode.querySelector(".png")?.addEventListener("click", async () => {
      await drawing.decode();
      const canvas = document.createElement("canvas");
      canvas.width = 3 * drawing.naturalWidth;
      canvas.height = 3 * drawing.naturalHeight;
      canvas.getContext("2d").drawImage(drawing, 0, 0, canvas.width, canvas.height);
      const target = document.createElement("a");
      target.href = canvas.toDataURL("image/png");
      target.download = link.download.replace(/svg$/, "png");
      target.click();
    });
  }

  // Search words and verdict buttons narrow the claims.
  const filter = document.querySelector(".filter");
  if (filter) {
    const rows = all(".claims tbody tr");
    const words = filter.querySelector("input");
    const narrow = () => {
      const wanted = all("[aria-pressed=true]", filter).map((button) => button.dataset.verdict);
      const sought = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = `${row.textContent} ${row.dataset.raw}`.toLowerCase();
        row.hidden =
          (wanted.length > 0 && !wanted.includes(row.dataset.verdict)) || !sought.every((word) => text.includes(word));
      }
      const left = rows.filter((row) => !row.hidden).length;
      filter.querySelector("output").textContent = left < rows.length ? `${left} of ${rows.length} shown` : "";
    };
    words.addEventListener("input", narrow);
    for (const button of all("button", filter))
      button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
        narrow();
      });
  }

  for (const block of all(".command")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const range = document.createRange();
      range.selectNodeContents(block.querySelector("code"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      try {
        await navigator.clipboard.writeText(String(range));
        button.textContent = "Copied";
      } catch {
        button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }

  // For printing, open all details; restore the reader's state afterwards.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    opened.forEach((detail) => (detail.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((detail) => (detail.open = false)));
})();
