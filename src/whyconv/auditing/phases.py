"""The words of an audit's trials: phases, controls, references; and what tuning chose for an arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ORDER, REFERENCE, CONTROL = "order", "reference", "control"
"""Phases of a trial beside *tuning* and *measured*."""
GROWTH = 4
"""Arms that still learn get so many times the steps."""
PERMUTED_FCN, PERMUTED_BEST, SHUFFLED = "permuted FCN", "permuted winner", "shuffled labels"
MAJORITY, LINEAR, FOREST = "majority", "linear", "forest"


@dataclass(frozen=True)
class Setup:
    """What tuning chose for an arm, and its mean outcome on inner splits at the larger tuning size.

    ``seconds``: what a trial of so many ``steps`` on all training examples takes.
    """

    network: Mapping[str, Any]
    rate: float
    window: int | None
    outcome: float
    steps: int
    seconds: float = 0.0
