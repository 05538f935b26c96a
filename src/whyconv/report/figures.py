"""A chart or a picture as a figure of the page: caption, legend, the interactive panels, and the files."""

from __future__ import annotations

import base64
import json
from html import escape
from typing import Any

from whyconv.report.embedding import arms, files, panels
from whyconv.report.theme import DARK

_SHAPES = {
    "circle": '<circle cx="14" cy="7" r="4"/>',
    "square": '<rect x="10.5" y="3.5" width="7" height="7"/>',
    "triangle-up": '<path d="M14 2.5l4.6 8H9.4z"/>',
    "diamond": '<path d="M14 2l4.5 5L14 12 9.5 7z"/>',
    "cross": '<path d="M12.5 3h3v2.5H18v3h-2.5V11h-3V8.5H10v-3h2.5z"/>',
}


def figure(title: str, chart: Any, name: str, below: str, said: str = "") -> str:
    """An interactive chart; a drawing stands in for it where scripts do not run, and on paper.

    ``name`` becomes the element's identifier and the stem of the file names; ``below`` is HTML.
    The chart's own title follows the caption, unless it is the caption or ``said`` already. The SVG is in the
    page once: the link to it takes its address from the drawing.
    """
    made = files(chart)
    parts = panels(made.spec)
    drawing = _address(made.svg.encode(), "image/svg+xml")
    links = [
        f'<a class="svg" download="{escape(name)}.svg">SVG</a>',
        _link("PDF", f"{name}.pdf", _address(made.pdf, "application/pdf")),
        '<button type="button" class="png">PNG</button>',
        _link("CSV", f"{name}.csv", _address(made.csv.encode(), "text/csv")) if made.csv else "",
        _link("JSON", f"{name}.json", _address(json.dumps(made.spec).encode(), "application/json")),
    ]
    views = "".join(f'<div>{_heading(part)}<div class="chart"></div></div>' for part in parts)
    specs = json.dumps(parts).replace("<", "\\u003c")
    own = _title(made.spec)
    more = f"<p>{escape(own)}</p>" if own not in ("", title, said) else ""
    described = escape(str(made.spec.get("description", title)))
    return (
        f'<figure id="{escape(name)}"><figcaption><h3>{escape(title)}</h3>{more}</figcaption>'
        f"{_legend(made.spec)}"
        f'<div class="panels{" many" if len(parts) > 1 else ""}">{views}</div>'
        f'<script type="application/json" class="specs">{specs}</script>'
        f'<img class="still" alt="{described}" src="{drawing}">'
        f'<p class="files">{"".join(links)}</p>{below}</figure>'
    )


def picture(title: str, svg: str, name: str) -> str:
    """A drawing that is SVG already. As an image it can run no script and keeps its style to itself."""
    address = _address(svg.encode(), "image/svg+xml")
    return (
        f'<figure class="picture" id="{escape(name)}"><figcaption><h3>{escape(title)}</h3></figcaption>'
        f'<img alt="{escape(title)}" src="{address}">'
        f'<p class="files"><a class="svg" download="{escape(name)}.svg">SVG</a></p></figure>'
    )


def _heading(spec: dict[str, Any]) -> str:
    """A panel's title, taken out of the drawing so that it can wrap."""
    title = _title(spec)
    spec.pop("title", None)
    return f"<h4>{escape(title)}</h4>" if title else ""


def _title(spec: dict[str, Any]) -> str:
    title = spec.get("title", "")
    return str(title.get("text", "") if isinstance(title, dict) else title)


def _legend(spec: dict[str, Any]) -> str:
    """Buttons that single out arms in all panels at once; they wrap where a drawn legend would be cut."""
    items = []
    for arm in arms(spec):
        dash = " ".join(str(step) for step in arm["dash"]) if arm["dash"] != [1, 0] else "none"
        colours = escape(f"--light:{arm['color']};--dark:{DARK.get(arm['color'], arm['color'])}")
        name, shape = escape(arm["name"]), _SHAPES.get(arm["shape"], _SHAPES["circle"])
        items.append(
            f'<button type="button" aria-pressed="false" data-arm="{name}" style="{colours}">'
            '<svg viewBox="0 0 28 14" aria-hidden="true">'
            f'<path d="M0 7H28" stroke-dasharray="{dash}" fill="none"/>{shape}</svg>{name}</button>'
        )
    return f'<div class="legend" role="group" aria-label="Legend">{"".join(items)}</div>' if items else ""


def _link(text: str, name: str, address: str) -> str:
    return f'<a download="{escape(name)}" href="{address}">{text}</a>'


def _address(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
