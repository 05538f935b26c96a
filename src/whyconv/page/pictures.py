"""Pictures of examples, as SVG for light and dark pages: drawn here, not by the task. They show no rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from typing import Any

from whyconv.lazy import np

WIDTH = 480
POSITIVE, NEGATIVE = "#0072B2", "#D55E00"
STYLE = (
    "text{font:19px Helvetica,Arial,sans-serif;fill:#5b636b}.frame{fill:none;stroke:#22262a;stroke-width:2}"
    ".ground{fill:#e9ebed}"
    "@media(prefers-color-scheme:dark){text{fill:#a9b0b7}.frame{stroke:#e6e8ea}.ground{fill:#343a41}}"
)


def strips(rows: Iterable[tuple[Any, int, int]], full: float) -> str:
    """Inputs as rows of patches, each a column of cells; ``full`` has the full colour.

    Every row is (values (patch, coordinate), the patch that decides or -1, label).
    """
    parts, top = [], 4.0
    for values, seat, label in rows:
        count, depth = values.shape
        wide, high = (WIDTH - 84) / count, min(7.0, 90 / depth)
        for patch in range(count):
            for place, value in enumerate(values[patch]):
                colour = POSITIVE if value > 0 else NEGATIVE
                strength = min(1.0, abs(float(value)) / full)
                parts.append(
                    f'<rect x="{patch * wide:.1f}" y="{top + place * high:.1f}" width="{wide - 3:.1f}" '
                    f'height="{high:.1f}" fill="{colour}" fill-opacity="{strength:.2f}"/>'
                )
        parts += _outlines(count, wide, top, depth * high, seat)
        parts.append(_text(WIDTH - 76, top + depth * high / 2 + 4, "label +" if label > 0 else "label −"))
        top += depth * high + 14
    said = "Two inputs as rows of patches"
    framed = ", the patch that decides is framed" if any(seat >= 0 for _, seat, _ in rows) else ", mixed"
    return _svg(top, parts, said + framed)


def cells(rows: Any, counted: Sequence[int]) -> str:
    """Rows of bits with the parity of the counted ones, which are framed."""
    parts, top, wide = [], 4.0, (WIDTH - 84) / rows.shape[1]
    for row in rows:
        for place, bit in enumerate(row):
            colour = f'fill="{POSITIVE}"' if bit > 0 else 'class="ground"'
            parts.append(
                f'<rect x="{place * wide:.1f}" y="{top}" width="{wide - 2:.1f}" height="16" {colour}/>'
            )
        even = int(np.prod(row[list(counted)])) > 0
        parts.append(_text(WIDTH - 76, top + 13, "label +" if even else "label −"))
        for place in counted:
            parts.append(
                f'<rect class="frame" x="{place * wide - 1:.1f}" y="{top - 2}" '
                f'width="{wide:.1f}" height="20"/>'
            )
        top += 26
    return _svg(top, parts, f"Four rows of {rows.shape[1]} bits; the {len(counted)} that count are framed")


def images(shown: Sequence[tuple[Any, str]]) -> str:
    """Grey images, values from 0 to 1, with a word below each."""
    side = min(150.0, WIDTH / len(shown) - 12)
    parts = []
    for number, (pixels, word) in enumerate(shown):
        size, left = side / pixels.shape[1], number * (side + 12)
        parts.append(f'<rect x="{left}" y="0" width="{side}" height="{side}" fill="#111"/>')
        for (row, column), value in np.ndenumerate(pixels):
            if value > 0.05:
                parts.append(
                    f'<rect x="{left + column * size:.1f}" y="{row * size:.1f}" width="{size + 0.3:.1f}" '
                    f'height="{size + 0.3:.1f}" fill="#fff" fill-opacity="{float(value):.2f}"/>'
                )
        parts.append(_text(left, side + 20, word))
    return _svg(side + 28, parts, "Images: " + ", ".join(word for _, word in shown))


@cache
def scan() -> tuple[Any, Any]:
    """The digits that come with the package, from 0 to 1, and their classes."""
    from sklearn.datasets import load_digits

    found: Any = load_digits()
    return found.images / 16.0, found.target


def _outlines(count: int, wide: float, top: float, high: float, seat: int) -> Iterator[str]:
    if seat >= 0:
        left = seat * wide - 1.5
        size = f'width="{wide:.1f}" height="{high + 4:.1f}"'
        yield f'<rect class="frame" x="{left:.1f}" y="{top - 2:.1f}" {size}/>'


def _text(left: float, base: float, words: str) -> str:
    return f'<text x="{left:.1f}" y="{base:.1f}">{escape(words)}</text>'


def _svg(height: float, parts: Sequence[str], label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 {WIDTH + 4} {height + 4:.0f}" role="img" '
        f'aria-label="{escape(label)}"><style>{STYLE}</style>{"".join(parts)}</svg>'
    )
