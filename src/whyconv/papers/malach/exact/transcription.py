"""Formulas that claims use against those of :mod:`.printed`, made from the paper's text alone."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import SupportsFloat

CLOSE = 1e-12
"""Relative; our formulas round a few times in float64, the others never."""


def differing(pairs: Iterable[tuple[SupportsFloat, SupportsFloat]]) -> int:
    """How many pairs (ours, printed) differ; fractions must be equal, floats close."""
    return sum(not _same(ours, printed) for ours, printed in pairs)


def _same(ours: SupportsFloat, printed: SupportsFloat) -> bool:
    if isinstance(ours, Fraction) and isinstance(printed, Fraction):
        return ours == printed
    return abs(float(ours) - float(printed)) <= CLOSE * abs(float(printed))
