"""Formulas that claims use against a paper's ``exact/printed.py``, which was made from its text alone."""

from __future__ import annotations

from fractions import Fraction
from math import isclose
from typing import SupportsFloat

CLOSE = 1e-12
"""Relative; our formulas round a few times in float64, the others never."""
DIFFER = "transcriptions that differ"
"""The number's name in every claim's evidence."""


def differing(*pairs: tuple[SupportsFloat, SupportsFloat]) -> int:
    """How many pairs (ours, printed) differ; rational numbers must be equal, others close."""
    return sum(not _same(ours, printed) for ours, printed in pairs)


def _same(ours: SupportsFloat, printed: SupportsFloat) -> bool:
    if isinstance(ours, int | Fraction) and isinstance(printed, int | Fraction):
        return ours == printed
    return isclose(float(ours), float(printed), rel_tol=CLOSE, abs_tol=0.0)
