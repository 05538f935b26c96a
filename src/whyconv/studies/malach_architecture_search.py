"""Section 5: searching for the order of the bits, when nobody tells which ones are neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from whyconv.networks import NetworkField
from whyconv.spec import checked
from whyconv.studies import Judgement, Point, Study
from whyconv.trial import Row, Trial
from whyconv.verdict import Evidence

if TYPE_CHECKING:
    import pandas as pd

STRATEGIES = {"random orders": "random", "hill climbing": "climb", "greedy on correlations": "greedy"}
GUIDED = ("hill climbing", "greedy on correlations")


class ArchitectureSearch(Study, name="malach.architecture-search"):
    """Evaluations of a search for the bits' order: as many as blind guessing for parity, few for majority.

    Of all orders a share of (n-k+1) / C(n,k) puts the k bits of the target next to each other, so blind
    guessing takes C(n,k) / (n-k+1) evaluations on average. An order whose windows miss them gives a
    network no signal of parity (claim ``malach.nas``), so no search can know it is getting closer.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 5"
    title: ClassVar[str] = "Searching for the order of the bits is blind for parity"
    criterion: ClassVar[str] = (
        "Evaluations are counted in units of C(n,k)/(n-k+1), all n pooled. For parity the mean of no "
        "strategy has a 95 % interval below 1/2, and random orders' contains 1; for majority, hill climbing "
        "and the greedy strategy have intervals below 1/2."
    )
    broken: ClassVar[str] = "majority in the place of parity: single bits tell, so the search is not blind."
    rule: ClassVar[str] = (
        "One evaluation trains a CNN with 20 steps of gradient descent; a search succeeds when the error on "
        "held-out examples is at most 10 %, and is cut off after 20 C(n,k)/(n-k+1) evaluations (counted as "
        "if it had succeeded then, so that means are lower bounds). Majority is a sign of a sum of single "
        "bits, so a network over windows learns it in almost any order."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"n_bits": [8, 12, 16, 24, 32, 48], "seeds": 40},
    }

    seeds: int = Field(10, ge=1, le=10_000)
    n_bits: tuple[int, ...] = (8, 16, 24)
    k_window: int = Field(3, ge=1, le=8)
    targets: tuple[str, ...] = ("parity", "majority")
    network: NetworkField = Field(
        default_factory=lambda: {"name": "cnn", "filters": 256}, validate_default=True
    )
    m: int = Field(2560, ge=2, le=1_000_000)

    @field_validator("targets")
    @classmethod
    def _both(cls, targets: tuple[str, ...]) -> tuple[str, ...]:
        if not {"parity", "majority"} <= set(targets):
            raise ValueError("targets must hold parity and majority, which the criterion needs")
        return targets

    @field_validator("n_bits")
    @classmethod
    def _increasing(cls, n_bits: tuple[int, ...]) -> tuple[int, ...]:
        if not n_bits or min(n_bits) < 1 or list(n_bits) != sorted(set(n_bits)):
            raise ValueError("n_bits must be a list of increasing numbers of bits, as in [8, 16, 24]")
        return n_bits

    @model_validator(mode="after")
    def _fits(self) -> ArchitectureSearch:
        if self.k_window > self.n_bits[0]:
            raise ValueError(f"k_window = {self.k_window} bits do not fit into n_bits = {self.n_bits[0]}")
        return self

    def blind(self, n_bits: int) -> float:
        """C(n,k) / (n-k+1): the mean number of random orders until one puts the target's bits together."""
        return comb(n_bits, self.k_window) / (n_bits - self.k_window + 1)

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """Every strategy on every target at every n."""
        del rows
        points = []
        for target in self.targets:
            for n in self.n_bits:
                fields = {"n_bits": n, "k_window": self.k_window, "target": target}
                network = self.network.canonical() | {"k_window": self.k_window}
                for arm, strategy in STRATEGIES.items():
                    cap = round(20 * self.blind(n))
                    learner = {"name": "order-search", "strategy": strategy, "evaluations": cap}
                    values = {"task": {"name": "k-junta", **fields}, "network": network, "learner": learner}
                    points += [
                        Point(
                            {"arm": arm, "target": target, "n": n},
                            checked(Trial, {**values, "m": self.m, "seed": seed}, f"{arm}, n = {n}"),
                        )
                        for seed in range(self.seeds)
                    ]
        return points

    def table(self, points: list[Point], rows: Mapping[str, Row]) -> pd.DataFrame:
        """One line per trial, with the evaluations in units of blind guessing."""
        table = super().table(points, rows)
        if len(table):
            table["in_blind_searches"] = table["evaluations"] / table["n"].map(self.blind)
        return table

    def judge(self, table: pd.DataFrame) -> Judgement:
        """The criterion with parity, and with majority in its place."""
        return Judgement(self._judged(table, "parity"), self._judged(table, "majority"))

    def _judged(self, table: pd.DataFrame, flat: str) -> Evidence:
        from whyconv.measure.intervals import mean_interval

        def needed(arm: str, target: str) -> Any:
            chosen = table[(table["arm"] == arm) & (table["target"] == target)]
            return mean_interval(chosen["in_blind_searches"])

        blind = {arm: needed(arm, flat) for arm in STRATEGIES}
        guided = {arm: needed(arm, "majority") for arm in GUIDED}
        numbers = {f"{flat}, {arm}, in blind searches": str(interval) for arm, interval in blind.items()}
        numbers |= {f"majority, {arm}, in blind searches": str(i) for arm, i in guided.items()}
        helps = any(interval.high < 0.5 for interval in blind.values())
        fits = blind["random orders"].low <= 1 <= blind["random orders"].high
        clear = all(interval.high < 0.5 for interval in guided.values())
        refuted = any(interval.low > 0.5 for interval in guided.values())
        verdict = "fails" if helps or refuted else "consistent" if fits and clear else "undecided"
        return Evidence(verdict, numbers)

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Evaluations against n, one chart a target, with blind guessing beside them."""
        import pandas as pd

        from whyconv.report.charts import curves

        charts = {}
        theory = pd.DataFrame(
            [
                {"arm": "C(n,k)/(n-k+1)", "n": n, "evaluations": self.blind(n), "seed": seed}
                for n in self.n_bits
                for seed in range(2)
            ]
        )
        for target in self.targets:
            part = table[table["target"] == target] if len(table) else table
            drawn = pd.concat([part, theory]) if len(part) else part
            charts[f"Evaluations, {target}"] = curves(
                drawn, "n", "evaluations", title=f"Evaluations until the order is found, {target} of "
                f"{self.k_window} bits", x_title="bits n", y_title="evaluations", log_x=True, log_y=True,
                y_domain=(0.8, 25 * self.blind(self.n_bits[-1])), controls=["C(n,k)/(n-k+1)"],
            )  # fmt: skip
        return charts
