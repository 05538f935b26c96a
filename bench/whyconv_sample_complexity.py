"""A study of its own for the benchmark, as a user would write one: lahoti.vary-k without FCN and control."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, field_validator

from whyconv.papers.lahoti.studies.signal_study import CNN, LCN, contestants
from whyconv.papers.lahoti.studies.vary_k import VaryK
from whyconv.studies import Judgement
from whyconv.studies.grid import Arm
from whyconv.verdict import Evidence

if TYPE_CHECKING:
    import pandas as pd


class TwoNetworks(VaryK, name="bench.vary-k"):
    """Sample complexity of CNN and LCN against the number of patches k, one k allowed."""

    needed: ClassVar[tuple[str, ...]] = (CNN, LCN)

    arms: dict[str, Arm] = Field(
        default_factory=lambda: {name: contestants()[name] for name in (CNN, LCN)}, validate_default=True
    )
    seeds: int = Field(5, ge=1, le=10_000)

    @field_validator("values")
    @classmethod
    def _increasing(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if not values or list(values) != sorted(set(values)):
            raise ValueError("values must be a list of increasing numbers, as in [10, 20, 30]")
        return values

    def judge(self, table: pd.DataFrame) -> Judgement:
        """The criterion without FCN; there is no control here."""
        return Judgement(self.judged(table, CNN), Evidence("vacuous", {}))
