"""Section 8: a label that several patterns make together."""

from __future__ import annotations

from typing import ClassVar

from whyconv.papers.brutzkus.studies.open_problem import OpenProblem


class Conjunction(OpenProblem, name="brutzkus.conjunction"):
    """Test error from 4 d examples where an image is positive only if all of several patterns appear."""

    says: ClassVar[str] = (
        "the class of the image is positive only if certain multiple patterns appear in the image (section 8)"
    )
    reference: ClassVar[str] = "Brutzkus & Globerson, section 8"
    title: ClassVar[str] = "Are 4 d examples enough for a label that several patterns make?"
    knob: ClassVar[str] = "conjunction"
    axis: ClassVar[str] = "patterns that must all appear"

    levels: tuple[float, ...] = (1, 2, 3)
