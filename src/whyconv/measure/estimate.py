"""A measured number with its interval, as tables, evidence and ``--json`` carry it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod


class Estimate(ABC):
    """A value, the ends of its interval, and the number of repetitions behind it.

    :meth:`data` is its form for programs, ``str`` for readers, and ``cell`` for a table that shows the
    repetitions in another column.
    """

    low: float
    high: float
    count: int

    @property
    @abstractmethod
    def central(self) -> float:
        """The estimate itself; nan if only limits are known."""

    @property
    @abstractmethod
    def cell(self) -> str:
        """Value and interval as text."""

    def data(self) -> dict[str, float | int | None]:
        """``value``, ``low``, ``high`` and ``count``; what is not finite is None."""
        ends = {"value": self.central, "low": self.low, "high": self.high}
        return {name: end if math.isfinite(end) else None for name, end in ends.items()} | {
            "count": self.count
        }

    def __str__(self) -> str:
        return f"{self.cell}, {repetitions(self.count)}"


def repetitions(count: int) -> str:
    """
    >>> repetitions(5), repetitions(1)
    ('5 repetitions', 'one repetition: no interval')
    """
    return f"{count} repetitions" if count > 1 else "one repetition: no interval"
