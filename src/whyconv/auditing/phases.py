"""The words of an audit's trials: phases, controls, references; and what tuning chose for an arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ORDER, REFERENCE, CONTROL = "order", "reference", "control"
"""Phases of a trial beside *tuning* and *measured*."""
PERMUTED_FCN, PERMUTED_BEST, SHUFFLED = "permuted FCN", "permuted winner", "shuffled labels"
MAJORITY, LINEAR, FOREST = "majority", "linear", "forest"


@dataclass(frozen=True)
class Setup:
    """What tuning chose for an arm, and its mean outcome on inner splits at the larger tuning size."""

    network: Mapping[str, Any]
    rate: float
    window: int | None
    outcome: float
