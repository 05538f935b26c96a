"""Figure 3c: test error against sample size on images of four digits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from whyconv.studies import Judgement
from whyconv.studies._grid import Arm, GridStudy, all_above, by_seed, worst
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence

if TYPE_CHECKING:
    import pandas as pd

    from whyconv.measure.intervals import Interval

CONV_POOL, MLP, SVM = "ConvPool", "MLP", "SVM"
PERMUTED, SHUFFLED = "ConvPool, permuted pixels", "ConvPool, shuffled labels"
BASELINES, CONTROLS = (MLP, SVM), (PERMUTED, SHUFFLED)


def arms() -> dict[str, Any]:
    """ConvPool, the MLP with as many parameters, the SVM; ConvPool on permuted pixels, on shuffled labels."""
    gradient = {"name": "gradient", "epochs": 500}
    pool = {"network": "conv-pool", "learner": gradient}
    return {
        CONV_POOL: pool,
        MLP: {"network": "mlp", "learner": gradient, "matches": CONV_POOL},
        SVM: {"learner": "svm"},
        PERMUTED: {**pool, "task": {"permuted": True}, "largest_m": 2000},
        SHUFFLED: {**pool, "task": {"shuffled_labels": True}, "largest_m": 1000},
    }


class Figure3c(GridStudy, name="brutzkus.fig3c"):
    """Test error against sample size: is the 3 or the 5 among four digits? ConvPool, MLP and SVM."""

    reference: ClassVar[str] = "Brutzkus & Globerson, Figures 3c and 5"
    title: ClassVar[str] = "Max-pooling finds the digit that decides with fewer samples"
    criterion: ClassVar[str] = "TODO"
    broken: ClassVar[str] = "TODO"
    rule: ClassVar[str] = "TODO"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"m": [100, 300, 1000], "seeds": 3},
        "paper": {"task.images": "mnist"},
        "embedded": {"task.images": "digits", "m": [50, 100, 200, 500, 1000, 2000]},
    }

    needed: ClassVar[tuple[str, ...]] = (CONV_POOL, *BASELINES, *CONTROLS)

    task: TaskField = Field({"name": "digit-grid", "shifted_tests": [1, 2, 4]}, validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=arms, validate_default=True)
    m: tuple[int, ...] = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)

    def judge(self, table: pd.DataFrame) -> Judgement:
        raise NotImplementedError

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        return {}
