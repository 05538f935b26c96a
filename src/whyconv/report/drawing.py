"""Parts of SVG pictures: text with symbols, arrows, and the frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files

WIDTH = 480
"""Of every picture, in its own units; on the page it scales with the column."""


def arrow(start: float, end: float, middle: float) -> str:
    return (
        f'<path class="line" d="M{start:g} {middle:g}H{end:g}m-5 -4l5 4l-5 4" '
        'stroke-linecap="round" stroke-linejoin="round"/>'
    )


def text(left: float, base: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Text in which ``w_i`` sets the i as a subscript and ``{max}`` sets the word upright."""
    marked = re.sub(r"\{(\w+)\}", r'<tspan font-style="normal">\1</tspan>', escape(words))
    marked = re.sub(
        r"_(\w)", r'<tspan dy="4" font-size="72%">\1</tspan><tspan dy="-4">&#8203;</tspan>', marked
    )
    place = f'x="{left:g}" y="{base:g}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place} xml:space="preserve">{marked}</text>'


def svg(height: float, parts: Sequence[str], label: str) -> str:
    """The parts as one SVG text, with a style for light and dark pages."""
    style = files("whyconv.report").joinpath("pictures.css").read_text("utf-8")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 -2 {WIDTH + 8} {height + 4:g}" '
        f'width="{WIDTH + 8}" height="{height + 4:g}" role="img" aria-label="{escape(label)}">'
        f"<style>{style}</style>{''.join(parts)}</svg>"
    )
