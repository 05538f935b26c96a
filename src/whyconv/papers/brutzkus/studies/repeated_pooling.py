"""Section 8: pooling more than once."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP
from whyconv.papers.brutzkus.studies.open_problem import OpenProblem
from whyconv.studies.grid import Arm


def contestants() -> dict[str, Any]:
    """Two stages by joint Adam (layerwise training is defined for one), and the MLP."""
    return {
        CONV_POOL: {"network": "repeated-pool", "learner": "gradient"},
        MLP: {"network": "mlp", "learner": "gradient", "matches": CONV_POOL},
    }


class RepeatedPooling(OpenProblem, name="brutzkus.repeated-pooling"):
    """Test error from 4 d examples with two stages of filters, the first pooled over groups of positions.

    A group of all 10 positions is pooled once; smaller ones are pooled again after the second stage.
    """

    says: ClassVar[str] = (
        "a challenging extension is to a multi-layer architecture with repeated application of pooling "
        "(section 8)"
    )
    reference: ClassVar[str] = "Brutzkus & Globerson, section 8"
    title: ClassVar[str] = "Are 4 d examples enough with pooling more than once?"
    knob: ClassVar[str] = "group"
    of_task: ClassVar[bool] = False
    axis: ClassVar[str] = "positions pooled together first"

    levels: tuple[float, ...] = (10, 5, 2)
    arms: dict[str, Arm] = Field(default_factory=contestants, validate_default=True)
