"""Lahoti et al.: the exponents of m* in k, d and sigma, and which rates they contradict.

The design, the rivals, the rule and its power are in docs/rates.md, written before the runs they judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field, field_validator

from whyconv.exact.signal.risk import population_risk
from whyconv.lazy import np, pd
from whyconv.learners.two_step import TwoStep
from whyconv.measure.intervals import Interval
from whyconv.measure.scaling import Exponent, exponents
from whyconv.papers.lahoti.exact.rates import RATES, RIVALS, Rate
from whyconv.papers.lahoti.studies.places import LARGER, Place, PlacesStudy, proportional
from whyconv.papers.lahoti.studies.rivals import (
    DIRECTIONS,
    TOLERANCES,
    Kind,
    all_rejected,
    compared,
    middle,
)
from whyconv.papers.lahoti.studies.signal_study import CNN, FAIR, FCN, LCN
from whyconv.report.complexity_chart import complexities
from whyconv.spec import once
from whyconv.studies import Cell, Judgement
from whyconv.studies.answers import LOCALITY, SHARING, Answer
from whyconv.studies.grid import Arm, changed
from whyconv.tasks.signal import Signal
from whyconv.verdict import Evidence, Number, worst

CNN_STEPS, LCN_STEPS = "CNN, two steps", "LCN, two steps"
CNN_RAISED, LCN_RAISED = "CNN, two steps, b_1 = 3 sigma", "LCN, two steps, b_1 = 3 sigma"
TWO_STEPS = {"name": "two-step", "fresh": True, "normalise": "ball", "loss": "correlation"}
"""As the source has it: a half of the data for each step, the unit ball, the quoted constants."""
RAISED = {**TWO_STEPS, "normalise": "sphere"}
"""Another reading: filters of length one, and a threshold of step two that is above the noise."""
SETTINGS: Mapping[str, tuple[str, Mapping[str, Any], int, int]] = {
    CNN: ("lsa-cnn", LARGER, 400, 20),
    LCN: ("lsa-lcn", LARGER, 4000, 8),
    FCN: ("lsa-fcn", LARGER, 4000, 6),
    CNN_STEPS: ("lsa-cnn", TWO_STEPS, 1000, 16),
    LCN_STEPS: ("lsa-lcn", TWO_STEPS, 8000, 16),
    CNN_RAISED: ("lsa-cnn", RAISED, 1000, 16),
    LCN_RAISED: ("lsa-lcn", RAISED, 8000, 16),
}
"""Network, learner, largest m and seeds of every arm."""
NETWORK = {name: name[:3] for name in SETTINGS}
BOUNDS: tuple[tuple[str, Kind, str], ...] = (
    (CNN, "upper", "cnn-upper"),
    (CNN_STEPS, "upper", "cnn-upper"),
    (LCN, "upper", "lcn-upper"),
    (LCN_STEPS, "upper", "lcn-upper"),
    (LCN, "lower", "lcn-lower"),
    (FCN, "lower", "fcn-lower"),
)
"""What is judged; the other reading of the two steps is reported."""
NEIGHBOURS: Mapping[str, tuple[Rate, ...]] = {
    "cnn-upper": (
        Rate("σ²k ln(kd)", ((1, 0),), logarithm=True),
        Rate("σ(k+d) ln(kd)", ((1, 0), (0, 1)), 1.0, logarithm=True),
    ),
    "lcn-upper": (
        Rate("σ²k² ln(kd)", ((2, 0),), logarithm=True),
        Rate("σk(k+d) ln(kd)", ((2, 0), (1, 1)), 1.0, logarithm=True),
    ),
    "lcn-lower": (Rate("σ²kd²", ((1, 2),)), Rate("σ³kd", ((1, 1),), 3.0)),
    "fcn-lower": (Rate("σ²k²d²", ((2, 2),)),),
}
"""Near misses of the bounds: one factor dropped or squared, the next power of sigma."""
PLACES: Mapping[str, tuple[Place, ...]] = {
    CNN: (
        *((k, d, sigma) for k in (14, 40) for d in (20, 80) for sigma in (0.085, 0.16)),
        (20, 40, 0.07), (20, 40, 0.12), (20, 40, 0.2),
    ),
    LCN: (
        *((k, d, sigma) for k in (10, 30) for d in (10, 40) for sigma in (0.1, 0.14)),
        (20, 20, 0.07), (20, 20, 0.12), (20, 20, 0.2),
    ),
    FCN: (
        (10, 5, 0.1), (20, 5, 0.1), (20, 5, 0.085), (14, 5, 0.12), (10, 20, 0.1), (10, 20, 0.12),
        (14, 10, 0.1), (14, 10, 0.085), (14, 10, 0.12),
    ),
}  # fmt: skip
"""Two values of k, d and sigma each, all combinations, and a line in sigma through their middle; for the FCN,
whose large combinations take too long, what is left of them. k >= 10 and sigma sqrt(k) between 0.26 and 1:
below, a linear filter is good enough; above, the theorems do not speak."""
LARGE: tuple[Place, ...] = (
    *((k, d, 0.14) for k in (10, 40) for d in (80, 320)),
    *((20, 160, sigma) for sigma in (0.07, 0.1, 0.14, 0.2)),
)
"""For the CNN after two steps with the other threshold, which needs fewer than ten examples elsewhere."""
MORE: Mapping[str, tuple[Place, ...]] = {
    CNN: (*PLACES[CNN], (80, 20, 0.1), (80, 80, 0.1), (14, 160, 0.12), (28, 160, 0.12), (28, 28, 0.12)),
    LCN: (*PLACES[LCN], (40, 20, 0.1), (40, 40, 0.1), (14, 80, 0.1), (28, 80, 0.1), (14, 28, 0.12)),
    FCN: (*PLACES[FCN], (20, 10, 0.1), (28, 5, 0.1), (10, 40, 0.1), (20, 20, 0.1), (20, 5, 0.14)),
}


def by_arm(places: Mapping[str, tuple[Place, ...]]) -> dict[str, tuple[Place, ...]]:
    """The places of every arm: those of its network, but for the one that needs larger ones."""
    return {name: LARGE if name == CNN_RAISED else places[NETWORK[name]] for name in SETTINGS}


@once
def known_signal(task: Signal, bias: float) -> float:
    """The risk of filters equal to the signal under the threshold ``bias``."""
    law = task.law()
    return population_risk(law, law.table[0], bias)


class Rates(PlacesStudy, name="lahoti.rates"):
    """The exponents of m* in k, d and sigma of tuned descent and of the two-step algorithm, against rates.

    Model: log m* = c + a log k + b log d + s log sigma, by least squares over nine places or more; intervals
    over seeds and places (lack of fit). The target is the oracle's risk + 0.03, for the two-step algorithm
    the risk of the true signal under its own last threshold + 0.03, since it cannot reach the former.
    """

    reference: ClassVar[str] = "Lahoti et al., lower and upper bounds (reconstructed)"
    title: ClassVar[str] = "How do examples needed grow in k, d and sigma?"
    met: ClassVar[str] = "Examples needed grow in k, d and sigma as the paper's rates allow."
    unmet: ClassVar[str] = "Examples needed grow in a way that contradicts a rate of the paper."
    says: ClassVar[str] = (
        "CNNs need O~(k+d) examples, LCNs O~(k(k+d)) and at least of the order kd, FCNs at least of the "
        "order k^2 d; times sigma^2 (abstract and second-hand account of the theorems)."
    )
    criterion: ClassVar[str] = (
        "95 % intervals of the exponents of m* in k, in d and in both together: not more than 0.25 above the "
        "largest exponent of an upper bound's rate (CNN, LCN; tuned descent and two steps), nor more than "
        "0.25 below the least one of a lower bound's (LCN, FCN); in sigma within 0.5 of 2."
    )
    broken: ClassVar[str] = (
        "the neighbouring rates: upper bounds without d or with sigma in place of sigma^2, lower bounds with "
        "d^2 in place of d or sigma^3; every one must be rejected."
    )
    lost: ClassVar[str] = "the neighbouring rates are rejected, as they must be"
    rule: ClassVar[str] = (
        f"{FAIR} Two steps: half of the data for each, unit ball, quoted constants. No growth of a learner "
        "on a finite range can prove a bound over all algorithms and sizes: it agrees or contradicts it."
    )
    thresholds: ClassVar[Mapping[str, float]] = TOLERANCES
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {
            "places": by_arm(MORE), "sizes.resolution": 0.1, "arms.CNN.seeds": 40, "arms.LCN.seeds": 30,
            "arms.FCN.seeds": 20, "arms.FCN.largest_m": 12000,
            **{f"arms.{name}.seeds": 60 for name in (CNN_STEPS, LCN_STEPS, CNN_RAISED, LCN_RAISED)},
        },
    }  # fmt: skip
    needed: ClassVar[tuple[str, ...]] = (CNN, LCN, FCN)

    arms: dict[str, Arm] = Field(
        default_factory=lambda: {
            name: {"network": network, "learner": dict(learner), "largest_m": largest, "seeds": seeds}
            for name, (network, learner, largest, seeds) in SETTINGS.items()
        },
        validate_default=True,
    )
    places: dict[str, tuple[Place, ...]] = Field(
        default_factory=lambda: by_arm(PLACES), validate_default=True
    )

    @field_validator("places")
    @classmethod
    def _enough(cls, places: dict[str, tuple[Place, ...]]) -> dict[str, tuple[Place, ...]]:
        for name, found in places.items():
            logs = np.log(np.array(found, float)) if found else np.zeros((0, 3))
            model = np.column_stack([np.ones(len(logs)), logs])
            if len(found) < 6 or np.linalg.matrix_rank(model) < 4:
                raise ValueError(
                    f"{name} has {len(found)} places (k, d, sigma), but three exponents and a lack of fit "
                    "that shows need six or more, with differences in each of the three"
                )
        return places

    def cells(self) -> Iterator[Cell]:
        """Every place with its networks; the raised threshold goes with sigma."""
        for cell in super().cells():
            raised = cell.labels["arm"] in (CNN_RAISED, LCN_RAISED)
            bias = {"bias_1": 3 * cell.labels["sigma"]} if raised else {}
            yield replace(cell, learner=changed(cell.learner, bias))

    def goal(self, cell: Cell) -> float:
        if isinstance(cell.learner, TwoStep) and self.target is None:
            return known_signal(cell.task, cell.learner.bias_2) + self.excess
        return super().goal(cell)

    def comparable(self, cell: Cell) -> bool:
        """Two steps end in what is nearly a linear filter: there is nothing that one could miss."""
        return isinstance(cell.learner, TwoStep) or super().comparable(cell)

    def found(self, table: pd.DataFrame, name: str) -> dict[str, Exponent] | None:
        """The exponents of an arm by ray; None without enough places."""
        numbered, points = self.numbered(), []
        for size, m in self.complexities(table, name).items():
            k, d, sigma = numbered[size]
            points.append(({"k": k, "d": d, "sigma": sigma}, m))
        return exponents(points, DIRECTIONS) if len(points) >= 5 else None

    def compared(self, table: pd.DataFrame, name: str, kind: Kind, rate: Rate) -> Evidence:
        """A rate as a bound on an arm; *undecided* without enough places."""
        found = self.found(table, name)
        if found is None:
            return Evidence(
                "undecided", {f"{name}: too few places measured for three exponents": True}, "too few places"
            )
        return compared(kind, rate, found, middle(self.places[name]), name, self.thresholds)

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """By how much faster m* grows in k without a prior: a difference of exponents.

        The networks were measured at different places, so nothing is paired, and the interval is from end to
        end of both: conservative.
        """
        found = {name: self.found(table, name) for name in (CNN, LCN, FCN)} if len(table) else {}
        told = []
        for prior, without, given in ((SHARING, LCN, CNN), (LOCALITY, FCN, LCN)):
            more, less = found.get(without), found.get(given)
            if more is None or less is None:
                continue
            a, b = more["k"], less["k"]
            gap = Interval(a.value - b.value, a.low - b.high, a.high - b.low, min(a.count, b.count))
            unit, where = "exponent of m* in k", "over its places"
            told.append(
                Answer(prior, "difference", gap, unit, given, without, (b.value, a.value), self.on(), where)
            )
        return told

    def judge(self, table: pd.DataFrame) -> Judgement:
        bounds = [each for each in BOUNDS if each[0] in self.arms]
        stated = [self.compared(table, name, kind, RATES[bound]) for name, kind, bound in bounds]
        verdicts: dict[str, Number] = {
            f"{RATES[bound].formula} as {kind} bound, {name}": each.verdict
            for (name, kind, bound), each in zip(bounds, stated, strict=True)
        }
        near = [
            self.compared(table, name, kind, rate)
            for name, kind, bound in bounds
            if not isinstance(self.arms[name].learner, TwoStep)
            for rate in NEIGHBOURS[bound]
        ]
        every = worst(*stated)
        return Judgement(Evidence(every.verdict, {**verdicts, **every.numbers}), all_rejected(*near))

    def tables(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """The exponents, and every rival as upper bound, as lower bound and as the growth itself."""
        lines, rivals = [], []
        for name in self.arms:
            if (found := self.found(table, name)) is None:
                continue
            fit = found["k"]
            lines.append(
                {"arm": name, **{f"in {ray}": each for ray, each in found.items()}, "R²": fit.r_squared}
            )
            for rate in RIVALS[NETWORK[name]]:
                kinds: tuple[Kind, ...] = ("upper", "lower", "growth")
                centre = middle(self.places[name])
                told = {
                    kind: compared(kind, rate, found, centre, name, self.thresholds).verdict for kind in kinds
                }
                rivals.append({"arm": name, "rate": rate.formula, **told})
        made = {"Exponents of m*": pd.DataFrame(lines), "Rates": pd.DataFrame(rivals)} if lines else {}
        return {**made, **super().tables(table)}

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        drawn, charts, numbered = self.drawn(table), {}, self.numbered()
        for name, _, bound in BOUNDS:
            rate = RATES[bound]
            part = drawn[drawn["arm"] == name].copy()
            part["x"] = part["x"].map({size: rate(*place) for size, place in numbered.items()})
            charts[f"{name} against {rate.formula}"] = complexities(
                part.sort_values("x"), title=f"{name}: examples needed against {rate.formula}",
                x_title=rate.formula, theory=proportional(part, rate.formula), arms=[name],
            )  # fmt: skip
        return charts
