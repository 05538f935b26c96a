"""On which grid (rows, columns, channels) examples lie, from what the user says and from their shape."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from whyconv.auditing.dataset import BadData

Shape = tuple[int, int, int]
WORDS = ("auto", "series", "table")
CLEARLY = 2
"""In (examples, a, b) without a word, b counts channels if a is at least this many times larger."""


def grid_of(grid: Any, axes: Sequence[int]) -> Shape:
    """The grid of examples with these ``axes`` (the first, example by example, left out).

    ``grid``: (rows, columns, channels) or "28x28x1", channels 1 if left out; *series* or *table*: one row,
    (length,) or (length, channels); *auto*: three axes are a grid, one is a series, and two are one with
    channels last if those are at most half as many as the steps.
    """
    axes = [int(length) for length in axes]
    if (told := _told(grid)) is not None:
        if _plain(told) != _plain(axes) and (len(axes) > 1 or math.prod(told) != axes[0]):
            given = "x".join(map(str, axes))
            raise BadData(
                f"grid = {grid!r} was given, but examples of {given} numbers do not lie on it; "
                "the product of rows, columns and channels is the number of features."
            )
        return told
    if len(axes) == 1:
        return 1, axes[0], 1
    if len(axes) == 2 and (grid != "auto" or axes[0] >= CLEARLY * axes[1]):
        return 1, axes[0], axes[1]
    if len(axes) == 3 and (grid == "auto" or axes[0] == 1):
        return axes[0], axes[1], axes[2]
    a, b = axes[0], axes[-1]
    raise BadData(
        f"grid = {grid!r} was given for examples of {'x'.join(map(str, axes))}, which may be an image or a "
        f'series with channels; give grid="{a}x{b}x1" or grid="series".'
    )


def same_grid(shape: Shape, axes: Sequence[int]) -> bool:
    """Whether examples with these axes lie on the grid, or are flat with as many numbers."""
    return _plain(shape) == _plain(axes) or tuple(axes) == (math.prod(shape),)


def _plain(axes: Sequence[int]) -> tuple[int, ...]:
    """The axes that are not trivial."""
    return tuple(length for length in axes if length != 1)


def _told(grid: Any) -> Shape | None:
    """The grid in numbers, if the user gave them."""
    if isinstance(grid, str) and grid in WORDS:
        return None
    numbers = re.fullmatch(r"(\d{1,9})x(\d{1,9})(?:x(\d{1,9}))?", grid) if isinstance(grid, str) else None
    parts = [part for part in numbers.groups() if part] if numbers else grid
    try:
        sizes = [] if isinstance(parts, str) else [int(part) for part in parts]
    except (TypeError, ValueError):
        sizes = []
    if len(sizes) not in (2, 3) or min(sizes) < 1 or (not numbers and list(parts) != sizes):
        raise BadData(
            f'grid = {grid!r} was given; give "auto", "series", "table", or rows, columns and channels as in '
            '(28, 28, 1) or "28x28x1".'
        )
    rows, columns, *channels = sizes
    return rows, columns, channels[0] if channels else 1
