"""Examples needed as the noise grows: the sigma^2 in the rates of Lahoti et al."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whyconv.measure.scaling import exponent
from whyconv.papers.lahoti.studies.signal_study import AUTHORS, BROKEN, FAIR, AxisStudy, Found, with_learner
from whyconv.verdict import Evidence, above


class VarySigma(AxisStudy, name="lahoti.vary-sigma"):
    """Sample complexity of CNN, LCN and FCN against the noise sigma.

    k = 20, d = 20. All rates have the factor sigma^2, for a constant target and sigma up to about 1/sqrt(k).
    Here the target moves with sigma (oracle + 0.03), and what must be removed grows.
    """

    reference: ClassVar[str] = "Lahoti et al., the rates' sigma^2 (reconstructed)"
    title: ClassVar[str] = "What does noise cost, and does weight sharing save at every noise?"
    met: ClassVar[str] = "Noise costs examples, and weight sharing saves them at every noise level."
    unmet: ClassVar[str] = "Noise does not cost, or sharing does not save, as the paper says."
    says: ClassVar[str] = "All rates have the factor sigma^2 (second-hand account of the theorems)."
    criterion: ClassVar[str] = (
        "95 % intervals: m* of CNN and of LCN grows with sigma, with an exponent above 0.75; m* of the LCN "
        "is more than 5 times that of the CNN at every sigma; the FCN needs more than the LCN at every "
        "sigma (not reached counts as more than the largest m)."
    )
    broken: ClassVar[str] = BROKEN
    rule: ClassVar[str] = FAIR
    thresholds: ClassVar[Mapping[str, float]] = {"exponent": 0.75, "LCN over CNN": 5.0, "FCN over LCN": 1.0}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"seeds": 5, **with_learner(AUTHORS)},
    }
    axis: ClassVar[str] = "sigma"
    field: ClassVar[str] = "sigma"
    axis_title: ClassVar[str] = "noise sigma"

    values: tuple[float, ...] = (0.07, 0.085, 0.1, 0.12, 0.14)

    def growth(self, cnn: Found, lcn: Found) -> list[Evidence]:
        return [
            above(self.thresholds["exponent"], exponent(cnn.items()), "exponent in sigma, CNN"),
            above(self.thresholds["exponent"], exponent(lcn.items()), "exponent in sigma, LCN"),
        ]
