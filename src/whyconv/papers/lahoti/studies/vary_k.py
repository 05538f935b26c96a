"""Lahoti et al., experiment 1: examples needed as the number of patches grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whyconv.measure.scaling import exponent
from whyconv.papers.lahoti.studies.signal_study import (
    AUTHORS,
    BROKEN,
    FAIR,
    AxisStudy,
    Found,
    factor_change,
    with_learner,
)
from whyconv.verdict import Evidence, above, below


class VaryK(AxisStudy, name="lahoti.vary-k"):
    """Sample complexity of CNN, LCN and FCN against the number of patches k.

    d = 20 and sigma = 0.1, as the measured ratios suggest (the authors do not say). Experiment 1 of the
    authors' discussion page has k = 10, 15, ..., 30, CNN and LCN, at most 1000 examples, 5 repetitions.
    """

    reference: ClassVar[str] = "Lahoti et al., experiment 1 (reconstructed from the authors' discussion page)"
    title: ClassVar[str] = "Does weight sharing save more, the more patches there are?"
    met: ClassVar[str] = "Weight sharing saves more, the more patches there are."
    unmet: ClassVar[str] = "Weight sharing does not save as the paper says as patches are added."
    says: ClassVar[str] = (
        "The CNN is at most linear in k, the LCN up to quadratic, and the LCN needs 10 to 20 times the "
        "examples of the CNN (the authors' discussion page, paraphrased)."
    )
    criterion: ClassVar[str] = (
        "95 % intervals: the exponent of m* in k is below 1.25 for the CNN and between 0.75 and 2.25 for the "
        "LCN; m* of the LCN is more than 5 times that of the CNN at every k, and the factor grows from the "
        "smallest to the largest k; the FCN needs more than the LCN at every k (not reached counts as more "
        "than the largest m)."
    )
    broken: ClassVar[str] = BROKEN
    rule: ClassVar[str] = FAIR
    thresholds: ClassVar[Mapping[str, float]] = {
        "CNN, most": 1.25,
        "LCN, least": 0.75,
        "LCN, most": 2.25,
        "factor's growth": 1.0,
        "LCN over CNN": 5.0,
        "FCN over LCN": 1.0,
    }
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"seeds": 5, **with_learner(AUTHORS)},
    }
    axis: ClassVar[str] = "k"
    field: ClassVar[str] = "patches"
    axis_title: ClassVar[str] = "patches k"

    values: tuple[float, ...] = (10, 15, 20, 25, 30)

    def growth(self, cnn: Found, lcn: Found) -> list[Evidence]:
        first, last = min(lcn), max(lcn)
        grown = factor_change(cnn, lcn, first, last)
        return [
            below(self.thresholds["CNN, most"], exponent(cnn.items()), "exponent in k, CNN"),
            above(self.thresholds["LCN, least"], exponent(lcn.items()), "exponent in k, LCN"),
            below(self.thresholds["LCN, most"], exponent(lcn.items()), "exponent in k, LCN"),
            above(
                self.thresholds["factor's growth"],
                grown,
                f"factor at k = {last:g} over that at k = {first:g}",
            ),
        ]
