"""All three networks of Lahoti et al. measured, at sizes where the FCN reaches the target, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import np, pd
from whyconv.measure.complexity import ratio
from whyconv.measure.scaling import exponent
from whyconv.papers.lahoti.exact.rates import rate
from whyconv.papers.lahoti.studies.signal_study import (
    CNN,
    FAIR,
    FCN,
    LCN,
    RATED,
    RATES,
    ROTATED,
    SignalStudy,
    contestants,
)
from whyconv.report.complexity_chart import complexities
from whyconv.studies import Cell, Judgement
from whyconv.studies.complexity import Sizes
from whyconv.studies.grid import Arm
from whyconv.verdict import Evidence, above, below, worst

LARGER = {"name": "projected", "rates": [0.3], "bias_rates": [0.1, 0.01], "steps": 500}
"""Steps with which the FCN reaches the target, too; the same for all."""
Place = tuple[int, int, float]
"""(k, d, sigma)."""
SIZES: tuple[Place, ...] = ((10, 20, 0.1), (20, 30, 0.1), (20, 20, 0.07), (20, 20, 0.14))
"""Around (20, 20, 0.1), one of the three changed at a time."""
SMALL: tuple[Place, ...] = ((10, 5, 0.1), (20, 5, 0.1), (10, 20, 0.1), (10, 5, 0.14))
"""The same around (10, 5, 0.1), where the FCN is quick enough."""
MORE: tuple[Place, ...] = (*SIZES, (20, 20, 0.1), (30, 20, 0.1), (20, 10, 0.1))
UPPER, LOWER = 1.25, 0.75
"""Limits for the slope of log m* on the logarithm of a rate: of an upper, and of a lower bound."""


class FullyConnected(SignalStudy, name="lahoti.fcn"):
    """Sample complexity of all three networks over k, d and sigma, none of them cut off.

    With the same, larger steps for everyone (0.3, and 0.1 or 0.01 for b) the FCN reaches the target, so the
    theory's rates can be compared with all three. Only sizes with oracle + 0.03 <= 0.7 x the risk of the best
    linear filter count: below k = 10 or so, locality has nothing to save at this target.
    """

    reference: ClassVar[str] = "Lahoti et al., lower and upper bounds (reconstructed)"
    title: ClassVar[str] = (
        "What locality and weight sharing save: m* of all three networks over k, d and sigma"
    )
    says: ClassVar[str] = (
        "CNNs need O~(k+d) examples, LCNs O~(k(k+d)) and at least of the order kd, FCNs at least of the "
        "order k^2 d; times sigma^2 (abstract and second-hand account of the theorems)."
    )
    criterion: ClassVar[str] = (
        "95 % intervals of the slope of log m* on the logarithm of theory's rate: below 1.25 for the upper "
        "bounds of CNN and LCN, above 0.75 for the lower bounds of LCN and FCN; and m*(CNN) < m*(LCN) < "
        "m*(FCN) at every size where all were measured."
    )
    broken: ClassVar[str] = (
        "the rates to the power 1/3 as upper, and to the power 3 as lower bounds; the CNN where every "
        "patch is rotated by a matrix of its own in place of the CNN."
    )
    rule: ClassVar[str] = (
        f"{FAIR} No slope of one learner can prove a bound over all algorithms: it can only agree with it."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {
            "places": {
                CNN: MORE,
                LCN: MORE,
                FCN: (*SMALL, (10, 10, 0.1), (20, 10, 0.1)),
                ROTATED: SIZES[:1],
            },
            "sizes.resolution": 0.05, "arms.FCN.largest_m": 6000, "seeds": 20, "arms.LCN.seeds": 20,
            "arms.FCN.seeds": 20,
        },
    }  # fmt: skip
    needed: ClassVar[tuple[str, ...]] = (CNN, LCN, FCN, ROTATED)
    axis: ClassVar[str] = "size"

    arms: dict[str, Arm] = Field(
        default_factory=lambda: {
            name: {**contestants(LARGER)[name], "largest_m": largest, "seeds": seeds}
            for name, largest, seeds in (
                (CNN, 200, None),
                (LCN, 1000, 6),
                (FCN, 3200, 7),
                (ROTATED, 200, 6),
            )
        },
        validate_default=True,
    )
    places: dict[str, tuple[Place, ...]] = Field(
        default_factory=lambda: {
            CNN: SIZES,
            LCN: SIZES,
            FCN: SMALL,
            ROTATED: SIZES[:1],
        },
        validate_default=True,
    )
    sizes: Sizes = Field(default_factory=lambda: Sizes.model_validate({"resolution": 0.4}))
    seeds: int = Field(12, ge=1, le=10_000)

    @field_validator("places")
    @classmethod
    def _different(cls, places: dict[str, tuple[Place, ...]]) -> dict[str, tuple[Place, ...]]:
        for name in (CNN, LCN, FCN):
            found = places.get(name, ())
            if len(set(found)) < max(2, len(found)):
                raise ValueError(
                    f"give {name} two or more different sizes (k, d, sigma), as [[10, 5, 0.1], [10, 20, 0.1]]"
                )
        return places

    def cells(self) -> Iterator[Cell]:
        """Every size, numbered, with the networks that are measured there."""
        wanted = {name: self.places.get(name, ()) for name in self.needed}
        for number, place in enumerate(dict.fromkeys(p for places in wanted.values() for p in places), 1):
            labels = {"size": number, **dict(zip(("k", "d", "sigma"), place, strict=True))}
            changes: dict[str, float] = dict(zip(RATED, place, strict=True))
            for name in self.needed:
                if place in wanted[name]:
                    yield self.cell(name, labels, changes)

    @property
    def described(self) -> dict[float, str]:
        """The sizes in words, by number."""
        words = "k = {k}, d = {d}, sigma = {sigma:g}"
        return {cell.labels["size"]: words.format(**cell.labels) for cell in self.cells()}

    def rates(self, bound: str) -> dict[float, float]:
        """A rate of the theory at every size, by number."""
        tasks = {cell.labels["size"]: cell.task for cell in self.cells()}
        return {n: rate(bound, task.patches, task.patch_dim, task.sigma) for n, task in tasks.items()}

    def judge(self, table: pd.DataFrame) -> Judgement:
        """Slopes and order; for the control, slopes against rates that are too small and too large."""
        bounds = [(name, bound) for name, rates in RATES.items() for bound in rates]
        slopes = [self.slope(table, name, bound) for name, bound in bounds]
        broken = [self.slope(table, name, bound, wrong(bound)) for name, bound in bounds]
        return Judgement(worst(*slopes, self.order(table)), worst(*broken, self.order(table, ROTATED)))

    def slope(self, table: pd.DataFrame, name: str, bound: str, power: float = 1) -> Evidence:
        """The slope of log m* on the logarithm of a rate; *vacuous* without two comparable sizes."""
        rates = self.rates(bound)
        points = [(rates[size] ** power, m) for size, m in self.complexities(table, name).items()]
        if len({x for x, _ in points}) < 2:
            return Evidence("vacuous", {f"sizes that tell something, {name}": len(points)})
        formula = RATES[name][bound] if power == 1 else f"({RATES[name][bound]})^{power:.2g}"
        limited, limit = (below, UPPER) if bound.endswith("upper") else (above, LOWER)
        return limited(limit, exponent(points), f"slope of {name} on {formula}")

    def order(self, table: pd.DataFrame, first: str = CNN) -> Evidence:
        """m*(CNN) < m*(LCN) < m*(FCN) wherever all were measured; *vacuous* if that is nowhere."""
        names = (first, LCN, FCN)
        found = {name: self.complexities(table, name, names) for name in names}
        parts = []
        for size in found[FCN]:
            for less, more in pairwise(names):
                name = f"m* of {more} over {less} at {self.described[size]}"
                parts.append(above(1, ratio(found[more][size], found[less][size]), name))
        return worst(*parts) if parts else Evidence("vacuous", {"sizes where all three were measured": 0})

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        drawn, charts = self.drawn(table), {}
        for name, bounds in RATES.items():
            for bound, formula in bounds.items():
                part = drawn[drawn["arm"] == name].copy()
                part["x"] = part["x"].map(self.rates(bound))
                charts[f"{name} against {formula}"] = complexities(
                    part.sort_values("x"), title=f"{name}: examples needed against {formula}",
                    x_title=formula, theory=proportional(part, formula), arms=[CNN, LCN, FCN],
                )  # fmt: skip
        return charts


def wrong(bound: str) -> float:
    """The power that makes a rate too small for an upper bound, or too large for a lower one."""
    return 1 / 3 if bound.endswith("upper") else 3.0


def proportional(drawn: pd.DataFrame, formula: str) -> pd.DataFrame:
    """The line of slope one through the geometric mean of what was reached."""
    reached = drawn[drawn["m"].notna()]
    scale = float(np.exp(np.mean(np.log(reached["m"] / reached["x"])))) if len(reached) else 0.0
    lines = [(arm, x, scale * x, formula) for arm, x in zip(reached["arm"], reached["x"], strict=True)]
    return pd.DataFrame(sorted(lines), columns=["arm", "x", "y", "label"])
