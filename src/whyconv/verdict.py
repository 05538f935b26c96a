"""Verdicts: the words every claim and study ends in, and the numbers that decided them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["holds", "consistent", "fails", "holds as corrected", "vacuous", "undecided", "error"]
"""
- *holds*: exact; the statement was computed and is true at the sizes named.
- *consistent*: statistical; what was measured agrees with the statement, on the range measured.
- *fails*: the statement is false at the sizes named, or the measurement contradicts it.
- *holds as corrected*: the paper's wording fails, the corrected one holds; the numbers show both.
- *vacuous*: true, but says nothing at these sizes (a probability bounded by more than one).
- *undecided*: the interval straddles the threshold.
- *error*: a check or a solver could not decide, and says why; never a verdict on the statement.
"""

Number = float | int | str | bool


@dataclass(frozen=True)
class Evidence:
    """A verdict and the numbers that decided it, by name, in the order they should be read."""

    verdict: Verdict
    numbers: Mapping[str, Number] = field(default_factory=dict)
