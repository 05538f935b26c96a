"""Section 8: patterns that are not orthogonal."""

from __future__ import annotations

from typing import ClassVar

from whyconv.papers.brutzkus.studies.open_problem import OpenProblem


class CoherentPatterns(OpenProblem, name="brutzkus.coherent-patterns"):
    """Test error from 4 d examples where any two patterns have the inner product ``levels``."""

    says: ClassVar[str] = (
        "extending the pattern structure from orthogonal patterns to more general distributions (section 8)"
    )
    reference: ClassVar[str] = "Brutzkus & Globerson, section 8"
    title: ClassVar[str] = "Are 4 d examples enough for patterns that are not orthogonal?"
    knob: ClassVar[str] = "coherence"
    axis: ClassVar[str] = "inner product of two patterns"

    levels: tuple[float, ...] = (0.0, 0.1, 0.3, 0.5)
