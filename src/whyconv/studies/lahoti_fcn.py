"""All three networks of Lahoti et al. measured, at sizes where the FCN gets there, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from whyconv.studies import Judgement
from whyconv.studies._complexity import Cell, ComplexityStudy, above, below
from whyconv.studies._grid import Arm, changed, worst
from whyconv.studies._lahoti import CNN, FAIR, FCN, LCN, RATES, contestants
from whyconv.verdict import Evidence

if TYPE_CHECKING:
    import pandas as pd

    from whyconv.measure.complexity import SampleComplexity

Place = tuple[int, int, float]
"""(k, d, sigma)."""
UPPER, LOWER = 1.25, 0.75
"""Limits for the slope of log m* on the logarithm of a rate: of an upper, and of a lower bound."""


class FullyConnected(ComplexityStudy, name="lahoti.fcn"):
    """Sample complexity of all three networks over k, d and sigma, none of them cut off.

    With the same, larger steps for everyone (0.3 at most, and up to 0.1 for b) the FCN reaches the target, so
    that theory's rates can be held against all three. Only sizes with oracle + 0.03 <= 0.7 x the risk of the
    best linear filter count: below k = 10 or so, locality has nothing to save at this target.
    """

    reference: ClassVar[str] = "Lahoti et al., lower and upper bounds (reconstructed)"
    title: ClassVar[str] = (
        "What locality and weight sharing save: m* of all three networks over k, d and sigma"
    )
    criterion: ClassVar[str] = (
        "95 % intervals of the slope of log m* on the logarithm of theory's rate: below 1.25 for the upper "
        "bounds of CNN and LCN, above 0.75 for the lower bounds of LCN and FCN; and m*(CNN) < m*(LCN) < "
        "m*(FCN) at every size where all were measured."
    )
    broken: ClassVar[str] = "the rates to the power 1/3 as upper, and to the power 3 as lower bounds."
    rule: ClassVar[str] = (
        f"{FAIR} A slope cannot prove a bound over all algorithms, nor can one learner: it can only agree."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {
            "places": [(10, 5, 0.1), (10, 20, 0.1), (20, 20, 0.1), (30, 20, 0.1), (20, 10, 0.1),
                       (20, 30, 0.1), (20, 20, 0.07), (20, 20, 0.14)],
            "fcn_places": [(10, 5, 0.1), (10, 10, 0.1), (10, 20, 0.1), (15, 5, 0.1), (20, 5, 0.1),
                           (20, 10, 0.1), (10, 5, 0.14)],
            "seeds": 10, "sizes.resolution": 0.05,
        },
    }  # fmt: skip
    needed: ClassVar[tuple[str, ...]] = (CNN, LCN, FCN)
    axis: ClassVar[str] = "size"

    arms: dict[str, Arm] = Field(
        default_factory=lambda: {
            name: {**arm, "learner": {"name": "projected", "bias_rates": [0.1, 0.01]}, "largest_m": largest}
            for (name, arm), largest in zip(contestants().items(), (300, 1000, 3000), strict=False)
        },
        validate_default=True,
    )
    places: tuple[Place, ...] = ((10, 5, 0.1), (10, 20, 0.1), (24, 20, 0.1), (10, 20, 0.14))
    fcn_places: tuple[Place, ...] = ((10, 5, 0.1), (10, 20, 0.1), (20, 5, 0.1), (10, 5, 0.14))

    @field_validator("places", "fcn_places")
    @classmethod
    def _different(cls, places: tuple[Place, ...]) -> tuple[Place, ...]:
        if len(set(places)) < max(2, len(places)):
            raise ValueError(
                "give two or more different sizes (k, d, sigma), as in [[10, 5, 0.1], [10, 20, 0.1]]"
            )
        return places

    def cells(self) -> Iterator[Cell]:
        """Every size, numbered, with the networks that are measured there."""
        for number, place in enumerate(dict.fromkeys((*self.places, *self.fcn_places)), 1):
            k, d, sigma = place
            names = [CNN, LCN] if place in self.places else []
            names += [FCN] if place in self.fcn_places else []
            task = changed(self.task, {"patches": k, "patch_dim": d, "sigma": sigma})
            arms = {name: self.arms[name] for name in names}
            yield Cell(number, task, arms, {"k": k, "d": d, "sigma": sigma})

    def judge(self, table: pd.DataFrame) -> Judgement:
        """Slopes and order; for the control, slopes against rates that are too small and too large."""
        found = {name: self.complexities(table, name) for name in (CNN, LCN, FCN)}
        slopes = [self.slope(found, name, bound) for name, bounds in RATES.items() for bound in bounds]
        broken = [
            self.slope(found, name, bound, 1 / 3 if bound.endswith("upper") else 3)
            for name, bounds in RATES.items()
            for bound in bounds
        ]
        return Judgement(worst(*slopes, self.order(found)), worst(*broken))

    def slope(
        self, found: Mapping[str, Mapping[float, SampleComplexity]], name: str, bound: str, power: float = 1
    ) -> Evidence:
        """The slope of log m* on the logarithm of a rate; *vacuous* without two sizes that tell something."""
        from whyconv.exact.signal_rates import rate
        from whyconv.measure.scaling import exponent

        tasks = {cell.value: cell.task for cell in self.cells()}
        points = [
            (rate(bound, task.patches, task.patch_dim, task.sigma) ** power, found[name][value])
            for value, task in tasks.items()
            if value in found[name]
        ]
        formula = RATES[name][bound]
        told = (
            f"slope of {name} on {formula}" if power == 1 else f"slope of {name} on ({formula})^{power:.2g}"
        )
        if len({x for x, _ in points}) < 2:
            return Evidence("vacuous", {f"sizes that tell something, {name}": len(points)})
        limited, limit = (below, UPPER) if bound.endswith("upper") else (above, LOWER)
        return limited(limit, exponent(points), told)

    def order(self, found: Mapping[str, Mapping[float, SampleComplexity]], first: str = CNN) -> Evidence:
        """m*(CNN) < m*(LCN) < m*(FCN) wherever all were measured; *undecided* if that is nowhere."""
        from whyconv.measure.complexity import ratio

        parts = []
        for value in set(found[first]) & set(found[LCN]) & set(found[FCN]):
            place = next(cell.labels for cell in self.cells() if cell.value == value)
            at = f"at k = {place['k']}, d = {place['d']}, sigma = {place['sigma']:g}"
            parts.append(
                above(1, ratio(found[LCN][value], found[first][value]), f"m* of LCN over {first} {at}")
            )
            parts.append(above(1, ratio(found[FCN][value], found[LCN][value]), f"m* of FCN over LCN {at}"))
        return worst(*parts) if parts else Evidence("undecided", {"sizes where all three were measured": 0})

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """m* against each rate."""
        from whyconv.exact.signal_rates import rate
        from whyconv.report.complexity_chart import complexities

        drawn, charts = self.drawn(table), {}
        tasks = {cell.value: cell.task for cell in self.cells()}
        for name, bounds in RATES.items():
            for bound, formula in bounds.items():
                part = drawn[drawn["arm"] == name].copy()
                part["x"] = [
                    rate(bound, tasks[x].patches, tasks[x].patch_dim, tasks[x].sigma) for x in part["x"]
                ]
                charts[f"{name} against {formula}"] = complexities(
                    part.sort_values("x"), title=f"{name}: examples needed against {formula}",
                    x_title=formula, theory=proportional(part, formula), arms=[CNN, LCN, FCN],
                )  # fmt: skip
        return charts


def proportional(drawn: pd.DataFrame, formula: str) -> pd.DataFrame:
    """The line of slope one through the geometric mean of what was reached."""
    import numpy as np
    import pandas as pd

    reached = drawn[drawn["m"].notna()]
    scale = float(np.exp(np.mean(np.log(reached["m"] / reached["x"])))) if len(reached) else 0.0
    lines = [(arm, x, scale * x, formula) for arm, x in zip(reached["arm"], reached["x"], strict=True)]
    return pd.DataFrame(sorted(lines), columns=["arm", "x", "y", "label"])
