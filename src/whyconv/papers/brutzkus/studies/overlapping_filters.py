"""Section 8: filters that overlap."""

from __future__ import annotations

from typing import ClassVar

from whyconv.papers.brutzkus.studies.open_problem import OpenProblem


class OverlappingFilters(OpenProblem, name="brutzkus.overlapping-filters"):
    """Test error from 4 d examples with windows that step by ``levels`` coordinates; d = 20 is no overlap."""

    says: ClassVar[str] = (
        "it would be interesting to extend the convolution so that there are overlaps between filters "
        "(although this is known to generate local optima even for simpler settings) (section 8)"
    )
    reference: ClassVar[str] = "Brutzkus & Globerson, section 8"
    title: ClassVar[str] = "Are 4 d examples enough with filters that overlap?"
    knob: ClassVar[str] = "stride"
    of_task: ClassVar[bool] = False
    axis: ClassVar[str] = "step between windows"

    levels: tuple[float, ...] = (20, 10, 5)
