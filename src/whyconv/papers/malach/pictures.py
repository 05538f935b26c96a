"""Figure 2 of Malach & Shalev-Shwartz: a k-pattern, k = 5, on random bits drawn here (not by the task)."""

from __future__ import annotations

from collections.abc import Iterator

from whyconv.lazy import np
from whyconv.report.drawing import WIDTH, svg, text

BITS, WINDOW, FIRST = 20, 5, 9
"""n, k, and where the pattern begins (from 0)."""
_CELL, _LEFT, _TOP = 20, 0, 66


def figure2(seed: int = 4) -> dict[str, str]:
    """Figure 2 as SVG text, by caption."""
    return {"A k-pattern, k = 5: the framed bits alone decide the label, here by their parity": picture(seed)}


def picture(seed: int = 4, rows: int = 5) -> str:
    """``rows`` inputs of 20 fair bits, with a frame around the window whose parity is the label."""
    inputs = np.random.default_rng(seed).choice([-1, 1], (rows, BITS))
    middle = _LEFT + (FIRST + WINDOW / 2) * (_CELL + 2)
    parts = [
        text(_LEFT, 16, "x_1 … x_n,  n = 20", "math"),
        text(middle, 50, "k = 5 of them", "math", "middle"),
        text(WIDTH, 50, "y = g", "math", "end"),
    ]
    for number, bits in enumerate(inputs):
        label = int(bits[FIRST : FIRST + WINDOW].prod())
        parts += _row(_TOP + number * (_CELL + 14), bits.tolist(), label)
    bottom = _TOP + rows * (_CELL + 14) + 14
    for left, kind, sign in ((0, "plus", "+1"), (56, "minus", "−1")):
        parts.append(f'<rect class="{kind}" x="{left}" y="{bottom - 12}" width="14" height="14"/>')
        parts.append(text(left + 20, bottom, sign, "quiet"))
    return svg(
        bottom + 6, parts, "Rows of bits; five neighbouring ones, framed, decide the label of each row"
    )


def _row(top: float, bits: list[int], label: int) -> Iterator[str]:
    """One input: a cell for every bit, the window in the colour of its label, and the label."""
    kind = "positive" if label > 0 else "negative"
    for place, bit in enumerate(bits):
        inside = FIRST <= place < FIRST + WINDOW
        shade = (kind if inside else "plus") if bit > 0 else "minus"
        size = f'width="{_CELL}" height="{_CELL}"'
        yield f'<rect class="{shade}" x="{_LEFT + place * (_CELL + 2)}" y="{top}" {size} stroke-width="0"/>'
    left, width = _LEFT + FIRST * (_CELL + 2) - 2, WINDOW * (_CELL + 2) + 2
    yield f'<rect class="{kind} frame" x="{left}" y="{top - 2}" width="{width}" height="{_CELL + 4}" rx="3"/>'
    yield text(WIDTH, top + 15, "+1" if label > 0 else "−1", f"strong {kind}", "end")
