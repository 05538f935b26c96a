"""A user's examples in one shape, whatever they came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whyconv.errors import UserError
from whyconv.lazy import Floats, Ints, NDArray

Grid = Literal["series", "image", "table"]
"""What the order of features means: neighbours in time, in two directions, or nothing that is known."""


class BadData(UserError, ValueError):
    """Data that cannot be audited, in one sentence: what was given, what is allowed, what to do."""


@dataclass(frozen=True)
class Dataset:
    """Labelled examples on a grid.

    ``x``: float32 (examples, rows, columns, channels); series and tables have one row, and as many columns as
    there are steps or features. ``y``: class numbers from 0, or real targets if ``classes`` is empty.
    ``groups``: numbers from 0 of rows that belong together (one person, one machine), or None.
    """

    name: str
    x: NDArray
    y: Ints | Floats
    classes: tuple[str, ...]
    grid: Grid
    groups: Ints | None = None
    warnings: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int, int]:
        """(rows, columns, channels) of one example."""
        _, rows, columns, channels = self.x.shape
        return rows, columns, channels
