"""A study of its own for the benchmark, as a user would write one: two arms of Figure 3a."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP, arms
from whyconv.papers.brutzkus.studies.fig3a import Figure3a
from whyconv.studies.grid import Arm


class TwoArms(Figure3a, name="bench.fig3a"):
    """Figure 3a without its support-vector machine and its control: the arms that train by gradient."""

    needed: ClassVar[tuple[str, ...]] = (CONV_POOL, MLP)

    arms: dict[str, Arm] = Field(
        default_factory=lambda: {name: arms()[name] for name in (CONV_POOL, MLP)}, validate_default=True
    )
