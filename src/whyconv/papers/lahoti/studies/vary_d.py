"""Lahoti et al., experiment 2: examples needed as patches grow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whyconv.measure.scaling import exponent
from whyconv.papers.lahoti.studies.signal_study import AUTHORS, BROKEN, FAIR, AxisStudy, Found, with_learner
from whyconv.verdict import Evidence, above, below


class VaryD(AxisStudy, name="lahoti.vary-d"):
    """Sample complexity of CNN, LCN and FCN against the dimension d of a patch.

    k = 20 and sigma = 0.1. Experiment 2 of the authors' discussion page has d = 10, 15, ..., 30, CNN and LCN,
    at most 1000 examples, 5 repetitions.
    """

    reference: ClassVar[str] = "Lahoti et al., experiment 2 (reconstructed from the authors' discussion page)"
    title: ClassVar[str] = "How do the examples needed grow in the dimension of a patch?"
    met: ClassVar[str] = "With and without sharing, examples needed grow like the patch's dimension."
    unmet: ClassVar[str] = "Examples needed do not grow like the patch's dimension."
    says: ClassVar[str] = (
        "CNN and LCN are linear in d, and the LCN needs 10 to 20 times the examples of the CNN (the "
        "authors' discussion page, paraphrased)."
    )
    criterion: ClassVar[str] = (
        "95 % intervals: the exponent of m* in d lies between 0.25 and 1.75 for the CNN and between 0.5 "
        "and 1.5 for the LCN; m* of the LCN is more than 5 times that of the CNN at every d; the FCN needs "
        "more than the LCN at every d (not reached counts as more than the largest m)."
    )
    broken: ClassVar[str] = BROKEN
    rule: ClassVar[str] = FAIR
    thresholds: ClassVar[Mapping[str, float]] = {
        "CNN, least": 0.25,
        "CNN, most": 1.75,
        "LCN, least": 0.5,
        "LCN, most": 1.5,
        "LCN over CNN": 5.0,
        "FCN over LCN": 1.0,
    }
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"seeds": 5, **with_learner(AUTHORS)},
    }
    axis: ClassVar[str] = "d"
    field: ClassVar[str] = "patch_dim"
    axis_title: ClassVar[str] = "dimension of a patch d"

    values: tuple[float, ...] = (10, 15, 20, 25, 30)

    def growth(self, cnn: Found, lcn: Found) -> list[Evidence]:
        shared, own = exponent(cnn.items()), exponent(lcn.items())
        return [
            above(self.thresholds["CNN, least"], shared, "exponent in d, CNN"),
            below(self.thresholds["CNN, most"], shared, "exponent in d, CNN"),
            above(self.thresholds["LCN, least"], own, "exponent in d, LCN"),
            below(self.thresholds["LCN, most"], own, "exponent in d, LCN"),
        ]
